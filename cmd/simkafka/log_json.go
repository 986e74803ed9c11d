package main

import (
	"bufio"
	"encoding/json"
	"io"
)

// jsonStream writes one JSON document piece by piece, so that it may be larger than
// memory. The first error of the writer ends it; flush tells it.
type jsonStream struct {
	w     *bufio.Writer
	comma bool
	err   error
}

func newJSONStream(w io.Writer) *jsonStream { return &jsonStream{w: bufio.NewWriter(w)} }

func (s *jsonStream) raw(text string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(text)
	}
}

// open begins an object or array; what is inside begins without a comma.
func (s *jsonStream) open(text string) {
	s.raw(text)
	s.comma = false
}

func (s *jsonStream) close(text string) {
	s.raw("\n" + text)
	s.comma = true
}

// next separates members and elements by commas and lines.
func (s *jsonStream) next() {
	if s.comma {
		s.raw(",")
	}
	s.raw("\n")
	s.comma = true
}

func (s *jsonStream) key(name string) {
	s.next()
	s.raw(`"` + name + `": `)
}

func (s *jsonStream) value(v any) {
	b, err := json.Marshal(v)
	if s.err == nil && err != nil {
		s.err = err
	}
	s.raw(string(b))
}

func (s *jsonStream) element(v any) {
	s.next()
	s.value(v)
}

// flush ends the document.
func (s *jsonStream) flush() error {
	s.raw("\n")
	if err := s.w.Flush(); s.err == nil {
		s.err = err
	}
	return s.err
}
