package inspect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// dirFile is a file of a data directory in memory.
type dirFile struct {
	name string
	data []byte
}

// seedDir is a broker's partition, with the checkpoints around it.
func seedDir(t testing.TB, partition string) (files []dirFile) {
	t.Helper()
	root := filepath.Join(goldens, "kafka-4.1/clean")
	for _, dir := range []string{"", partition} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		check(t, err)
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			b, err := os.ReadFile(filepath.Join(root, dir, e.Name()))
			check(t, err)
			files = append(files, dirFile{join(dir, e.Name()), b})
		}
	}
	return files
}

// mutate does what edits say, six bytes each: what, which file, where (two bytes), a value,
// another file.
func mutate(files []dirFile, edits []byte) []dirFile {
	suffixes := [...]string{".deleted", ".cleaned", ".swap", ".tmp"}
	out := append([]dirFile(nil), files...)
	for ; len(edits) >= 6 && len(out) > 0; edits = edits[6:] {
		i, other := int(edits[1])%len(out), int(edits[5])%len(out)
		f := &out[i]
		pos := (int(edits[2])<<8 | int(edits[3])) % (len(f.data) + 1)
		switch edits[0] % 9 {
		case 0, 1, 2: // the most likely damage
			if pos < len(f.data) {
				f.data = bytes.Clone(f.data)
				f.data[pos] ^= edits[4]
			}
		case 3:
			f.data = f.data[:pos:pos]
		case 4:
			f.data = append(f.data[:len(f.data):len(f.data)], make([]byte, int(edits[4]))...)
		case 5:
			out = append(out[:i:i], out[i+1:]...)
		case 6:
			f.name += suffixes[int(edits[4])%len(suffixes)]
		case 7:
			f.data = out[other].data
		case 8:
			f.data = append(f.data[:pos:pos], out[other].data...)
		}
	}
	return out
}

func build(t testing.TB, files []dirFile, partition string) *vfstest.Mem {
	t.Helper()
	m := vfstest.NewMem()
	check(t, m.MkdirAll(partition))
	for _, f := range files {
		w, err := m.Create(f.name)
		check(t, err)
		check(t, w.Append(bytes.Clone(f.data)))
		check(t, w.Close())
	}
	return m
}

func start(m *vfstest.Mem) (*log.Manager, error) {
	cfg := log.DefaultConfig()
	cfg.SegmentIndexBytes = 4096
	manager := log.NewManager(m, "", func(string) *log.Config { return &cfg }, nil)
	if err := manager.Start(); err != nil {
		return nil, err
	}
	for {
		if _, done, err := manager.LoadStep(1); err != nil || done {
			return manager, err
		}
	}
}

// FuzzDirectory: whatever was done to the files of a data directory, it can be verified
// and tried without being changed; a start ends, and one that succeeds leaves a log that
// can be read, written and stopped, and that the next start finds the same.
func FuzzDirectory(f *testing.F) {
	partitions := []string{"transactions-0", "compacted-0", "codecs-0"}
	seeds := map[string][]dirFile{}
	for _, p := range partitions {
		seeds[p] = seedDir(f, p)
	}
	for i := range partitions {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{0, 9, 0, 40, 1, 0, 3, 7, 0, 50, 0, 0})
		f.Add(uint8(i), []byte{5, 0, 0, 0, 0, 0, 4, 8, 0, 0, 17, 0})
		f.Add(uint8(i), []byte{6, 8, 0, 0, 2, 0, 6, 9, 0, 0, 1, 0})
		f.Add(uint8(i), []byte{8, 8, 1, 0, 0, 9, 7, 3, 0, 0, 0, 8})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		partition := partitions[int(which)%len(partitions)]
		files := mutate(seeds[partition], edits)
		m := build(t, files, partition)
		_, err := Verify(Options{FS: m, Deep: true, Finding: func(*Finding) {}})
		check(t, err)
		var tried []Recovery
		check(t, Recover(RecoverOptions{FS: m, Now: 1, Done: func(r *Recovery) { tried = append(tried, *r) }}))
		manager, err := start(m)
		if err != nil {
			return
		}
		for i, r := range manager.Replicas() {
			useLog(t, r.Log)
			if i < len(tried) && tried[i].Error == "" && tried[i].LogEndOffset != r.Log.LogEndOffset() {
				t.Fatalf("the trial ends at %d, the start at %d", tried[i].LogEndOffset, r.Log.LogEndOffset())
			}
		}
		before := endsOf(manager)
		for {
			done, err := manager.StopStep(1, 1)
			if err != nil {
				return
			}
			if done {
				break
			}
		}
		again, err := start(m)
		if err != nil {
			t.Fatalf("a log that was loaded and stopped cannot be loaded: %v", err)
		}
		if got := endsOf(again); got != before {
			t.Fatalf("the next start has %v, the one before %v", got, before)
		}
	})
}

// endsOf tells where the logs of a data directory begin and end.
func endsOf(m *log.Manager) (out string) {
	for _, r := range m.Replicas() {
		out += fmt.Sprintln(r.TP, r.Log.LogStartOffset(), r.Log.LogEndOffset())
	}
	return out
}

func useLog(t *testing.T, l *log.Log) {
	start, hw, end := l.LogStartOffset(), l.HighWatermark(), l.LogEndOffset()
	if start > hw || hw > end || start < 0 {
		t.Fatalf("log from %d to %d, high watermark %d", start, end, hw)
	}
	for o := start; o < min(end, start+10); o++ {
		_, _ = l.Read(o, 1000, end, true)
	}
	_, _ = l.OffsetForTimestamp(1, end)
	_, _ = l.MaxTimestampOffset(end)
	_, _ = l.CleanRange(kafka.TimestampMs(1) << 50)
}
