package faults

// Rebind returns a fault like f with every selector replaced by what swap makes of it.
func Rebind(f Fault, swap func(Selector) Selector) Fault {
	all := func(list []Selector) []Selector {
		out := make([]Selector, len(list))
		for i, s := range list {
			out[i] = swap(s)
		}
		return out
	}
	switch f := f.(type) {
	case Kill:
		f.Node = swap(f.Node)
		return f
	case PowerLoss:
		f.Node = swap(f.Node)
		return f
	case Stop:
		f.Node = swap(f.Node)
		return f
	case Restart:
		f.Node = swap(f.Node)
		return f
	case Pause:
		f.Node = swap(f.Node)
		return f
	case Resume:
		f.Node = swap(f.Node)
		return f
	case Clock:
		f.Node = swap(f.Node)
		return f
	case Cut:
		f.From, f.To = all(f.From), all(f.To)
		return f
	case Isolate:
		f.Node, f.Except = swap(f.Node), all(f.Except)
		return f
	case Link:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case Reset:
		f.A, f.B = all(f.A), all(f.B)
		return f
	case SlowDisk:
		f.Node = swap(f.Node)
		return f
	case Stall:
		f.Node = swap(f.Node)
		return f
	case DiskIO:
		f.Node = swap(f.Node)
		return f
	case DiskFull:
		f.Node = swap(f.Node)
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
		f.Node = swap(f.Node)
		return f
	case Wipe:
		f.Node = swap(f.Node)
		return f
	case LyingDisk:
		f.Node = swap(f.Node)
		return f
	case Failpoint:
		f.Node = swap(f.Node)
		return f
	case CreatePartitions: // concerns no node
		return f
	}
	panic("faults: " + f.Word() + " cannot be rebound")
}
