package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// DeleteRecords (KIP-107, storage 6.5). Modelled: the log start of the leader moves
// at once, the answer waits until the log start of every live replica has followed.
// Left out: authorization.

// deletion is a request from its handler to its answer (DelayedDeleteRecords).
type deletion struct {
	from  caller
	req   *kmsg.DeleteRecordsRequest
	parts []deletionPart // in the order of the request
	timer step.TimerRef
}

type deletionPart struct {
	h         *hosted // nil if not hosted
	requested kafka.Offset
	low       kafka.Offset // low watermark, -1 unknown
	code      kafka.ErrorCode
	wait      bool
}

func (b *Broker) handleDeleteRecords(in *step.Input, out *step.Effects, from caller, req *kmsg.DeleteRecordsRequest) error {
	d := &deletion{from: from, req: req}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			part, err := b.deleteRecords(in, out, t.Topic, &t.Partitions[j])
			if err != nil {
				return err
			}
			d.parts = append(d.parts, part)
		}
	}
	if d.isDone() {
		b.answerDeletion(out, d)
		return nil
	}
	wait := kafka.Nanos(max(req.TimeoutMillis, 0)) * kafka.Millisecond
	d.timer = out.SetTimer(laneExpiration, in.Now+wait, timerDeletion, 0, d)
	b.waiting.deletions = append(b.waiting.deletions, d)
	return nil
}

func (b *Broker) deleteRecords(in *step.Input, out *step.Effects, topic string, asked *kmsg.DeleteRecordsRequestTopicPartition) (part deletionPart, err error) {
	part.low = kafka.NoOffset
	part.h = b.topics.get(topic, asked.Partition)
	switch {
	case internalTopic(topic):
		part.code = kafka.InvalidTopicException
		return part, nil
	case part.h == nil:
		part.code = b.cache.missing(topic, asked.Partition)
		return part, nil
	}
	part.requested, part.code, err = part.h.p.DeleteRecords(in, out, kafka.Offset(asked.Offset))
	if part.code == kafka.None && err != nil {
		part.code = kafka.KafkaStorageError
	}
	part.wait = part.code == kafka.None
	return part, b.absorb(err)
}

// isDone looks at every partition without an outcome and reports whether all have
// one now.
func (d *deletion) isDone() bool {
	done := true
	for i := range d.parts {
		part := &d.parts[i]
		if !part.wait {
			continue
		}
		switch low, code := part.h.p.LowWatermark(); {
		case code != kafka.None:
			part.code, part.low, part.wait = code, kafka.NoOffset, false
		case low >= part.requested:
			part.low, part.wait = low, false
		default:
			part.low, done = low, false
		}
	}
	return done
}

// checkDeletions answers those that are done, after anything has happened.
func (b *Broker) checkDeletions(out *step.Effects) {
	for i := 0; i < len(b.waiting.deletions); {
		if d := b.waiting.deletions[i]; d.isDone() {
			b.completeDeletion(out, d)
		} else {
			i++
		}
	}
}

// completeDeletion answers; what has no outcome has timed out.
func (b *Broker) completeDeletion(out *step.Effects, d *deletion) {
	out.CancelTimer(&d.timer)
	b.waiting.deletions = slices.DeleteFunc(b.waiting.deletions, func(x *deletion) bool { return x == d })
	b.answerDeletion(out, d)
}

func (b *Broker) answerDeletion(out *step.Effects, d *deletion) {
	resp := &kmsg.DeleteRecordsResponse{Version: d.req.Version}
	n := 0
	for i := range d.req.Topics {
		t := kmsg.DeleteRecordsResponseTopic{Topic: d.req.Topics[i].Topic}
		for j := range d.req.Topics[i].Partitions {
			part := &d.parts[n]
			n++
			if part.wait {
				part.code = kafka.RequestTimedOut
			}
			t.Partitions = append(t.Partitions, kmsg.DeleteRecordsResponseTopicPartition{
				Partition: d.req.Topics[i].Partitions[j].Partition, LowWatermark: int64(part.low), ErrorCode: int16(part.code)})
		}
		resp.Topics = append(resp.Topics, t)
	}
	d.from.answer(out, resp)
}
