package scenarios

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// groups makes the consumers members of groups, where that is switched on. All choices
// have names of their own, so that worlds without groups are what they were before there
// were any.
func (w *world) groups() {
	if !w.m.groups && !w.swarm("groups") {
		return
	}
	w.path = "groups/"
	w.setGroups()
	shared := !w.odd("apart", 30) // all consumers are in one group
	assignors := w.pick("assignors", w.strategies()...)
	times := w.pick("times", "any", "any", "any", "any", "long-poll", "long-poll", "long-session")
	for i := range w.spec.Consumers {
		c := &w.spec.Consumers[i]
		w.path = fmt.Sprintf("groups/%d/", i)
		if c.Group = "g0"; !shared {
			c.Group = fmt.Sprintf("g%d", i)
		}
		w.member(c, assignors, times)
	}
	w.path = ""
	if w.m.groups {
		w.aimedSettings()
	}
}

// strategies are the values of partition.assignment.strategy that a release has.
func (w *world) strategies() []string {
	p, _ := config.ProfileByName(w.spec.Protocol)
	s := []string{"range", "roundrobin", "sticky", "sticky"}
	if p.Versions.JoinGroup >= cooperativeFrom {
		s = append(s, "range,cooperative-sticky", "cooperative-sticky", "cooperative-sticky", "cooperative-sticky", "cooperative-sticky")
	}
	return s
}

// setGroups draws the brokers' settings. Two are taken back: a follower fetches more
// batches of __consumer_offsets at once than tiny indexes have room for, and gives up; and
// if each fetch brings one batch it does not keep up with the members' commits.
func (w *world) setGroups() {
	w.spec.Cluster.Config = slices.DeleteFunc(w.spec.Cluster.Config, func(s Setting) bool {
		return s.Key == "log.index.size.max.bytes" || s.Key == "replica.fetch.max.bytes"
	})
	set := func(key string, value any) {
		w.spec.Cluster.Config = append(w.spec.Cluster.Config, Setting{Key: key, Value: fmt.Sprint(value)})
	}
	set("offsets.topic.num.partitions", w.int("offsets-partitions", 1, 4))
	set("offsets.topic.replication.factor", min(w.spec.Cluster.Brokers, int(w.int("offsets-replication", 2, 3))))
	set("group.initial.rebalance.delay.ms", w.int("initial-delay", 0, 3000))
	set("group.min.session.timeout.ms", 500)
	set("offsets.commit.timeout.ms", w.int("commit-timeout", 1000, 5000))
	if w.odd("offsets-segments", 30) {
		set("offsets.topic.segment.bytes", w.int("offsets-segment", 500, 8000))
	}
	if w.odd("small-loads", 30) {
		set("offsets.load.buffer.size", w.int("load-buffer", 100, 2000))
	}
	if !w.m.groups && w.odd("max-size", 15) { // aimedSettings has its own
		set("group.max.size", w.int("max-size-is", 1, 5))
	}
	if w.odd("expiry", 30) {
		set("offsets.retention.minutes", 1)
		set("offsets.retention.check.interval.ms", w.int("expiry-check", 1000, 20_000))
	}
}

