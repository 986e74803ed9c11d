package scenarios

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Worlds of the generators groups and small-groups: settings and faults that are aimed at a
// state of a group (groups 6.6).

// aimedSettings draws what only these worlds have: cleaning of __consumer_offsets while it is
// loaded, a smaller group.max.size on one broker, callbacks that take longer than the
// rebalance timeout, members whose metadata is of different age.
func (w *world) aimedSettings() {
	c := &w.spec.Cluster
	set := func(key string, value any) { c.Config = append(c.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	if w.swarm("clean-offsets") {
		c.Config = slices.DeleteFunc(c.Config, func(s Setting) bool {
			return s.Key == "offsets.topic.segment.bytes" || s.Key == "log.cleaner.backoff.ms"
		})
		set("offsets.topic.segment.bytes", w.int("groups/clean-segment", 300, 3000))
		set("log.cleaner.backoff.ms", w.int("groups/clean-backoff", 100, 2000))
		set("log.cleaner.min.cleanable.ratio", "0.01")
		set("log.cleaner.delete.retention.ms", w.int("groups/clean-retention", 0, 5000))
		w.add(Setting{Key: "offsets.load.buffer.size", Value: fmt.Sprint(w.int("groups/clean-buffer", 100, 1000))})
	}
	if w.swarm("max-size") { // of one broker, so that a failover brings it
		at := kafka.NodeID(w.int("groups/max-size-broker", 1, int64(c.Brokers)))
		c.PerBroker = append(c.PerBroker, BrokerSettings{Node: at, Settings: []Setting{{Key: "group.max.size", Value: fmt.Sprint(w.int("groups/max-size", 1, 6))}}})
	}
	var slow []string // groups with a slow callback
	for i := range w.spec.Consumers {
		w.path = fmt.Sprintf("groups/%d/", i)
		slow = w.aimedMember(&w.spec.Consumers[i], slow)
	}
	w.path = ""
}

// add sets a broker's setting that has no value yet.
func (w *world) add(s Setting) {
	c := &w.spec.Cluster
	if !slices.ContainsFunc(c.Config, func(x Setting) bool { return x.Key == s.Key }) {
		c.Config = append(c.Config, s)
	}
}

// aimedMember draws a member's callback. One process of a group may be slower in it than
// max.poll.interval.ms (2 s to 12 s): two would throw each other out of the group for ever.
func (w *world) aimedMember(c *Consumer, slow []string) []string {
	switch {
	case c.Count == 1 && !slices.Contains(slow, c.Group) && w.odd("slow-callback", 40):
		c.Revoke, slow = w.millis("revoke", kafka.Second, 15*kafka.Second), append(slow, c.Group)
	case w.odd("callback", 30):
		c.Revoke = w.millis("revoke", kafka.Millisecond, 800*kafka.Millisecond)
	}
	if w.odd("metadata-age", 40) {
		c.Config = append(c.Config, Setting{Key: "metadata.max.age.ms", Value: fmt.Sprint(w.int("metadata-age-ms", 300, 10_000))})
	}
	return slow
}

// aimedFault is a fault at a state of one group; it may add events of its own.
type aimedFault struct {
	name string
	draw func(w *world, p *faults.Planned, group string)
}

var aimedFaults = []aimedFault{
	{"coordinator-at-step", (*world).coordinatorAtStep},
	{"coordinator-at-step", (*world).coordinatorAtStep},
	{"leader-after-join", (*world).leaderAfterJoin},
	{"pending-member", func(w *world, p *faults.Planned, g string) {
		p.Trigger = w.onGroup(event.MemberChanged, g, "", 2*kafka.Millisecond)
		p.Trigger.On.Text = kafka.MemberIDRequired.String()
		w.takeDown(p, subject())
	}},
	{"static-restart", (*world).staticRestart},
	{"zombie-coordinator", (*world).zombieCoordinator},
	{"load-while-cleaning", func(w *world, p *faults.Planned, g string) {
		p.Trigger = w.onGroup(event.CleaningBegan, "", "", 20*kafka.Millisecond)
		p.Trigger.On.TP = kafka.TopicPartition{Topic: offsetsTopic, Partition: -1}
		w.takeDown(p, coordinatorOf(g))
	}},
	{"clocks", (*world).clocks},
	{"late-join", (*world).lateJoin},
	{"old-metadata", func(w *world, p *faults.Planned, _ string) {
		w.lasting(p, faults.Message{API: "UpdateMetadata", Kind: "request", From: only(controller()), To: only(w.number())})
	}},
	{"member-in-callback", func(w *world, p *faults.Planned, g string) {
		p.Trigger = w.onGroup([]event.Kind{event.PartitionRevoked, event.PartitionLost, event.PartitionAssigned, event.CommittedFetched}[w.int("moment", 0, 3)], g, "", 300*kafka.Millisecond)
		w.takeDown(p, subject())
	}},
}

// aimedGroupFaults draws one to four of them.
func (w *world) aimedGroupFaults() {
	var on []*aimedFault
	all := slices.Concat(aimedFaults, roundFaults)
	for i := range all {
		if f := &all[i]; w.odd("aimed/"+fmt.Sprint(i), 40) {
			on = append(on, f)
		}
	}
	if len(on) == 0 {
		on = append(on, &aimedFaults[0])
	}
	for i := range w.int("aimed-faults", 1, 4) {
		w.path = fmt.Sprintf("aimed/%d/", i)
		f := on[w.int("kind", 0, int64(len(on)-1))]
		var p faults.Planned
		p.Trigger.At = w.millis("at", 3500*kafka.Millisecond, generatedHeal-4*kafka.Second)
		f.draw(w, &p, w.spec.Consumers[w.int("group", 0, int64(len(w.spec.Consumers)-1))].Group)
		w.spec.Events = append(w.spec.Events, p)
	}
	w.path = ""
}

const offsetsTopic = "__consumer_offsets"

func coordinatorOf(group string) faults.Selector {
	return faults.Selector{Role: faults.Coordinator, Name: group}
}

// onGroup waits for a fact of a group from a time on.
func (w *world) onGroup(k event.Kind, group, state string, delay kafka.Nanos) faults.Trigger {
	t := &faults.EventTrigger{Kind: k, TP: kafka.TopicPartition{Partition: -1}, Group: group, State: state, Nth: int(w.int("nth", 1, 3)),
		After: w.millis("after", 3500*kafka.Millisecond, generatedHeal-8*kafka.Second)}
	if w.odd("later", 60) {
		t.DelayMax = w.millis("delay", kafka.Millisecond, delay)
	}
	return faults.Trigger{At: -1, On: t}
}

// inChaos is the time of the chaos phase that is nearest to t.
func inChaos(t kafka.Nanos) kafka.Nanos {
	return min(max(t, 3500*kafka.Millisecond), generatedHeal-kafka.Second)
}

// takeDown makes a process fail in one of the ways that lose nothing.
func (w *world) takeDown(p *faults.Planned, n faults.Selector) {
	switch w.int("way", 0, 5) {
	case 3:
		w.down(p, faults.Stop{Node: n})
	case 4, 5:
		w.lasting(p, faults.Pause{Node: n})
	default:
		w.down(p, faults.Kill{Node: n})
	}
}

// coordinatorAtStep: the coordinator fails between two steps of a rebalance: the join is
// complete and not answered, the assignment is appended, is committed, is answered.
func (w *world) coordinatorAtStep(p *faults.Planned, g string) {
	n := coordinatorOf(g)
	switch w.int("step", 0, 6) {
	case 0:
		p.Trigger = w.onGroup(event.GroupChanged, g, event.GroupCompletingRebalance.String(), 5*kafka.Millisecond)
	case 1:
		p.Trigger = w.onGroup(event.JoinAnswered, g, "", 5*kafka.Millisecond)
	case 2: // the append itself
		p.Trigger = faults.Trigger{At: -1, Disk: &faults.DiskTrigger{Node: n, Op: "append", Match: offsetsTopic + "-*/*.log", Nth: int(w.int("nth-append", 1, 10)),
			After: p.Trigger.At, Since: event.GroupChanged}}
		w.down(p, faults.Kill{Node: n})
		return
	case 3: // appended, not committed
		p.Trigger = w.onGroup(event.BatchAppended, "", "", 2*kafka.Millisecond)
		p.Trigger.On.TP, p.Trigger.On.Actor = kafka.TopicPartition{Topic: offsetsTopic, Partition: -1}, &n
	case 4:
		p.Trigger = w.onGroup(event.AssignmentStored, g, "", 2*kafka.Millisecond)
	case 5:
		p.Trigger = w.onGroup(event.SyncAnswered, g, "", 5*kafka.Millisecond)
	case 6:
		p.Trigger = w.onGroup(event.GroupChanged, g, event.GroupPreparingRebalance.String(), 500*kafka.Millisecond)
	}
	if w.odd("isolated", 25) {
		w.lasting(p, faults.Isolate{Node: n})
		return
	}
	w.takeDown(p, n)
}

// leaderAfterJoin: the member that has to assign fails with JoinGroup's answer in hand.
func (w *world) leaderAfterJoin(p *faults.Planned, g string) {
	p.Trigger = w.onGroup(event.GroupChanged, g, event.GroupCompletingRebalance.String(), 15*kafka.Millisecond)
	n := faults.Selector{Role: faults.GroupLeader, Name: g}
	if w.odd("cut", 25) {
		w.lasting(p, faults.Cut{From: only(n), To: only(coordinatorOf(g)), OneWay: w.odd("one-way", 50)})
		return
	}
	w.takeDown(p, n)
}

// staticRestart: a member is down and comes back when its group enters a state. What makes
// the group move is another member, or the first one's own end.
func (w *world) staticRestart(p *faults.Planned, g string) {
	n := w.aMember()
	p.Fault, p.RestartAfter = faults.Kill{Node: n}, w.millis("at-last", 8*kafka.Second, 20*kafka.Second)
	states := []event.GroupState{event.GroupStable, event.GroupPreparingRebalance, event.GroupCompletingRebalance, event.GroupEmpty}
	back := faults.Planned{Fault: faults.Restart{Node: n}, Trigger: w.onGroup(event.GroupChanged, g, states[w.int("state", 0, 3)].String(), 300*kafka.Millisecond)}
	back.Trigger.On.After, back.Trigger.On.Nth = p.Trigger.At, int(w.int("nth-state", 1, 2))
	w.spec.Events = append(w.spec.Events, back)
	if w.odd("another", 60) {
		other := faults.Planned{Fault: faults.Stop{Node: w.otherMember()}, RestartAfter: w.millis("other-back", 0, 3*kafka.Second)}
		other.Trigger.At = inChaos(p.Trigger.At + w.millis("other-at", 0, 3*kafka.Second))
		w.spec.Events = append(w.spec.Events, other)
	}
}

func (w *world) otherMember() faults.Selector {
	before := w.path
	w.path += "other/"
	defer func() { w.path = before }()
	return w.aMember()
}

// zombieCoordinator is LD-10: the members reach it, nobody else does.
func (w *world) zombieCoordinator(p *faults.Planned, g string) {
	f := faults.Cut{From: only(coordinatorOf(g)), To: []faults.Selector{plain(faults.ZooKeeper)}}
	if w.spec.Cluster.Brokers > 1 {
		f.To = append(f.To, plain(faults.Others))
	}
	w.lasting(p, f)
	p.For = max(p.For, w.millis("at-least", 0, 12*kafka.Second))
}

// clocks sets the clocks of all brokers and of some members apart, for long.
func (w *world) clocks(p *faults.Planned, _ string) {
	skew := func(name string) kafka.Nanos { return w.millis(name, -10*kafka.Minute, 10*kafka.Minute) }
	for i := 1; i < w.spec.Cluster.Brokers; i++ {
		x := faults.Planned{Fault: faults.Clock{Node: named(kafka.BrokerHost(kafka.NodeID(i))), Delta: skew(fmt.Sprintf("skew-%d", i))}}
		x.Trigger.At = p.Trigger.At
		w.spec.Events = append(w.spec.Events, x)
	}
	p.Fault = faults.Clock{Node: w.aMember(), Delta: skew("skew")}
}

// lateJoin: a JoinGroup request is held, and its connection reset behind it: it is carried
// out when the member has asked again, or is another one.
func (w *world) lateJoin(p *faults.Planned, g string) {
	n := w.aMember()
	w.lasting(p, faults.Message{API: "JoinGroup", Kind: "request", Count: int(w.int("joins", 1, 2)), From: only(n), To: only(plain(faults.Brokers))})
	p.For = max(p.For, 200*kafka.Millisecond)
	x := faults.Planned{Fault: faults.Reset{A: only(n), B: only(plain(faults.Brokers))}}
	if w.odd("restarted", 30) {
		x.Fault, x.RestartAfter = faults.Kill{Node: n}, w.millis("back", 0, kafka.Second)
	}
	x.Trigger.At = inChaos(p.Trigger.At + w.millis("reset-at", 0, p.For))
	w.spec.Events = append(w.spec.Events, x)
	if w.odd("another", 60) { // so that it joins at all
		other := faults.Planned{Fault: faults.Stop{Node: w.otherMember()}, RestartAfter: w.millis("other-back", 0, 3*kafka.Second)}
		other.Trigger.At = inChaos(p.Trigger.At + w.millis("other-at", -kafka.Second, 3*kafka.Second))
		w.spec.Events = append(w.spec.Events, other)
	}
}
