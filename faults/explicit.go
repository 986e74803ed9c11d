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
	named := func(list []Selector) []Selector {
		var out []Selector
		for _, s := range list {
			out = append(out, byName(s, t, c)...)
		}
		return out
	}
	switch f := f.(type) {
	case Cut:
		f.From, f.To = named(f.From), named(f.To)
		return []Fault{f}
	case Link:
		f.A, f.B = named(f.A), named(f.B)
		return []Fault{f}
	case Reset:
		f.A, f.B = named(f.A), named(f.B)
		return []Fault{f}
	case Message:
		f.From, f.To = named(f.From), named(f.To)
		return []Fault{f}
	case Clog:
		f.From, f.To = named(f.From), named(f.To)
		return []Fault{f}
	case HalfOpen:
		f.A, f.B = named(f.A), named(f.B)
		return []Fault{f}
	case Flap:
		f.A, f.B = named(f.A), named(f.B)
		return []Fault{f}
	case CreatePartitions:
		return []Fault{f}
	case Isolate:
		f.Except = named(f.Except)
		return eachNode(f, f.Node, t, c)
	}
	return eachNode(f, f.Selectors()[0], t, c)
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

// eachNode is f once for each node that its one moving selector stands for.
func eachNode(f Fault, s Selector, t Target, c Context) []Fault {
	var out []Fault
	for _, n := range byName(s, t, c) {
		out = append(out, Rebind(f, func(s Selector) Selector {
			if s.Moving() {
				return n
			}
			return s
		}))
	}
	return out
}
