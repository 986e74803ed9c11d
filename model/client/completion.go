package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// answer is how one attempt to send a batch ended.
type answer struct {
	err  kafka.ErrorCode
	base kafka.Offset // of the batch, NoOffset if unknown
	// unsent: the request never left, so it proves nothing against the batch.
	unsent bool
	// came: this is what a response says, so that the request is no more.
	came bool
}

// produced ends a Produce request.
func (p *Producer) produced(in *step.Input, out *step.Effects, c *netclient.Completion) {
	r := c.Tag.(*produce)
	resp, ok := c.Response.(*kmsg.ProduceResponse)
	if !ok {
		lost := answer{err: kafka.NetworkException, base: kafka.NoOffset, unsent: c.Failure == netclient.Refused}
		for _, b := range r.batches {
			p.complete(in, out, b, &lost)
		}
		return
	}
	for i := range resp.Brokers {
		n := &resp.Brokers[i]
		p.network.meta.learnNode(kafka.NodeID(n.NodeID), step.Addr{Host: n.Host, Port: n.Port})
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		info := p.network.meta.find(t.Topic, t.TopicID)
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			b := r.take(info, rp.Partition)
			if b == nil {
				continue
			}
			p.network.meta.hint(out, info, rp.Partition, leaderInfo{kafka.NodeID(rp.CurrentLeader.LeaderID),
				kafka.LeaderEpoch(rp.CurrentLeader.LeaderEpoch)})
			p.complete(in, out, b, &answer{err: kafka.ErrorCode(rp.ErrorCode), base: kafka.Offset(rp.BaseOffset), came: true})
		}
	}
	for _, b := range r.batches {
		if b != nil { // the broker left it out of its answer
			p.complete(in, out, b, &answer{err: kafka.UnknownServerError, base: kafka.NoOffset, came: true})
		}
	}
	p.acc.node(in.Now, r.node).spare = r
}

// take removes the batch of a partition from the request.
func (r *produce) take(info *topicInfo, partition int32) *batch {
	for i, b := range r.batches {
		if b != nil && b.queue.tp.Partition == partition && b.queue.topic.info == info {
			r.batches[i] = nil
			return b
		}
	}
	return nil
}

// complete decides about a batch after an attempt (Sender.completeBatch, P-5).
func (p *Producer) complete(in *step.Input, out *step.Effects, b *batch, a *answer) {
	q := b.queue
	q.muted = false
	q.landed(b)
	if a.err.RefreshesMetadata() {
		p.network.requestUpdate()
	}
	b.returned = a.came && b.attempts == 0
	b.doubtful = b.doubtful || a.err != kafka.None && !a.unsent && !provesNotAppended(a.err)
	switch {
	case b.done:
		p.acc.recycle(b)
	case a.err == kafka.None:
		p.acknowledge(out, b, a.base)
	case a.err == kafka.MessageTooLarge && b.count > 1:
		p.acc.split(b)
		p.acc.recycle(b)
	case p.canRetry(in, b, a.err):
		p.requeue(in, b)
	case a.err == kafka.DuplicateSequenceNumber:
		p.acknowledge(out, b, kafka.NoOffset)
	default:
		p.fail(out, b, a.err, "")
		p.acc.recycle(b)
	}
}

// canRetry is P-6 without a producer id.
func (p *Producer) canRetry(in *step.Input, b *batch, err kafka.ErrorCode) bool {
	return !b.expired(in.Now, p.cfg.DeliveryTimeout) && b.attempts < p.cfg.Retries && err.Retriable()
}

// requeue puts a batch back at the head of its queue. Without idempotence that is
// all: of several batches in flight the later ones may end up first.
func (p *Producer) requeue(in *step.Input, b *batch) {
	backoff := netclient.Backoff(p.cfg.RetryBackoff, p.cfg.RetryBackoffMax, int(b.attempts), p.retries.draw(in, "producer/retry"))
	b.attempts++
	b.since, b.retryAt = in.Now, in.Now+backoff
	b.queue.pushHead(b)
	p.acc.activate(b.queue)
}

func (p *Producer) acknowledge(out *step.Effects, b *batch, base kafka.Offset) {
	e := out.Fact()
	e.Kind, e.TP, e.Producer, e.First, e.Count = event.RecordAcked, b.queue.tp, p.cfg.Number, b.first, b.count
	e.Base, e.Last, e.Acks, e.Created, e.Index, e.Size = base, kafka.NoOffset, p.cfg.Acks, b.oldest, b.attempts+1, int32(b.size)
	if base != kafka.NoOffset {
		e.Last = base + kafka.Offset(b.count) - 1
	}
	p.acc.settle(b)
	p.acc.recycle(b)
}

// fail tells the application that a batch's records failed. The batch may still be
// referred to by a request in flight.
func (p *Producer) fail(out *step.Effects, b *batch, err kafka.ErrorCode, text string) {
	attempts := b.attempts + 1
	if !b.announced {
		attempts = 0
	}
	out.Note(event.Event{Kind: event.RecordFailed, TP: b.queue.tp, Producer: p.cfg.Number, First: b.first, Count: b.count,
		Err: err, Acks: p.cfg.Acks, Created: b.oldest, Index: attempts, Flag: b.doubtful, Text: text})
	p.acc.settle(b)
}

// expire fails the batches older than delivery.timeout.ms, queued or in flight
// (P-4), and returns when the next one will be.
func (p *Producer) expire(in *step.Input, out *step.Effects) kafka.Nanos {
	next := kafka.Forever
	for _, t := range p.acc.topics {
		for _, q := range t.queues {
			next = min(next, p.expireQueue(in, out, q))
		}
	}
	p.acc.compact()
	return next
}

func (p *Producer) expireQueue(in *step.Input, out *step.Effects, q *queue) kafka.Nanos {
	const text = "delivery.timeout.ms"
	next := kafka.Forever
	for len(q.waiting) > 0 {
		b := q.waiting[0]
		if !b.expired(in.Now, p.cfg.DeliveryTimeout) {
			next = min(next, saturatingAdd(b.created, p.cfg.DeliveryTimeout))
			break
		}
		q.popHead()
		p.fail(out, b, kafka.RequestTimedOut, text)
		p.acc.recycle(b)
	}
	for len(q.inFlight) > 0 {
		b := q.inFlight[0]
		if !b.expired(in.Now, p.cfg.DeliveryTimeout) {
			next = min(next, saturatingAdd(b.created, p.cfg.DeliveryTimeout))
			break
		}
		q.inFlight = removeAt(q.inFlight, 0)
		b.doubtful = true
		p.fail(out, b, kafka.RequestTimedOut, text)
	}
	return next
}

// provesNotAppended reports whether an error shows that this attempt put nothing
// into a log: the checks that come before the append (cluster 6.5). Errors that
// also end a wait after the append prove nothing.
func provesNotAppended(err kafka.ErrorCode) bool {
	switch err {
	case kafka.NotEnoughReplicas, kafka.MessageTooLarge, kafka.RecordListTooLarge, kafka.InvalidTimestamp,
		kafka.CorruptMessage, kafka.InvalidRecord, kafka.InvalidRequiredAcks, kafka.InvalidTopicException,
		kafka.UnsupportedVersion, kafka.OutOfOrderSequenceNumber, kafka.InvalidProducerEpoch,
		kafka.UnknownTopicID:
		return true
	}
	return false
}
