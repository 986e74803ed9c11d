package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// leadHintsFrom is the Produce version whose error responses name the new leader
// (KIP-951); with it a newer leader epoch ends the retry backoff.
const leadHintsFrom = 10

// topicIDsFrom is the Produce and Fetch version that names topics by id (KIP-516).
const topicIDsFrom = 13

// produce is a Produce request on its way: what it carries, with room for the
// usual small one in the same allocation.
type produce struct {
	req     kmsg.ProduceRequest
	node    kafka.NodeID
	batches []*batch // in the order of the request's partitions; nil for one with an outcome
	topics  [1]kmsg.ProduceRequestTopic
	parts   [1]kmsg.ProduceRequestTopicPartition
	few     [1]*batch
}

// send drains what can be sent and returns when there may be more to do, Forever
// if only an input can tell (Sender.sendProducerData).
func (p *Producer) send(in *step.Input, out *step.Effects) (next kafka.Nanos) {
	for {
		sent := false
		next = p.findReady(in)
		for i := range p.acc.nodes {
			n := &p.acc.nodes[i]
			if !n.ready {
				continue
			}
			n.readyAt = in.Now
			if !p.network.ready(in, out, n.id) {
				next = min(next, p.notReadyUntil(in, n.id))
				continue
			}
			n.drainedAt = in.Now
			p.produce(in, out, p.drain(n), n)
			sent = true
		}
		p.acc.compact()
		if !sent {
			return next
		}
	}
}

// notReadyUntil is when connecting to a node may be tried again. While connecting,
// or at the limit of requests in flight, an input will tell.
func (p *Producer) notReadyUntil(in *step.Input, id kafka.NodeID) kafka.Nanos {
	addr, ok := p.network.meta.addr(id)
	if !ok {
		return kafka.Forever
	}
	if at := p.network.net.BackoffUntil(addr); at > in.Now {
		return at
	}
	return kafka.Forever
}

// findReady marks the leaders of partitions whose head batch may be sent (P-2) and
// returns when the next one may.
func (p *Producer) findReady(in *step.Input) kafka.Nanos {
	for i := range p.acc.nodes {
		p.acc.nodes[i].ready = false
	}
	next := kafka.Forever
	for _, q := range p.acc.active {
		q.leader, q.epoch = p.network.meta.leaderOf(q.topic.info, q.tp.Partition)
		if q.leader == kafka.NoNode {
			p.network.requestUpdate()
			continue
		}
		if q.muted || len(q.waiting) == 0 {
			continue
		}
		if at := p.acc.sendableAt(q, p.closing, p.skipsBackoff()); at > in.Now {
			next = min(next, at)
			continue
		}
		p.acc.node(in.Now, q.leader).ready = true
	}
	return next
}

func (p *Producer) skipsBackoff() bool { return p.cfg.Profile.Versions.Produce >= leadHintsFrom }

// drain takes one batch from each partition of a node, beginning with the one after
// the last served, up to max.request.size but at least one. Linger does not hold
// back what travels along (P-3).
func (p *Producer) drain(n *destination) []*batch {
	active := p.acc.active
	start := 0
	for start < len(active) && active[start].order < n.next {
		start++
	}
	p.drained = p.drained[:0]
	size := 0
	for i := range active {
		q := active[(start+i)%len(active)]
		if q.leader != n.id || q.muted || len(q.waiting) == 0 || p.backingOff(q) {
			continue
		}
		b := q.waiting[0]
		p.acc.build(b)
		if size+b.size > int(p.cfg.MaxRequestSize) && len(p.drained) > 0 {
			n.next = q.order
			break
		}
		size += b.size
		n.next = q.order + 1
		q.popHead()
		q.inFlight = append(q.inFlight, b)
		q.muted = p.cfg.MaxInFlight == 1 && !p.cfg.Profile.Quirks.Has(quirk.SendsOvertake)
		b.sentEpoch = q.epoch
		p.drained = append(p.drained, b)
	}
	return p.drained
}

func (p *Producer) backingOff(q *queue) bool {
	b := q.waiting[0]
	return b.attempts > 0 && b.retryAt > p.now && !(p.skipsBackoff() && q.epoch > b.sentEpoch)
}

// produce sends one request with the drained batches, which n leads.
func (p *Producer) produce(in *step.Input, out *step.Effects, batches []*batch, n *destination) {
	r := p.request(batches, n)
	for _, b := range batches {
		if !b.announced {
			b.announced = true
			out.Note(event.Event{Kind: event.BatchSent, TP: b.queue.tp, Producer: p.cfg.Number,
				First: b.first, Count: b.count, Size: int32(b.size)})
		}
	}
	addr, _ := p.network.meta.addr(n.id)
	if p.cfg.Acks != 0 {
		p.network.net.Send(in, out, addr, &r.req, 0, r)
		return
	}
	p.network.net.SendNoResponse(in, out, addr, &r.req)
	for _, b := range r.batches {
		p.complete(in, out, b, &answer{base: kafka.NoOffset})
	}
}

// request is the one that n answered last, filled anew, or a new one.
func (p *Producer) request(batches []*batch, n *destination) *produce {
	r := n.spare
	n.spare = nil
	v := p.cfg.Profile.Versions.Produce
	if r == nil {
		r = &produce{node: n.id}
		r.req.Version, r.req.Acks = v, int16(p.cfg.Acks)
		r.req.TimeoutMillis = int32(p.cfg.RequestTimeout / kafka.Millisecond)
		r.batches = r.few[:0]
	}
	r.batches = append(r.batches[:0], batches...)
	r.req.Topics = r.topics[:0]
	for _, b := range batches {
		t := r.topic(b.queue.topic.info, v)
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: b.queue.tp.Partition, Records: b.data})
	}
	return r
}

// topic finds or adds the topic's part of the request.
func (r *produce) topic(info *topicInfo, version int16) *kmsg.ProduceRequestTopic {
	byID := version >= topicIDsFrom
	for i := range r.req.Topics {
		t := &r.req.Topics[i]
		if byID && info.id == t.TopicID || !byID && info.name == t.Topic {
			return t
		}
	}
	t := kmsg.ProduceRequestTopic{Topic: info.name}
	if byID {
		t = kmsg.ProduceRequestTopic{TopicID: info.id}
	}
	if len(r.req.Topics) == 0 {
		t.Partitions = r.parts[:0]
	}
	r.req.Topics = append(r.req.Topics, t)
	return &r.req.Topics[len(r.req.Topics)-1]
}