// member draws what one kind of consumers does in its group. times: max.poll.interval.ms and
// session.timeout.ms are both some seconds, or one is long (5 minutes is Kafka's default of the
// first), so that what only one of the two ends lasts until the other one would.
func (w *world) member(c *Consumer, assignors, times string) {
	c.Count = int(w.int("count", 1, 4))
	if w.odd("late", 30) {
		c.Start = w.millis("start", 5*kafka.Second, 25*kafka.Second)
	}
	if len(c.Topics) > 1 && w.odd("one-topic", 30) {
		c.Topics = c.Topics[:1]
	}
	set := func(key string, value any) { c.Config = append(c.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	c.Commit = w.pick("commit", "auto", "auto", "sync", "async", "before")
	c.Processing = w.millis("processing", 0, 2*kafka.Millisecond)
	set("partition.assignment.strategy", assignors)
	session, poll := w.int("session", 1000, 8000), w.int("poll-interval", 2000, 12_000)
	if times == "long-session" {
		session, poll = w.int("long-session", 10_000, 25_000), w.int("short-poll-interval", 2000, 5000)
	}
	set("session.timeout.ms", session)
	set("heartbeat.interval.ms", w.int("heartbeat", 100, 900))
	if times == "long-poll" { // unless a fault is drawn that would make it wait so long
		set("max.poll.interval.ms", longPoll)
	} else {
		set("max.poll.interval.ms", poll)
	}
	set("max.poll.records", w.slowApplication(c, poll))
	set("request.timeout.ms", w.pick("timeout", "5000", "2000"))
	set("default.api.timeout.ms", w.int("api-timeout", 3000, 10_000))
	if c.Commit == "async" { // else it commits each record, and brokers that sync each batch never catch up
		// A broker waits for as many bytes, also where the partitions may give fewer: then each
		// fetch takes fetch.max.wait.ms for one batch (DelayedFetch.tryComplete).
		c.Config = slices.DeleteFunc(c.Config, func(s Setting) bool { return s.Key == "max.partition.fetch.bytes" })
		set("fetch.min.bytes", 10_000)
	}
	if c.Commit == "auto" {
		set("auto.commit.interval.ms", w.int("commit-interval", 500, 5000))
	}
	if p, _ := config.ProfileByName(w.spec.Protocol); p.StaticMembers && w.odd("static", w.staticOdds()) {
		set("group.instance.id", c.Name)
	}
	if w.odd("stays", 10) {
		set("internal.leave.group.on.close", false)
	}
}

// slowApplication draws an application that takes 5 ms to 50 ms for a record, where one that
// does alone catches up within a minute, and returns max.poll.records: it polls again within
// half of max.poll.interval.ms.
func (w *world) slowApplication(c *Consumer, pollInterval int64) int64 {
	records := w.int("poll-records", 1, 500)
	most := min(50, w.mostProcessing())
	if !w.odd("slow-application", 20) || most < 5 {
		return records
	}
	processing := w.int("slow-processing", 5, most)
	c.Processing = kafka.Nanos(processing) * kafka.Millisecond
	return min(records, max(1, pollInterval/2/processing))
}

// mostProcessing is how many milliseconds an application may take for a record so that it
// can do all that is written within a minute.
func (w *world) mostProcessing() int64 {
	perMil := int64(1)
	for i := range w.spec.Producers {
		perMil += w.spec.Producers[i].RatePerMil * int64(w.spec.Producers[i].Count)
	}
	return 60_000 * 1000 / (perMil * int64(generatedEnd/kafka.Second))
}

func (w *world) staticOdds() int64 {
	if w.m.groups {
		return 50
	}
	return 30
}

// memberFaults happen to members in every world with groups: nothing makes more
// rebalances.
var memberFaults = []drawnFault{
	{"kill-member", false, func(w *world, p *faults.Planned) { w.down(p, faults.Kill{Node: w.aMember()}) }},
	{"stop-member", false, func(w *world, p *faults.Planned) { w.down(p, faults.Stop{Node: w.aMember()}) }},
	{"pause-member", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Pause{Node: w.aMember()}) }},
}

