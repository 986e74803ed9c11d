package perf

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/osfs"
)

// answerHeader is the length and correlation id before an answer, as in Kafka's
// response header v0.
const answerHeader = 8

// streamAnswer is the size of an answer of a stream: fetch.max.bytes of a consumer, cut
// into the 1 MiB of max.partition.fetch.bytes.
const streamAnswer = 50 << 20

// sendLoad is what a reader asks for.
type sendLoad struct {
	name, title string
	size        int // of an answer, in bytes; 0 is a stream of large answers that nobody asks for
	cold        bool
}

// fetchCount is how many fetches one run makes.
func (s *sendLoad) fetchCount(total int64) int { return int(max(4, total/int64(s.size)/s.share())) }

// share makes the runs of small answers shorter: each of them waits for the reader.
func (s *sendLoad) share() int64 {
	if s.size < 256<<10 {
		return 4
	}
	return 1
}

func sendCases(b *bench) ([]*testCase, error) {
	batch, err := clientBatch(16, valueSize)
	if err != nil {
		return nil, err
	}
	conf, err := selfSigned()
	if err != nil {
		return nil, err
	}
	s := &sends{shared: shared{b: b, name: "send", batch: batch}, tls: conf}
	all := osfs.Ways()
	few := []osfs.Way{osfs.Chosen, osfs.Combined, osfs.Sendfile}
	var out []*testCase
	for _, l := range []struct {
		load sendLoad
		ways []osfs.Way
		tls  bool
	}{
		{sendLoad{name: "stream", title: "stream"}, all, true},
		{sendLoad{name: "1m", title: "1 MiB", size: 1 << 20}, all, true},
		{sendLoad{name: "16k", title: "16 KiB", size: 16 << 10}, all, true},
		{sendLoad{name: "4k", title: "4 KiB", size: 4 << 10}, few, false},
		{sendLoad{name: "64k", title: "64 KiB", size: 64 << 10}, few, false},
		{sendLoad{name: "256k", title: "256 KiB", size: 256 << 10}, few, false},
		{sendLoad{name: "16m", title: "16 MiB", size: 16 << 20}, few, false},
		{sendLoad{name: "cold-16k", title: "16 KiB, cold", size: 16 << 10, cold: true}, few, false},
		{sendLoad{name: "cold-1m", title: "1 MiB, cold", size: 1 << 20, cold: true}, few, false},
	} {
		if l.load.cold && !canDrop {
			continue
		}
		for _, w := range l.ways {
			out = append(out, s.sending(l.load, w, false))
		}
		if l.tls {
			out = append(out, s.sending(l.load, osfs.Chosen, true), s.sending(l.load, osfs.Copied, true))
		}
	}
	out[0].done = s.done
	return out, nil
}

// sends is a log in several segments that is served.
type sends struct {
	shared
	tls      *tls.Config
	verified map[string]bool // cases whose bytes were compared, in their uncounted run
}

// config of the served log: several segments.
func (s *sends) log() (*log.Log, error) {
	if s.l != nil {
		return s.l, nil
	}
	s.verified = make(map[string]bool)
	cfg := config()
	cfg.SegmentBytes = int32(max(1<<20, min(1<<30, s.b.o.Size/4)))
	l, err := fresh(s.b.fs, place(s.name), cfg)
	if err != nil {
		return nil, err
	}
	s.l = l
	s.records, err = fill(l, s.batch, valueSize, s.b.o.Size, true)
	l.SetHighWatermark(l.LogEndOffset())
	return l, err
}

func (s *sends) sending(load sendLoad, way osfs.Way, secure bool) *testCase {
	name, title := load.name+"-"+way.String(), load.title+", "+way.String()
	if secure {
		name, title = load.name+"-tls-"+way.String(), load.title+", TLS, "+way.String()
	}
	return &testCase{name: name, title: title, disk: real, kind: loads, run: func(r *run) error {
		l, err := s.log()
		if err == nil && load.cold {
			err = s.b.drop(l)
		}
		if err != nil {
			return err
		}
		verify := !s.verified[name]
		s.verified[name] = true
		return s.serve(r, l, load, way, secure, verify)
	}}
}

