package invariant

import "github.com/simkafka/simkafka/model/kafka"

// entry is a batch as the ghost keeps it: 16 bytes.
type entry struct {
	base  kafka.Offset
	crc   uint32
	count uint32 // offsets that it spans
}

func (e entry) next() kafka.Offset { return e.base + kafka.Offset(e.count) }

const (
	chunkSize = 256
	// keptChunks bounds the batches that a partition's ghost remembers one by one;
	// of older chunks it keeps the hash.
	keptChunks = 64
)

// chunk is a stretch of batches; entries is nil when only the hash is left.
type chunk struct {
	entries   []entry
	base, end kafka.Offset // exclusive end
	hash      uint64
}

// branch is the batches that the leader of one epoch wrote, behind those of the
// branches above it. Branches form a tree, so that a log is a position in it and
// replicas with equal logs share everything: what two logs have in common is where
// their positions' paths part.
//
// Without defects and without lost data there is one branch for an epoch.
type branch struct {
	parent     *branch // nil for the root
	start, end kafka.Offset
	chunks     []chunk
	recs       []rec // of compacted partitions, by offset
	count      int   // batches
	epoch      kafka.LeaderEpoch
	depth      int32
	// blank: the bytes between start and end are not known, as after a crash inside
	// an append.
	blank bool
	// rewritten: the epoch had other batches here before.
	rewritten bool
	// excused: written by a leader that had lost unsynced records and led the same
	// epoch again.
	excused bool
}

// position is a log: the path from the root to b, up to end (exclusive).
type position struct {
	b   *branch
	end kafka.Offset
}

func (p position) up() position { return position{p.b.parent, min(p.end, p.b.start)} }

// meet is the position up to which two logs are the same.
func meet(x, y position) position {
	for x.b != y.b {
		if x.b.depth >= y.b.depth {
			x = x.up()
		} else {
			y = y.up()
		}
	}
	x.end = min(x.end, y.end)
	return x.settled()
}

// overBlank goes on from at, up to which x and y are the same, over bytes of one of them
// that nobody noted: they count as equal. Where those of one end, others of the other one
// may go on.
func overBlank(x, y position, at kafka.Offset) kafka.Offset {
	end := min(x.end, y.end)
	for at < end {
		h := x.holding(at)
		if !h.blank {
			h = y.holding(at)
		}
		if !h.blank || h.end <= at {
			break
		}
		at = min(h.end, end)
	}
	return at
}

// settled names a position by the branch that holds its last batch.
func (p position) settled() position {
	for p.b.parent != nil && p.b.start >= p.end {
		p = p.up()
	}
	return p
}

// at is the log cut at end, if it is longer.
func (p position) at(end kafka.Offset) position {
	p.end = min(p.end, end)
	return p.settled()
}

// holding is the branch of the path that holds offset o, which is below p.end.
func (p position) holding(o kafka.Offset) *branch {
	b := p.b
	for b.start > o && b.parent != nil {
		b = b.parent
	}
	return b
}

// blankBelow reports whether there are bytes below o that nobody noted.
func (p position) blankBelow(o kafka.Offset) bool {
	for b := p.b; b != nil; b = b.parent {
		if b.blank && b.start < o {
			return true
		}
	}
	return false
}

// excused reports whether a rewritten epoch is what parts the log from another one
// that it equals up to end.
func (p position) excused(end kafka.Offset) bool {
	for b := p.b; b != nil && b.start >= end; b = b.parent {
		if b.excused {
			return true
		}
	}
	return false
}

// lookup is the outcome of a search.
type lookup uint8

const (
	found   lookup = iota
	absent         // the branch has a batch there, but it is another one
	beyond         // the branch ends before
	unknown        // the bytes there are not known, or forgotten
)

// find searches the batch that holds offset o; i is its index, or that of the
// batch that would be next.
func (b *branch) find(o kafka.Offset) (e entry, i int, how lookup) {
	switch {
	case b.blank:
		return entry{}, 0, unknown
	case o >= b.end || b.count == 0:
		return entry{}, b.count, beyond
	case o < b.start:
		return entry{}, 0, absent
	}
	n := len(b.chunks) - 1
	if b.chunks[n].base > o {
		lo, hi := 0, n
		for lo+1 < hi { // the last chunk with base <= o
			if mid := (lo + hi) / 2; b.chunks[mid].base <= o {
				lo = mid
			} else {
				hi = mid
			}
		}
		n = lo
	}
	c := &b.chunks[n]
	if c.entries == nil {
		return entry{}, n * chunkSize, unknown
	}
	lo, hi := 0, len(c.entries)
	if c.entries[hi-1].base <= o { // most of what is looked for is at the end
		lo = hi - 1
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; c.entries[mid].base <= o {
			lo = mid
		} else {
			hi = mid
		}
	}
	return c.entries[lo], n*chunkSize + lo, found
}

// indexed is the batch at index i < count; ok is false if it is forgotten.
func (b *branch) indexed(i int) (e entry, ok bool) {
	c := &b.chunks[i/chunkSize]
	if c.entries == nil {
		return entry{}, false
	}
	return c.entries[i%chunkSize], true
}

// push adds a batch at the end and reports whether it began a chunk.
func (b *branch) push(e entry) (fresh bool) {
	if b.count%chunkSize == 0 {
		b.chunks = append(b.chunks, chunk{base: e.base})
		fresh = true
	}
	c := &b.chunks[len(b.chunks)-1]
	if len(c.entries) == cap(c.entries) {
		grown := make([]entry, len(c.entries), min(chunkSize, max(8, 4*len(c.entries))))
		copy(grown, c.entries)
		c.entries = grown
	}
	c.entries = append(c.entries, e)
	c.end = e.next()
	b.end = c.end
	b.count++
	return fresh
}

// forget keeps only the hash of a full chunk.
func (c *chunk) forget() {
	for _, e := range c.entries {
		c.hash = mix(c.hash, e)
	}
	c.entries = nil
}

// mix folds a batch into a hash.
func mix(h uint64, e entry) uint64 {
	h = (h ^ uint64(e.base)) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h = (h ^ uint64(e.crc)<<32 ^ uint64(e.count)) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}