// groupFaults are the other kinds that only worlds with groups have (groups 6.6).
var groupFaults = []drawnFault{
	{"kill-coordinator", false, func(w *world, p *faults.Planned) { w.down(p, faults.Kill{Node: w.coordinator()}) }},
	{"stop-coordinator", false, func(w *world, p *faults.Planned) { w.down(p, faults.Stop{Node: w.coordinator()}) }},
	{"pause-coordinator", false, func(w *world, p *faults.Planned) { w.lasting(p, faults.Pause{Node: w.coordinator()}) }},
	{"isolate-coordinator", false, func(w *world, p *faults.Planned) {
		to := []faults.Role{faults.Brokers, faults.ZooKeeper, faults.Clients}[w.int("from", 0, 2)]
		w.lasting(p, faults.Cut{From: only(w.coordinator()), To: only(plain(to)), OneWay: w.odd("one-way", 30)})
	}},
	{"member-loses-coordinator", false, func(w *world, p *faults.Planned) {
		w.lasting(p, faults.Cut{From: only(w.aMember()), To: only(w.coordinator()), OneWay: w.odd("one-way", 50)})
	}},
	{"group-messages", false, func(w *world, p *faults.Planned) {
		f := faults.Message{Lose: w.odd("lose", 50), Kind: w.pick("message", "any", "request", "response"), Count: int(w.int("messages", 0, 3))}
		f.API = w.pick("api", "JoinGroup", "SyncGroup", "OffsetCommit", "Heartbeat", "OffsetFetch", "FindCoordinator", "LeaveGroup")
		f.From, f.To = only(plain(faults.Clients)), only(plain(faults.Brokers))
		if f.Kind == "response" {
			f.From, f.To = f.To, f.From
		}
		w.lasting(p, f)
	}},
	roundFault(0), roundFault(1), roundFault(2), roundFault(3), roundFault(4), roundFault(5), roundFault(6), roundFault(7),
}

// groupFaults draws faults of groups beside the others.
func (w *world) groupFaults() {
	if w.spec.Consumers[0].Group == "" {
		return
	}
	var on []*drawnFault
	for i := range groupFaults {
		if w.swarm(groupFaults[i].name) {
			on = append(on, &groupFaults[i])
		}
	}
	for i := range w.int("group-faults", 1, 8) {
		w.path = fmt.Sprintf("group-fault/%d/", i)
		f := &memberFaults[w.int("member-fault", 0, int64(len(memberFaults)-1))]
		if len(on) > 0 && w.odd("other", 50) {
			f = on[w.int("kind", 0, int64(len(on)-1))]
		}
		var p faults.Planned
		w.groupTrigger(&p)
		f.draw(w, &p)
		w.spec.Events = append(w.spec.Events, p)
	}
	w.path = ""
	if w.m.groups {
		w.aimedGroupFaults()
	}
}

// groupTrigger: at a time, or as often soon after something happened to a group.
func (w *world) groupTrigger(p *faults.Planned) {
	p.Trigger.At = w.millis("at", 3500*kafka.Millisecond, generatedHeal-2*kafka.Second)
	if !w.odd("triggered", 50) {
		return
	}
	on := &faults.EventTrigger{TP: kafka.TopicPartition{Partition: -1}, After: p.Trigger.At, Nth: int(w.int("nth", 1, 4)),
		DelayMin: 0, DelayMax: w.millis("delay", kafka.Millisecond, 500*kafka.Millisecond)}
	on.Kind = []event.Kind{event.GroupChanged, event.JoinAnswered, event.AssignmentStored, event.SyncAnswered, event.MemberJoined, event.MemberRemoved,
		event.OffsetCommitted, event.CoordinatorLoaded, event.PartitionAssigned, event.MemberChanged, event.CommitSent}[w.int("event", 0, 10)]
	p.Trigger = faults.Trigger{At: -1, On: on}
}

// aMember is one consumer of a group.
func (w *world) aMember() faults.Selector {
	c := &w.spec.Consumers[w.int("member-of", 0, int64(len(w.spec.Consumers)-1))]
	if c.Count <= 1 {
		return named(c.Name)
	}
	return named(fmt.Sprintf("%s-%d", c.Name, w.int("member", 1, int64(c.Count))))
}

func (w *world) coordinator() faults.Selector {
	c := &w.spec.Consumers[w.int("group", 0, int64(len(w.spec.Consumers)-1))]
	return faults.Selector{Role: faults.Coordinator, Name: c.Group}
}
