package faults

// edit returns a fault like f with its selectors replaced: the one of a fault, or of a side
// of it, that stands for a single node by one, those of sides that may list several by all.
// It is the one place that knows which fault has what.
func edit(f Fault, one func(Selector) Selector, all func([]Selector) []Selector) Fault {
	switch f := f.(type) {
	case Kill:
		f.Node = one(f.Node)
		return f
	case PowerLoss:
		f.Node = one(f.Node)
		return f
	case Stop:
		f.Node = one(f.Node)
		return f
	case Restart:
		f.Node = one(f.Node)
		return f
	case Pause:
		f.Node = one(f.Node)
		return f
	case Resume:
		f.Node = one(f.Node)
		return f
	case Clock:
		f.Node = one(f.Node)
		return f
	case Cut:
		f.From, f.To = all(f.From), all(f.To)
		return f
	case Isolate:
		f.Node, f.Except = one(f.Node), all(f.Except)
		return f
	case Link:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case Reset:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case SlowDisk:
		f.Node = one(f.Node)
		return f
	case Stall:
		f.Node = one(f.Node)
		return f
	case DiskIO:
		f.Node = one(f.Node)
		return f
	case DiskFull:
		f.Node = one(f.Node)
		return f
	case Message:
		f.From, f.To = all(f.From), all(f.To)
		return f
	case Clog:
		f.From, f.To = all(f.From), all(f.To)
		return f
	case HalfOpen:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case Flap:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case Damage:
		f.Node = one(f.Node)
		return f
	case Wipe:
		f.Node = one(f.Node)
		return f
	case LyingDisk:
		f.Node = one(f.Node)
		return f
	case Failpoint:
		f.Node = one(f.Node)
		return f
	case CreatePartitions, DeleteTopic, CreateTopic: // concern no node
		return f
	}
	panic("faults: the selectors of " + f.Word() + " are not known")
}

// Rebind returns a fault like f with every selector replaced by what swap makes of it.
func Rebind(f Fault, swap func(Selector) Selector) Fault {
	return edit(f, swap, func(list []Selector) []Selector {
		out := make([]Selector, len(list))
		for i, s := range list {
			out[i] = swap(s)
		}
		return out
	})
}
