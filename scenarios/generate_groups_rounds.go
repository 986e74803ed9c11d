package scenarios

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Faults at the rounds of a rebalance, in all worlds with groups: who misses one, for how
// long against its session and the rebalance timeout (groups 6.5), and what else moves the
// group meanwhile.

// roundFaults are their kinds. Each waits for a state of the group, or is as long as its
// timeouts say.
var roundFaults = []aimedFault{
	{"member-away", (*world).memberAway},
	{"static-away", (*world).staticAway},
	{"join-lost", (*world).joinLost},
	{"sync-late", (*world).syncLate},
	{"dies-joining", (*world).diesJoining},
	{"stands-still-assigned", func(w *world, p *faults.Planned, g string) { // between SyncGroup's answer and the next poll
		p.Trigger = w.onGroup(event.MemberChanged, g, []string{event.MemberStable, event.MemberCompleting}[w.int("moment", 0, 1)], 20*kafka.Millisecond)
		p.Fault = faults.Pause{Node: subject()}
		p.For = w.longerThan(max(w.ofGroup(g, "session.timeout.ms"), w.ofGroup(g, "max.poll.interval.ms")))
	}},
	{"past-retention", (*world).pastRetention},
	{"lead-returns", (*world).leadReturns},
}

// roundFault draws one of them beside a world's other faults of groups.
func roundFault(i int) drawnFault {
	f := &roundFaults[i]
	return drawnFault{f.name, false, func(w *world, p *faults.Planned) {
		p.Trigger = faults.Trigger{At: w.millis("at", 3500*kafka.Millisecond, generatedHeal-8*kafka.Second)}
		f.draw(w, p, w.spec.Consumers[w.int("group", 0, int64(len(w.spec.Consumers)-1))].Group)
	}}
}

// member is a process of a group.
type member struct {
	name string
	of   *Consumer
}

func (w *world) membersOf(g string) (list []member) {
	for i := range w.spec.Consumers {
		switch c := &w.spec.Consumers[i]; {
		case c.Group != g:
		case c.Count <= 1:
			list = append(list, member{c.Name, c})
		default:
			for k := range c.Count {
				list = append(list, member{fmt.Sprintf("%s-%d", c.Name, k+1), c})
			}
		}
	}
	return list
}

// aMemberOf is one of a group; another of the same group, if it has one.
func (w *world) aMemberOf(g string) (m, another member) {
	list := w.membersOf(g)
	i := int(w.int("of", 0, int64(len(list)-1)))
	return list[i], list[(i+1+int(w.int("another-of", 0, int64(max(0, len(list)-2)))))%len(list)]
}

// ofGroup is the greatest value of a time that members of a group have.
func (w *world) ofGroup(g, key string) (longest kafka.Nanos) {
	for _, m := range w.membersOf(g) {
		longest = max(longest, m.of.time(key))
	}
	return longest
}

// time is a setting in milliseconds, 0 if it is not set.
func (c *Consumer) time(key string) kafka.Nanos {
	for _, s := range c.Config {
		if s.Key == key {
			n, _ := strconv.ParseInt(s.Value, 10, 64)
			return kafka.Nanos(n) * kafka.Millisecond
		}
	}
	return 0
}

// longerThan is a little more than a timeout, within what the chaos phase has room for.
func (w *world) longerThan(t kafka.Nanos) kafka.Nanos {
	return min(t, 15*kafka.Second) + w.millis("longer", 100*kafka.Millisecond, 4*kafka.Second)
}

// outOfGroup is how long a process must be away so that the group rebalances. A static one
// that is back before, between the two rounds of a cooperative rebalance, finds the assignment
// of the first one and nothing to revoke, so that nobody asks for the second: what it should
// have given up stays without an owner (Kafka's own flaw, which these plans would find often).
func (m member) outOfGroup() kafka.Nanos {
	if !isStatic(m.of) {
		return 0
	}
	return m.of.time("session.timeout.ms") + 200*kafka.Millisecond
}

// comesAndGoes makes a group rebalance: a member of it leaves, at the same kind of moment or
// a while after t, and comes back.
func (w *world) comesAndGoes(m member, t faults.Trigger, within kafka.Nanos) {
	p := faults.Planned{Fault: faults.Stop{Node: named(m.name)}, Trigger: t, RestartAfter: m.outOfGroup() + w.millis("goes-for", 0, 3*kafka.Second)}
	if w.odd("goes-down", 25) {
		p.Fault = faults.Kill{Node: named(m.name)}
	}
	if on := t.On; on != nil {
		again := *on
		again.DelayMax = w.millis("goes-after", kafka.Millisecond, within)
		p.Trigger.On = &again
	} else {
		p.Trigger.At = inChaos(t.At + w.millis("goes-after", 0, within))
	}
	w.spec.Events = append(w.spec.Events, p)
}

