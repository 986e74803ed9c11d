package scenarios

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// drawnFault is a kind of fault that a world may have.
type drawnFault struct {
	name  string
	lossy bool // what a broker has not synced may be lost: the budget counts it
	draw  func(w *world, p *faults.Planned)
}

// drawnFaults are in the order of their switches. Those that isolate one node, or
// make an operation fail, find most (simulation 4.1) and are several.
var drawnFaults = []drawnFault{
	{"kill", false, func(w *world, p *faults.Planned) { w.down(p, faults.Kill{Node: w.broker()}) }},
	{"kill-controller", false, func(w *world, p *faults.Planned) { w.down(p, faults.Kill{Node: controller()}) }},
	{"stop", false, func(w *world, p *faults.Planned) { w.down(p, faults.Stop{Node: w.broker()}) }},
	{"power-loss", true, func(w *world, p *faults.Planned) { w.down(p, faults.PowerLoss{Node: w.mayLose()}) }},
	{"power-loss-everywhere", true, (*world).powerEverywhere},
	{"pause", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Pause{Node: w.broker()}) }},
	{"pause-controller", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Pause{Node: controller()}) }},
	{"pause-client", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Pause{Node: random(faults.Clients)}) }},
	{"isolate", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Isolate{Node: w.broker()}) }},
	{"isolate-from-brokers", false, func(w *world, p *faults.Planned) { w.lasting(p, w.cut(plain(faults.Others))) }},
	{"isolate-from-zookeeper", false, func(w *world, p *faults.Planned) { w.lasting(p, w.cut(plain(faults.ZooKeeper))) }},
	{"isolate-from-clients", false, func(w *world, p *faults.Planned) { w.lasting(p, w.cut(plain(faults.Clients))) }},
	{"isolate-from-controller", false, (*world).fromController},
	{"loss", false, func(w *world, p *faults.Planned) {
		w.badLink(p, faults.LinkShape{LossPPM: 10_000 * w.int("loss", 1, 30)})
	}},
	{"latency", false, func(w *world, p *faults.Planned) {
		w.badLink(p, faults.LinkShape{Latency: w.millis("latency", kafka.Millisecond, kafka.Second), Jitter: w.millis("jitter", 0, kafka.Second)})
	}},
	{"bandwidth", false, func(w *world, p *faults.Planned) {
		w.badLink(p, faults.LinkShape{Bandwidth: w.int("bandwidth", 2000, 200_000)})
	}},
	{"reset", false, (*world).resets},
	{"half-open", false, func(w *world, p *faults.Planned) {
		a, b := w.twoSides()
		p.Fault = faults.HalfOpen{A: a, B: b}
	}},
	{"flap", false, func(w *world, p *faults.Planned) {
		a, b := w.twoSides()
		w.lasting(p, faults.Flap{A: a, B: b, Down: w.millis("cut", 50*kafka.Millisecond, 2*kafka.Second), Up: w.millis("up", 50*kafka.Millisecond, 2*kafka.Second)})
	}},
	{"clog", false, func(w *world, p *faults.Planned) {
		a, b := w.twoSides()
		w.lasting(p, faults.Clog{From: a, To: b})
	}},
	{"hold", false, func(w *world, p *faults.Planned) { w.message(p, false) }},
	{"lose", false, func(w *world, p *faults.Planned) { w.message(p, true) }},
	{"lying-disk", true, func(w *world, p *faults.Planned) { w.lasting(p, faults.LyingDisk{Node: w.mayLose()}) }},
	{"slow-disk", false, func(w *world, p *faults.Planned) {
		w.lasting(p, faults.SlowDisk{Node: w.broker(), Factor: w.int("factor", 10, 20_000)})
	}},
	{"stall-disk", false, func(w *world, p *faults.Planned) {
		w.lasting(p, faults.Stall{Node: w.broker()})
		if w.odd("to-the-heal", 20) {
			p.For = 0
		}
	}},
	{"disk-full", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.DiskFull{Node: w.broker()}) }},
	{"disk-error", false, (*world).diskFails},
	{"clock-offset", false, func(w *world, p *faults.Planned) {
		w.lasting(p, faults.Clock{Node: w.broker(), Delta: w.millis("by", -kafka.Hour, kafka.Hour)})
	}},
	{"clock-jump", false, func(w *world, p *faults.Planned) {
		p.Fault = faults.Clock{Node: w.broker(), Delta: w.millis("by", -10*kafka.Minute, 10*kafka.Minute), Jump: true}
	}},
	{"kill-at-disk", false, (*world).killAtDisk},
	{"power-loss-at-disk", true, (*world).powerAtDisk},
	{"kill-again", false, (*world).killAgain},
	{"kill-then-power-loss", true, (*world).killThenPower},
	{"power-loss-again", true, (*world).powerAgain},
	{"damaged-checkpoint", false, (*world).damageCheckpoint},
	{"missing-indexes", false, (*world).missingIndexes},
}

