package log

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// crashing is a file system on which the process dies at the call number at: that
// call and every later one fail.
type crashing struct {
	vfs.FS
	calls, at int
	err       error
}

type crashingFile struct {
	vfs.File
	fs *crashing
}

func (c *crashing) call() error {
	if c.calls++; c.calls >= c.at {
		return c.err
	}
	return nil
}

func (c *crashing) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return crashingFile{f, c}, nil
}

func (c *crashing) Create(name string) (vfs.File, error) {
	if err := c.call(); err != nil {
		return nil, err
	}
	return c.file(c.FS.Create(name))
}

func (c *crashing) Open(name string) (vfs.File, error) {
	if err := c.call(); err != nil {
		return nil, err
	}
	return c.file(c.FS.Open(name))
}

func (c *crashing) Remove(name string) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.FS.Remove(name)
}

func (c *crashing) Rename(old, new string) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.FS.Rename(old, new)
}

func (c *crashing) SyncDir(dir string) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.FS.SyncDir(dir)
}

func (f crashingFile) ReadAt(pos int64, n int) ([]byte, error) {
	if err := f.fs.call(); err != nil {
		return nil, err
	}
	return f.File.ReadAt(pos, n)
}

func (f crashingFile) Append(b []byte) error {
	if err := f.fs.call(); err != nil {
		_ = f.File.Append(b[:len(b)/3]) // torn
		return err
	}
	return f.File.Append(b)
}

func (f crashingFile) WriteAt(pos int64, b []byte) error {
	if err := f.fs.call(); err != nil {
		return err
	}
	return f.File.WriteAt(pos, b)
}

func (f crashingFile) Truncate(size int64) error {
	if err := f.fs.call(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f crashingFile) Sync() error {
	if err := f.fs.call(); err != nil {
		return err
	}
	return f.File.Sync()
}

// life runs a manager and one log through most of what they do. It returns what the
// log held after the last operation that ended well, and what the one that failed
// would have made of it.
func life(t testingT, fs vfs.FS) (before, after []record.Batch, err error) {
	m := NewManager(fs, "data", func(string) *Config { return smallConfig() }, nil)
	var l *Log
	var next []record.Batch
	do := func(what func() error) {
		if err == nil {
			after = next
			if err = what(); err == nil {
				before = next
			}
		}
	}
	load := func() error {
		if err := m.Start(); err != nil {
			return err
		}
		for {
			if _, done, err := m.LoadStep(1); err != nil || done {
				return err
			}
		}
	}
	do(load)
	do(func() (err error) { l, err = m.Create(tp("orders", 0), kafka.TopicID{}, 1); return err })
	do(func() error { return m.SetTopicID(tp("orders", 0), kafka.TopicID{1}) })
	do(func() error { return l.AssignEpoch(1, 0) })
	for i := range 9 {
		b := batchAt(t, kafka.Offset(len(next)), 1, 180, kafka.TimestampMs(i))
		next = append(next, b)
		do(func() error { _, err := l.AppendAsFollower(b, 1); return err })
	}
	do(func() error { return l.Flush(5, 1) })
	do(func() error { return m.WriteRecoveryPoints() })
	next = before[:min(len(before), 2)]
	do(func() error { _, err := l.TruncateTo(2, 1); return err })
	if err == nil {
		do(func() error { return RemoveFiles(fs, l.TakeDeleted()) })
	}
	next = append(next[:len(next):len(next)], batchAt(t, 2, 3, 10, 1))
	do(func() error { _, err := l.AppendAsFollower(next[2], 1); return err })
	do(m.WriteHighWatermarks)
	do(func() error {
		for {
			if done, err := m.StopStep(9, 1); err != nil || done {
				return err
			}
		}
	})
	m = NewManager(fs, "data", func(string) *Config { return smallConfig() }, nil)
	do(load)
	next = nil
	do(func() error { _, err := m.Delete(tp("orders", 0), [16]byte{1}); return err })
	return before, after, err
}

// isPart reports whether all of a stands in b, in order.
func isPart(a, b []record.Batch) bool {
	for _, batch := range b {
		if len(a) > 0 && string(a[0]) == string(batch) {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// TestProcessMayDieAtAnyCall: wherever the process dies, or the disk fails, the
// error comes back and the next start finds what was acknowledged.
func TestProcessMayDieAtAnyCall(t *testing.T) {
	for at := 1; ; at++ {
		disk := newMem()
		fs := &crashing{FS: disk, at: at, err: vfs.ErrCrashed}
		if at%2 == 0 {
			fs.err = vfs.ErrIO
		}
		before, after, err := life(t, fs)
		if err == nil {
			if at < 100 {
				t.Fatalf("only %d calls", at)
			}
			return
		}
		if !errors.Is(err, fs.err) {
			t.Fatalf("call %d: %v", at, err)
		}
		l := loadManager(t, disk, "data", smallConfig()).Get(tp("orders", 0))
		if l == nil {
			if len(after) > 0 && len(before) > 0 {
				t.Fatalf("call %d: the partition is gone", at)
			}
			continue
		}
		got := batchesOf(t, l)
		grown := isPrefix(before, got) && isPrefix(got, after)
		// Halfway through a truncation some of the later segments are gone, first the
		// lower ones, as in a broker: there may be a hole.
		truncated := isPrefix(after, got) && isPart(got, before)
		if !grown && !truncated {
			t.Fatalf("call %d: %d batches, before %d, after %d", at, len(got), len(before), len(after))
		}
	}
}
