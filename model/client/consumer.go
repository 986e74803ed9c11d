package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// ConsumerConfig makes a Consumer.
type ConsumerConfig struct {
	*config.Consumer
	Bootstrap  []step.Addr // bootstrap.servers
	Assignment Assignment
	// StartOffsets are positions to begin with. A partition that is not listed begins
	// by auto.offset.reset, after a restart too: without a group nothing remembers
	// where an earlier life was.
	StartOffsets []StartOffset
	// EndOffsets is the time between two calls of endOffsets for all partitions; 0 = none.
	EndOffsets kafka.Nanos
	// Scratch may be shared with the brokers and all clients of a simulation; may be nil.
	Scratch *record.Scratch
}

// Consumer is a consumer process with assigned partitions. It exits with a reason
// when Kafka's consumer would throw out of poll: an offset out of range without a
// reset policy, a corrupt batch, an error that no retry cures.
type Consumer struct {
	reader
	it record.Iterator // scratch
}

// NewConsumer makes a consumer that has not booted.
func NewConsumer(cfg ConsumerConfig) *Consumer {
	c := &Consumer{reader: newReader(cfg.Consumer, cfg.Bootstrap, cfg.Assignment, cfg.StartOffsets)}
	c.monitor.every = cfg.EndOffsets
	c.share(cfg.Scratch, &c.it)
	c.sink = c
	return c
}

// Lanes is the one lane of the poll loop.
func (c *Consumer) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "poll", Workers: 1}} }

// Step takes one input and does all that it makes possible.
func (c *Consumer) Step(in *step.Input, out *step.Effects) error {
	c.step(in, out)
	return nil
}

// Positions lists the partitions that have a position, as StartOffsets for a later
// life.
func (c *Consumer) Positions() []StartOffset {
	var s []StartOffset
	for _, a := range c.parts {
		if a.pos.offset != kafka.NoOffset {
			s = append(s, StartOffset{TP: a.tp, Offset: a.pos.offset, Epoch: a.pos.epoch})
		}
	}
	return s
}

// Leaderless lists the partitions that it reads and does not know the leaders of.
func (c *Consumer) Leaderless() []Leaderless { return c.leaderless() }

// take delivers a batch: one RecordDelivered. Records below the position, at the
// beginning of the first batch of an answer, are left out (C-2).
func (c *Consumer) take(in *step.Input, out *step.Effects, a *assigned, b record.Batch, node kafka.NodeID) {
	e := event.Event{Kind: event.RecordDelivered, TP: a.tp, Base: kafka.NoOffset, Last: b.LastOffset(), CRC: b.CRC(),
		Node: node, Producer: -1, First: -1, Batch: b}
	whole := b.BaseOffset() >= a.pos.offset
	for c.it.Reset(b); c.it.Next(); {
		rec := c.it.Record()
		if rec.Offset < a.pos.offset {
			continue
		}
		e.Count++
		if e.Base == kafka.NoOffset {
			e.Base = rec.Offset
			e.Producer, e.First, e.Created, _ = ParseRecord(rec)
			if whole {
				e.Count = b.Count()
				break
			}
		}
		e.Last = rec.Offset
	}
	if err := c.it.Err(); err != nil {
		c.raise("fetch of " + a.tp.String() + ": " + err.Error())
		return
	}
	if e.Count > 0 {
		out.Note(e)
	}
}
