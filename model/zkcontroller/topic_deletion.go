package zkcontroller

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// deletion is a topic that is queued for deletion (TopicDeletionManager; Z-33).
type deletion struct {
	topic string
	// begun: its partitions do not exist any more (topicsWithDeletionStarted).
	begun bool
	// ineligible: a replica is down; it waits for that one's broker.
	ineligible bool
}

// deletion finds a topic that is queued for deletion, nil if it is not.
func (x *context) deletion(topic string) *deletion {
	for _, d := range x.deletions {
		if d.topic == topic {
			return d
		}
	}
	return nil
}

func (x *context) queued(topic string) bool { return x.deletion(topic) != nil }

// lives: the partition's topic is not queued for deletion.
func (x *context) lives(p *partition) bool { return !x.queued(p.tp.Topic) }

// queueDeletion puts topics on the queue that are not on it, in order of names.
func (x *context) queueDeletion(topics []string) {
	for _, name := range topics {
		if x.queued(name) {
			continue
		}
		i, _ := slices.BinarySearchFunc(x.deletions, name, func(d *deletion, name string) int { return strings.Compare(d.topic, name) })
		x.deletions = slices.Insert(x.deletions, i, &deletion{topic: name})
	}
}

// removeTopic forgets a topic.
func (x *context) removeTopic(name string) {
	x.topics = slices.DeleteFunc(x.topics, func(t *topic) bool { return t.name == name })
	x.deletions = slices.DeleteFunc(x.deletions, func(d *deletion) bool { return d.topic == name })
}

func (x *context) replicasOfTopic(name string) []replicaOf {
	if t := x.topic(name); t != nil {
		return replicasOfPartitions(t.partitions)
	}
	return nil
}

func (r replicaOf) state() ReplicaState { return r.p.replica(r.broker).state }

// inState lists the replicas of a topic that are in a state.
func (x *context) inState(topic string, s ReplicaState) []replicaOf {
	return slices.DeleteFunc(x.replicasOfTopic(topic), func(r replicaOf) bool { return r.state() != s })
}

// moveReplicas moves replicas to a state that nobody has to be told of.
func moveReplicas(rs []replicaOf, to ReplicaState) {
	for _, r := range rs {
		if row := r.p.replica(r.broker); replicaMoves[to][row.state] {
			row.state = to
		}
	}
}

// IsBeingDeleted reports whether a topic is queued for deletion; false if this broker is
// not the controller.
func (c *Controller) IsBeingDeleted(topic string) bool { return c.ctx.queued(topic) }

// topicDeletion looks for topics that are to be deleted (processTopicDeletion). Those
// that do not exist, and all if delete.topic.enable is off, are struck off the list.
type topicDeletion struct{ at int }

func (e *topicDeletion) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		return await([]zookeeper.Request{children(zookeeper.DeleteTopicsPath)})
	case 2:
		var wanted []string
		var strike []zookeeper.Request
		for _, name := range c.results[0][0].Children {
			if c.ctx.topic(name) != nil && c.cfg.DeleteTopics {
				wanted = append(wanted, name)
			} else {
				strike = append(strike, c.fencedDelete(zookeeper.DeleteTopicPath(name)))
			}
		}
		c.ctx.queueDeletion(wanted)
		return await(strike)
	case 3:
		return call(&resumeDeletions{})
	}
	return done()
}

// initDeletions is fetchTopicDeletionsInProgress and TopicDeletionManager.init at a
// failover. A topic on the list that does not exist is queued, too, so that what its
// deletion left is removed.
type initDeletions struct{ at int }

func (e *initDeletions) step(c *Controller) next {
	e.at++
	switch e.at {
	case 1:
		return await([]zookeeper.Request{children(zookeeper.DeleteTopicsPath)})
	case 2:
		names := c.results[0][0].Children
		if !c.cfg.DeleteTopics {
			var strike []zookeeper.Request
			for _, name := range names {
				strike = append(strike, c.fencedDelete(zookeeper.DeleteTopicPath(name)))
			}
			return await(strike)
		}
		c.ctx.queueDeletion(names)
		for _, d := range c.ctx.deletions {
			d.ineligible = slices.ContainsFunc(c.ctx.replicasOfTopic(d.topic), func(r replicaOf) bool { return !c.ctx.isReplicaOnline(r.broker, r.p) })
		}
	}
	return done()
}

// resumeDeletions goes over the queue: what is deleted everywhere is removed from
// ZooKeeper; what is neither under way nor ineligible begins (anew).
type resumeDeletions struct {
	at     int
	topics []string    // still to be looked at
	retry  []replicaOf // failed ones of topics of which nothing is under way
	begin  []*deletion
}

