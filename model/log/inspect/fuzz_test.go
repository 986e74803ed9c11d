package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// look runs everything that this package has on a file among good ones: no panic, and
// every position is one in a file.
func look(t *testing.T, name string, data []byte, clean bool) {
	m := vfstest.NewMem()
	put := func(name string, b []byte) {
		f, err := m.Create(name)
		check(t, err)
		check(t, f.Append(b))
		check(t, f.Close())
	}
	check(t, m.MkdirAll("t-0"))
	if clean {
		put(cleanFile, nil)
	}
	for _, other := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		b, err := os.ReadFile(filepath.Join(goldens, "kafka-4.1/clean/transactions-0/00000000000000000005"+other))
		if err == nil {
			put("t-0/00000000000000000005"+other, b)
		}
	}
	put(name, data)
	sizes := func(path string) int64 {
		info, err := m.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size
	}
	_, err := Verify(Options{FS: m, Deep: true, Finding: func(f *Finding) {
		if f.Pos < wholePos || f.Pos > sizes(f.File) {
			t.Errorf("%s: no such position", line(*f))
		}
	}})
	check(t, err)
	_, err = Dump(DumpOptions{FS: m, Records: true, File: func(*FileInfo) error { return nil }, Entry: func(e *Entry) error {
		if e.Position < 0 {
			t.Errorf("%+v: no such position", e)
		}
		return nil
	}})
	check(t, err)
	check(t, Recover(RecoverOptions{FS: m, Done: func(r *Recovery) {
		if r.Error == "" && r.LogEndOffset < r.LogStartOffset {
			t.Errorf("%+v: the log ends before its start", r)
		}
	}}))
}

// fuzzFile feeds files of one suffix of a few partitions, and what is made of them.
func fuzzFile(f *testing.F, suffix, name string) {
	for _, partition := range []string{"transactions-0", "compacted-0", "codecs-0"} {
		files, err := filepath.Glob(filepath.Join(goldens, "kafka-4.1/clean", partition, "*"+suffix))
		check(f, err)
		for _, file := range files[:min(3, len(files))] {
			b, err := os.ReadFile(file)
			check(f, err)
			f.Add(b, true)
			f.Add(b[:len(b)/2], false)
		}
	}
	f.Add([]byte{}, false)
	f.Add(make([]byte, 200), true)
	f.Fuzz(func(t *testing.T, data []byte, clean bool) { look(t, name, data, clean) })
}

func FuzzInspectLog(f *testing.F)      { fuzzFile(f, ".log", "t-0/00000000000000000012.log") }
func FuzzInspectIndex(f *testing.F)    { fuzzFile(f, ".index", "t-0/00000000000000000005.index") }
func FuzzInspectTime(f *testing.F)     { fuzzFile(f, ".timeindex", "t-0/00000000000000000005.timeindex") }
func FuzzInspectTxns(f *testing.F)     { fuzzFile(f, ".txnindex", "t-0/00000000000000000005.txnindex") }
func FuzzInspectSnapshot(f *testing.F) { fuzzFile(f, ".snapshot", "t-0/00000000000000000005.snapshot") }
func FuzzInspectEpochs(f *testing.F) {
	fuzzFile(f, "leader-epoch-checkpoint", "t-0/leader-epoch-checkpoint")
}

func FuzzInspectCheckpoint(f *testing.F) {
	f.Add([]byte("0\n1\nt 0 5\n"), false)
	f.Add([]byte("0\n1\nt 0 9999999\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, clean bool) { look(t, startFile, data, clean) })
}
