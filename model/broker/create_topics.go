package broker

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/placement"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// CreateTopics (ZkAdminManager.createTopics, AdminZkClient; Z-32). Modelled: the
// checks of name, counts, assignment and settings, placement, the two znodes, the
// wait until this broker's metadata shows a leader for every partition
// (DelayedCreatePartitions). Left out: policies, quotas, the echo of all settings
// since version 5.

// topicCreation is a request that waits for ZooKeeper, then for leaders.
type topicCreation struct {
	from    caller // of a client, if answers
	req     *kmsg.CreateTopicsRequest
	grow    *kmsg.CreatePartitionsRequest // instead of req
	timeout int32                         // ms
	topics  []newTopic
	waits   bool // for leaders
	timer   step.TimerRef
	answers bool
}

// newTopic is one topic of a request.
type newTopic struct {
	name       string
	first      int32 // of the partitions that are made
	partitions int32 // exclusive end of their numbers
	factor     int16
	settings   []zookeeper.ConfigEntry
	assignment [][]kafka.NodeID
	id         kafka.TopicID
	code       kafka.ErrorCode
	message    string
}

func (t *newTopic) refuse(code kafka.ErrorCode, message string) {
	t.code, t.message = code, message
}

func (b *Broker) handleCreateTopics(in *step.Input, out *step.Effects, from caller, req *kmsg.CreateTopicsRequest) {
	c := &topicCreation{from: from, req: req, timeout: req.TimeoutMillis, answers: true}
	if !b.controller.IsActive() {
		for i := range req.Topics {
			c.topics = append(c.topics, newTopic{name: req.Topics[i].Topic, code: kafka.NotController})
		}
		b.answerCreation(out, c)
		return
	}
	for i := range req.Topics {
		c.topics = append(c.topics, b.planTopic(in, req, &req.Topics[i]))
	}
	b.creations = append(b.creations, c)
	b.createTopics(in, out, c)
}

// planTopic checks one topic and places its replicas.
func (b *Broker) planTopic(in *step.Input, req *kmsg.CreateTopicsRequest, asked *kmsg.CreateTopicsRequestTopic) newTopic {
	t := newTopic{name: asked.Topic, partitions: asked.NumPartitions, factor: asked.ReplicationFactor}
	if countTopic(req, asked.Topic) > 1 {
		t.refuse(kafka.InvalidRequest, "the topic is named twice")
		return t
	}
	b.planName(&t)
	if t.code == kafka.None {
		b.planSettings(&t, asked.Configs)
	}
	if t.code == kafka.None {
		b.planReplicas(in, &t, asked.ReplicaAssignment)
	}
	return t
}

func countTopic(req *kmsg.CreateTopicsRequest, name string) (n int) {
	for i := range req.Topics {
		if req.Topics[i].Topic == name {
			n++
		}
	}
	return n
}

// maxTopicName is Topic.MAX_NAME_LENGTH.
const maxTopicName = 249

func (b *Broker) planName(t *newTopic) {
	switch {
	case b.cache.byName[t.name] != nil:
		t.refuse(kafka.TopicAlreadyExists, "topic "+t.name+" already exists")
	case t.name == "" || t.name == "." || t.name == ".." || len(t.name) > maxTopicName || strings.ContainsFunc(t.name, illegalInName):
		t.refuse(kafka.InvalidTopicException, "topic name "+t.name+" is not legal")
	}
}

func illegalInName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}

func (b *Broker) planSettings(t *newTopic, asked []kmsg.CreateTopicsRequestTopicConfig) {
	for i := range asked {
		e := &asked[i]
		if e.Value == nil {
			t.refuse(kafka.InvalidRequest, "null value for "+e.Name)
			return
		}
		t.settings = append(t.settings, zookeeper.ConfigEntry{Key: e.Name, Value: *e.Value})
	}
	if message := checkTopicConfig(b.cfg.LogDefaults, t.settings); message != "" {
		t.refuse(kafka.InvalidConfig, message)
	}
}

// planReplicas takes the assignment that was asked for, or places the replicas
// (section 5).
func (b *Broker) planReplicas(in *step.Input, t *newTopic, asked []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
	if len(asked) > 0 {
		if t.partitions != -1 || t.factor != -1 {
			t.refuse(kafka.InvalidRequest, "both counts and an assignment are given")
			return
		}
		t.assign(asked)
		return
	}
	if t.partitions == -1 {
		t.partitions = b.cfg.NumPartitions
	}
	if t.factor == -1 {
		t.factor = int16(b.cfg.DefaultReplicationFactor)
	}
	if t.partitions <= 0 {
		t.refuse(kafka.InvalidPartitions, "the number of partitions must be positive")
		return
	}
	brokers := b.cache.placementBrokers()
	n := uint64(max(1, len(brokers)))
	start := step.Below(b.draw(in, "topic-start:"+t.name), n)
	shift := step.Below(b.draw(in, "topic-shift:"+t.name), n)
	var err error
	t.assignment, err = placement.AssignToBrokers(brokers, t.partitions, int(t.factor), int(start), int(shift), 0)
	switch {
	case errors.Is(err, placement.ErrReplicationFactor):
		t.refuse(kafka.InvalidReplicationFactor, err.Error())
	case err != nil:
		t.refuse(kafka.UnknownServerError, err.Error())
	}
}

