package log

import "github.com/simkafka/simkafka/model/kafka"

// hint says that everything before offset lies before pos in the segment at base,
// and that the first batch that holds offset or a later one begins there.
type hint struct {
	offset kafka.Offset
	base   kafka.Offset
	pos    int64
}

// hints remembers where the last appends ended and the last bounds lay, so that a
// fetch at the log's end or up to a recent high watermark reads no index. Offsets
// are appended at their hint or after it, so an entry stays true until the log is
// truncated.
type hints struct {
	ring *[hintCount]hint // nil while there is none: an idle log keeps no room
	n    uint8            // entries in use
	next uint8
}

const hintCount = 4

func (h *hints) add(offset, base kafka.Offset, pos int64) {
	if h.ring == nil {
		h.ring = new([hintCount]hint)
	}
	h.ring[h.next] = hint{offset, base, pos}
	h.next = (h.next + 1) % hintCount
	h.n = min(h.n+1, hintCount)
}

func (h *hints) find(offset kafka.Offset) (hint, bool) {
	for i := range h.n {
		if h.ring[i].offset == offset {
			return h.ring[i], true
		}
	}
	return hint{}, false
}

func (h *hints) clear() { *h = hints{} }
