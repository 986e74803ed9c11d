package measure

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// buckets are equal stretches of time, one open at a time: quantiles are taken
// when it closes.
type buckets struct {
	width        kafka.Nanos
	end          kafka.Nanos
	room         int // buckets that are expected
	produce, e2e latency
	acked, bytes int64
	fails        int64
	out          outcome.Series
}

// maxBuckets is about one plot column in three.
const maxBuckets = 400

// bucketWidth is a round width that gives at most maxBuckets over the run.
func bucketWidth(run kafka.Nanos) kafka.Nanos {
	for _, w := range []kafka.Nanos{50 * kafka.Millisecond, 100 * kafka.Millisecond, 250 * kafka.Millisecond, 500 * kafka.Millisecond,
		kafka.Second, 2 * kafka.Second, 5 * kafka.Second, 10 * kafka.Second, 30 * kafka.Second, kafka.Minute, 5 * kafka.Minute} {
		if run/w <= maxBuckets {
			return w
		}
	}
	return run/maxBuckets + 1
}

func newBuckets(run kafka.Nanos) *buckets {
	width := bucketWidth(run)
	return &buckets{width: width, end: width, room: int(run/width) + 1, out: outcome.Series{Step: width}}
}

func (b *buckets) advance(now kafka.Nanos, p *partitions, g *groups) {
	for now >= b.end {
		g.sample(b.end, p)
		b.close(p)
	}
}

func (b *buckets) close(p *partitions) {
	o := &b.out
	o.Produce = append(o.Produce, b.produce.quantiles())
	o.E2E = append(o.E2E, b.e2e.quantiles())
	o.Acked = append(o.Acked, b.acked)
	o.Bytes = append(o.Bytes, b.bytes)
	o.Failed = append(o.Failed, b.fails)
	p.sample(b.end, b.room)
	b.produce.reset()
	b.e2e.reset()
	b.acked, b.bytes, b.fails = 0, 0, 0
	b.end += b.width
}

func (b *buckets) produced(d kafka.Nanos, n, bytes int64) {
	b.produce.add(d, n)
	b.acked += n
	b.bytes += bytes
}

func (b *buckets) delivered(d kafka.Nanos, n int64) { b.e2e.add(d, n) }
func (b *buckets) failed(n int64)                   { b.fails += n }

func (b *buckets) fill(s *outcome.Series) { *s = b.out }