// pastFaults are those that no setting promises to survive.
var pastFaults = []drawnFault{
	{"wiped-disk", true, func(w *world, p *faults.Planned) { w.down(p, faults.Wipe{Node: w.mayLose()}) }},
}

// budget is how many brokers may lose data that they have not synced: one fewer than
// min.insync.replicas. Kafka promises that much for a record that acks=all
// acknowledged (bugs.md 2.4). Where each record is synced, nothing can be lost.
func (w *world) budget() int {
	switch {
	case w.m.beyond || w.setting("log.flush.interval.messages") == 1:
		return w.spec.Cluster.Brokers
	}
	return w.minISR - 1
}

// chooseLossy chooses the brokers that may lose unsynced data.
func (w *world) chooseLossy() {
	first := int(w.int("lossy", 0, int64(w.spec.Cluster.Brokers-1)))
	for i := range w.budget() {
		w.lossy = append(w.lossy, kafka.BrokerHost(kafka.NodeID((first+i)%w.spec.Cluster.Brokers+1)))
	}
}

// faults draws which kinds there are, then one to four of them, seldom more.
func (w *world) faults() {
	w.chooseLossy()
	var on []*drawnFault
	all := slices.Concat(drawnFaults, restartFaults)
	if w.m.beyond {
		all = append(all, pastFaults...)
	}
	for i := range all {
		f := &all[i]
		if (!f.lossy || len(w.lossy) > 0) && w.swarm(f.name) {
			on = append(on, f)
		}
	}
	if len(on) == 0 {
		on = append(on, &drawnFaults[w.int("only", 0, 2)])
	}
	n := w.int("faults", 1, 4)
	if w.odd("many", 15) {
		n *= 3
	}
	for i := range n {
		w.path = fmt.Sprintf("fault/%d/", i)
		f := on[w.int("kind", 0, int64(len(on)-1))]
		var p faults.Planned
		w.trigger(&p)
		w.cause = p.Trigger.On
		f.draw(w, &p)
		w.repeat(&p)
		w.spec.Events = append(w.spec.Events, p)
	}
	w.path, w.cause = "", nil
	w.groupFaults()
}

// trigger: at a time, or in three of ten cases soon after something happened.
func (w *world) trigger(p *faults.Planned) {
	p.Trigger.At = w.millis("at", 3500*kafka.Millisecond, generatedHeal-2*kafka.Second)
	if !w.odd("triggered", 30) {
		return
	}
	on := &faults.EventTrigger{TP: kafka.TopicPartition{Partition: -1}, After: p.Trigger.At, Nth: int(w.int("nth", 1, 4)),
		DelayMin: 0, DelayMax: w.millis("delay", kafka.Millisecond, 500*kafka.Millisecond)}
	on.Kind = []event.Kind{event.RecordAcked, event.LeaderElected, event.BecameLeader, event.BecameFollower, event.IsrProposed,
		event.IsrCommitted, event.Truncated, event.ControllerElected, event.NodeBooted, event.SegmentRolled, event.PartitionChanged,
		event.SessionExpired}[w.int("event", 0, 11)]
	if on.Kind == event.PartitionChanged && w.odd("isr-size", 50) {
		on.ISR = int(w.int("isr", 1, int64(max(1, w.replication-1))))
	}
	p.Trigger = faults.Trigger{At: -1, On: on}
}

