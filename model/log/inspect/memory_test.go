package inspect

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"github.com/simkafka/simkafka/sim/osfs"
)

// largest notes the largest read.
type largest struct {
	vfs.FS
	bytes *int
}

func (l largest) Open(name string) (vfs.File, error) {
	f, err := l.FS.Open(name)
	return meteredFile{f, func(n int) { *l.bytes = max(*l.bytes, n) }}, err
}

// Files and batches may be, or claim to be, of any size: what is in memory at once is not.
func TestReadsAreSmallWhateverABatchClaims(t *testing.T) {
	m := vfstest.NewMem()
	check(t, m.MkdirAll("t-0"))
	const size = 8 << 20
	put := func(name string, head []byte, size int64) {
		f, err := m.Create("t-0/00000000000000000000" + name)
		check(t, err)
		check(t, f.Append(head))
		check(t, f.Truncate(size))
	}
	batch := bytes.Repeat([]byte{0}, record.HeaderSize)
	copy(batch[8:], be32(size-12))
	batch[16] = record.Magic
	claim := bytes.Clone(batch)
	copy(claim[8:], be32(1<<31-1))
	head := []byte{0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}
	for _, content := range [][]byte{batch, claim} {
		put(".log", content, size)
		put(".index", []byte{0, 0, 0, 1}, size)
		put(".timeindex", []byte{1}, size)
		put(".txnindex", nil, size)
		put(".snapshot", head, size)
		most := 0
		fs := largest{m, &most}
		_, err := Verify(Options{FS: fs})
		check(t, err)
		_, err = Dump(DumpOptions{FS: fs, File: func(*FileInfo) error { return nil }, Entry: func(*Entry) error { return nil }})
		check(t, err)
		if most > windowSize {
			t.Errorf("%d bytes were read at once", most)
		}
	}
}

// unreadable has a bad sector in one file.
type unreadable struct {
	vfs.FS
	file string
}

func (u unreadable) Open(name string) (vfs.File, error) {
	if name == u.file {
		return nil, vfs.ErrIO
	}
	return u.FS.Open(name)
}

func TestAFileThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
	root := filepath.Join(goldens, "kafka-4.1", "killed")
	kinds := ""
	sum, err := Verify(Options{FS: unreadable{osfs.NewReadOnly(root), "codecs-0/00000000000000000058.log"}, Finding: func(f *Finding) {
		if f.Severity == Error {
			kinds += f.Kind + " " + f.File + "\n"
		}
	}})
	if !errors.Is(err, vfs.ErrIO) || sum.Partitions != 18 || !strings.HasPrefix(kinds, "io codecs-0\ncrc rotten-0/") {
		t.Errorf("%v, %+v\n%s", err, sum, kinds)
	}
}

// A file with millions of findings hands out few of them, and says how many there were.
func TestFindingsOfAFileAreBounded(t *testing.T) {
	m := vfstest.NewMem()
	check(t, m.MkdirAll("t-0"))
	var b record.Builder
	b.Reset(record.ClientOptions())
	b.Append(1, nil, []byte("v"), nil)
	one, err := b.Build()
	check(t, err)
	f, err := m.Create("t-0/00000000000000000005.log")
	check(t, err)
	check(t, f.Append(bytes.Repeat(one, 1000)))
	shown, more := 0, ""
	sum, err := Verify(Options{FS: m, Finding: func(f *Finding) {
		if f.Kind == "more" {
			more = f.What
		} else if f.Kind == "offset-range" {
			shown++
		}
	}})
	check(t, err)
	if shown != maxPerFile || sum.Errors != 1000 || more != "950 more findings of this file are not shown" {
		t.Errorf("%d shown, %q, %+v", shown, more, sum)
	}
}
