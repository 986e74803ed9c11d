package scenarios

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// topicEvents draws what administrators do to topics while everything else happens. All
// choices have names of their own, so that worlds without it are what they were before.
func (w *world) topicEvents() {
	w.path = "topics/"
	defer func() { w.path = "" }()
	if may := w.topicsThatMayGrow(); len(may) > 0 && w.swarm("partition-increase") {
		w.youngMetadata()
		for i := range w.int("increases", 1, 2) {
			w.path = fmt.Sprintf("topics/increase/%d/", i)
			w.increase(i, may[w.int("topic", 0, int64(len(may)-1))])
		}
	}
	w.deletion()
}

// deletion has a topic deleted that is not the first, which faults are aimed at.
func (w *world) deletion() {
	if len(w.spec.Topics) < 2 || !w.swarm("topic-deletion") {
		return
	}
	w.path = "topics/deletion/"
	w.youngMetadata()
	var p faults.Planned
	p.Trigger.At = w.millis("at", 4*kafka.Second, generatedHeal-kafka.Second)
	p.Fault = faults.DeleteTopic{Topic: w.spec.Topics[1].Name}
	w.spec.Events = append(w.spec.Events, p)
	// Without topic ids a client waits for the new topic's leader epochs to pass those that it
	// has seen of the deleted one, perhaps for ever (bugs C-14). A static member that leads does
	// not assign a topic that comes back while it is away, as one that grows.
	mayComeBack := slices.ContainsFunc(w.topicsThatMayGrow(), func(t *Topic) bool { return t == &w.spec.Topics[1] })
	if w.spec.Protocol == "zk-3.9" && mayComeBack && w.odd("topic-recreation", 33) {
		p.Trigger.At = min(p.Trigger.At+w.millis("gap", 50*kafka.Millisecond, 10*kafka.Second), generatedHeal-kafka.Millisecond)
		p.Fault = faults.CreateTopic{Topic: w.spec.Topics[1].Name}
		w.spec.Events = append(w.spec.Events, p)
	}
}

// topicsThatMayGrow, or come back, are those that no group with a static member reads, which may
// lead and so assign what others subscribe to. A static member that
// leads, and was away while a topic grew, is not told to assign when it comes back
// (KIP-814; before, that it leads), and takes what it then sees of the topic for what it
// assigned: the new partitions have no owner until the group rebalances for another reason.
func (w *world) topicsThatMayGrow() (may []*Topic) {
	for i := range w.spec.Topics {
		t := &w.spec.Topics[i]
		if !slices.ContainsFunc(w.spec.Consumers, func(c Consumer) bool { return slices.Contains(c.Topics, t.Name) && w.hasStatic(c.Group) }) {
			may = append(may, t)
		}
	}
	return may
}

// hasStatic reports whether a group has a static member.
func (w *world) hasStatic(group string) bool {
	return group != "" && slices.ContainsFunc(w.spec.Consumers, func(c Consumer) bool { return c.Group == group && isStatic(&c) })
}

func isStatic(c *Consumer) bool {
	return slices.ContainsFunc(c.Config, func(s Setting) bool { return s.Key == "group.instance.id" })
}

// youngMetadata: members hear of what became of a topic within the time that a world has to
// settle.
func (w *world) youngMetadata() {
	const key = "metadata.max.age.ms"
	for i := range w.spec.Consumers {
		c := &w.spec.Consumers[i]
		if slices.ContainsFunc(c.Config, func(s Setting) bool { return s.Key == key }) {
			continue
		}
		c.Config = append(c.Config, Setting{Key: key, Value: fmt.Sprint(w.int(fmt.Sprintf("consumer-age/%d", i), 500, 20_000))})
	}
	for i := range w.spec.Producers {
		p := &w.spec.Producers[i]
		if !slices.ContainsFunc(p.Config, func(s Setting) bool { return s.Key == key }) {
			p.Config = append(p.Config, Setting{Key: key, Value: fmt.Sprint(w.int(fmt.Sprintf("producer-age/%d", i), 500, 20_000))})
		}
	}
}

// increase gives a topic one to six partitions more; the second time it may be refused, as
// a topic of so many partitions is then there.
func (w *world) increase(i int64, t *Topic) {
	var p faults.Planned
	p.Trigger.At = w.millis("at", 4*kafka.Second, generatedHeal-kafka.Second)
	p.Fault = faults.CreatePartitions{Topic: t.Name, Partitions: t.Partitions + int32(3*i+w.int("more", 1, 6))}
	w.spec.Events = append(w.spec.Events, p)
}
