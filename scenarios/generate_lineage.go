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
// chooses one partition and cuts these supports one after the other: each cut waits for
// a fact about this partition that comes after the one before, as the answer to a
// produce request, a change of its in-sync set, a new leader or a truncation.

// cut is a way to take a support away from a partition's record.
type cut struct {
	name  string
	lossy bool
	draw  func(w *world, p *faults.Planned, tp kafka.TopicPartition)
}

var cuts = []cut{
	{"kill-leader", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.down(p, faults.Kill{Node: leaderOf(tp)}) }},
	{"kill-follower", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Kill{Node: w.followerOf(tp)})
	}},
	{"stop-leader", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.down(p, faults.Stop{Node: leaderOf(tp)}) }},
	{"stop-follower", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.down(p, faults.Stop{Node: w.followerOf(tp)})
	}},
	{"lose-power", true, func(w *world, p *faults.Planned, _ kafka.TopicPartition) {
		w.down(p, faults.PowerLoss{Node: w.mayLose()})
	}},
	{"pause-leader", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Pause{Node: leaderOf(tp)})
	}},
	{"pause-follower", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Pause{Node: w.followerOf(tp)})
	}},
	{"isolate-leader", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, faults.Isolate{Node: leaderOf(tp)})
	}},
	{"cut-leader-from-zookeeper", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(leaderOf(tp), plain(faults.ZooKeeper)))
	}},
	{"cut-leader-from-brokers", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(leaderOf(tp), w.others(tp)))
	}},
	{"cut-follower-from-brokers", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) {
		w.lasting(p, cutOff(w.followerOf(tp), w.others(tp)))
	}},
	{"hold-fetch", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "Fetch", false) }},
	{"hold-isr-change", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "AlterPartition", false) }},
	{"lose-isr-change", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "AlterPartition", true) }},
	{"hold-roles", false, func(w *world, p *faults.Planned, tp kafka.TopicPartition) { w.between(p, tp, "LeaderAndISR", false) }},
	{"kill-controller", false, func(w *world, p *faults.Planned, _ kafka.TopicPartition) { w.down(p, faults.Kill{Node: controller()}) }},
	{"pause-controller", false, func(w *world, p *faults.Planned, _ kafka.TopicPartition) {
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

// supports are the facts that a cut may follow.
var supports = [...]event.Kind{event.ProduceAnswered, event.ProduceAnswered, event.PartitionChanged, event.BecameLeader, event.BecameFollower,
	event.IsrProposed, event.IsrCommitted, event.Truncated, event.NodeBooted}

// lineage draws a chain of cuts at one partition of the first topic. Within a world few
// kinds of cuts occur, and some several times.
func (w *world) lineage() {
	w.chooseLossy()
	tp := kafka.TopicPartition{Topic: w.spec.Topics[0].Name, Partition: int32(w.int("lineage/partition", 0, int64(w.spec.Topics[0].Partitions-1)))}
	var on []*cut
	for i := range cuts {
		if c := &cuts[i]; (!c.lossy || len(w.lossy) > 0) && w.odd("lineage/"+c.name, 30) {
			on = append(on, c)
			w.on = append(w.on, c.name)
		}
	}
	if len(on) == 0 {
		on = append(on, &cuts[w.int("lineage/only", 0, 3)])
	}
	at := w.millis("lineage/first", 4*kafka.Second, 12*kafka.Second)
	for i := range w.int("lineage/cuts", 2, 5) {
		w.path = fmt.Sprintf("lineage/%d/", i)
		c := on[w.int("kind", 0, int64(len(on)-1))]
		p := faults.Planned{Trigger: faults.Trigger{At: -1, On: w.support(tp, at)}}
		c.draw(w, &p, tp)
		w.spec.Events = append(w.spec.Events, p)
		at += w.millis("gap", 0, 6*kafka.Second)
	}
	w.path = ""
}

// support waits for a fact about the partition from a time on.
func (w *world) support(tp kafka.TopicPartition, from kafka.Nanos) *faults.EventTrigger {
	t := &faults.EventTrigger{Kind: supports[w.int("support", 0, int64(len(supports)-1))], TP: tp, Nth: int(w.int("nth", 1, 3)), After: from,
		DelayMax: w.millis("delay", kafka.Millisecond, 300*kafka.Millisecond)}
	switch t.Kind {
	case event.ProduceAnswered:
		t.Acks = "all"
	case event.NodeBooted:
		t.TP, t.Nth = kafka.TopicPartition{Partition: -1}, 1
	case event.PartitionChanged:
		if w.odd("isr-size", 50) {
			t.ISR = int(w.int("isr", 1, int64(w.replication)))
		}
	}
	return t
}
