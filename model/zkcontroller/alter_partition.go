package zkcontroller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// alterPartition changes ISRs as their leaders ask (Z-28, L-25).
type alterPartition struct {
	req   *kmsg.AlterPartitionRequest
	reply Reply

	at      int
	items   []alterItem // in order of the request
	writing []candidate
	writes  []int // index into items, by writing
	updated []*partition
}

// alterItem is one partition of the request with its outcome.
type alterItem struct {
	topic *kmsg.AlterPartitionRequestTopic
	n     int32
	p     *partition // nil if unknown
	err   kafka.ErrorCode
	info  leaderISR // the answer where err is none
}

func (e *alterPartition) step(c *Controller) next {
	if !c.IsActive() {
		e.abandon(c, preempted)
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		if err := e.checkSender(c); err != kafka.None {
			e.refuse(c, err)
			return done()
		}
		e.checkAll(c)
		return await(c.fencedStateWrites(e.writing))
	case 2:
		e.written(c)
		return call(&refreshStates{partitions: e.updated})
	}
	c.updateMetadata(c.ctx.allBrokers(), e.named()...)
	e.answer(c)
	return done()
}

// checkSender: the sender must be registered with this very epoch; it may be
// shutting down.
func (e *alterPartition) checkSender(c *Controller) kafka.ErrorCode {
	b := c.ctx.broker(kafka.NodeID(e.req.BrokerID))
	if b == nil || int64(b.epoch) != e.req.BrokerEpoch && !c.cfg.Profile.Quirks.Has(quirk.AlterByAnyEpoch) {
		return kafka.StaleBrokerEpoch
	}
	return kafka.None
}

func (e *alterPartition) checkAll(c *Controller) {
	for i := range e.req.Topics {
		t := &e.req.Topics[i]
		known := c.ctx.topic(t.Topic)
		if e.req.Version >= 2 {
			known = c.ctx.topicByID(t.TopicID)
		}
		for j := range t.Partitions {
			e.checkOne(c, t, known, &t.Partitions[j])
		}
	}
}

func (e *alterPartition) checkOne(c *Controller, t *kmsg.AlterPartitionRequestTopic, known *topic, want *kmsg.AlterPartitionRequestTopicPartition) {
	item := alterItem{topic: t, n: want.Partition}
	write := false
	switch {
	case known != nil:
		item.p = known.partition(want.Partition)
		item.info, item.err, write = c.checkAlteration(item.p, e.wanted(want), e.req.Version)
	case e.req.Version >= 2:
		item.err = kafka.UnknownTopicID
	default:
		item.err = kafka.UnknownTopicOrPartition
	}
	if write {
		e.writing = append(e.writing, candidate{p: item.p, info: item.info})
		e.writes = append(e.writes, len(e.items))
	}
	e.items = append(e.items, item)
}

// wanted is the state that the request asks for.
func (e *alterPartition) wanted(want *kmsg.AlterPartitionRequestTopicPartition) leaderISR {
	s := leaderISR{leader: kafka.NodeID(e.req.BrokerID), leaderEpoch: kafka.LeaderEpoch(want.LeaderEpoch),
		isr: nodes(want.NewISR), partitionEpoch: kafka.PartitionEpoch(want.PartitionEpoch)}
	if e.req.Version >= 3 {
		s.isr = s.isr[:0]
		for i := range want.NewEpochISR {
			s.isr = append(s.isr, kafka.NodeID(want.NewEpochISR[i].BrokerID))
		}
	}
	if e.req.Version >= 1 {
		s.recovering = want.LeaderRecoveryState == 1
	}
	return s
}