// assign takes an explicit assignment (AdminZkClient.validateTopicCreate).
func (t *newTopic) assign(asked []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
	t.assignment = make([][]kafka.NodeID, len(asked))
	for i := range asked {
		a := &asked[i]
		ids := nodeIDs(a.Replicas)
		switch {
		case a.Partition < 0 || int(a.Partition) >= len(asked) || t.assignment[a.Partition] != nil:
			t.refuse(kafka.InvalidReplicaAssignment, "partitions are not numbered from 0 on")
			return
		case len(ids) == 0 || len(ids) != len(asked[0].Replicas):
			t.refuse(kafka.InvalidReplicaAssignment, "partitions differ in their number of replicas")
			return
		}
		sorted := slices.Sorted(slices.Values(ids))
		if len(slices.Compact(sorted)) != len(ids) {
			t.refuse(kafka.InvalidReplicaAssignment, "a broker is named twice for a partition")
			return
		}
		t.assignment[a.Partition] = ids
	}
	t.partitions, t.factor = int32(len(asked)), int16(len(asked[0].Replicas))
}

// createTopics looks for name collisions and writes what is left: the settings,
// then the topic.
func (b *Broker) createTopics(in *step.Input, out *step.Effects, c *topicCreation) {
	names := zookeeper.Request{{Type: zookeeper.OpGetChildren, Path: zookeeper.TopicsPath}}
	b.ask(in, out, []zookeeper.Request{names}, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		for i := range c.topics {
			c.topics[i].collide(results[0][0].Children)
		}
		if c.req.Version >= 1 && c.req.ValidateOnly {
			b.completeCreation(in, out, c)
			return nil
		}
		b.writeTopics(in, out, c)
		return nil
	})
}

// collide refuses a topic that exists, or whose name differs only in '.' and '_'.
func (t *newTopic) collide(existing []string) {
	if t.code != kafka.None {
		return
	}
	for _, name := range existing {
		switch {
		case name == t.name:
			t.refuse(kafka.TopicAlreadyExists, "topic "+t.name+" already exists")
			return
		case strings.ReplaceAll(name, ".", "_") == strings.ReplaceAll(t.name, ".", "_"):
			t.refuse(kafka.InvalidTopicException, "topic "+t.name+" collides with "+name)
		}
	}
}

func (b *Broker) writeTopics(in *step.Input, out *step.Effects, c *topicCreation) {
	var reqs []zookeeper.Request
	var of []*newTopic
	for i := range c.topics {
		t := &c.topics[i]
		if t.code != kafka.None {
			continue
		}
		if b.formats.Topic >= 3 {
			t.id = b.drawTopicID(in, t.name)
		}
		config, content := zookeeper.EncodeConfig(t.settings), zookeeper.EncodeTopic(b.formats.Topic, t.znode())
		path := zookeeper.TopicConfigPath(t.name)
		// The settings are set where their znode is there already, left from a topic of
		// that name, else created.
		reqs = append(reqs,
			zookeeper.Request{{Type: zookeeper.OpSetData, Path: path, Data: config, Version: zookeeper.AnyVersion}},
			zookeeper.Request{{Type: zookeeper.OpCreate, Path: path, Data: config}},
			zookeeper.Request{{Type: zookeeper.OpCreate, Path: zookeeper.TopicPath(t.name), Data: content}})
		of = append(of, t)
	}
	b.ask(in, out, reqs, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		for i, t := range of {
			switch results[3*i+2][0].Code {
			case zookeeper.OK:
			case zookeeper.NodeExists:
				t.refuse(kafka.TopicAlreadyExists, "topic "+t.name+" already exists")
			default:
				t.refuse(kafka.UnknownServerError, "ZooKeeper: "+results[3*i+2][0].Code.String())
			}
		}
		b.awaitLeaders(in, out, c)
		return nil
	})
}

func (t *newTopic) znode() zookeeper.TopicAssignment {
	z := zookeeper.TopicAssignment{TopicID: t.id}
	for i, replicas := range t.assignment {
		z.Partitions = append(z.Partitions, zookeeper.PartitionAssignment{Partition: int32(i), Replicas: replicas})
	}
	return z
}

