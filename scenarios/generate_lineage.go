package scenarios

import (
	"fmt"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Faults along the lineage of records (simulation 4.5). An acknowledged record rests on
// the leader's append, the fetches of the in-sync set that raised the high watermark,
// the syncs behind them, and on the state in which ZooKeeper names that set. A plan
// chooses one partition and cuts these supports one after the other, with single cuts or
// with tactics of several (generate_replication.go). A cut waits for what the one before
// brings about: a new leader, a smaller in-sync set, its proposal, the full set again.

// lineage is a plan in the making.
type lineage struct {
	tp kafka.TopicPartition
	on []*cut      // kinds that this world has
	at kafka.Nanos // nothing that comes next happens before
}

// cut is a way to take a support away from a partition's record.
type cut struct {
	name  string
	leads consequence
	lossy bool
	draw  func(w *world, p *faults.Planned, tp kafka.TopicPartition)
}

// consequence is what a cut brings about, and so what the next one may wait for.
type consequence uint8

const (
	atFirst       consequence = iota // nothing happened yet
	leaderGone                       // another one is elected
	followerGone                     // the in-sync set shrinks
	replicasApart                    // the set shrinks, unless it ends soon; clients go on
	stateUnheard                     // one side does not know what the other decided
)

var cuts = []cut{
	{"kill-leader", leaderGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Kill{Node: leaderOf(tp)})
	}},
	{"stop-leader", leaderGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Stop{Node: leaderOf(tp)})
	}},
	{"lose-power", leaderGone, true, func(w *world, p *faults.Planned, _ kafka.TopicPartition) {
		w.down(p, faults.PowerLoss{Node: w.mayLose()})
	}},
	{"pause-leader", leaderGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Pause{Node: leaderOf(tp)})
	}},
	{"isolate-leader", leaderGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Isolate{Node: leaderOf(tp)})
	}},
	{"cut-leader-from-zookeeper", leaderGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(leaderOf(tp), plain(faults.ZooKeeper)))
	}},
	{"kill-follower", followerGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Kill{Node: w.followerOf(tp)})
	}},
	{"stop-follower", followerGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Stop{Node: w.followerOf(tp)})
	}},
	{"pause-follower", followerGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Pause{Node: w.followerOf(tp)})
	}},
	{"cut-follower-from-brokers", followerGone, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(w.followerOf(tp), w.others(tp)))
	}},
	{"cut-leader-from-brokers", replicasApart, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(leaderOf(tp), w.others(tp)))
	}},
	{"hold-fetch", replicasApart, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "Fetch", false) }},
	{"hold-isr-change", stateUnheard, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "AlterPartition", false) }},
	{"lose-isr-change", stateUnheard, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "AlterPartition", true) }},
	{"hold-roles", stateUnheard, false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "LeaderAndISR", false) }},
	{"kill-controller", stateUnheard, false, func(w *world, p *faults.Planned, _ kafka.TopicPartition) { w.down(p, faults.Kill{Node: controller()}) }},
	{"pause-controller", stateUnheard, false, func(w *world, p *faults.Planned, _ kafka.TopicPartition) {
		w.lasting(p, faults.Pause{Node: controller()})
	}},
}

func leaderOf(tp kafka.TopicPartition) faults.Selector {
	return faults.Selector{Role: faults.Leader, TP: tp}
}

// followerOf is a follower, or the leader of a partition with a single replica.
func (w *world) followerOf(tp kafka.TopicPartition) faults.Selector {
	if w.replication < 2 {
		return leaderOf(tp)
	}
	return faults.Selector{Role: faults.Follower, TP: tp}
}

// others are all other brokers; the clients of a lone broker.
func (w *world) others(kafka.TopicPartition) faults.Selector {
	if w.spec.Cluster.Brokers == 1 {
		return plain(faults.Clients)
	}
	return plain(faults.Others)
}

func cutOff(a, b faults.Selector) faults.Fault { return faults.Cut{From: only(a), To: only(b)} }

// between holds or loses messages between the leader and the other brokers.
func (w *world) between(p *faults.Planned, tp kafka.TopicPartition, api string, lose bool) {
	f := faults.Message{API: api, Lose: lose, Kind: w.pick("message", "any", "request", "response"), Count: int(w.int("messages", 0, 3)),
		From: only(leaderOf(tp)), To: only(w.others(tp))}
	if f.To[0].Role == faults.Clients {
		f.API = "Produce"
	}
	if w.odd("turned", 50) {
		f.From, f.To = f.To, f.From
	}
	w.lasting(p, f)
}

