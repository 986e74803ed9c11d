package scenarios

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// Who the members of a plan at a group are (generate_groups_lineage.go): their assignor,
// sessions, timeouts and topics, as the plan needs them, whatever was drawn before.

// set gives a setting of the consumer a value, whether it has one or not.
func (c *Consumer) set(key string, value int64) { c.setText(key, strconv.FormatInt(value, 10)) }

func (c *Consumer) setText(key, value string) {
	c.unset(key)
	c.Config = append(c.Config, Setting{Key: key, Value: value})
}

func (c *Consumer) unset(key string) {
	c.Config = slices.DeleteFunc(c.Config, func(s Setting) bool { return s.Key == key })
}

// each does f with all consumers of a group.
func (w *world) each(g string, f func(c *Consumer)) {
	for i := range w.spec.Consumers {
		if c := &w.spec.Consumers[i]; c.Group == g {
			f(c)
		}
	}
}

// castCooperative makes a group of at least two members cooperative, where the release can,
// with sessions so short that a member which misses something may be out before it is back.
func (w *world) castCooperative(g string) {
	p, _ := config.ProfileByName(w.spec.Protocol)
	short := w.odd("short-sessions", 60)
	w.each(g, func(c *Consumer) {
		if p.Versions.JoinGroup >= cooperativeFrom {
			c.setText(assignors, "cooperative-sticky")
		}
		if short {
			c.set("session.timeout.ms", w.int("session/"+c.Name, 1000, 3000))
		}
		c.Count, c.Revoke = max(c.Count, 2), min(c.Revoke, 800*kafka.Millisecond)
	})
	w.morePartitions(3)
}

// castClaiming is castCooperative, or in a third of the worlds has the eager assignor that
// goes by claims, too.
func (w *world) castClaiming(g string) {
	w.castCooperative(g)
	if w.odd("eager", 40) {
		w.each(g, func(c *Consumer) { c.setText(assignors, "sticky") })
	}
}

const assignors = "partition.assignment.strategy"

// cooperativeFrom is the version of JoinGroup from which releases have the cooperative
// assignor.
const cooperativeFrom = 7

// morePartitions gives the first topic at least n.
func (w *world) morePartitions(n int32) {
	t := &w.spec.Topics[0]
	t.Partitions = max(t.Partitions, n+int32(w.int("more-partitions", 0, 3)))
}

// castStatic makes one kind of members static, with a session far above the rebalance
// timeout, beside another kind that comes and goes quickly. All are cooperative.
func (w *world) castStatic(g string) {
	p, _ := config.ProfileByName(w.spec.Protocol)
	w.castCooperative(g)
	if !p.StaticMembers {
		return
	}
	s := w.firstOf(g)
	s.Count, s.Start = min(s.Count, int(w.int("statics", 1, 2))), 0
	if len(w.membersOf(g)) == s.Count { // nobody else
		w.addConsumer(s)
	}
	poll := w.int("rebalance-timeout", 1500, 4000)
	first := true
	w.each(g, func(c *Consumer) {
		c.Processing = min(c.Processing, 2*kafka.Millisecond) // of 500 records at most
		c.set("max.poll.interval.ms", poll)
		if c.unset("group.instance.id"); first {
			// The order of ids decides who is given what: static ones come first or last.
			c.setText("group.instance.id", w.pick("instance", "s-", "")+c.Name)
			c.set("session.timeout.ms", w.int("static-session", 12_000, 25_000))
		} else {
			c.set("session.timeout.ms", w.int("session/"+c.Name, 1000, 3000))
		}
		first = false
	})
}

// castApart is castStatic with a static member that reads one of two topics, the others the
// other one. All join in one round.
func (w *world) castApart(g string) {
	w.castStatic(g)
	if len(w.spec.Topics) == 1 {
		w.spec.Topics = append(w.spec.Topics, Topic{Name: "u", Partitions: int32(w.int("partitions-u", 1, 3)), Replication: w.replication})
	}
	names, which := w.topicNames(), w.int("topic-of-first", 0, 1)
	w.each(g, func(c *Consumer) { c.Topics, c.Start, c.Count = names[which:which+1], 0, min(c.Count, 2) })
	c := w.firstOf(g)
	c.Topics, c.Count = names[1-which:2-which], 1
	w.change("group.initial.rebalance.delay.ms", w.int("initial-delay", 1000, 3000))
}

