package faults

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
)

// RowsOf returns the ids of the rows that a planned fault is an instance of, in the
// order of Rows. What several events make together (a swizzle, a stop that hangs behind
// a cut) and what settings make is not seen here.
func RowsOf(p *Planned) []string {
	ids := slices.Concat(kindRows(p), targetRows(p), triggerRows(p))
	place := func(id string) int { return slices.IndexFunc(Rows, func(r Row) bool { return r.ID == id }) }
	slices.SortFunc(ids, func(a, b string) int { return place(a) - place(b) })
	return slices.Compact(ids)
}

// kindRows are the rows that the fault's word and arguments mean.
func kindRows(p *Planned) []string {
	switch f := p.Fault.(type) {
	case Cut:
		return cutRows(&f)
	case Isolate:
		return []string{"N11"}
	case Link:
		return linkRows(&f.Shape)
	case Reset:
		return []string{"N20"}
	case HalfOpen:
		return []string{"N21"}
	case Flap:
		return []string{"N15", "O10"}
	case Clog:
		return []string{"N7", "N18"}
	case Message:
		return messageRows(&f)
	case SlowDisk:
		return []string{"D2", "P7", "S2"}
	case Stall:
		if p.For == 0 {
			return []string{"N23", "D3", "D4"}
		}
		return []string{"N23", "D3"}
	case DiskIO:
		return diskErrorRows(&f.Error)
	case DiskFull:
		return []string{"D25", "D26", "D27", "P13"}
	case LyingDisk:
		return []string{"D15"}
	case Damage:
		return damageRows(&f)
	case Wipe:
		return []string{"D30"}
	case Failpoint:
		return []string{"P10"}
	case Clock:
		return clockRows(&f)
	case CreatePartitions, DeleteTopic, CreateTopic:
		return []string{"O2"}
	}
	return nil
}

func cutRows(f *Cut) []string {
	if f.OneWay {
		return []string{"N12", "N30"}
	}
	if len(f.From) > 1 || len(f.To) > 1 {
		return []string{"N11", "N13"}
	}
	return []string{"N11"}
}

func linkRows(s *LinkShape) (ids []string) {
	if s.Latency > 0 || s.Jitter > 0 {
		ids = append(ids, "N1", "N3", "S2")
	}
	if s.LossPPM > 0 {
		ids = append(ids, "N4")
	}
	if s.Bandwidth > 0 {
		ids = append(ids, "N9")
	}
	return ids
}

func messageRows(f *Message) []string {
	switch {
	case !f.Lose && f.API == "OffsetCommit":
		return []string{"N7", "N28", "K9"}
	case !f.Lose:
		return []string{"N7", "N28"}
	case f.Kind == "response":
		return []string{"N29", "N30", "K1"}
	}
	return []string{"N29"}
}

func diskErrorRows(e *DiskError) (ids []string) {
	switch {
	case e.Op == "sync" && e.DropDirty:
		ids = append(ids, "D16")
	case e.Op == "write":
		ids = append(ids, "D18")
	case e.Op == "read":
		ids = append(ids, "D19")
	}
	if e.Nth > 0 {
		ids = append(ids, "D20")
	}
	return append(ids, "P13")
}

func damageRows(f *Damage) (ids []string) {
	switch {
	case strings.HasSuffix(f.File, "index"):
		ids = append(ids, "D33")
	case strings.HasSuffix(f.File, ".log"):
	default: // a checkpoint, or the epochs of a partition
		ids = append(ids, "D32")
	}
	switch f.How {
	case "garbage":
		ids = append(ids, "D9")
	case "flip":
		ids = append(ids, "D21")
	}
	return ids
}

func clockRows(f *Clock) []string {
	switch {
	case !f.Jump:
		return []string{"C1", "C8"}
	case f.Delta < 0:
		return []string{"C4", "C8"}
	}
	return []string{"C3", "C8"}
}

// targetRows are the rows that whom the fault strikes adds.
func targetRows(p *Planned) (ids []string) {
	has := func(roles ...Role) bool {
		return slices.ContainsFunc(p.Fault.Selectors(), func(s Selector) bool {
			if s.Role == Random {
				s = *s.Inner
			}
			return slices.Contains(roles, s.Role)
		})
	}
	clients, control := has(Clients, Producers, Consumers, GroupLeader), has(Controller, ZooKeeper)
	switch p.Fault.(type) {
	case Cut:
		if has(Leader, Follower, Followers, Controller, Coordinator) {
			ids = append(ids, "N14")
		}
		if clients {
			ids = append(ids, "N16")
		}
		if control {
			ids = append(ids, "N17")
		}
	case Kill:
		ids = append(ids, "N25", "P1")
		if has(Consumers, GroupLeader) {
			ids = append(ids, "K7")
		}
	case PowerLoss:
		ids = append(ids, "N25", "D6", "D35", "P2")
		if has(Rack) {
			ids = append(ids, "P14")
		}
		if has(Brokers) {
			ids = append(ids, "P15")
		}
	case Stop:
		ids = append(ids, "P3")
	case Pause:
		ids = append(ids, "N23", "P6", "C10")
		if has(Consumers, GroupLeader) {
			ids = append(ids, "K6")
		}
	}
	return ids
}

// triggerRows are the rows that the fault's moment or its repetition adds.
func triggerRows(p *Planned) (ids []string) {
	_, kill := p.Fault.(Kill)
	_, pause := p.Fault.(Pause)
	_, jump := p.Fault.(Clock)
	takesDown := kill
	switch p.Fault.(type) {
	case PowerLoss, Stop:
		takesDown = true
	}
	t := &p.Trigger
	if t.Every > 0 {
		if slices.ContainsFunc(p.Fault.Selectors(), func(s Selector) bool { return s.Role == Controller }) {
			ids = append(ids, "O6")
		}
		switch {
		case kill:
			ids = append(ids, "P12")
		case pause:
			ids = append(ids, "P5", "O10")
		case jump:
			ids = append(ids, "C5")
		}
	}
	if takesDown && (t.Disk != nil || t.On != nil) {
		ids = append(ids, "P10")
	}
	if takesDown && (t.Disk != nil && t.Disk.Op == "read" || t.On != nil && t.On.Kind == event.ReplicaLoaded) {
		ids = append(ids, "P11")
	}
	return ids
}