// checkAlteration goes through the rows of Z-28 in order. It answers an error, or
// the present state where it is the wanted one, or the state to be written.
func (c *Controller) checkAlteration(p *partition, want leaderISR, version int16) (info leaderISR, err kafka.ErrorCode, write bool) {
	if p == nil || !p.hasInfo {
		return info, kafka.UnknownTopicOrPartition, false
	}
	have := p.info
	switch {
	case want.partitionEpoch > have.partitionEpoch || want.leaderEpoch > have.leaderEpoch:
		// The leader knows more: there is a newer controller, which it should look for.
		return info, kafka.NotController, false
	case want.leaderEpoch < have.leaderEpoch:
		return info, kafka.FencedLeaderEpoch, false
	case want.leader == have.leader && slices.Equal(want.isr, have.isr) && want.recovering == have.recovering &&
		!c.cfg.Profile.Quirks.Has(quirk.RepeatedISRRefused):
		// Before the partition epoch is looked at: a lost answer makes the leader ask twice.
		return have, kafka.None, false
	case want.partitionEpoch < have.partitionEpoch && !c.cfg.Profile.Quirks.Has(quirk.AlterAnyVersion):
		return info, kafka.InvalidUpdateVersion, false
	case want.recovering && (len(want.isr) > 1 || !have.recovering):
		return info, kafka.InvalidRequest, false
	}
	for _, id := range want.isr {
		if !c.ctx.isLive(id) {
			return info, ineligible(version), false
		}
	}
	want.controllerEpoch, want.partitionEpoch = c.ctx.epoch, have.partitionEpoch
	return want, kafka.None, true
}

// ineligible is the error for an ISR with a broker that is not live (KIP-841).
func ineligible(version int16) kafka.ErrorCode {
	if version >= 2 {
		return kafka.IneligibleReplica
	}
	return kafka.OperationNotAttempted
}

func (e *alterPartition) written(c *Controller) {
	for i := range e.writing {
		item := &e.items[e.writes[i]]
		switch zookeeper.Outcome(c.results[i]) {
		case zookeeper.OK:
			item.info.partitionEpoch = kafka.PartitionEpoch(c.results[i][1].Stat.Version)
			e.updated = append(e.updated, item.p)
		case zookeeper.BadVersion:
			item.err = kafka.InvalidUpdateVersion
		default:
			item.err = kafka.UnknownServerError
		}
	}
}

// named lists the partitions of the request that exist.
func (e *alterPartition) named() (ps []*partition) {
	for i := range e.items {
		if e.items[i].p != nil {
			ps = append(ps, e.items[i].p)
		}
	}
	return ps
}

// abandon: a cleared queue sends the leader elsewhere; a write that found another
// controller is an unknown error, after which the leader asks again.
func (e *alterPartition) abandon(c *Controller, why reason) {
	if why == preempted {
		e.refuse(c, kafka.NotController)
		return
	}
	e.refuse(c, kafka.UnknownServerError)
}

func (e *alterPartition) refuse(c *Controller, err kafka.ErrorCode) {
	resp := e.req.ResponseKind().(*kmsg.AlterPartitionResponse)
	resp.ErrorCode = int16(err)
	e.reply(c.in, c.out, resp)
}

func (e *alterPartition) answer(c *Controller) {
	resp := e.req.ResponseKind().(*kmsg.AlterPartitionResponse)
	for i := range e.items {
		if i == 0 || e.items[i-1].topic != e.items[i].topic {
			t := kmsg.NewAlterPartitionResponseTopic()
			if e.req.Version >= 2 {
				t.TopidID = e.items[i].topic.TopicID
			} else {
				t.Topic = e.items[i].topic.Topic
			}
			resp.Topics = append(resp.Topics, t)
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, e.items[i].response(e.req.Version))
	}
	e.reply(c.in, c.out, resp)
}

func (i *alterItem) response(version int16) kmsg.AlterPartitionResponseTopicPartition {
	r := kmsg.NewAlterPartitionResponseTopicPartition()
	r.Partition, r.ErrorCode = i.n, int16(i.err)
	if i.err != kafka.None {
		return r
	}
	r.LeaderID, r.LeaderEpoch = int32(i.info.leader), int32(i.info.leaderEpoch)
	r.ISR, r.PartitionEpoch = ids(i.info.isr), int32(i.info.partitionEpoch)
	if version >= 1 && i.info.recovering {
		r.LeaderRecoveryState = 1
	}
	return r
}
