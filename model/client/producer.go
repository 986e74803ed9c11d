package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// ProducerConfig makes a Producer.
type ProducerConfig struct {
	*config.Producer
	// Number names the producer in its values and events.
	Number    int32
	Bootstrap []step.Addr // bootstrap.servers
	Workload  Workload
	// Scratch may be shared with the brokers and all clients of a simulation; nil: the
	// producer has its own.
	Scratch *record.Scratch
}

// Producer is a producer process: an application that sends a workload and the
// KafkaProducer that it calls.
//
// Records are numbered within (producer, partition), in the order of their joining
// a batch: BatchSent, RecordAcked and RecordFailed name a batch by the number of
// its first record and its count. A life of the process numbers from
// (Incarnation-1) << 40 on, so that no number comes twice. A record that fails
// before it has a partition is a RecordFailed of its own with First -1.
type Producer struct {
	cfg      ProducerConfig
	network  network
	acc      accumulator
	topic    *topicQueues
	arrivals arrivals
	called   uint64   // calls made in this life
	blocked  fifo     // calls that wait for metadata or memory
	drained  []*batch // scratch
	wake     netclient.Alarm
	expireAt kafka.Nanos // no batch expires before
	now      kafka.Nanos // of the current step
	retries  stream
	closing  bool
	value    []byte          // scratch: the next value
	key      []byte          // scratch: the next key
	head     []record.Header // scratch: of a tombstone
}

// incarnationShift leaves room for the records of one life.
const incarnationShift = 40

// NewProducer makes a producer that has not booted.
func NewProducer(cfg ProducerConfig) *Producer {
	p := &Producer{cfg: cfg, expireAt: kafka.Forever, wake: netclient.Alarm{Lane: lane, Kind: wakeTimer}}
	p.network = newNetwork(networkConfig{
		bootstrap: cfg.Bootstrap, version: cfg.Profile.Versions.Metadata, maxInFlight: cfg.MaxInFlight,
		requestTimeout: cfg.RequestTimeout, setupTimeout: cfg.ConnectionSetup,
		reconnectBackoff: cfg.ReconnectBackoff, reconnectMax: cfg.ReconnectMax,
		retryBackoff: cfg.RetryBackoff, retryBackoffMax: cfg.RetryBackoffMax, metadataMaxAge: cfg.MetadataMaxAge, quirks: cfg.Profile.Quirks,
	})
	return p
}

// Lanes is the one lane of application and sender.
func (p *Producer) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "sender", Workers: 1}} }

// Pending counts the records that are neither acknowledged nor failed, blocked
// calls among them.
func (p *Producer) Pending() int64 { return p.acc.records + int64(p.blocked.len()) }

// Finished reports whether the workload is over and nothing is pending.
func (p *Producer) Finished() bool { return p.arrivals.next == kafka.Forever && p.Pending() == 0 }

// Step takes one input and does all that it makes possible.
func (p *Producer) Step(in *step.Input, out *step.Effects) error {
	p.now = in.Now
	switch {
	case in.Kind == step.Boot:
		p.boot(in)
	case in.Kind == step.Terminate:
		p.terminate(out)
	case p.wake.Owns(in):
		p.wake.Fired(in)
	default:
		done := p.network.handle(in, out)
		for i := range done {
			p.produced(in, out, &done[i])
		}
	}
	p.run(in, out)
	return nil
}

func (p *Producer) boot(in *step.Input) {
	p.acc = newAccumulator(p.cfg.Producer, &p.network.meta, int64(in.Incarnation-1)<<incarnationShift, p.cfg.Scratch)
	p.topic = p.acc.topic(p.cfg.Workload.Topic)
	p.arrivals = newArrivals(in, &p.cfg.Workload)
	p.value = make([]byte, max(p.cfg.Workload.RecordSize, MinValueSize))
	fill(p.value, in.Draw("workload/filler", 0))
	if p.cfg.Workload.TombstonePPM > 0 {
		p.head = []record.Header{{Key: headHeader, Value: make([]byte, MinValueSize)}}
	}
}

// terminate is KafkaProducer.close: no more calls, those blocked fail, what is
// batched goes out, then the process ends.
func (p *Producer) terminate(out *step.Effects) {
	p.closing = true
	p.arrivals.next = kafka.Forever
	for p.blocked.len() > 0 {
		p.refuse(out, p.blocked.pop().called, kafka.UnknownServerError, "producer closed")
	}
}

