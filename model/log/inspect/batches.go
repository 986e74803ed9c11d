package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// wholeBatch in bytes and below, a batch is held in memory.
	wholeBatch = windowSize
	// maxWhole bounds the batches whose records are decoded.
	maxWhole = 64 << 20
	// crcFrom is where the bytes begin that the CRC covers, crcAt where it stands.
	crcFrom, crcAt = 21, 17
	// headSize is what must be there for a reader to frame a batch (storage 7.3).
	headSize = 18
)

// batch is one batch of a log file. Its bytes are immutable.
type batch struct {
	record.Batch // the header: 61 bytes; all of it if whole
	pos, size    int64
	whole        bool
	crcOK        bool
	computed     uint32
}

// tail is what is behind the last batch that a reader can frame.
type tail struct {
	pos, size int64
	zeros     bool
	why       string
	torn      bool // the file ends inside a batch
}

// scanner frames the batches of a log file as Kafka's file reader does.
type scanner struct {
	w     *window
	pos   int64
	limit int  // bytes up to which batches are made whole
	tail  tail // size 0 until the end; then what is left
}

func openScanner(fs vfs.FS, path string, limit int) (*scanner, error) {
	w, err := openWindow(fs, path)
	if err != nil {
		return nil, err
	}
	return &scanner{w: w, limit: limit}, nil
}

// next is the next batch; ok is false at the end.
func (s *scanner) next() (b batch, ok bool, err error) {
	left := s.w.size - s.pos
	if left <= 0 {
		return batch{}, false, nil
	}
	head, err := s.w.at(s.pos, record.HeaderSize)
	if err != nil {
		return batch{}, false, err
	}
	size, why, torn := frame(head, left)
	if why != "" {
		return batch{}, false, s.end(why, torn)
	}
	b = batch{Batch: record.Batch(head), pos: s.pos, size: size}
	if size <= int64(s.limit) {
		body, err := s.w.at(s.pos, int(size))
		if err != nil {
			return batch{}, false, err
		}
		if b.whole = int64(len(body)) == size; b.whole {
			b.Batch = record.Batch(body)
			b.computed = crc32.Checksum(body[crcFrom:], castagnoli)
		}
	}
	if !b.whole {
		if b.computed, err = s.crcOf(s.pos+crcFrom, s.pos+size); err != nil {
			return batch{}, false, err
		}
	}
	b.crcOK = b.computed == binary.BigEndian.Uint32(head[crcAt:]) && b.Magic() == record.Magic
	s.pos += size
	return b, true, nil
}

// crcOf reads from pos to end without keeping it.
func (s *scanner) crcOf(pos, end int64) (crc uint32, err error) {
	for pos < end {
		b, err := s.w.at(pos, int(min(windowSize, end-pos)))
		if err != nil || len(b) == 0 {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli, b)
		pos += int64(len(b))
	}
	return crc, nil
}

// frame is the size of the batch that begins with head, of which left bytes are there.
func frame(head []byte, left int64) (size int64, why string, torn bool) {
	if len(head) < headSize {
		return 0, fmt.Sprintf("%d bytes are too few for a batch", left), true
	}
	n, err := record.PeekSize(head)
	var corrupt *record.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return 0, corrupt.Reason, false
	case err != nil:
		return 0, err.Error(), false
	case int64(n) > left:
		return 0, fmt.Sprintf("a batch of %d bytes has only %d", n, left), true
	case n < record.HeaderSize:
		return 0, fmt.Sprintf("a batch of %d bytes is smaller than its header", n), false
	case len(head) < record.HeaderSize:
		return 0, "the file is shorter than its length", true
	}
	return int64(n), "", false
}

func (s *scanner) end(why string, torn bool) error {
	zeros, _, err := s.w.zerosFrom(s.pos)
	s.tail = tail{pos: s.pos, size: s.w.size - s.pos, zeros: zeros, why: why, torn: torn}
	s.pos = s.w.size
	return err
}
