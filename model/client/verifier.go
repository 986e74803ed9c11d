package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// VerifierDone is the text of the Probe that a Verifier notes at its end.
const VerifierDone = "verifier-done"

// VerifierConfig makes a Verifier.
type VerifierConfig struct {
	*config.Consumer
	Bootstrap  []step.Addr // bootstrap.servers
	Assignment Assignment
	// Batch gets each batch from the log start to the high watermark, in order of
	// offsets within a partition; node is the broker that served it. After an
	// out-of-range answer a partition is read from its log start again.
	Batch func(tp kafka.TopicPartition, b record.Batch, node kafka.NodeID)
}

// Verifier is a consumer that reads every partition once, from the log start to the
// high watermark that its leader names, through the protocol. A new leader is asked
// for its high watermark anew. At the end it notes a Probe, VerifierDone, and stays
// idle; it notes no RecordDelivered, so that reading back does not count as
// consuming.
type Verifier struct {
	reader
	batch func(kafka.TopicPartition, record.Batch, kafka.NodeID)
	done  bool
}

// NewVerifier makes a verifier that has not booted.
func NewVerifier(cfg VerifierConfig) *Verifier {
	v := &Verifier{reader: newReader(cfg.Consumer, cfg.Bootstrap, cfg.Assignment, nil), batch: cfg.Batch}
	v.policy, v.bounded, v.sink = config.ResetEarliest, true, v
	return v
}

// Lanes is the one lane of the poll loop.
func (v *Verifier) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "poll", Workers: 1}} }

// Step takes one input and does all that it makes possible.
func (v *Verifier) Step(in *step.Input, out *step.Effects) error {
	if v.done && in.Kind != step.Terminate {
		return nil
	}
	v.step(in, out)
	if !v.done && v.finished() {
		v.done = true
		out.Note(event.Event{Kind: event.Probe, Text: VerifierDone})
	}
	return nil
}

// Done reports whether every partition has been read to its end.
func (v *Verifier) Done() bool { return v.done }

// Remaining lists the partitions not read to their end with the next offset to read, NoOffset
// if it has no position, and for a topic that no metadata has shown a partition -1.
func (v *Verifier) Remaining() []StartOffset {
	var left []StartOffset
	for i := range v.topics {
		t := &v.topics[i]
		if t.info.count == 0 {
			left = append(left, StartOffset{TP: kafka.TopicPartition{Topic: t.info.name, Partition: -1}, Offset: kafka.NoOffset})
		}
		for _, p := range t.listed {
			if t.info.count > 0 && (int(p) >= len(t.parts) || t.parts[p] == nil) {
				left = append(left, StartOffset{TP: kafka.TopicPartition{Topic: t.info.name, Partition: p}, Offset: kafka.NoOffset})
			}
		}
	}
	for _, a := range v.parts {
		if !a.readToEnd() {
			left = append(left, StartOffset{TP: a.tp, Offset: a.pos.offset, Epoch: a.pos.epoch})
		}
	}
	return left
}

func (a *assigned) readToEnd() bool {
	return a.state == fetching && a.end != kafka.NoOffset && a.pos.offset >= a.end
}

func (v *Verifier) finished() bool {
	for _, a := range v.parts {
		if !a.readToEnd() {
			return false
		}
	}
	return len(v.Remaining()) == 0
}

func (v *Verifier) take(_ *step.Input, _ *step.Effects, a *assigned, b record.Batch, node kafka.NodeID) {
	v.batch(a.tp, b, node)
}