// memberAway: a member stands still for longer than its session, and comes back to a group
// that has given away what it still claims.
func (w *world) memberAway(p *faults.Planned, g string) {
	m, another := w.aMemberOf(g)
	p.Fault, p.For = faults.Pause{Node: named(m.name)}, w.longerThan(m.of.time("session.timeout.ms"))
	if w.odd("moves", 30) {
		w.comesAndGoes(another, p.Trigger, p.For)
	}
}

// staticAway: a member stands still from R = max.poll.interval.ms of its group to 2R while the
// group rebalances. A static one whose session is longer stays in it, a generation behind.
func (w *world) staticAway(p *faults.Planned, g string) {
	m, another := w.aMemberOf(g)
	if list := slices.DeleteFunc(w.membersOf(g), func(m member) bool { return !isStatic(m.of) }); len(list) > 0 {
		m = list[w.int("static", 0, int64(len(list)-1))]
	}
	r := min(w.ofGroup(g, "max.poll.interval.ms"), 8*kafka.Second)
	p.Trigger.At = min(p.Trigger.At, generatedHeal-2*r)
	p.For = r + w.millis("more", 0, r)
	p.Fault = faults.Pause{Node: named(m.name)}
	if w.odd("only-joins", 30) { // it lives, but cannot join
		p.Fault = faults.Message{API: "JoinGroup", Kind: "request", Count: 1, From: only(named(m.name)), To: only(plain(faults.Brokers))}
	}
	w.comesAndGoes(another, p.Trigger, r)
}

// joinLost: one JoinGroup of a round does not arrive, or its answer does not. Its member may
// be thrown out before it asks again.
func (w *world) joinLost(p *faults.Planned, g string) {
	m, another := w.aMemberOf(g)
	p.Trigger = w.onGroup(event.GroupChanged, g, event.GroupPreparingRebalance.String(), 20*kafka.Millisecond)
	f := faults.Message{Lose: !w.odd("held", 30), API: "JoinGroup", Kind: "request", Count: 1, From: only(named(m.name)), To: only(plain(faults.Brokers))}
	if w.odd("answer", 30) {
		f.Kind, f.From, f.To = "response", f.To, f.From
	}
	p.Fault, p.For = f, w.longerThan(m.of.time("session.timeout.ms"))
	if w.odd("moves", 40) {
		w.comesAndGoes(another, p.Trigger, p.For)
	}
}

// syncLate: a member has joined, and the next round begins before its SyncGroup arrives.
func (w *world) syncLate(p *faults.Planned, g string) {
	m, another := w.aMemberOf(g)
	p.Trigger = w.onGroup(event.GroupChanged, g, []event.GroupState{event.GroupPreparingRebalance, event.GroupCompletingRebalance}[w.int("state", 0, 1)].String(), kafka.Millisecond)
	p.Fault = faults.Message{API: "SyncGroup", Kind: "request", Count: 1, From: only(named(m.name)), To: only(plain(faults.Brokers))}
	p.For = w.millis("late-by", 200*kafka.Millisecond, 8*kafka.Second)
	w.comesAndGoes(another, p.Trigger, p.For)
}

// diesJoining: a new process joins a group, and is gone as the round ends that takes it in.
func (w *world) diesJoining(p *faults.Planned, g string) {
	m, _ := w.aMemberOf(g)
	p.Fault, p.RestartAfter = faults.Stop{Node: named(m.name)}, m.outOfGroup()+w.millis("new-after", 0, 4*kafka.Second)
	state := []event.GroupState{event.GroupCompletingRebalance, event.GroupCompletingRebalance, event.GroupPreparingRebalance}[w.int("state", 0, 2)]
	again := faults.Planned{Fault: faults.Kill{Node: named(m.name)}, Trigger: w.onGroup(event.GroupChanged, g, state.String(), 2*kafka.Millisecond)}
	again.Trigger.On.After, again.Trigger.On.Nth = p.Trigger.At+p.RestartAfter, int(w.int("nth-state", 1, 2))
	if w.odd("comes-again", 50) { // else at the heal
		again.RestartAfter = m.outOfGroup() + w.millis("again-after", kafka.Millisecond, 10*kafka.Second)
	}
	w.spec.Events = append(w.spec.Events, again)
}