// repeat lets one in ten of the faults that begin at a time and end by themselves strike
// a few times, each time for as long, with as long a rest at least.
func (w *world) repeat(p *faults.Planned) {
	lasts := max(p.For, p.RestartAfter)
	if p.Trigger.At < 0 || lasts == 0 || !w.odd("repeated", 10) {
		return
	}
	every := lasts + w.millis("rest", lasts, lasts+2*kafka.Second)
	p.Trigger = faults.Trigger{At: -1, Every: every, From: p.Trigger.At, Times: int(w.int("times", 2, 5))}
}

// powerEverywhere takes the power from a rack, or from all brokers, where all of them
// may lose it.
func (w *world) powerEverywhere(p *faults.Planned) {
	c := &w.spec.Cluster
	switch {
	case len(w.lossy) < c.Brokers:
		w.down(p, faults.PowerLoss{Node: w.mayLose()})
	case len(c.Racks) > 0 && w.odd("rack", 50):
		w.down(p, faults.PowerLoss{Node: faults.Selector{Role: faults.Rack, Name: c.Racks[w.int("of", 0, int64(len(c.Racks)-1))]}})
	default:
		w.down(p, faults.PowerLoss{Node: plain(faults.Brokers)})
	}
}

// span draws how long something lasts: shorter than anything notices, about the lag
// limit, about a session, or long.
func (w *world) span(name string) kafka.Nanos {
	switch w.int(name+"-class", 0, 3) {
	case 0:
		return w.millis(name, kafka.Millisecond, 500*kafka.Millisecond)
	case 1:
		return w.millis(name, w.lag/2, 2*w.lag)
	case 2:
		return w.millis(name, w.session/2, 2*w.session)
	}
	return w.millis(name, 2*kafka.Second, 15*kafka.Second)
}

func (w *world) down(p *faults.Planned, f faults.Fault) { p.Fault, p.RestartAfter = f, w.span("down") }
func (w *world) lasting(p *faults.Planned, f faults.Fault) {
	p.Fault, p.For = f, w.span("for")
}

func plain(r faults.Role) faults.Selector      { return faults.Selector{Role: r} }
func controller() faults.Selector              { return plain(faults.Controller) }
func named(name string) faults.Selector        { return faults.Selector{Role: faults.ByName, Name: name} }
func only(s faults.Selector) []faults.Selector { return []faults.Selector{s} }
func random(r faults.Role) faults.Selector {
	inner := plain(r)
	return faults.Selector{Role: faults.Random, Inner: &inner}
}

// broker is one broker, by role as often as by number.
func (w *world) broker() faults.Selector {
	if noterIsBroker(w.cause) && w.odd("subject", 40) {
		return subject()
	}
	switch w.int("who", 0, 4) {
	case 0:
		return faults.Selector{Role: faults.Leader, TP: w.anyPartition()}
	case 1:
		if w.replication > 1 && w.spec.Topics[len(w.spec.Topics)-1].Replication > 1 {
			return faults.Selector{Role: faults.Follower, TP: w.anyPartition()}
		}
	case 2:
		return random(faults.Brokers)
	}
	return w.number()
}

func (w *world) number() faults.Selector {
	return named(kafka.BrokerHost(kafka.NodeID(w.int("number", 1, int64(w.spec.Cluster.Brokers)))))
}

// mayLose is one of the brokers that may lose what they have not synced.
func (w *world) mayLose() faults.Selector {
	return named(w.lossy[w.int("loser", 0, int64(len(w.lossy)-1))])
}

