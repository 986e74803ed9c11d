package invariant

import (
	"cmp"
	"hash/crc32"
	"slices"

	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// Compaction is what a topic lets the cleaner do.
type Compaction struct {
	DeleteRetention kafka.Nanos // delete.retention.ms
	MinLag          kafka.Nanos // min.compaction.lag.ms
}

// keyed is what the ghost knows of the records of a compacted partition: those of
// every batch, by offset in their branch (branch.recs) and by key. All are kept, as
// long as the run goes on: the oldest may be the latest of its key.
type keyed struct {
	places map[uint64][]place // by hash of the key, in the order of offsets
	passes []pass
	now    []rec // of the event's batch
	it     record.Iterator
}

// rec is a record: 40 bytes. Key and value are known by their hashes.
type rec struct {
	offset    kafka.Offset
	key       uint64 // of the key, 0 without one
	number    int64  // within producer and partition, -1 if it is not ours
	value     uint32
	producer  int32
	tombstone bool
}

// place is where a key has a record.
type place struct {
	offset kafka.Offset
	b      *branch
}

// pass is the first cleaning on any replica that reached up to end (exclusive). Longer
// ones follow; a tombstone's horizon counts from the first that covered it.
type pass struct {
	end kafka.Offset
	at  kafka.Nanos
}

// cleaning is what a replica's log may lack: records that the cleanings of its own, or
// of a log that it copied, could remove.
type cleaning struct {
	bound kafka.Offset // nothing at it or above was cleaned
	last  kafka.Nanos  // when the last one began
	base  kafka.Offset // of the one under way
	end   kafka.Offset
	own   position // the log of which that was said, up to bound; b is nil before
	gone  hollow   // where it may have nothing at all, by cleanings that have ended
}

// copied: a log has batches of one that was cleaned so.
func (c *cleaning) copied(of cleaning) {
	if of.bound > c.bound {
		c.own = of.own
	}
	c.bound, c.last = max(c.bound, of.bound), max(c.last, of.last)
}

func newKeyed() *keyed { return &keyed{places: map[uint64][]place{}} }

// decode reads the records of a batch from offset from on; ok is false if it cannot be
// read. The list is good until the next call.
func (k *keyed) decode(b record.Batch, from kafka.Offset) (ok bool) {
	k.now = k.now[:0]
	if len(b) < record.HeaderSize || b.IsControl() {
		return len(b) >= record.HeaderSize
	}
	for k.it.Reset(b); k.it.Next(); {
		r := k.it.Record()
		if r.Offset < from {
			continue
		}
		x := rec{offset: r.Offset, tombstone: r.Value == nil, value: crc32.ChecksumIEEE(r.Value)}
		x.producer, x.number, _, _ = client.ParseRecord(r)
		if r.Key != nil {
			x.key = hashKey(r.Key)
		}
		k.now = append(k.now, x)
	}
	return k.it.Err() == nil
}

// hashKey is FNV-1a; never 0.
func hashKey(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return max(h, 1)
}

// entered adds the records at hand, those of the batch that b was just given.
func (k *keyed) entered(b *branch) {
	b.recs = append(b.recs, k.now...)
	for i := range k.now {
		x := &k.now[i]
		list := k.places[x.key]
		at := len(list)
		for at > 0 && list[at-1].offset > x.offset {
			at--
		}
		k.places[x.key] = slices.Insert(list, at, place{x.offset, b})
	}
}

// newer reports whether the log x has a record of the key of r behind it, below bound.
func (k *keyed) newer(x position, r *rec, bound kafka.Offset) bool {
	list := k.places[r.key]
	i, _ := slices.BinarySearchFunc(list, r.offset+1, func(p place, o kafka.Offset) int { return cmp.Compare(p.offset, o) })
	for _, p := range list[i:] {
		if p.offset >= min(bound, x.end) {
			break
		}
		if x.holding(p.offset) == p.b {
			return true
		}
	}
	return false
}

// earlier reports whether the log x has another copy of r before it.
func (k *keyed) earlier(x position, r *rec) bool {
	for _, p := range k.places[r.key] {
		if p.offset >= min(r.offset, x.end) {
			break
		}
		if x.holding(p.offset) != p.b {
			continue
		}
		for _, c := range p.b.recordsOf(p.offset, p.offset+1) {
			if c.producer == r.producer && c.number == r.number {
				return true
			}
		}
	}
	return false
}

// horizonPassed: a tombstone may go in a cleaning that began delete.retention.ms after
// the first that covered it, which stamped the horizon (KIP-534).
func (k *keyed) horizonPassed(o kafka.Offset, c *cleaning, retention kafka.Nanos) bool {
	i, _ := slices.BinarySearchFunc(k.passes, o+1, func(p pass, o kafka.Offset) int { return cmp.Compare(p.end, o) })
	return i < len(k.passes) && c.last >= k.passes[i].at+retention-2*kafka.Millisecond
}

// same reports whether two records are one.
func (r *rec) same(o *rec) bool {
	return r.offset == o.offset && r.key == o.key && r.value == o.value && r.tombstone == o.tombstone
}

// recordsOf lists the records of b at [from, to).
func (b *branch) recordsOf(from, to kafka.Offset) []rec {
	at := func(o kafka.Offset) int {
		i, _ := slices.BinarySearchFunc(b.recs, o, func(r rec, o kafka.Offset) int { return cmp.Compare(r.offset, o) })
		return i
	}
	return b.recs[at(from):at(max(from, to))]
}

// each visits the records of the log x at [from, to), in order.
func (x position) each(from, to kafka.Offset, visit func(*rec)) {
	to = min(to, x.end)
	if from >= to {
		return
	}
	if x.b.parent != nil && from < x.b.start {
		x.up().each(from, min(to, x.b.start), visit)
	}
	list := x.b.recordsOf(max(from, x.b.start), to)
	for i := range list {
		visit(&list[i])
	}
}

// blankWithin reports whether x has bytes at [from, to) that nobody noted.
func (x position) blankWithin(from, to kafka.Offset) bool {
	end := min(to, x.end)
	for b := x.b; b != nil && from < end; b = b.parent {
		if b.blank && b.start < end {
			return true
		}
		end = min(end, b.start)
	}
	return false
}

// differs finds the first record at hand which is not the one that x has there; o is its
// offset. What x holds unknown bytes for is not told.
func (k *keyed) differs(x position) (o kafka.Offset, differs bool) {
	for i := range k.now {
		r := &k.now[i]
		b := x.holding(r.offset)
		if r.offset >= x.end || b.blank {
			continue
		}
		if have := b.recordsOf(r.offset, r.offset+1); len(have) == 0 || !have[0].same(r) {
			return r.offset, true
		}
	}
	return 0, false
}
