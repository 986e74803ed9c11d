package client

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// TestTombstonesHaveTheirNumbersInAHeader: they take part in the numbering, also when a
// batch was too large and is split.
func TestTombstonesHaveTheirNumbersInAHeader(t *testing.T) {
	cfg := labProducerConfig()
	cfg.Linger = 20 * kafka.Millisecond
	p := NewProducer(ProducerConfig{Producer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Workload: Workload{
		Topic: "orders", RatePerMil: 500_000, RecordSize: 50, Partition: 0, KeyCount: 4, TombstonePPM: 500_000, Count: 40}})
	l := newLab(t, p)
	l.quiet = true
	l.lead("orders", 0, 1, 2, 3)
	l.do(step.Input{Kind: step.Boot})
	next, tombstones, refused := int64(0), 0, false
	for range 100 {
		l.advance(10 * kafka.Millisecond)
		for broker := int32(1); broker <= 3; broker++ {
			for l.waiting(broker) > 0 {
				c, r := l.take(broker)
				err := kafka.None
				if req, ok := r.req.(*kmsg.ProduceRequest); ok {
					b := record.Batch(req.Topics[0].Partitions[0].Records)
					if !refused && b.Count() > 1 {
						refused, err = true, kafka.MessageTooLarge
					} else {
						next = numbered(t, b, next, &tombstones)
					}
				}
				l.answer(c, r, logs{}.answer(r.req, err))
			}
		}
	}
	if next != 40 || tombstones < 5 || tombstones > 35 || !refused {
		t.Errorf("%d records, %d of them tombstones, split %v", next, tombstones, refused)
	}
}

func numbered(t *testing.T, b record.Batch, next int64, tombstones *int) int64 {
	var it record.Iterator
	for it.Reset(b); it.Next(); next++ {
		r := it.Record()
		if _, n, _, ok := ParseRecord(r); !ok || n != next || r.Key == nil {
			t.Errorf("record %d is numbered %d (%v), key %q", next, n, ok, r.Key)
		}
		if r.Value == nil {
			*tombstones++
		}
	}
	return next
}
