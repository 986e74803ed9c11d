package zkcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// controlledShutdown moves what a leaving broker leads to others and takes it out
// of the ISRs that it follows (Z-27). Partitions with one replica stay as they are
// and do not count.
type controlledShutdown struct {
	req   *kmsg.ControlledShutdownRequest
	reply Reply

	at       int
	followed []*partition
}

func (e *controlledShutdown) id() kafka.NodeID { return kafka.NodeID(e.req.BrokerID) }

func (e *controlledShutdown) step(c *Controller) next {
	if !c.IsActive() {
		e.abandon(c, preempted)
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		if err := e.check(c); err != kafka.None {
			e.answer(c, err, nil)
			return done()
		}
		c.ctx.broker(e.id()).shuttingDown = true
		return call(&onlinePartitions{partitions: e.sort(c), strategy: election.ControlledShutdown})
	case 2:
		var rs []replicaOf
		for _, p := range e.followed {
			c.addStopReplica(e.id(), p, false)
			rs = append(rs, replicaOf{p, e.id()})
		}
		c.sendBatch()
		return call(&offlineReplicas{replicas: rs})
	}
	left := c.ctx.partitions(func(p *partition) bool {
		return p.hasInfo && p.info.leader == e.id() && len(p.assignment.replicas) > 1
	})
	c.out.Note(event.Event{Kind: event.ShutdownAnswered, Node: e.id(), ControllerEpoch: c.ctx.epoch, Count: int32(len(left))})
	e.answer(c, kafka.None, left)
	return done()
}

// check refuses requests of earlier lives and of unknown brokers. With a broker
// epoch an unknown broker is not looked for properly in Kafka either.
func (e *controlledShutdown) check(c *Controller) kafka.ErrorCode {
	known := c.ctx.broker(e.id())
	withEpoch := c.cfg.Profile.BrokerEpoch && e.req.Version >= 2 && e.req.BrokerEpoch != -1
	switch {
	case known == nil && withEpoch:
		return kafka.UnknownServerError
	case known == nil:
		return kafka.BrokerNotAvailable
	case withEpoch && kafka.BrokerEpoch(e.req.BrokerEpoch) < known.epoch:
		return kafka.StaleBrokerEpoch
	}
	return kafka.None
}

// sort splits the broker's partitions into those that it leads and those that it
// follows.
func (e *controlledShutdown) sort(c *Controller) (led []*partition) {
	for _, r := range c.ctx.replicasOn(e.id()) {
		switch {
		case len(r.p.assignment.replicas) < 2 || !r.p.hasInfo || !c.ctx.lives(r.p):
		case r.p.info.leader == e.id():
			led = append(led, r.p)
		default:
			e.followed = append(e.followed, r.p)
		}
	}
	return led
}

// abandon answers as the exception ControllerMovedException does.
func (e *controlledShutdown) abandon(c *Controller, why reason) {
	if why == failed {
		e.answer(c, kafka.UnknownServerError, nil)
		return
	}
	e.answer(c, kafka.StaleControllerEpoch, nil)
}

func (e *controlledShutdown) answer(c *Controller, err kafka.ErrorCode, left []*partition) {
	resp := e.req.ResponseKind().(*kmsg.ControlledShutdownResponse)
	resp.ErrorCode = int16(err)
	for _, p := range left {
		remaining := kmsg.NewControlledShutdownResponsePartitionsRemaining()
		remaining.Topic, remaining.Partition = p.tp.Topic, p.tp.Partition
		resp.PartitionsRemaining = append(resp.PartitionsRemaining, remaining)
	}
	e.reply(c.in, c.out, resp)
}