// cut silences a broker towards others, in one direction in half of the cases.
func (w *world) cut(others faults.Selector) faults.Fault {
	f := faults.Cut{From: only(w.number()), To: only(others)}
	if others.Role == faults.Others && w.spec.Cluster.Brokers == 1 {
		f.To = only(plain(faults.Clients))
	}
	switch w.int("direction", 0, 3) {
	case 1:
		f.OneWay = true
	case 2:
		f.From, f.To, f.OneWay = f.To, f.From, true
	}
	return f
}

func (w *world) fromController(p *faults.Planned) {
	f := faults.Cut{From: only(controller()), To: only(plain(faults.Others)), OneWay: w.odd("one-way", 50)}
	if w.spec.Cluster.Brokers == 1 {
		f.To = only(plain(faults.ZooKeeper))
	}
	w.lasting(p, f)
}

func (w *world) badLink(p *faults.Planned, s faults.LinkShape) {
	f := faults.Link{A: only(plain(faults.Brokers)), B: only(plain(faults.Brokers)), Shape: s}
	switch w.int("link", 0, 3) {
	case 1:
		f.B = only(plain(faults.Clients))
	case 2:
		f.B = only(plain(faults.ZooKeeper))
	case 3:
		f.A, f.B = only(w.number()), only(plain(faults.ZooKeeper))
		if w.spec.Cluster.Brokers > 1 {
			f.B = only(plain(faults.Others))
		}
	}
	if f.A[0] == f.B[0] && w.spec.Cluster.Brokers == 1 {
		f.B = only(plain(faults.Clients))
	}
	w.lasting(p, f)
}

// twoSides are two sets of nodes with connections between them.
func (w *world) twoSides() (a, b []faults.Selector) {
	a, b = only(w.number()), only(plain([]faults.Role{faults.Others, faults.ZooKeeper, faults.Clients}[w.int("side", 0, 2)]))
	if b[0].Role == faults.Others && w.spec.Cluster.Brokers == 1 {
		b = only(plain(faults.Clients))
	}
	if w.odd("turned", 50) {
		a, b = b, a
	}
	return a, b
}

// message keeps or loses messages of one kind. Those about the in-sync set are drawn
// most often: most rules that nothing else finds are theirs (bugs.md 2).
func (w *world) message(p *faults.Planned, lose bool) {
	f := faults.Message{Lose: lose, Kind: w.pick("message", "any", "request", "response"), Count: int(w.int("messages", 0, 3))}
	f.API = w.pick("api", "AlterPartition", "AlterPartition", "LeaderAndISR", "UpdateMetadata", "StopReplica", "Fetch", "Produce", "ListOffsets", "")
	f.From, f.To = only(plain(faults.Brokers)), only(plain(faults.Brokers))
	switch f.API {
	case "Fetch", "ListOffsets":
		if w.odd("clients", 30) {
			f.To = only(plain(faults.Clients))
		}
	case "Produce":
		f.To = only(plain(faults.Clients))
	case "":
		f.To = only(plain(faults.ZooKeeper))
	}
	if f.To[0].Role == faults.Brokers && w.spec.Cluster.Brokers == 1 {
		f.API, f.To = "", only(plain(faults.ZooKeeper))
	}
	if f.To[0].Role != faults.Brokers && w.odd("turned", 50) {
		f.From, f.To = f.To, f.From
	}
	w.aim(&f)
	w.lasting(p, f)
}

func (w *world) resets(p *faults.Planned) {
	p.Fault = faults.Reset{A: only(plain(faults.Brokers)), B: only(plain([]faults.Role{faults.Clients, faults.ZooKeeper}[w.int("with", 0, 1)]))}
}

// diskFails: a broker halts at the first error of its only log directory.
func (w *world) diskFails(p *faults.Planned) {
	f := faults.DiskIO{Node: w.broker(), Error: faults.DiskError{Op: w.pick("op", "write", "sync", "read"), Nth: int(w.int("nth-op", 1, 30))}}
	if len(w.lossy) > 0 && f.Error.Op == "sync" && w.odd("drop", 30) {
		f.Node, f.Error.DropDirty = w.mayLose(), true
	}
	w.lasting(p, f)
}