// run is one turn of the application and the sender. Metadata that is due goes out
// before records, and what the sender misses is asked for at once.
func (p *Producer) run(in *step.Input, out *step.Effects) {
	next := p.network.maybeUpdate(in, out)
	for {
		next = min(next, p.application(in, out))
		if in.Now >= p.expireAt {
			p.expireAt = p.expire(in, out)
			next = min(next, p.application(in, out)) // memory may have come free
		}
		free := p.acc.free
		next = min(next, p.send(in, out))
		if p.blocked.len() == 0 || p.acc.free <= free { // acks=0 frees memory at once
			break
		}
	}
	next = min(next, p.network.maybeUpdate(in, out), p.expireAt)
	if p.closing && p.acc.records == 0 {
		out.Exit("closed")
		return
	}
	p.wake.Set(out, next)
}

// application makes the calls that are due, after those that were blocked, and
// returns when it has something to do next.
func (p *Producer) application(in *step.Input, out *step.Effects) kafka.Nanos {
	for p.arrivals.next <= in.Now {
		for range p.arrivals.records() {
			p.called++
			p.blocked.push(call{number: p.called, called: p.arrivals.next})
		}
		p.arrivals.pass(in)
	}
	p.acc.exhausted = false
	for p.blocked.len() > 0 && p.call(in, out, p.blocked.head()) {
		p.blocked.pop()
	}
	next := p.arrivals.next
	for p.blocked.len() > 0 {
		deadline := saturatingAdd(p.blocked.head().called, p.cfg.MaxBlock)
		if deadline > in.Now {
			return min(next, deadline)
		}
		p.refuse(out, p.blocked.pop().called, kafka.RequestTimedOut, "max.block.ms")
	}
	return next
}

// call is KafkaProducer.send. False: it stays blocked, for metadata or for memory.
func (p *Producer) call(in *step.Input, out *step.Effects, c *call) bool {
	w := &p.cfg.Workload
	if n := p.topic.info.count; n == 0 || int(w.Partition) >= n {
		p.network.requestUpdate()
		return false
	}
	r := outgoing{producer: p.cfg.Number, now: in.Now, called: c.called, timestamp: in.Wall, value: p.value}
	if w.KeyCount > 0 {
		draw := in.Draw("workload/key", uint64(in.Incarnation)<<32|c.number)
		p.key = appendKey(p.key[:0], step.Below(draw, uint64(w.KeyCount)))
		r.key = p.key
		if w.TombstonePPM > 0 && step.Below(in.Draw("workload/tombstone", uint64(in.Incarnation)<<32|c.number), 1_000_000) < uint64(w.TombstonePPM) {
			r.value, r.headers = nil, p.head
		}
	}
	size := record.SizeUpperBound(r.key, r.value, r.headers)
	if size > int(p.cfg.MaxRequestSize) || int64(size) > p.cfg.BufferMemory {
		p.refuse(out, c.called, kafka.MessageTooLarge, "max.request.size")
		return true
	}
	if !p.acc.append(in, p.topic, w.Partition, &r) {
		p.acc.exhausted = true
		return false
	}
	p.expireAt = min(p.expireAt, saturatingAdd(in.Now, p.cfg.DeliveryTimeout))
	return true
}

// refuse fails a call that never became part of a batch: it is surely not in a log.
func (p *Producer) refuse(out *step.Effects, called kafka.Nanos, err kafka.ErrorCode, text string) {
	out.Note(event.Event{Kind: event.RecordFailed, Producer: p.cfg.Number, First: -1, Count: 1, Err: err,
		TP: kafka.TopicPartition{Topic: p.cfg.Workload.Topic, Partition: p.cfg.Workload.Partition}, Acks: p.cfg.Acks, Created: called, Text: text})
}

// call is a send call that has not returned.
type call struct {
	number uint64 // counts the calls of this life
	called kafka.Nanos
}

// fifo is a queue of calls that reuses its memory.
type fifo struct {
	calls []call
	first int
}

func (f *fifo) len() int    { return len(f.calls) - f.first }
func (f *fifo) head() *call { return &f.calls[f.first] }
func (f *fifo) push(c call) { f.calls = append(f.calls, c) }

func (f *fifo) pop() call {
	c := f.calls[f.first]
	f.first++
	if 2*f.first >= len(f.calls) {
		f.calls, f.first = f.calls[:copy(f.calls, f.calls[f.first:])], 0
	}
	return c
}