func (r *resumeDeletions) step(c *Controller) next {
	switch r.at {
	case 0:
		for _, d := range c.ctx.deletions {
			r.topics = append(r.topics, d.topic)
		}
		r.at = 1
		return goOn()
	case 1:
		if len(r.topics) > 0 {
			name := r.topics[0]
			r.topics = r.topics[1:]
			return r.look(c, name)
		}
		r.at = 2
		if len(r.retry) > 0 {
			return call(&offlineReplicas{replicas: r.retry})
		}
		return goOn()
	case 2:
		r.at = 3
		if len(r.begin) > 0 {
			return call(&beginDeletions{list: r.begin})
		}
	}
	return done()
}

func (r *resumeDeletions) look(c *Controller, name string) next {
	d := c.ctx.deletion(name)
	started := len(c.ctx.inState(name, ReplicaDeletionStarted)) > 0
	switch {
	case len(c.ctx.inState(name, ReplicaDeletionSuccessful)) == len(c.ctx.replicasOfTopic(name)):
		return call(&completeDeletion{topic: name})
	case !started:
		r.retry = append(r.retry, c.ctx.inState(name, ReplicaDeletionIneligible)...)
	}
	if !started && !d.ineligible {
		r.begin = append(r.begin, d)
	}
	return goOn()
}

// beginDeletions is onTopicDeletion: the partitions cease to exist, all brokers are told
// that nobody leads them, and every replica that is there stops and then deletes its log.
type beginDeletions struct {
	list []*deletion

	at   int
	live []replicaOf // online, and not deleted yet
	halt []*deletion // with a replica that is not online
}

func (b *beginDeletions) step(c *Controller) next {
	b.at++
	switch b.at {
	case 1:
		var all []*partition
		for _, d := range b.list {
			t := c.ctx.topic(d.topic)
			if !d.begun {
				setPartitions(t.partitions, OfflinePartition)
				setPartitions(t.partitions, NonExistentPartition)
				d.begun = true
			}
			all = append(all, t.partitions...)
			b.sort(c, d)
		}
		c.updateMetadata(c.ctx.allBrokers(), all...)
		return call(&offlineReplicas{replicas: slices.Clone(b.live)})
	}
	for _, r := range byBroker(b.live) {
		if row := r.p.replica(r.broker); replicaMoves[ReplicaDeletionStarted][row.state] {
			row.state = ReplicaDeletionStarted
			c.addStopReplica(r.broker, r.p, true)
		}
	}
	c.sendBatch()
	for _, d := range b.halt {
		d.ineligible = true
	}
	return done()
}

// sort splits a topic's replicas into live and dead ones.
func (b *beginDeletions) sort(c *Controller, d *deletion) {
	var dead []replicaOf
	for _, r := range c.ctx.replicasOfTopic(d.topic) {
		switch {
		case !c.ctx.isReplicaOnline(r.broker, r.p):
			dead = append(dead, r)
		case r.state() != ReplicaDeletionSuccessful:
			b.live = append(b.live, r)
		}
	}
	if len(dead) > 0 {
		moveReplicas(dead, ReplicaDeletionIneligible)
		b.halt = append(b.halt, d)
	}
}

// completeDeletion removes what ZooKeeper has of a topic: its tree from the leaves up, its
// settings and the request to delete it. A controller that ends meanwhile leaves a part,
// which the next one removes.
type completeDeletion struct {
	topic string

	at         int
	partitions []string // paths
}

func (d *completeDeletion) step(c *Controller) next {
	d.at++
	switch d.at {
	case 1:
		d.forget(c)
		return await([]zookeeper.Request{list(zookeeper.PartitionsPath(d.topic))})
	case 2:
		for _, name := range c.results[0][0].Children {
			d.partitions = append(d.partitions, zookeeper.PartitionsPath(d.topic)+"/"+name)
		}
		states := make([]string, len(d.partitions))
		for i, path := range d.partitions {
			states[i] = path + "/state"
		}
		return await(c.fencedDeletes(states))
	case 3:
		return await(c.fencedDeletes(d.partitions))
	case 4:
		return await(c.fencedDeletes([]string{zookeeper.PartitionsPath(d.topic)}))
	case 5:
		return await(c.fencedDeletes([]string{zookeeper.TopicPath(d.topic)}))
	case 6:
		return await(c.fencedDeletes([]string{zookeeper.TopicConfigPath(d.topic)}))
	case 7:
		return await(c.fencedDeletes([]string{zookeeper.DeleteTopicPath(d.topic)}))
	}
	c.ctx.removeTopic(d.topic)
	return done()
}

// forget moves the replicas to NonExistentReplica: out of the assignment and the table.
func (d *completeDeletion) forget(c *Controller) {
	if t := c.ctx.topic(d.topic); t != nil {
		for _, p := range t.partitions {
			p.assignment, p.replicas = assignment{}, nil
		}
	}
}

func list(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpGetChildren, Path: path}}
}

func (c *Controller) fencedDeletes(paths []string) []zookeeper.Request {
	reqs := make([]zookeeper.Request, len(paths))
	for i, path := range paths {
		reqs[i] = c.fencedDelete(path)
	}
	return reqs
}

