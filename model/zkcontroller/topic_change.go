package zkcontroller

import (
	"slices"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// topicChange compares the children of /brokers/topics with the known topics
// (processTopicChange; Z-32). A topic that is gone is forgotten.
type topicChange struct {
	at   int
	read readTopics
}

func (e *topicChange) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		return await([]zookeeper.Request{children(zookeeper.TopicsPath)})
	case 2:
		e.compare(c, c.results[0][0].Children)
		return call(&e.read)
	case 3:
		return call(newPartitions(e.read.added))
	}
	return done()
}

func (e *topicChange) compare(c *Controller, names []string) {
	for _, name := range names {
		if c.ctx.topic(name) == nil {
			e.read.names = append(e.read.names, name)
		}
	}
	for _, t := range slices.Clone(c.ctx.topics) {
		if _, there := slices.BinarySearch(names, t.name); !there {
			c.ctx.removeTopic(t.name)
		}
	}
}

// partitionModifications looks for partitions added to a topic.
type partitionModifications struct {
	at   int
	read readTopics
}

func (e *partitionModifications) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		if c.ctx.topic(e.read.names[0]) == nil {
			return done() // not known yet, or gone
		}
		if c.ctx.queued(e.read.names[0]) {
			return call(&restoreAssignment{topic: e.read.names[0]})
		}
		return call(&e.read)
	case 2:
		return call(newPartitions(e.read.added))
	}
	return done()
}

// newPartitions is onNewPartitionCreation: New, then Online.
func newPartitions(ps []*partition) procedure {
	if len(ps) == 0 {
		return &sequence{}
	}
	return &sequence{parts: []procedure{
		act(func(c *Controller) {
			setPartitions(ps, NewPartition)
			c.newReplicas(replicasOfPartitions(ps))
		}),
		&onlinePartitions{partitions: ps, strategy: election.Offline},
		act(func(c *Controller) { c.onlineReplicas(replicasOfPartitions(ps)) }),
	}}
}

// uncleanEnabled is TopicUncleanLeaderElectionEnable, and without a topic
// UncleanLeaderElectionEnable.
type uncleanEnabled struct {
	topic string
	begun bool
}

func (e *uncleanEnabled) step(c *Controller) next {
	if e.begun || !c.IsActive() {
		return done()
	}
	e.begun = true
	return call(c.triggerOnline(e.topic))
}
