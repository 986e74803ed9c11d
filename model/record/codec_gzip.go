package record

import (
	"bytes"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
)

type appendWriter struct{ buf []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// appendGzip writes one RFC 1952 member. The OS byte is 0xFF, as the JDK writes
// it since 16 (storage 1.7).
func (s *Scratch) appendGzip(dst []byte, level int, src []byte) []byte {
	if level < gzip.BestSpeed || level > gzip.BestCompression {
		level = gzip.DefaultCompression
	}
	w := &appendWriter{buf: dst}
	if s.gzipWriter == nil || s.gzipLevel != level {
		s.gzipLevel = level
		s.gzipWriter, _ = gzip.NewWriterLevel(w, level) // the level is valid
	} else {
		s.gzipWriter.Reset(w)
	}
	// An appendWriter does not fail, so neither does the compressor.
	_, _ = s.gzipWriter.Write(src)
	_ = s.gzipWriter.Close()
	return w.buf
}

func (s *Scratch) ungzip(dst, src []byte, limit int) ([]byte, error) {
	r := bytes.NewReader(src)
	if s.gzipReader == nil {
		s.gzipReader = new(gzip.Reader)
	}
	if err := s.gzipReader.Reset(r); err != nil {
		return dst, cutIfEOF(err)
	}
	dst = slices.Grow(dst, min(4*len(src), limit))
	for {
		s.gzipReader.Multistream(false)
		var err error
		if dst, err = readMember(s.gzipReader, dst, limit); err != nil {
			return dst, err
		}
		// As in Java what follows counts only if it begins like a member.
		if r.Len() <= gzipIgnored || s.gzipReader.Reset(r) != nil {
			return dst, nil
		}
	}
}

// gzipIgnored is how many bytes behind a member Java's reader does not look at.
const gzipIgnored = 18

func readMember(r *gzip.Reader, dst []byte, limit int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst) > limit {
			return dst, ErrTooLarge
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, cutIfEOF(err)
		}
	}
}

func cutIfEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCutShort
	}
	return err
}