// drawTopicID is Uuid.randomUuid: version 4, which excludes the reserved ids.
func (b *Broker) drawTopicID(in *step.Input, name string) (id kafka.TopicID) {
	hi, lo := b.draw(in, "topic-id:"+name), b.draw(in, "topic-id:"+name)
	for i := range 8 {
		id[i], id[8+i] = byte(hi>>(56-8*i)), byte(lo>>(56-8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// awaitLeaders parks the request until its topics have leaders, or answers.
func (b *Broker) awaitLeaders(in *step.Input, out *step.Effects, c *topicCreation) {
	c.waits = true
	if c.timeout <= 0 || b.allLed(c) {
		b.completeCreation(in, out, c)
		return
	}
	c.timer = out.SetTimer(laneExpiration, in.Now+kafka.Nanos(c.timeout)*kafka.Millisecond, timerCreation, 0, c)
}

func (b *Broker) allLed(c *topicCreation) bool {
	for i := range c.topics {
		if t := &c.topics[i]; t.code == kafka.None && !b.isLed(t) {
			return false
		}
	}
	return true
}

func (b *Broker) isLed(t *newTopic) bool {
	for n := t.first; n < t.partitions; n++ {
		if p := b.cache.partition(t.name, n); p == nil || p.leader == kafka.NoNode {
			return false
		}
	}
	return true
}

// checkCreations answers the creations whose topics have leaders now.
func (b *Broker) checkCreations(in *step.Input, out *step.Effects) {
	for _, c := range slices.Clone(b.creations) {
		if c.waits && b.allLed(c) {
			b.completeCreation(in, out, c)
		}
	}
}

// completeCreation answers; a topic without leaders has timed out, but exists.
func (b *Broker) completeCreation(in *step.Input, out *step.Effects, c *topicCreation) {
	out.CancelTimer(&c.timer)
	b.creations = slices.DeleteFunc(b.creations, func(o *topicCreation) bool { return o == c })
	for i := range c.topics {
		if t := &c.topics[i]; c.waits && t.code == kafka.None && !b.isLed(t) {
			t.refuse(kafka.RequestTimedOut, "")
		}
	}
	b.answerCreation(out, c)
}

func (b *Broker) answerCreation(out *step.Effects, c *topicCreation) {
	switch {
	case !c.answers:
		return
	case c.grow != nil:
		c.answerGrowth(out)
		return
	}
	resp := kmsg.NewPtrCreateTopicsResponse()
	resp.Version = c.req.Version
	for i := range c.topics {
		t := &c.topics[i]
		r := kmsg.NewCreateTopicsResponseTopic()
		r.Topic, r.ErrorCode = t.name, int16(t.code)
		if resp.Version >= 1 && t.message != "" {
			r.ErrorMessage = &t.message
		}
		if resp.Version >= 5 && t.code == kafka.None {
			r.NumPartitions, r.ReplicationFactor = t.partitions, t.factor
		}
		if resp.Version >= 7 {
			r.TopicID = t.id
		}
		resp.Topics = append(resp.Topics, r)
	}
	c.from.answer(out, resp)
}

// autoCreate begins to create a topic that somebody asked metadata for, with the
// broker's defaults (AutoTopicCreationManager), and returns what to answer
// meanwhile. A topic that is being created is not created twice.
func (b *Broker) autoCreate(in *step.Input, out *step.Effects, name string) kafka.ErrorCode {
	for _, c := range b.creations {
		if c.req != nil && countTopic(c.req, name) > 0 {
			return kafka.UnknownTopicOrPartition
		}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(b.cfg.RequestTimeout / kafka.Millisecond)
	asked := kmsg.NewCreateTopicsRequestTopic()
	asked.Topic, asked.NumPartitions, asked.ReplicationFactor = name, -1, -1
	if name == group.OffsetsTopic {
		b.askForOffsets(&asked)
	}
	req.Topics = append(req.Topics, asked)
	c := &topicCreation{req: req, timeout: req.TimeoutMillis, topics: []newTopic{b.planTopic(in, req, &req.Topics[0])}}
	if code := c.topics[0].code; code != kafka.None {
		return code
	}
	b.creations = append(b.creations, c)
	b.createTopics(in, out, c)
	return kafka.UnknownTopicOrPartition
}

// askForOffsets makes the request one for __consumer_offsets, which has settings of its
// own (GroupCoordinator.offsetsTopicConfigs).
func (b *Broker) askForOffsets(t *kmsg.CreateTopicsRequestTopic) {
	factor := b.cfg.OffsetsReplication
	if b.cfg.Profile.OffsetsFactorOfAlive {
		factor = min(factor, max(1, len(b.cache.brokers)))
	}
	t.NumPartitions, t.ReplicationFactor = b.cfg.OffsetsPartitions, int16(factor)
	for _, s := range []config.Setting{{Key: "cleanup.policy", Value: config.Compact}, {Key: "compression.type", Value: "producer"},
		{Key: "segment.bytes", Value: strconv.Itoa(int(b.cfg.OffsetsSegmentBytes))}} {
		e := kmsg.NewCreateTopicsRequestTopicConfig()
		e.Name, e.Value = s.Key, &s.Value
		t.Configs = append(t.Configs, e)
	}
}