// pastRetention: offsets.retention.minutes pass, by the clock of the coordinator, while the
// group is in one of its states; in half of the cases it was without members before.
func (w *world) pastRetention(p *faults.Planned, g string) {
	w.add(Setting{Key: "offsets.retention.minutes", Value: "1"})
	w.add(Setting{Key: "offsets.retention.check.interval.ms", Value: fmt.Sprint(w.int("check", 300, 3000))})
	states := []event.GroupState{event.GroupPreparingRebalance, event.GroupPreparingRebalance, event.GroupStable, event.GroupEmpty}
	at := p.Trigger.At
	p.Trigger = w.onGroup(event.GroupChanged, g, states[w.int("state", 0, 3)].String(), 300*kafka.Millisecond)
	p.Fault = faults.Clock{Node: coordinatorOf(g), Delta: w.millis("by", 61*kafka.Second, 3*kafka.Minute), Jump: true}
	if w.odd("empty-before", 50) {
		back := w.millis("back", 500*kafka.Millisecond, 5*kafka.Second)
		for i, m := range w.membersOf(g) {
			x := faults.Planned{Fault: faults.Stop{Node: named(m.name)}, RestartAfter: back + w.millis(fmt.Sprintf("back-%d", i), 0, kafka.Second)}
			x.Trigger.At = at
			w.spec.Events = append(w.spec.Events, x)
		}
		p.Trigger.On.After, p.Trigger.On.Nth = at+200*kafka.Millisecond, int(w.int("nth-state", 1, 2))
	}
}

// leadReturns: a broker is to lose a partition of __consumer_offsets to the preferred leader,
// which fails before anybody has heard of it: the broker hears of both at once.
func (w *world) leadReturns(p *faults.Planned, g string) {
	n := coordinatorOf(g)
	w.down(p, faults.Kill{Node: n})
	if w.spec.Cluster.Brokers == 1 {
		return
	}
	p.Trigger.At = w.millis("at-first", 3500*kafka.Millisecond, 10*kafka.Second)
	p.RestartAfter = w.session + w.millis("back", 0, 2*kafka.Second)
	const interval = "leader.imbalance.check.interval.seconds"
	if w.odd("new-controller", 60) { // which looks once, 5 s later; nobody does so again in this world
		w.spec.Cluster.Config = slices.DeleteFunc(w.spec.Cluster.Config, func(s Setting) bool { return s.Key == interval })
		x := faults.Planned{Fault: faults.Kill{Node: controller()}, RestartAfter: w.session + w.millis("controller-back", 0, 2*kafka.Second)}
		x.Trigger.At = p.Trigger.At + p.RestartAfter + w.millis("controller-goes", 500*kafka.Millisecond, 3*kafka.Second)
		w.spec.Events = append(w.spec.Events, x)
	} else {
		w.add(Setting{Key: interval, Value: fmt.Sprint(w.int("imbalance", 1, 3))})
	}
	preferred := func(delay kafka.Nanos) faults.Trigger {
		return faults.Trigger{At: -1, On: &faults.EventTrigger{Kind: event.LeaderElected, TP: kafka.TopicPartition{Topic: offsetsTopic, Partition: -1}, Text: "preferred",
			Nth: 1, After: p.Trigger.At, DelayMax: delay}}
	}
	within := w.millis("gone-after", kafka.Millisecond, 500*kafka.Millisecond)
	w.spec.Events = append(w.spec.Events,
		faults.Planned{Fault: faults.Message{API: "LeaderAndISR", Kind: "request", From: only(plain(faults.Brokers)), To: only(plain(faults.Brokers))},
			Trigger: preferred(0), For: within + w.session + w.millis("held", 500*kafka.Millisecond, 3*kafka.Second)},
		faults.Planned{Fault: faults.Kill{Node: n}, Trigger: preferred(within), RestartAfter: w.session + w.millis("back-again", kafka.Second, 6*kafka.Second)})
}

// easeLongPolls: who waits for the answer to a JoinGroup does so for max.poll.interval.ms and
// 5 s more. Where that is longer than a world has to settle, no connection may fall silent,
// and no topic be deleted: members commit in vain for as long before they rejoin (KAFKA-13310).
func (w *world) easeLongPolls() {
	if !slices.ContainsFunc(w.spec.Events, func(p faults.Planned) bool { return mayFallSilent(p.Fault) }) {
		return
	}
	for i := range w.spec.Consumers {
		for k := range w.spec.Consumers[i].Config {
			if s := &w.spec.Consumers[i].Config[k]; s.Key == "max.poll.interval.ms" && s.Value == longPoll {
				s.Value = "12000"
			}
		}
	}
}

// longPoll is Kafka's default of max.poll.interval.ms.
const longPoll = "300000"

func mayFallSilent(f faults.Fault) bool {
	switch f := f.(type) {
	case faults.Kill, faults.Stop, faults.Restart, faults.Pause, faults.Clock, faults.Reset, faults.Link, faults.SlowDisk, faults.Stall, faults.DiskFull, faults.DiskIO, faults.CreatePartitions:
		return false
	case faults.Message:
		return f.Lose && (f.API == "JoinGroup" || f.API == "")
	}
	return true
}
