package osfs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
)

// filled is a file of n bytes that repeat nowhere near.
func filled(t *testing.T, s FS, name string, n int) (vfs.File, []byte) {
	t.Helper()
	content := make([]byte, 0, n+32)
	for i := 0; len(content) < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, name, i))
		content = append(content, sum[:]...)
	}
	content = content[:n]
	f, err := s.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Append(content); err != nil {
		t.Fatal(err)
	}
	return f, content
}

// received is what a peer reads of what send writes.
func received(t *testing.T, send func(net.Conn) error) []byte {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, failed := make(chan []byte, 1), make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			failed <- err
			return
		}
		defer c.Close()
		b, err := io.ReadAll(c)
		failed <- err
		got <- b
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := send(c); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return <-got
}

func TestEveryWaySendsTheSameBytes(t *testing.T) {
	s := New(t.TempDir())
	a, inA := filled(t, s, "a", 3<<20+17)
	b, inB := filled(t, s, "b", 100_000)
	header := []byte("the header")
	for _, parts := range [][]Range{
		{{a, 0, 1}}, {{a, 5, 16 << 10}}, {{a, 100, CombinedMax}}, {{a, 100, CombinedMax + 1}}, {{a, 17, 3 << 20}},
		{{b, 0, len(inB)}, {a, 4096, 2 << 20}}, {},
	} {
		want := bytes.Clone(header)
		size := 0
		for _, p := range parts {
			content := inA
			if p.File == b {
				content = inB
			}
			want = append(want, content[p.Pos:p.Pos+int64(p.Size)]...)
			size += p.Size
		}
		for _, way := range Ways() {
			got := received(t, func(c net.Conn) error {
				out, err := s.NewSender(c, way)
				if err != nil {
					return err
				}
				defer out.Close()
				return out.Send(header, parts...)
			})
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %d bytes: %d of %d bytes arrive, or others", way, size, len(got), len(want))
			}
		}
	}
	p := s.Paths()
	for name, path := range map[string]*Path{"combined": &p.Combined, "copied": &p.Copied, "mapped": &p.MapWrite} {
		if path.Bytes() == 0 {
			t.Errorf("nothing was counted as %s", name)
		}
	}
	if haveSendfile == (p.Sendfile.Bytes() == 0) {
		t.Errorf("%d bytes went by sendfile", p.Sendfile.Bytes())
	}
}

func TestSizeDecidesTheWay(t *testing.T) {
	s := New(t.TempDir())
	f, _ := filled(t, s, "a", 1<<20)
	for _, c := range []struct {
		size     int
		sendfile bool
	}{{CombinedMax, false}, {CombinedMax + 1, haveSendfile}} {
		before := s.Paths().Sendfile.Bytes()
		received(t, func(conn net.Conn) error {
			out, err := s.NewSender(conn, Chosen)
			if err != nil {
				return err
			}
			return out.Send(nil, Range{f, 0, c.size})
		})
		if sent := s.Paths().Sendfile.Bytes() - before; (sent > 0) != c.sendfile {
			t.Errorf("%d bytes: %d by sendfile", c.size, sent)
		}
	}
}

func TestARangePastTheEndIsAnError(t *testing.T) {
	s := New(t.TempDir())
	f, _ := filled(t, s, "a", 100_000)
	for _, way := range Ways() {
		received(t, func(c net.Conn) error {
			out, err := s.NewSender(c, way)
			if err != nil {
				return err
			}
			if out.Send([]byte("h"), Range{f, 50_000, 80_000}) == nil {
				return fmt.Errorf("%s: no error", way)
			}
			return nil
		})
	}
}
