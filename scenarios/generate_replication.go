package scenarios

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// idleTimes lets producers write at the beginning or at the end only: leaders change that
// write nothing. Swarms with it are cheaper, too.
func (w *world) idleTimes() {
	if !w.odd("idle-times", 35) {
		return
	}
	w.on = append(w.on, "idle-times")
	for i := range w.spec.Producers {
		p := &w.spec.Producers[i]
		if w.odd("idle-later/"+p.Name, 50) {
			p.Start = w.millis("idle-until/"+p.Name, 12*kafka.Second, 32*kafka.Second)
		} else {
			p.Stop = w.millis("idle-from/"+p.Name, 4*kafka.Second, 14*kafka.Second)
		}
	}
}

// monitors let applications watch the end offsets (KIP-207).
func (w *world) monitors() {
	for i := range w.spec.Consumers {
		if c := &w.spec.Consumers[i]; c.Group == "" && (w.odd("monitor/"+c.Name, 25) || w.guided && w.odd("monitor-guided/"+c.Name, 25)) {
			c.EndOffsets = w.millis("end-offsets/"+c.Name, 50*kafka.Millisecond, 500*kafka.Millisecond)
		}
	}
}

// Tactics: several cuts at one partition that only together get at what replication rests
// on. Most of its bugs need two changes of the leader, or a leader that goes while a
// replica is behind, or a change of the in-sync set that only one side knows of (bugs.md
// ); faults that are drawn one by one seldom meet at the same partition.

var tactics = [...]func(*world, *lineage){(*world).leaderGoesTwice, (*world).leaderGoesTwice, (*world).leaderGoesWhileOneIsBehind, (*world).decisionUnheard, (*world).lifeEndsEarly}

func (w *world) tactic(l *lineage) { tactics[w.int("which-tactic", 0, int64(len(tactics)-1))](w, l) }

// plan appends a fault.
func (w *world) plan(t faults.Trigger, f faults.Fault, last kafka.Nanos) {
	p := faults.Planned{Trigger: t, Fault: f}
	switch f.(type) {
	case faults.Kill, faults.Stop, faults.PowerLoss:
		p.RestartAfter = last
	default:
		p.For = last
	}
	w.spec.Events = append(w.spec.Events, p)
}

// leaderFails takes the lead away from whoever has it.
func (w *world) leaderFails(name string, l *lineage) faults.Fault {
	switch w.int(name, 0, 5) {
	case 0:
		return faults.Stop{Node: leaderOf(l.tp)}
	case 1:
		return cutOff(leaderOf(l.tp), plain(faults.ZooKeeper))
	}
	return faults.Kill{Node: leaderOf(l.tp)}
}

// followerFails keeps a follower from fetching.
func (w *world) followerFails(name string, l *lineage) faults.Fault {
	switch w.int(name, 0, 3) {
	case 0:
		return faults.Pause{Node: w.followerOf(l.tp)}
	case 1:
		return cutOff(w.followerOf(l.tp), w.others(l.tp))
	}
	return faults.Kill{Node: w.followerOf(l.tp)}
}

// leaderGoesTwice: a leader goes, and its successor too, as soon as it leads, or once the
// in-sync set is complete, or when the first one has its lead back. In between the
// replicas may not hear each other, for less than replica.lag.time.max.ms or a little
// longer, so that what one epoch wrote does not reach the others.
func (w *world) leaderGoesTwice(l *lineage) {
	w.plan(w.when(l, acknowledged, 0, w.afterCause()), w.leaderFails("first", l), w.backAfter("back", 3*kafka.Second))
	which := w.int("second-when", 0, 3)
	switch {
	case w.setting("leader.imbalance.check.interval.seconds") == 0:
		which %= 2 // nobody gets its lead back
	case w.movesLead && w.odd("when-it-is-back", 60):
		which = 2
	}
	apart := w.odd("apart", 60) || which > 1 && w.odd("apart-then", 60)
	separate := func(moment func(*faults.EventTrigger)) {
		if apart {
			w.plan(w.when(l, moment, 0, w.millis("apart-after", kafka.Millisecond, 300*kafka.Millisecond)), cutOff(leaderOf(l.tp), w.others(l.tp)),
				w.millis("apart-for", w.lag/2, w.lag+6*kafka.Second))
		}
	}
	second := elected
	switch which {
	case 0:
		separate(elected)
	case 1:
		second = complete
		separate(complete)
	default:
		second = preferred
		separate(complete)
	}
	w.plan(w.when(l, second, 0, w.millis("second-after", kafka.Millisecond, w.lag)), w.leaderFails("second", l), w.backAfter("back-again", 6*kafka.Second))
}

// backAfter is how long a broker is down: in most cases until its session has ended, so
// that another one leads meanwhile.
func (w *world) backAfter(name string, longer kafka.Nanos) kafka.Nanos {
	if w.odd(name+"-soon", 20) {
		return w.millis(name, 200*kafka.Millisecond, w.session)
	}
	return w.session + w.millis(name, 200*kafka.Millisecond, longer)
}

// leaderGoesWhileOneIsBehind: a follower does not fetch; when it has left the in-sync set,
// the leader goes, for longer; with the new leader the follower comes back.
func (w *world) leaderGoesWhileOneIsBehind(l *lineage) {
	away := w.lag + w.session + w.millis("behind", 0, 4*kafka.Second)
	w.plan(w.when(l, acknowledged, 0, w.afterCause()), w.followerFails("behind-by", l), away)
	w.plan(w.when(l, shrunk, 0, w.millis("leader-after", kafka.Millisecond, 3*kafka.Second)), w.leaderFails("leader-by", l),
		w.session+w.millis("leader-back", kafka.Second, 12*kafka.Second))
}

// decisionUnheard: the in-sync set changes, and what is said about it between leader and
// controller is lost, or comes late.
func (w *world) decisionUnheard(l *lineage) {
	var f0 faults.Fault = cutOff(w.followerOf(l.tp), w.others(l.tp))
	if w.odd("change-otherwise", 40) {
		f0 = w.followerFails("change-by", l)
	}
	w.plan(w.when(l, acknowledged, 0, w.afterCause()), f0, w.lag+w.millis("change-for", 0, 4*kafka.Second))
	moment := []func(*faults.EventTrigger){proposed, proposed, proposed, shrunk}[w.int("unheard-when", 0, 3)]
	f := faults.Message{API: "AlterPartition", Kind: w.pick("unheard-message", "response", "response", "request"), Count: int(w.int("unheard-count", 0, 2)),
		Lose: w.odd("unheard-lost", 60), From: only(plain(faults.Others)), To: only(leaderOf(l.tp))}
	if f.Kind == "request" {
		f.From, f.To = f.To, f.From
	}
	if w.odd("unheard-roles", 15) {
		f.API, f.Kind, f.From, f.To = "LeaderAndISR", "request", only(controller()), only(leaderOf(l.tp))
	}
	w.plan(w.when(l, moment, 0, kafka.Millisecond), f, w.millis("unheard-for", 200*kafka.Millisecond, w.lag+4*kafka.Second))
}

// lifeEndsEarly: what a record rests on is written anew in each life of a broker, in each
// term of a leader, at each registration; the process ends, or who should hear of it does
// not, just then (generate_restart.go).
func (w *world) lifeEndsEarly(l *lineage) {
	p := faults.Planned{Trigger: faults.Trigger{At: l.at}}
	restartFaults[w.int("which-life", 0, int64(len(restartFaults)-1))].draw(w, &p)
	w.spec.Events = append(w.spec.Events, p)
}