// moments are the facts about the partition that a cut may follow, by what happened
// before.
var moments = [...][]func(*faults.EventTrigger){
	atFirst:       {acknowledged, acknowledged, acknowledged, elected},
	leaderGone:    {elected, elected, elected, complete, complete, preferred, proposed, followed, booted},
	followerGone:  {acknowledged, proposed, shrunk, shrunk, committed, complete, booted},
	replicasApart: {acknowledged, acknowledged, preferred, preferred, elected, proposed, shrunk},
	stateUnheard:  {acknowledged, elected, shrunk, complete, committed, truncated},
}

func acknowledged(t *faults.EventTrigger) { t.Kind, t.Acks = event.ProduceAnswered, "all" }
func elected(t *faults.EventTrigger)      { t.Kind = event.BecameLeader }
func followed(t *faults.EventTrigger)     { t.Kind = event.BecameFollower }
func proposed(t *faults.EventTrigger)     { t.Kind = event.IsrProposed }
func committed(t *faults.EventTrigger)    { t.Kind = event.IsrCommitted }
func truncated(t *faults.EventTrigger)    { t.Kind = event.Truncated }

// preferred: the lead goes back to the first replica while the old leader lives.
func preferred(t *faults.EventTrigger) { t.Kind, t.Text = event.LeaderElected, "preferred" }

func booted(t *faults.EventTrigger) {
	t.Kind, t.TP = event.NodeBooted, kafka.TopicPartition{Partition: -1}
}

// shrunk and complete are about the in-sync set in ZooKeeper; its size is filled in by
// when, which knows the partition's.
func shrunk(t *faults.EventTrigger)   { t.Kind, t.ISR = event.PartitionChanged, -1 }
func complete(t *faults.EventTrigger) { t.Kind, t.ISR = event.PartitionChanged, -2 }

// when is a trigger at the first such fact from now on, after a delay of at least min.
func (w *world) when(l *lineage, moment func(*faults.EventTrigger), min, max kafka.Nanos) faults.Trigger {
	t := &faults.EventTrigger{TP: l.tp, Nth: 1, After: l.at, DelayMin: min, DelayMax: max}
	switch moment(t); t.ISR {
	case -1:
		t.ISR = w.replication - 1
	case -2:
		t.ISR = w.replication
	}
	return faults.Trigger{At: -1, On: t}
}

// planLineage draws a plan at one partition of the first topic: one to three cuts or
// tactics. Within a world few kinds of cuts occur, and some several times. A tactic has
// time to go its way before the next thing happens: two that meet spoil each other.
func (w *world) planLineage() {
	w.chooseLossy()
	l := &lineage{tp: kafka.TopicPartition{Topic: w.spec.Topics[0].Name}, at: w.millis("lineage/first", 3500*kafka.Millisecond, 10*kafka.Second)}
	l.tp.Partition = int32(w.int("lineage/partition", 0, int64(w.spec.Topics[0].Partitions-1)))
	for i := range cuts {
		if c := &cuts[i]; (!c.lossy || len(w.lossy) > 0) && w.odd("lineage/"+c.name, 30) {
			l.on = append(l.on, c)
			w.on = append(w.on, c.name)
		}
	}
	if len(l.on) == 0 {
		l.on = append(l.on, &cuts[w.int("lineage/only", 0, 1)])
	}
	before := atFirst
	for i := range w.int("lineage/cuts", 1, 3) {
		if l.at > generatedHeal-4*kafka.Second {
			break // the faults end before it could matter
		}
		w.path = fmt.Sprintf("lineage/%d/", i)
		if w.replication > 1 && w.odd("tactic", 65) {
			w.tactic(l)
			before = leaderGone
			l.at += w.session + w.millis("gap", 2*kafka.Second, 10*kafka.Second)
		} else {
			before = w.oneCut(l, before)
			l.at += w.millis("gap", 0, 4*kafka.Second)
		}
	}
	w.path = ""
}

// oneCut draws a cut after what the one before leads to, soon or some time later.
func (w *world) oneCut(l *lineage, before consequence) consequence {
	c := l.on[w.int("kind", 0, int64(len(l.on)-1))]
	p := faults.Planned{}
	if w.odd("timed", 20) {
		p.Trigger.At = l.at
	} else {
		list := moments[before]
		p.Trigger = w.when(l, list[w.int("moment", 0, int64(len(list)-1))], 0, w.afterCause())
	}
	c.draw(w, &p, l.tp)
	w.spec.Events = append(w.spec.Events, p)
	return c.leads
}

// afterCause is how long a fault may come after its cause: at once, before or after the nodes
// that hear of it have acted, about a lag limit later.
func (w *world) afterCause() kafka.Nanos {
	switch w.int("soon", 0, 2) {
	case 0:
		return kafka.Millisecond
	case 1:
		return w.millis("delay", kafka.Millisecond, 300*kafka.Millisecond)
	}
	return w.millis("delay", w.lag/4, 2*w.lag)
}
