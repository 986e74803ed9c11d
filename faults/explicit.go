package faults

// Moving reports whether what a selector stands for depends on the moment, a draw or a
// triggering event.
func (s Selector) Moving() bool {
	switch s.Role {
	case Leader, Follower, Followers, Controller, Coordinator, GroupLeader, Random, Subject:
		return true
	}
	return false
}

// Explicit returns f with every moving selector replaced by the nodes that it stands for
// now. Where a fault has room for one node and several are meant, there are several
// faults, in the order of their nodes; none if there is nobody.
func Explicit(f Fault, t Target, c Context) []Fault {
	var node *Selector
	f = edit(f, func(s Selector) Selector {
		node = &s
		return s
	}, func(list []Selector) []Selector {
		var out []Selector
		for _, s := range list {
			out = append(out, byName(s, t, c)...)
		}
		return out
	})
	if node == nil {
		return []Fault{f}
	}
	var out []Fault
	for _, n := range byName(*node, t, c) {
		out = append(out, edit(f, func(Selector) Selector { return n }, func(list []Selector) []Selector { return list }))
	}
	return out
}

func byName(s Selector, t Target, c Context) []Selector {
	if !s.Moving() {
		return []Selector{s}
	}
	var out []Selector
	for _, n := range t.Select(s, c) {
		out = append(out, Selector{Role: ByName, Name: n})
	}
	return out
}
