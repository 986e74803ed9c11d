package scenarios

import (
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
)

// A disk whose syncs are slow must keep up with the segments that the workload fills, or
// a world measures nothing but its queue: a stop, a retention check or a flush then takes
// longer than any bound.
const (
	// syncsPerRoll are those of a log, its two indexes, a producer snapshot and the
	// directory.
	syncsPerRoll = 5
	// batchOverhead is a batch of one record without its value, about.
	batchOverhead = 75
	// busyPercent is how much of its time a disk may spend on them. A sync takes up to half
	// of its price more (jitter).
	busyPercent = 60
)

// easeDisk lowers the price of a slow sync to what the workload leaves room for, down to
// that of the built-in profile.
func (w *world) easeDisk() {
	d := &w.spec.Cluster.Disk
	if d.Fsync == 0 {
		return
	}
	perMil := int64(0) // syncs in 1000 s on the busiest broker, about
	for i := range w.spec.Topics {
		perMil += w.syncs(&w.spec.Topics[i])
	}
	if perMil == 0 {
		return
	}
	limit := kafka.Nanos(int64(kafka.Second) * 1000 * busyPercent / 100 * 2 / 3 / perMil)
	switch {
	case limit >= d.Fsync:
	case limit < 2*kafka.Millisecond:
		d.Fsync = 0
	default:
		d.Fsync = limit / kafka.Millisecond * kafka.Millisecond
	}
}

// syncs is how many syncs a topic costs a broker in 1000 s.
func (w *world) syncs(t *Topic) (perMil int64) {
	bytes, records := int64(0), int64(0) // in 1000 s
	for i := range w.spec.Producers {
		if p := &w.spec.Producers[i]; p.Topic == t.Name {
			n := int64(max(p.Count, 1)) * p.RatePerMil
			records += n
			bytes += n * (int64(p.Size) + batchOverhead)
		}
	}
	share := func(n int64) int64 { return n * int64(t.Replication) / int64(w.spec.Cluster.Brokers) }
	segment := w.setting("log.segment.bytes")
	for _, s := range t.Config {
		if s.Key == "segment.bytes" {
			segment, _ = strconv.ParseInt(s.Value, 10, 64)
		}
	}
	if segment > 0 {
		// A segment takes at least one batch.
		perMil += syncsPerRoll * share(min(bytes/segment, records))
	}
	if roll := w.setting("log.roll.ms"); roll > 0 {
		perMil += syncsPerRoll * share(int64(t.Partitions)) * 1_000_000 / roll
	}
	if every := w.setting("log.flush.interval.messages"); every > 0 {
		perMil += 3 * share(records/every)
	}
	return perMil
}