// failDeletion is failReplicaDeletion: the replicas could not be deleted, and their topics
// wait until a broker starts.
func (c *Controller) failDeletion(rs []replicaOf) procedure {
	if len(rs) == 0 {
		return &sequence{}
	}
	moveReplicas(rs, ReplicaDeletionIneligible)
	for _, r := range rs {
		c.ctx.deletion(r.p.tp.Topic).ineligible = true
	}
	return &resumeDeletions{}
}

// deletionsOn is resumeDeletionForTopics for brokers that have started: topics with a
// replica there are tried again.
func (c *Controller) deletionsOn(brokers []kafka.NodeID) procedure {
	some := false
	for _, id := range brokers {
		for _, r := range c.ctx.replicasOn(id) {
			if d := c.ctx.deletion(r.p.tp.Topic); d != nil {
				d.ineligible, some = false, true
			}
		}
	}
	if !some {
		return &sequence{}
	}
	return &resumeDeletions{}
}

// stopReplicaResponse takes the answers about replicas that were to be deleted
// (processTopicDeletionStopReplicaResponseReceived).
type stopReplicaResponse struct {
	broker kafka.NodeID
	failed []kafka.TopicPartition
	gone   []kafka.TopicPartition

	at int
}

// deletionAnswered makes the event of an answer, nil if it is about no topic whose
// deletion has begun.
func (c *Controller) deletionAnswered(broker kafka.NodeID, req *kmsg.StopReplicaRequest, resp *kmsg.StopReplicaResponse) procedure {
	e := &stopReplicaResponse{broker: broker}
	for i := range resp.Partitions {
		p := &resp.Partitions[i]
		tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		switch d := c.ctx.deletion(p.Topic); {
		case d == nil || !d.begun || !deletes(req, tp):
		case resp.ErrorCode != 0 || p.ErrorCode != 0:
			e.failed = append(e.failed, tp)
		default:
			e.gone = append(e.gone, tp)
		}
	}
	if len(e.failed)+len(e.gone) == 0 {
		return nil
	}
	return e
}

// deletes reports whether a request says to delete the replica.
func deletes(req *kmsg.StopReplicaRequest, tp kafka.TopicPartition) bool {
	for i := range req.Topics {
		t := &req.Topics[i]
		if t.Topic != tp.Topic {
			continue
		}
		for j := range t.PartitionStates {
			if s := &t.PartitionStates[j]; s.Partition == tp.Partition {
				return s.Delete
			}
		}
	}
	return req.DeletePartitions
}

func (e *stopReplicaResponse) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		return call(c.failDeletion(e.replicas(c, e.failed)))
	case 2:
		gone := e.replicas(c, e.gone)
		if len(e.gone) == 0 {
			return done()
		}
		moveReplicas(gone, ReplicaDeletionSuccessful)
		return call(&resumeDeletions{})
	}
	return done()
}

// replicas are those of topics that are still queued for deletion.
func (e *stopReplicaResponse) replicas(c *Controller, tps []kafka.TopicPartition) (rs []replicaOf) {
	for _, tp := range tps {
		if p := c.ctx.partition(tp); p != nil && c.ctx.queued(tp.Topic) && p.assigned(e.broker) {
			rs = append(rs, replicaOf{p, e.broker})
		}
	}
	return rs
}

// restoreAssignment takes back partitions that somebody adds to a topic that is being
// deleted (restorePartitionReplicaAssignment).
type restoreAssignment struct {
	topic string
	at    int
}

func (e *restoreAssignment) step(c *Controller) next {
	e.at++
	if e.at == 1 {
		return await([]zookeeper.Request{get(zookeeper.TopicPath(e.topic)), list(zookeeper.PartitionsPath(e.topic))})
	}
	t := c.ctx.topic(e.topic)
	now, err := zookeeper.DecodeTopic(c.results[0][0].Data)
	if e.at > 2 || t == nil || c.results[0][0].Code != zookeeper.OK || err != nil {
		return done()
	}
	kept, added := zookeeper.TopicAssignment{TopicID: t.id}, false
	for _, a := range now.Partitions {
		p := t.partition(a.Partition)
		switch {
		case p == nil:
			added = true
		case slices.Contains(c.results[1][0].Children, strconv.Itoa(int(a.Partition))):
			kept.Partitions = append(kept.Partitions, zookeeper.PartitionAssignment{Partition: a.Partition,
				Replicas: p.assignment.replicas, Adding: p.assignment.adding, Removing: p.assignment.removing})
		}
	}
	if !added {
		return done()
	}
	return await([]zookeeper.Request{c.fenced(zookeeper.Op{Type: zookeeper.OpSetData, Path: zookeeper.TopicPath(e.topic),
		Data: zookeeper.EncodeTopic(c.formats.Topic, kept), Version: zookeeper.AnyVersion})})
}
