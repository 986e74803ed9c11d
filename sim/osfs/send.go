package osfs

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/simkafka/simkafka/model/vfs"
)

// Way is how a fetch's answer reaches the socket.
type Way uint8

const (
	// Chosen takes Combined up to CombinedMax bytes, else Sendfile; over TLS Combined.
	Chosen Way = iota
	// Combined reads behind the header and writes both at once, in pieces of a MiB.
	Combined
	// Sendfile announces the header with MSG_MORE and lets the kernel send the file.
	Sendfile
	// HeaderFirst is Sendfile behind a header that was written alone.
	HeaderFirst
	// Copied writes the header, then reads and writes 64 KiB at a time.
	Copied
	// Mapped writes the header, then out of a mapping of the whole file.
	Mapped
)

var wayNames = [...]string{"chosen", "combined write", "sendfile", "header+sendfile", "read+write", "mmap+write"}

// String is the way in words.
func (w Way) String() string { return wayNames[w] }

// Ways lists all ways.
func Ways() []Way { return []Way{Chosen, Combined, Sendfile, HeaderFirst, Copied, Mapped} }

// CombinedMax is the largest answer, in bytes without its header, that is sent with one
// write: up to here a copy costs less than what the kernel does for each page that it
// sends from a file.
const CombinedMax = 32 << 10

// Sizes of the buffers of the ways that copy.
const (
	combinedPiece = 1 << 20
	copiedPiece   = 64 << 10
)

// Range is a piece of a file, as log.ReadInfo tells it.
type Range struct {
	File vfs.File
	Pos  int64
	Size int
}

// Sender answers fetches on one connection. One goroutine uses it.
type Sender struct {
	way   Way
	conn  net.Conn
	raw   syscall.RawConn // nil over TLS and where there is no sendfile
	paths *Paths
	buf   []byte // of the ways that copy
}

// senderBuffers keeps the memory of closed senders: a broker has many connections and
// few that copy at once.
var senderBuffers = sync.Pool{New: func() any { return new([]byte) }}

// NewSender sends over conn, which stays the caller's. On a connection that is not TCP
// (TLS), and on systems without Linux's sendfile, a way that needs it is Combined; Paths
// tells.
func (s FS) NewSender(conn net.Conn, way Way) (*Sender, error) {
	out := &Sender{way: way, conn: conn, paths: s.paths, buf: *senderBuffers.Get().(*[]byte)}
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !haveSendfile {
		return out, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	out.raw = raw
	return out, nil
}

// Close lets go of the sender's memory, not of its connection.
func (s *Sender) Close() {
	b := s.buf
	s.buf = nil
	senderBuffers.Put(&b)
}

// Send writes header and then the ranges, which must lie inside their files.
func (s *Sender) Send(header []byte, parts ...Range) error {
	size := 0
	for _, p := range parts {
		size += p.Size
	}
	switch way := s.choose(size); way {
	case Sendfile:
		return s.sendfile(header, parts, true)
	case HeaderFirst:
		return s.sendfile(header, parts, false)
	case Copied:
		return s.copied(header, parts)
	case Mapped:
		return s.mapped(header, parts)
	default:
		return s.combined(header, parts)
	}
}

func (s *Sender) choose(size int) Way {
	switch {
	case s.way == Chosen && size <= CombinedMax:
		return Combined
	case s.way == Chosen:
		return s.possible(Sendfile)
	}
	return s.possible(s.way)
}

func (s *Sender) possible(w Way) Way {
	if s.raw == nil && (w == Sendfile || w == HeaderFirst) {
		return Combined
	}
	return w
}

// room is a buffer of n bytes.
func (s *Sender) room(n int) []byte {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	return s.buf[:n]
}

// combined gathers header and ranges in pieces.
func (s *Sender) combined(header []byte, parts []Range) error {
	total := len(header)
	for _, p := range parts {
		total += p.Size
	}
	b := s.room(max(min(total, combinedPiece), len(header)))
	n := copy(b, header)
	for _, p := range parts {
		for p.Size > 0 {
			if n == len(b) {
				if err := s.writeOut(b[:n], &s.paths.Combined); err != nil {
					return err
				}
				n = 0
			}
			m := min(p.Size, len(b)-n)
			if err := readRange(p.File, p.Pos, b[n:n+m]); err != nil {
				return err
			}
			n, p.Pos, p.Size = n+m, p.Pos+int64(m), p.Size-m
		}
	}
	return s.writeOut(b[:n], &s.paths.Combined)
}

// writeOut writes to the connection; over TLS it counts as that.
func (s *Sender) writeOut(b []byte, path *Path) error {
	if _, plain := s.conn.(*net.TCPConn); !plain {
		path = &s.paths.TLS
	}
	n, err := s.conn.Write(b)
	path.add(n)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

func (s *Sender) copied(header []byte, parts []Range) error {
	if err := s.writeOut(header, &s.paths.Copied); err != nil {
		return err
	}
	b := s.room(copiedPiece)
	for _, p := range parts {
		for p.Size > 0 {
			m := min(p.Size, copiedPiece)
			if err := readRange(p.File, p.Pos, b[:m]); err != nil {
				return err
			}
			if err := s.writeOut(b[:m], &s.paths.Copied); err != nil {
				return err
			}
			p.Pos, p.Size = p.Pos+int64(m), p.Size-m
		}
	}
	return nil
}

// mapped writes out of mappings, which stay until their file is closed.
func (s *Sender) mapped(header []byte, parts []Range) error {
	if err := s.writeOut(header, &s.paths.MapWrite); err != nil {
		return err
	}
	for _, p := range parts {
		m, err := mappingOf(p.File)
		if err != nil {
			return err
		}
		if p.Pos < 0 || p.Pos+int64(p.Size) > int64(len(m)) {
			return failure("send", p.File.Name(), io.ErrUnexpectedEOF)
		}
		for part := m[p.Pos:][:p.Size]; len(part) > 0; {
			n := min(len(part), combinedPiece)
			if err := s.writeOut(part[:n], &s.paths.MapWrite); err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return nil
}

func mappingOf(f vfs.File) ([]byte, error) {
	h, ok := f.(*file)
	if !ok {
		return nil, failure("map", f.Name(), errors.ErrUnsupported)
	}
	if h.mapped != nil && int64(len(h.mapped)) == h.Size() {
		return h.mapped, nil
	}
	return h.Map()
}

// readRange fills b.
func readRange(f vfs.File, pos int64, b []byte) error {
	n := 0
	var err error
	if c, ok := f.(vfs.Copier); ok {
		n, err = c.ReadInto(pos, b)
	} else {
		var got []byte
		got, err = f.ReadAt(pos, len(b))
		n = copy(b, got)
	}
	if err == nil && n < len(b) {
		err = failure("send", f.Name(), io.ErrUnexpectedEOF)
	}
	return err
}
