package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func metadataValid() rule {
	return rule{
		Info: Info{
			Name:  "metadata-valid",
			Rules: "INV-07 I-7",
			Words: "The committed state names no leader or one that is in the in-sync set; the set is not empty, has no member twice and only assigned replicas; " +
				"a new leader comes from the set before it, unless the topic allows an unclean election, which leaves the leader alone in the set.",
			When:   "at each committed state",
			Broken: "an empty set with KIP-966 (not in these profiles)",
		},
		kinds: []event.Kind{event.PartitionChanged},
		build: func(f *findings) checker { return &validMetadata{f} },
	}
}

type validMetadata struct{ *findings }

func (c *validMetadata) observe(e *event.Event) {
	p, was := c.g.ch.p, &c.g.ch.before
	c.checked++
	switch {
	case len(e.ISR) == 0:
		c.violate(p, "the in-sync set became empty in epoch %d", e.LeaderEpoch)
		return
	case e.Leader != kafka.NoNode && !contains(e.ISR, e.Leader):
		c.violate(p, "the leader of epoch %d, %s, is not in the in-sync set %v", e.LeaderEpoch, nodeName(e.Leader), e.ISR)
	}
	for i, id := range e.ISR {
		if contains(e.ISR[:i], id) {
			c.violate(p, "%s is twice in the in-sync set %v", nodeName(id), e.ISR)
		}
		if p.assignment != nil && !contains(p.assignment, id) {
			c.violate(p, "%s is in the in-sync set %v but not in the assignment %v", nodeName(id), e.ISR, p.assignment)
		}
	}
	if !c.g.ch.unclean {
		return
	}
	switch {
	case !p.topic.Unclean:
		c.violate(p, "%s was elected in epoch %d from outside the in-sync set %v, although unclean.leader.election.enable is false",
			nodeName(e.Leader), e.LeaderEpoch, was.isr)
	case len(e.ISR) > 1:
		c.violate(p, "the unclean election of %s in epoch %d left %v in the in-sync set", nodeName(e.Leader), e.LeaderEpoch, e.ISR)
	}
}
