package perf

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
)

// Sizes of the index, in entries: that of a 1 GiB segment of 32 KiB batches, and the
// largest that segment.index.bytes allows by default.
const (
	smallIndex = 32_768
	largeIndex = 10 << 20 / 8
)

// entryShare is how much of Options.Size one entry needs, in bytes: a small measurement
// has a small index.
const entryShare = 32

// tailEntries is how near to the end the lookups of consumers are that keep up.
const tailEntries = 700

// lookupsOfRun is how many lookups one run times.
const lookupsOfRun = 1 << 20

func indexCases(b *bench) ([]*testCase, error) {
	var out []*testCase
	before := 0
	for _, entries := range []int{smallIndex, largeIndex} {
		entries = int(min(int64(entries), max(1<<10, b.o.Size/entryShare)))
		if entries == before {
			break // a small size has one small index
		}
		before = entries
		x := &indexed{b: b, entries: entries}
		label := fmt.Sprintf("%d entries", entries)
		out = append(out,
			x.looking(fmt.Sprintf("random-%d", entries), label+", random", false),
			x.looking(fmt.Sprintf("tail-%d", entries), label+", near the end", true))
		out[len(out)-1].done = x.done
	}
	return out, nil
}

// indexed is a log of one segment with one index entry a batch.
type indexed struct {
	b       *bench
	entries int
	l       *log.Log
}

func (x *indexed) log() (*log.Log, error) {
	if x.l != nil {
		return x.l, nil
	}
	cfg := config()
	cfg.IndexIntervalBytes = 0
	l, err := fresh(x.b.fs, place(fmt.Sprintf("index-%d", x.entries)), cfg)
	if err != nil {
		return nil, err
	}
	x.l = l
	batch, err := clientBatch(1, 4)
	if err != nil {
		return nil, err
	}
	// The first batch gets no entry, and a full index would begin a segment.
	f := newFetched(batch, 64<<10)
	for int(l.LogEndOffset())+f.batches < x.entries {
		if _, err := l.AppendAsFollower(f.at(l.LogEndOffset()), now); err != nil {
			return nil, err
		}
	}
	return l, demand("segments", int64(len(l.Segments())), 1)
}

func (x *indexed) done() error {
	if x.l == nil {
		return nil
	}
	l := x.l
	x.l = nil
	return x.b.removeLog(l)
}

// looking times lookups of offsets that were drawn before.
func (x *indexed) looking(name, title string, tail bool) *testCase {
	return &testCase{name: name, title: title, disk: real, kind: lookups, run: func(r *run) error {
		l, err := x.log()
		if err != nil {
			return err
		}
		end, b := uint64(l.LogEndOffset()), x.b
		drawn, rnd := make([]kafka.Offset, min(lookupsOfRun, b.o.Size)), random(3)
		for i := range drawn {
			if drawn[i] = kafka.Offset(rnd.next() % end); tail {
				drawn[i] = kafka.Offset(end - 1 - rnd.next()%min(end, tailEntries))
			}
		}
		sum := int64(0)
		err = r.timed(func() error {
			for _, o := range drawn {
				_, pos, err := l.LookupPosition(o)
				if err != nil {
					return err
				}
				sum += pos
			}
			return nil
		})
		r.ops = int64(len(drawn))
		return errors.Join(err, x.verify(l, drawn[:min(100, len(drawn))]))
	}}
}

// verify compares lookups with what reading from there finds.
func (x *indexed) verify(l *log.Log, offsets []kafka.Offset) error {
	for _, o := range offsets {
		_, pos, err := l.LookupPosition(o)
		if err != nil {
			return err
		}
		info, err := l.ReadSlice(o, 1, l.LogEndOffset(), true)
		if err != nil {
			return err
		}
		if err := demand(fmt.Sprintf("position of offset %d", o), pos, info.Pos); err != nil {
			return err
		}
	}
	return nil
}
