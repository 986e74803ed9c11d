package scenarios

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Faults at the borders of a broker's lives: what a stop, a start, the end of a session
// or an election has just written, or just told somebody. Each is a pair: one event that
// brings the moment about, and one that waits for the fact and strikes there.

// restartFaults are the kinds of this file, in the order of their switches.
var restartFaults = []drawnFault{
	{"crash-after-stop", false, (*world).crashAfterStop},
	{"crash-after-election", false, (*world).crashAfterElection},
	{"late-watch", false, (*world).lateWatch},
	{"lost-zookeeper-answer", false, (*world).lostZooKeeperAnswer},
}

// crash is a kill of any broker, or, as often where there is one that may lose unsynced
// data, a power loss of that one.
func (w *world) crash() (faults.Selector, faults.Fault) {
	if len(w.lossy) > 0 && w.odd("power", 60) {
		n := w.mayLose()
		return n, faults.PowerLoss{Node: n}
	}
	n := w.number()
	return n, faults.Kill{Node: n}
}

// begin is when p can strike at the earliest.
func begin(p *faults.Planned) kafka.Nanos {
	if p.Trigger.On != nil {
		return p.Trigger.On.After
	}
	return max(p.Trigger.At, 0)
}

// soon draws a delay: as short as a message takes, or longer.
func (w *world) soon(name string, longest kafka.Nanos) kafka.Nanos {
	switch w.int(name+"-class", 0, 2) {
	case 0:
		return w.millis(name, kafka.Millisecond, 20*kafka.Millisecond)
	case 1:
		return w.millis(name, kafka.Millisecond, longest/10)
	}
	return w.millis(name, kafka.Millisecond, longest)
}

// after appends an event that follows p's: fault strikes upon a fact from p on.
func (w *world) after(p *faults.Planned, on *faults.EventTrigger, f faults.Planned) {
	on.TP, on.After = kafka.TopicPartition{Partition: -1}, max(on.After, begin(p))
	f.Trigger = faults.Trigger{At: -1, On: on}
	w.spec.Events = append(w.spec.Events, f)
}

// crashAfterStop stops a broker cleanly; in its next life, while it loads its logs or when
// it serves again, it crashes. What a clean stop leaves is true for one start only.
func (w *world) crashAfterStop(p *faults.Planned) {
	n, crash := w.crash()
	w.down(p, faults.Stop{Node: n})
	p.RestartAfter = w.millis("back", 0, 4*kafka.Second)
	w.after(p, &faults.EventTrigger{Kind: event.NodeBooted, Actor: &n, Nth: 1, DelayMax: w.soon("crash-delay", 10*kafka.Second)},
		faults.Planned{Fault: crash, RestartAfter: w.millis("back-again", 0, 4*kafka.Second)})
}

// crashAfterElection takes a broker down that has just taken office or cut its log. The
// other one, whose going away makes elections, comes back or not before.
func (w *world) crashAfterElection(p *faults.Planned) {
	n, crash := w.crash()
	cause := []faults.Fault{faults.Kill{Node: w.broker()}, faults.Stop{Node: w.broker()}}[w.int("cause", 0, 1)]
	w.down(p, cause)
	kind := []event.Kind{event.BecameLeader, event.BecameFollower, event.Truncated}[w.int("moment", 0, 2)]
	w.after(p, &faults.EventTrigger{Kind: kind, Actor: &n, Nth: int(w.int("nth-moment", 1, 3)), DelayMax: w.soon("crash-delay", 5*kafka.Second)},
		faults.Planned{Fault: crash, RestartAfter: w.span("crash-down")})
}

// registrationChanges takes a broker's registration away and has it made anew: a process
// dies and another one waits for the end of its session, or a living one loses its session.
func (w *world) registrationChanges(p *faults.Planned) (n faults.Selector) {
	n = w.number()
	switch w.int("why", 0, 3) {
	case 0, 1:
		w.down(p, faults.Kill{Node: n})
		p.RestartAfter = w.millis("back", 0, w.session)
	case 2:
		w.down(p, faults.Stop{Node: n})
		p.RestartAfter = w.millis("back", 0, kafka.Second)
	default:
		p.Fault, p.For = faults.Cut{From: only(n), To: only(plain(faults.ZooKeeper))}, w.millis("cut-off", w.session, 2*w.session)
	}
	return n
}

// lateWatch keeps the controller from hearing what changes in ZooKeeper while a broker's
// registration goes and comes back: it stands still, or what ZooKeeper sends it is late.
// When it looks it finds the present state, and must tell by it what has happened.
func (w *world) lateWatch(p *faults.Planned) {
	w.registrationChanges(p)
	blind := faults.Planned{For: w.millis("blind", 100*kafka.Millisecond, max(w.session, 2*kafka.Second))}
	switch w.int("blindness", 0, 2) {
	case 0:
		blind.Fault = faults.Pause{Node: controller()}
	case 1:
		blind.Fault = faults.Clog{From: only(plain(faults.ZooKeeper)), To: only(controller())}
	default:
		blind.Fault = faults.Message{From: only(plain(faults.ZooKeeper)), To: only(controller()), Kind: "any", Count: int(w.int("messages", 0, 3))}
	}
	w.after(p, &faults.EventTrigger{Kind: event.BrokerUnregistered, Nth: 1}, blind)
}

// commits are the facts that ZooKeeper notes as it commits; the answer is still to come.
var commits = [...]event.Kind{event.BrokerRegistered, event.BrokerRegistered, event.BrokerUnregistered, event.PartitionChanged, event.ControlWrite}

// lostZooKeeperAnswer loses what ZooKeeper sends a broker just after it has committed a
// change (N30). Who asked has to ask again, and finds its own work done.
func (w *world) lostZooKeeperAnswer(p *faults.Planned) {
	w.registrationChanges(p)
	kind := commits[w.int("commit", 0, int64(len(commits)-1))]
	f := faults.Message{From: only(plain(faults.ZooKeeper)), To: only(plain(faults.Brokers)), Kind: w.pick("message", "response", "any"),
		Count: int(w.int("messages", 1, 3)), Lose: true}
	w.after(p, &faults.EventTrigger{Kind: kind, Nth: int(w.int("nth-commit", 1, 2))},
		faults.Planned{Fault: f, For: w.millis("lossy", kafka.Millisecond, w.session/2)})
}
