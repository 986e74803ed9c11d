package zkcontroller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// trigger is why leaders are elected (ElectionTrigger).
type trigger uint8

const (
	byAdmin    trigger = iota // an ElectLeaders request
	byZNode                   // /admin/preferred_replica_election appeared
	byFailover                // it was there at a failover (fetchPendingPreferredReplicaElections)
)

// uncleanElection is ElectLeadersRequest.ElectionType UNCLEAN; 0 is PREFERRED.
const uncleanElection = 1

// electLeaders is processReplicaLeaderElection. Of the triggers only the
// administrator hears of the outcome; the others delete the znode and look again
// whether a new one came.
type electLeaders struct {
	trigger trigger
	req     *kmsg.ElectLeadersRequest // byAdmin
	reply   Reply

	at       int
	electing onlinePartitions
	outcomes []partitionError // byAdmin, in the order decided
}

type partitionError struct {
	tp  kafka.TopicPartition
	err kafka.ErrorCode
}

func (e *electLeaders) step(c *Controller) next {
	if !c.IsActive() {
		e.abandon(c, preempted)
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		if e.trigger == byAdmin {
			return goOn()
		}
		return await([]zookeeper.Request{exists(zookeeper.PreferredElectionPath), read(zookeeper.PreferredElectionPath)})
	case 2:
		if e.trigger == byZNode && c.results[0][0].Code != zookeeper.OK {
			return done()
		}
		return e.begin(c)
	case 3:
		return e.finish(c)
	}
	if e.trigger != byAdmin {
		c.put(&electLeaders{trigger: byZNode}) // detects future ones
	}
	return done()
}

func (e *electLeaders) begin(c *Controller) next {
	e.electing.strategy = election.Preferred
	tps := c.allPartitions()
	if e.trigger != byAdmin {
		tps, _ = zookeeper.DecodePartitions(c.results[1][0].Data) // what cannot be read asks for nothing
	} else {
		if e.req.Version >= 1 && e.req.ElectionType == uncleanElection {
			e.electing.strategy, e.electing.unclean = election.Offline, true
		}
		if e.req.Topics != nil {
			tps = requestedPartitions(e.req)
		}
	}
	slices.SortFunc(tps, kafka.TopicPartition.Compare)
	for _, tp := range slices.Compact(tps) {
		switch p := c.ctx.partition(tp); {
		case p == nil:
			e.outcomes = append(e.outcomes, partitionError{tp, kafka.UnknownTopicOrPartition})
		case !c.ctx.lives(p):
			e.outcomes = append(e.outcomes, partitionError{tp, kafka.InvalidTopicException})
		case !e.needed(c, p):
			e.outcomes = append(e.outcomes, partitionError{tp, kafka.ElectionNotNeeded})
		default:
			e.electing.partitions = append(e.electing.partitions, p)
		}
	}
	return call(&e.electing)
}

func (c *Controller) allPartitions() (tps []kafka.TopicPartition) {
	for _, p := range c.ctx.partitions(everyPartition) {
		tps = append(tps, p.tp)
	}
	return tps
}

func requestedPartitions(req *kmsg.ElectLeadersRequest) (tps []kafka.TopicPartition) {
	for i := range req.Topics {
		for _, n := range req.Topics[i].Partitions {
			tps = append(tps, kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: n})
		}
	}
	return tps
}

// needed: the preferred replica does not lead; or, for an unclean election, nobody
// live does. A partition without a state is electable: it has no leader.
func (e *electLeaders) needed(c *Controller, p *partition) bool {
	switch {
	case !p.hasInfo:
		return true
	case e.electing.unclean:
		return p.info.leader == kafka.NoNode || !c.ctx.isLive(p.info.leader)
	}
	return len(p.assignment.replicas) > 0 && p.info.leader != p.assignment.replicas[0]
}

func (e *electLeaders) finish(c *Controller) next {
	if e.trigger != byAdmin {
		return await([]zookeeper.Request{c.fencedDelete(zookeeper.PreferredElectionPath)})
	}
	lost := kafka.PreferredLeaderNotAvailable
	if e.electing.unclean {
		lost = kafka.EligibleLeadersNotAvailable
	}
	for _, r := range e.electing.elections {
		if r.ok {
			e.outcomes = append(e.outcomes, partitionError{r.p.tp, kafka.None})
		} else {
			e.outcomes = append(e.outcomes, partitionError{r.p.tp, lost})
		}
	}
	e.answer(c, kafka.None)
	return goOn()
}

// abandon answers NOT_CONTROLLER for every partition asked for. Where the event
// ends because the controller moved Kafka leaves the client to its timeout.
func (e *electLeaders) abandon(c *Controller, why reason) {
	if e.trigger != byAdmin {
		return
	}
	e.outcomes = nil
	for _, tp := range requestedPartitions(e.req) {
		e.outcomes = append(e.outcomes, partitionError{tp, kafka.NotController})
	}
	e.answer(c, kafka.NotController)
}

// answer sends the outcomes by topic and partition. Where no partitions were named
// it has the only top-level error, and partitions led by the right replica already
// are not listed.
func (e *electLeaders) answer(c *Controller, top kafka.ErrorCode) {
	resp := e.req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if e.req.Version >= 1 && e.req.Topics == nil {
		resp.ErrorCode = int16(top)
	}
	slices.SortStableFunc(e.outcomes, func(a, b partitionError) int { return a.tp.Compare(b.tp) })
	for _, o := range e.outcomes {
		if e.req.Topics == nil && o.err == kafka.ElectionNotNeeded {
			continue
		}
		last := len(resp.Topics) - 1
		if last < 0 || resp.Topics[last].Topic != o.tp.Topic {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = o.tp.Topic
			resp.Topics = append(resp.Topics, t)
			last++
		}
		p := kmsg.NewElectLeadersResponseTopicPartition()
		p.Partition, p.ErrorCode = o.tp.Partition, int16(o.err)
		resp.Topics[last].Partitions = append(resp.Topics[last].Partitions, p)
	}
	e.reply(c.in, c.out, resp)
}
