package zookeeper

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/simkafka/simkafka/model/kafka"
)

// errJSON is what every decoder of this package returns for text that is not JSON
// or has the wrong shape.
var errJSON = errors.New("malformed JSON")

// maxDepth bounds the nesting that skip follows.
const maxDepth = 64

// scanner reads one JSON text from front to back, without building values. After
// an error every call is harmless and every loop ends.
//
//	for i := s.open('{'); s.more(&i, '}'); {
//		switch string(s.key()) { case "a": a = s.int32(); default: s.skip() }
//	}
type scanner struct {
	b      []byte
	pos    int
	failed bool
}

func (s *scanner) fail() { s.failed, s.pos = true, len(s.b) }

// end is the verdict after the last value.
func (s *scanner) end() error {
	if s.space(); s.failed || s.pos != len(s.b) {
		return errJSON
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is not space, 0 at the end.
func (s *scanner) peek() byte {
	if s.space(); s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte) {
	if s.peek() != c || s.failed {
		s.fail()
		return
	}
	s.pos++
}

// open starts an object or array and gives the counter for more.
func (s *scanner) open(c byte) int {
	s.expect(c)
	return 0
}

// more tells whether another element follows, and eats the comma or the closing
// bracket before it.
func (s *scanner) more(count *int, closing byte) bool {
	if s.failed {
		return false
	}
	if s.peek() == closing {
		s.pos++
		return false
	}
	if *count > 0 {
		s.expect(',')
	}
	*count++
	return !s.failed
}

// key reads a key and its colon.
func (s *scanner) key() []byte {
	k := s.text()
	s.expect(':')
	return k
}

func (s *scanner) string() string { return string(s.text()) }

// text reads a string. The result is a part of the input where it has no escapes.
func (s *scanner) text() []byte {
	s.expect('"')
	start := s.pos
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			s.pos++
			return s.b[start : s.pos-1]
		case c == '\\':
			return s.escaped(append([]byte(nil), s.b[start:s.pos]...))
		case c < ' ':
			s.fail()
		default:
			s.pos++
		}
	}
	s.fail()
	return nil
}

// escaped goes on from the first backslash, appending to out.
func (s *scanner) escaped(out []byte) []byte {
	for s.pos < len(s.b) {
		c := s.b[s.pos]
		s.pos++
		switch {
		case c == '"':
			return out
		case c == '\\':
			out = s.escape(out)
		case c < ' ':
			s.fail()
		default:
			out = append(out, c)
		}
	}
	s.fail()
	return nil
}

func (s *scanner) escape(out []byte) []byte {
	if s.pos >= len(s.b) {
		return out
	}
	c := s.b[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		return utf8.AppendRune(out, s.unicode())
	}
	s.fail()
	return out
}

// unicode reads four hex digits and, after a high surrogate, its partner.
func (s *scanner) unicode() rune {
	r := s.hex4()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if s.pos+1 < len(s.b) && s.b[s.pos] == '\\' && s.b[s.pos+1] == 'u' {
		at := s.pos
		s.pos += 2
		if pair := utf16.DecodeRune(r, s.hex4()); pair != utf8.RuneError {
			return pair
		}
		if !s.failed {
			s.pos = at
		}
	}
	return utf8.RuneError
}

func (s *scanner) hex4() rune {
	if s.pos+4 > len(s.b) {
		s.fail()
		return 0
	}
	n, err := strconv.ParseUint(string(s.b[s.pos:s.pos+4]), 16, 16)
	if err != nil {
		s.fail()
		return 0
	}
	s.pos += 4
	return rune(n)
}

func (s *scanner) int32() int32 {
	n := s.integer()
	if n != int64(int32(n)) {
		s.fail()
	}
	return int32(n)
}

// integer refuses fractions and exponents.
func (s *scanner) integer() int64 {
	n, err := strconv.ParseInt(string(s.number()), 10, 64)
	if err != nil {
		s.fail()
	}
	return n
}

// quoted reads an integer inside a string, as Kafka writes timestamps.
func (s *scanner) quoted() int64 {
	n, err := strconv.ParseInt(s.string(), 10, 64)
	if err != nil {
		s.fail()
	}
	return n
}

// number checks JSON's grammar: no leading zeros, no plus sign.
func (s *scanner) number() []byte {
	s.space()
	start := s.pos
	if s.at() == '-' {
		s.pos++
	}
	if s.at() == '0' {
		s.pos++
	} else {
		s.digits()
	}
	if s.at() == '.' {
		s.pos++
		s.digits()
	}
	if c := s.at(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.at(); c == '+' || c == '-' {
			s.pos++
		}
		s.digits()
	}
	if s.failed {
		return nil
	}
	return s.b[start:s.pos]
}

func (s *scanner) at() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

func (s *scanner) digits() {
	start := s.pos
	for c := s.at(); c >= '0' && c <= '9'; c = s.at() {
		s.pos++
	}
	if s.pos == start {
		s.fail()
	}
}

// nodes reads an array of broker ids.
func (s *scanner) nodes() []kafka.NodeID {
	var ids []kafka.NodeID
	for i := s.open('['); s.more(&i, ']'); {
		ids = append(ids, kafka.NodeID(s.int32()))
	}
	return ids
}

// skip passes one value of any kind.
func (s *scanner) skip() { s.skipDeep(0) }

func (s *scanner) skipDeep(depth int) {
	if depth > maxDepth {
		s.fail()
	}
	switch s.peek() {
	case '{':
		for i := s.open('{'); s.more(&i, '}'); {
			s.key()
			s.skipDeep(depth + 1)
		}
	case '[':
		for i := s.open('['); s.more(&i, ']'); {
			s.skipDeep(depth + 1)
		}
	case '"':
		s.text()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

func (s *scanner) word(w string) {
	if s.pos+len(w) > len(s.b) || string(s.b[s.pos:s.pos+len(w)]) != w {
		s.fail()
		return
	}
	s.pos += len(w)
}
