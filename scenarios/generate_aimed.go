package scenarios

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Faults that are aimed: at the node of what triggered them, at a disk operation, at
// the same broker twice (simulation 4.5).

// noterIsBroker reports whether a trigger's facts are noted by brokers alone, so that
// $node is one.
func noterIsBroker(t *faults.EventTrigger) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case event.LeaderElected, event.BecameLeader, event.BecameFollower, event.IsrProposed, event.IsrCommitted,
		event.Truncated, event.ControllerElected, event.NodeBooted, event.SegmentRolled:
		return true
	}
	return false
}

func subject() faults.Selector { return plain(faults.Subject) }

// aim lets one side of a message fault be the node of the triggering fact.
func (w *world) aim(f *faults.Message) {
	if !noterIsBroker(w.cause) || !w.odd("aimed", 50) {
		return
	}
	from, to := f.From[0].Role == faults.Brokers, f.To[0].Role == faults.Brokers
	if from && (!to || w.odd("aim-sender", 50)) {
		f.From = only(subject())
	} else if to {
		f.To = only(subject())
	}
}

// diskMoments are operations at which a crash leaves something half done.
var diskMoments = []struct{ op, file string }{
	{"append", "*.log"}, {"sync", "*.log"}, {"create", "*.log"}, {"truncate", "*.log"}, {"write", "*.index"},
	{"rename", "*.log"}, {"rename", "*.log.cleaned"}, {"rename", "*.log.swap"}, {"rename", "*.tmp"}, {"sync", "*.tmp"},
	{"syncdir", "*"}, {"read", "*.log"},
}

// atDisk makes p strike at a disk operation of a broker, which it takes down.
func (w *world) atDisk(p *faults.Planned, node faults.Selector, f faults.Fault) {
	m := diskMoments[w.int("moment", 0, int64(len(diskMoments)-1))]
	t := &faults.DiskTrigger{Node: node, Op: m.op, Match: m.file, Nth: int(w.int("nth-moment", 1, 25)), After: w.millis("disk-at", 3500*kafka.Millisecond, generatedHeal-4*kafka.Second)}
	switch w.int("since", 0, 3) {
	case 1:
		t.Since = event.Truncated
	case 2:
		t.Since = event.BecameLeader
	}
	p.Trigger = faults.Trigger{At: -1, Disk: t}
	w.down(p, f)
}

func (w *world) killAtDisk(p *faults.Planned) {
	n := w.number()
	w.atDisk(p, n, faults.Kill{Node: n})
}

func (w *world) powerAtDisk(p *faults.Planned) {
	n := w.mayLose()
	w.atDisk(p, n, faults.PowerLoss{Node: n})
}

// again strikes the same broker a second time, soon after it has come back, while it
// recovers or a little later.
func (w *world) again(p *faults.Planned, n faults.Selector, first, second faults.Fault) {
	w.down(p, first)
	p.RestartAfter = w.millis("back", 0, 4*kafka.Second)
	next := faults.Planned{Fault: second, RestartAfter: w.millis("back-again", 0, 4*kafka.Second)}
	next.Trigger = faults.Trigger{At: -1, On: &faults.EventTrigger{Kind: event.NodeBooted, TP: kafka.TopicPartition{Partition: -1}, Actor: &n,
		Nth: 1, After: 3500 * kafka.Millisecond, DelayMax: w.millis("again-delay", kafka.Millisecond, 6*kafka.Second)}}
	w.spec.Events = append(w.spec.Events, next)
}

func (w *world) killAgain(p *faults.Planned) {
	n := w.number()
	w.again(p, n, faults.Kill{Node: n}, faults.Kill{Node: n})
}

func (w *world) killThenPower(p *faults.Planned) {
	n := w.mayLose()
	w.again(p, n, faults.Kill{Node: n}, faults.PowerLoss{Node: n})
}

func (w *world) powerAgain(p *faults.Planned) {
	n := w.mayLose()
	w.again(p, n, faults.PowerLoss{Node: n}, faults.PowerLoss{Node: n})
}

// damageCheckpoint spoils a checkpoint that a broker can do without: it then takes the
// file for empty (storage 5.2).
func (w *world) damageCheckpoint(p *faults.Planned) {
	w.down(p, faults.Damage{Node: w.number(), How: w.pick("how", "garbage", "empty", "half", "zeros", "remove"),
		File: w.pick("checkpoint", "recovery-point-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint")})
}

// missingIndexes removes the offset indexes of a broker, which are then built anew.
func (w *world) missingIndexes(p *faults.Planned) {
	w.down(p, faults.Damage{Node: w.number(), How: "remove", File: "*.index"})
}
