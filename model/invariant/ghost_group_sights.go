package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// sights is what a member's metadata have had of topics since it was told that its generation
// had joined. A leader assigns by what it has at one moment of that time: at once, or when
// metadata that were due have come (ConsumerCoordinator.onLeaderElected
// calls ensureFreshMetadata, then metadata.fetch). What it learns while its SyncGroup is
// on its way, and the coordinator appends, is not in the assignment.
type sights struct {
	member     string
	generation int32 // -1 = none
	topics     []sight
}

// sight is what was known of a topic: so many partitions at least and at most, always these, and,
// if gone, for a time that there is none of that name any more. some is the least while there
// was one, 0 = never.
type sight struct {
	topic       string
	least, most int32
	always      []int32
	gone        bool
	some        int32
	// before is some as it was before changedAt: a response tells of partitions one after another.
	before    int32
	changedAt kafka.Nanos
}

// completes begins the sights of a generation.
func (c *groupClient) completes(e *event.Event) {
	c.sights.member, c.sights.generation, c.sights.topics = e.Member, e.Generation, c.sights.topics[:0]
	for _, list := range [2][]kafka.TopicPartition{c.seen, c.vanished} {
		for _, tp := range list {
			if x, found := c.sights.of(tp.Topic); !found {
				*x = c.sight(tp.Topic)
			}
		}
	}
}

// sight is what is known of a topic now.
func (c *groupClient) sight(topic string) sight {
	n := c.has(topic)
	x := sight{topic: topic, least: n, most: n, some: n, before: n, changedAt: -1, gone: c.lost(topic)}
	for _, tp := range c.seen {
		if tp.Topic == topic {
			x.always = append(x.always, tp.Partition)
		}
	}
	return x
}

// of finds a topic, or adds it as one of which nothing was known.
func (s *sights) of(topic string) (x *sight, found bool) {
	for i := range s.topics {
		if x = &s.topics[i]; x.topic == topic {
			return x, true
		}
	}
	s.topics = append(s.topics, sight{topic: topic, changedAt: -1})
	return &s.topics[len(s.topics)-1], false
}

// sees follows a change of what the metadata have of a topic.
func (c *groupClient) sees(topic string, now kafka.Nanos) {
	x, _ := c.sights.of(topic)
	n := c.has(topic)
	x.least, x.most, x.gone = min(x.least, n), max(x.most, n), x.gone || c.lost(topic)
	if x.changedAt != now {
		x.before, x.changedAt = x.some, now
	}
	if x.some = x.before; n > 0 && (x.some == 0 || n < x.some) {
		x.some = n
	}
	x.always = slices.DeleteFunc(x.always, func(p int32) bool { return !slices.Contains(c.seen, kafka.TopicPartition{Topic: topic, Partition: p}) })
}

// has is the number of partitions of a topic that the member's metadata have
// (Cluster.partitionCountForTopic).
func (c *groupClient) has(topic string) (n int32) {
	for _, tp := range c.seen {
		if tp.Topic == topic {
			n++
		}
	}
	return n
}

// lost reports whether the member's metadata had a topic, and have it no more: no partition of
// it. A topic that is created again with fewer partitions leaves some that are gone for good.
func (c *groupClient) lost(topic string) bool {
	return c.has(topic) == 0 && slices.ContainsFunc(c.vanished, func(tp kafka.TopicPartition) bool { return tp.Topic == topic })
}

// sightOf is what the leader of a generation may have known of a topic when it assigned.
func (g *ghost) sightOf(l *life, topic string) sight {
	c := g.groups.byMember[l.leader]
	if c == nil {
		return sight{}
	}
	if s := &c.sights; s.member == l.leader && s.generation == l.generation {
		x, _ := s.of(topic)
		return *x
	}
	return c.sight(topic)
}