func (w *world) topicNames() (names []string) {
	for i := range w.spec.Topics {
		names = append(names, w.spec.Topics[i].Name)
	}
	return names
}

func (w *world) firstOf(g string) *Consumer {
	return &w.spec.Consumers[slices.IndexFunc(w.spec.Consumers, func(c Consumer) bool { return c.Group == g })]
}

// addConsumer adds another kind of consumers, as c but for its name, and returns it.
func (w *world) addConsumer(c *Consumer) *Consumer {
	n := *c
	n.Name, n.Count, n.Config = fmt.Sprintf("c%d", len(w.spec.Consumers)), int(w.int("count-more", 1, 2)), slices.Clone(c.Config)
	n.Topics = slices.Clone(c.Topics)
	w.spec.Consumers = append(w.spec.Consumers, n)
	return &w.spec.Consumers[len(w.spec.Consumers)-1]
}

// castBusy makes one member of a cooperative group take so long for what a poll returns that
// rounds begin and end while it works. What is written it can do; others are quick.
func (w *world) castBusy(g string) {
	w.castCooperative(g)
	for i := range w.spec.Producers {
		x := &w.spec.Producers[i]
		x.RatePerMil, x.Count = min(x.RatePerMil, 10_000), min(x.Count, 2)
	}
	w.each(g, func(c *Consumer) { c.Processing, c.Count = min(c.Processing, 2*kafka.Millisecond), min(c.Count, 2) })
	c := w.firstOf(g)
	if c.Count = 1; len(w.membersOf(g)) == 1 {
		w.addConsumer(c)
		c = w.firstOf(g)
	}
	if c.Start = 0; w.odd("alone-at-first", 70) { // and behind with its work when the others come
		start := w.millis("others", 5*kafka.Second, 14*kafka.Second)
		for _, m := range w.membersOf(g)[1:] {
			m.of.Start = start
		}
	}
	c.unset("group.instance.id")
	poll, most := w.int("busy-poll-interval", 3000, 8000), min(200, w.mostProcessing())
	processing := w.int("busy-processing", max(1, most/2), max(1, most))
	c.Processing = kafka.Nanos(processing) * kafka.Millisecond
	c.set("max.poll.interval.ms", poll)
	c.set("max.poll.records", max(1, poll/2/processing))
	c.set("session.timeout.ms", w.int("busy-session", 1000, 2500))
}

// castLongPolls gives all members Kafka's default of max.poll.interval.ms, and none is
// static: who is away is known by its session alone.
func (w *world) castLongPolls(g string) {
	w.each(g, func(c *Consumer) {
		c.unset("group.instance.id")
		c.setText("max.poll.interval.ms", longPoll)
		c.set("session.timeout.ms", w.int("session/"+c.Name, 1000, 6000))
	})
}

// castRetention lets offsets expire after a minute, of which the coordinator thinks often,
// and a first round take a while. No member is static: a group that all have left is empty.
func (w *world) castRetention(g string) {
	w.each(g, func(c *Consumer) { c.unset("group.instance.id") })
	w.change("offsets.retention.minutes", 1)
	w.change("offsets.retention.check.interval.ms", w.int("check", 300, 1500))
	w.change("group.initial.rebalance.delay.ms", w.int("initial-delay", 1000, 3000))
}

// castFull bounds a group by somewhat fewer members than it has.
func (w *world) castFull(g string) {
	w.castClaiming(g)
	n := int64(len(w.membersOf(g)))
	w.change("group.max.size", w.int("max-size", max(1, n-2), max(1, n-1)))
}

// change gives a broker's setting a value, whether it has one or not.
func (w *world) change(key string, value int64) {
	c := &w.spec.Cluster
	c.Config = slices.DeleteFunc(c.Config, func(s Setting) bool { return s.Key == key })
	c.Config = append(c.Config, Setting{Key: key, Value: strconv.FormatInt(value, 10)})
}
