package vfstest

import (
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
)

func TestMemObeysTheInterface(t *testing.T) {
	Run(t, func(*testing.T) vfs.FS { return NewMem() })
}

// A kit that passes everything is worth nothing: each broken file system must
// be caught.
func TestTheKitCatchesBrokenFileSystems(t *testing.T) {
	for _, b := range []struct {
		name string
		law  string
		wrap func(vfs.File) vfs.File
	}{
		{"reads one byte short", "ReadReturnsWhatWasAppended", func(f vfs.File) vfs.File { return shortReader{f} }},
		{"truncate does nothing", "TruncateCuts", func(f vfs.File) vfs.File { return noTruncate{f} }},
		{"read results are reused", "BytesReadStayValidForEver", func(f vfs.File) vfs.File { return &reuser{File: f} }},
		{"close does nothing", "ClosedHandlesFail", func(f vfs.File) vfs.File { return noClose{f} }},
	} {
		t.Run(b.name, func(t *testing.T) {
			if !fails(b.law, broken{NewMem(), b.wrap}) {
				t.Errorf("%s passes", b.law)
			}
		})
	}
}

// fails runs one law in a goroutine of its own, whose test is not reported.
func fails(name string, fs vfs.FS) bool {
	for _, l := range laws {
		if l.name == name {
			inner := &testing.T{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				l.check(&kit{T: inner, fs: fs})
			}()
			<-done
			return inner.Failed()
		}
	}
	return false
}

type broken struct {
	*Mem
	wrap func(vfs.File) vfs.File
}

func (b broken) Create(name string) (vfs.File, error) {
	f, err := b.Mem.Create(name)
	if err != nil {
		return nil, err
	}
	return b.wrap(f), nil
}

type shortReader struct{ vfs.File }

func (s shortReader) ReadAt(pos int64, n int) ([]byte, error) {
	b, err := s.File.ReadAt(pos, n)
	return b[:max(len(b)-1, 0)], err
}

type noTruncate struct{ vfs.File }

func (noTruncate) Truncate(int64) error { return nil }

type reuser struct {
	vfs.File
	buf [64]byte
}

func (r *reuser) ReadAt(pos int64, n int) ([]byte, error) {
	b, err := r.File.ReadAt(pos, n)
	return r.buf[:copy(r.buf[:], b)], err
}

type noClose struct{ vfs.File }

func (noClose) Close() error { return nil }