// serve answers one reader until it has had enough.
func (s *sends) serve(r *run, l *log.Log, load sendLoad, way osfs.Way, secure, verify bool) (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	p := readerParams{Address: listener.Addr().String(), TLS: secure, Verify: verify, Size: load.size, Log: l.Size(), End: int64(l.LogEndOffset())}
	if load.size > 0 {
		p.Count = load.fetchCount(s.b.o.Size)
	}
	reader, err := startReader(s.b.o.Reader, p)
	if err != nil {
		return err
	}
	conn, err := accept(listener, reader)
	if err != nil {
		return errors.Join(err, reader.stop())
	}
	if secure {
		t := tls.Server(conn, s.tls)
		if err := t.Handshake(); err != nil {
			return errors.Join(err, conn.Close(), reader.stop())
		}
		conn = t
	}
	out, err := s.b.fs.NewSender(conn, way)
	if err != nil {
		return errors.Join(err, conn.Close(), reader.stop())
	}
	defer out.Close()
	a := &answerer{l: l, out: out, conn: conn, verify: verify}
	err = r.timed(func() (err error) {
		if load.size == 0 {
			err = a.stream()
		} else {
			err = a.answers()
		}
		err = errors.Join(err, conn.Close())
		if err != nil {
			return errors.Join(err, reader.stop())
		}
		r.reader, err = reader.wait()
		return err
	})
	r.bytes, r.ops = a.sent, a.count
	return err
}

// answerer is the broker's side.
type answerer struct {
	l      *log.Log
	out    *osfs.Sender
	conn   net.Conn
	verify bool
	sent   int64
	count  int64
	header [answerHeader]byte
	sum    uint32 // of the last answer, if verified
}

// request is offset, size, and the checksum of the answer before.
const requestSize = 16

// answers serves until the reader asks for nothing.
func (a *answerer) answers() error {
	var q [requestSize]byte
	for {
		if _, err := io.ReadFull(a.conn, q[:]); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if got := binary.BigEndian.Uint32(q[12:]); a.verify && got != a.sum {
			return fmt.Errorf("perf: the reader got bytes with checksum %08x, the log has %08x", got, a.sum)
		}
		size := int(binary.BigEndian.Uint32(q[8:]))
		if size == 0 {
			return nil
		}
		info, err := a.l.ReadSlice(kafka.Offset(binary.BigEndian.Uint64(q[:])), size, a.l.HighWatermark(), false)
		if err != nil {
			return err
		}
		if err := a.answer(osfs.Range{File: info.File, Pos: info.Pos, Size: info.Size}); err != nil {
			return err
		}
	}
}

func (a *answerer) answer(parts ...osfs.Range) error {
	size := 0
	for _, p := range parts {
		size += p.Size
	}
	binary.BigEndian.PutUint32(a.header[:], uint32(size+answerHeader-4))
	binary.BigEndian.PutUint32(a.header[4:], uint32(a.count))
	a.sent, a.count = a.sent+int64(size), a.count+1
	if a.verify {
		if err := a.checksum(parts); err != nil {
			return err
		}
	}
	return a.out.Send(a.header[:], parts...)
}

func (a *answerer) checksum(parts []osfs.Range) error {
	a.sum = 0
	for _, p := range parts {
		b, err := p.File.ReadAt(p.Pos, p.Size)
		if err != nil {
			return err
		}
		a.sum = crc32.Update(a.sum, castagnoli(), b)
	}
	return nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// stream sends the whole log in large answers of several ranges each.
func (a *answerer) stream() error {
	var parts []osfs.Range
	size := 0
	for at := a.l.LogStartOffset(); at < a.l.HighWatermark(); {
		info, err := a.l.ReadSlice(at, fetchSize, a.l.HighWatermark(), true)
		if err != nil {
			return err
		}
		next, err := a.behind(info)
		if err != nil {
			return err
		}
		parts = append(parts, osfs.Range{File: info.File, Pos: info.Pos, Size: next.size})
		size, at = size+next.size, next.offset
		if size >= streamAnswer || at >= a.l.HighWatermark() {
			if err := a.answer(parts...); err != nil {
				return err
			}
			parts, size = parts[:0], 0
		}
	}
	return nil
}

// behind tells the offset behind the whole batches of what was found. All batches of
// the log have one size and number of records, so that one header tells it.
func (a *answerer) behind(info log.ReadInfo) (next struct {
	size   int
	offset kafka.Offset
}, err error) {
	head, err := headOf(info.File, info.Pos)
	if err != nil {
		return next, err
	}
	n := max(1, info.Size/head.size)
	next.size, next.offset = n*head.size, info.Base+kafka.Offset(n)*head.records
	return next, nil
}

type batchHead struct {
	size    int
	records kafka.Offset
}

func headOf(f vfs.File, pos int64) (h batchHead, err error) {
	b, err := f.ReadAt(pos, 61)
	if err != nil || len(b) < 61 {
		return h, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return batchHead{12 + int(binary.BigEndian.Uint32(b[8:])), kafka.Offset(binary.BigEndian.Uint32(b[57:]))}, nil
}
