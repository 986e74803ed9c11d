package perf

import (
	"errors"
	"fmt"
	"os"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// fetchSize is max.partition.fetch.bytes and replica.fetch.max.bytes.
const fetchSize = 1 << 20

// depth is how far a reader looks into what it reads.
type depth uint8

const (
	headers depth = iota
	checksums
	records
)

// shared is a log that several cases use; it is filled when the first needs it.
type shared struct {
	b       *bench
	name    string
	batch   record.Batch
	l       *log.Log
	records int64
}

func (s *shared) log() (*log.Log, error) {
	if s.l != nil {
		return s.l, nil
	}
	l, err := fresh(s.b.fs, place(s.name), config())
	if err != nil {
		return nil, err
	}
	s.l = l
	if s.records, err = fill(l, s.batch, valueSize, s.b.o.Size, true); err != nil {
		return nil, err
	}
	l.SetHighWatermark(l.LogEndOffset())
	return l, nil
}

func (s *shared) done() error {
	if s.l == nil {
		return nil
	}
	l := s.l
	s.l = nil
	return s.b.removeLog(l)
}

func readCases(b *bench) ([]*testCase, error) {
	batch, err := clientBatch(16, valueSize)
	if err != nil {
		return nil, err
	}
	s := &shared{b: b, name: "read", batch: batch}
	buf := make([]byte, fetchSize)
	out := []*testCase{
		b.reading(s, "headers", "headers", headers, buf, false),
		b.reading(s, "checksums", "headers, checksums", checksums, buf, false),
		b.reading(s, "records", "headers, checksums, records", records, buf, false),
		b.rawRead(s, buf),
		b.readingSimulated(batch, "records-sim", "headers, checksums, records", records),
		b.readingSimulated(batch, "headers-sim", "headers", headers),
	}
	if canDrop {
		out = append(out, b.reading(s, "records-cold", "the same, pages dropped before", records, buf, true))
	}
	out[0].done = s.done
	return out, nil
}

func (b *bench) reading(s *shared, name, title string, d depth, buf []byte, cold bool) *testCase {
	return &testCase{name: name, title: title, disk: real, run: func(r *run) error {
		l, err := s.log()
		if err == nil && cold {
			err = b.drop(l)
		}
		if err != nil {
			return err
		}
		err = r.timed(func() (err error) {
			r.records, err = readInOrder(l, d, buf)
			return err
		})
		r.bytes, r.ops = r.records*valueSize, r.records
		return errors.Join(err, demand("records read", r.records, s.records))
	}}
}

// drop takes the log's files out of the page cache.
func (b *bench) drop(l *log.Log) error {
	for _, s := range l.Segments() {
		f, err := os.Open(b.path(s.File))
		if err != nil {
			return err
		}
		err = dropPages(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// readInOrder reads a log as a consumer of one partition does, from the start to the
// high watermark.
func readInOrder(l *log.Log, d depth, buf []byte) (n int64, err error) {
	var it record.Iterator
	for at := l.LogStartOffset(); at < l.HighWatermark(); {
		b, err := fetch(l, at, buf)
		if err != nil {
			return n, err
		}
		next, found, err := walk(b, d, &it)
		if err != nil {
			return n, err
		}
		if found == 0 {
			return n, fmt.Errorf("perf: nothing is read at offset %d", at)
		}
		n, at = n+found, next
	}
	return n, nil
}

// fetch reads up to len(buf) bytes from an offset on, into buf if the file can.
func fetch(l *log.Log, at kafka.Offset, buf []byte) ([]byte, error) {
	info, err := l.ReadSlice(at, len(buf), l.HighWatermark(), false)
	if err != nil || info.Size == 0 {
		return nil, err
	}
	if c, ok := info.File.(vfs.Copier); ok {
		n, err := c.ReadInto(info.Pos, buf[:info.Size])
		return buf[:n], err
	}
	return info.File.ReadAt(info.Pos, info.Size)
}

// walk goes over whole batches; next is the offset behind them.
func walk(b []byte, d depth, it *record.Iterator) (next kafka.Offset, n int64, err error) {
	for {
		batch, rest, err := record.Next(b)
		if err != nil {
			if len(b) == 0 || errors.Is(err, record.ErrIncomplete) {
				return next, n, nil
			}
			return next, n, err
		}
		b, next = rest, batch.NextOffset()
		if d >= checksums {
			if err := batch.Check(); err != nil {
				return next, n, err
			}
		}
		if d < records {
			n += int64(batch.Count())
			continue
		}
		for it.Reset(batch); it.Next(); {
			n++
		}
		if it.Err() != nil {
			return next, n, it.Err()
		}
	}
}

// rawRead is what the system can do: pread of the same bytes.
func (b *bench) rawRead(s *shared, buf []byte) *testCase {
	return &testCase{name: "raw", title: "pread(2), 1 MiB at once", disk: raw, run: func(r *run) error {
		l, err := s.log()
		if err != nil {
			return err
		}
		return r.timed(func() error {
			for _, seg := range l.Segments() {
				f, err := b.fs.Open(seg.File)
				if err != nil {
					return err
				}
				n, err := readAll(f, buf)
				if err := errors.Join(err, f.Close()); err != nil {
					return err
				}
				r.bytes += n
			}
			return nil
		})
	}}
}

func readAll(f vfs.File, buf []byte) (n int64, err error) {
	for {
		got, err := f.(vfs.Copier).ReadInto(n, buf)
		if err != nil || got == 0 {
			return n, err
		}
		n += int64(got)
	}
}

func (b *bench) readingSimulated(batch record.Batch, name, title string, d depth) *testCase {
	var l *log.Log
	var want int64
	return &testCase{name: name, title: title, disk: sim, run: func(r *run) (err error) {
		if l == nil {
			if l, err = fresh(simulated(), "log", config()); err != nil {
				return err
			}
			if want, err = fill(l, batch, valueSize, min(b.o.Size, simulatedMax), false); err != nil {
				return err
			}
			l.SetHighWatermark(l.LogEndOffset())
		}
		err = r.timed(func() (err error) {
			r.records, err = readInOrder(l, d, make([]byte, fetchSize))
			return err
		})
		r.bytes, r.ops = r.records*valueSize, r.records
		return errors.Join(err, demand("records read", r.records, want))
	}, done: func() error { l = nil; return nil }}
}
