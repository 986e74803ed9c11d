package log

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// failingOnce is a file system on which the call number at fails once.
type failingOnce struct {
	vfs.FS
	calls, at int
	err       error
	short     bool // a write that fails has written its first half
	op, name  string
}

type failingOnceFile struct {
	vfs.File
	fs *failingOnce
}

func (c *failingOnce) call(op, name string) error {
	if c.calls++; c.calls != c.at {
		return nil
	}
	c.op, c.name = op, name
	return fmt.Errorf("%s %s: %w", op, name, c.err) // as every file system does
}

func (c *failingOnce) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return failingOnceFile{f, c}, nil
}

func (c *failingOnce) Create(name string) (vfs.File, error) {
	if err := c.call("create", name); err != nil {
		return nil, err
	}
	return c.file(c.FS.Create(name))
}

func (c *failingOnce) Open(name string) (vfs.File, error) {
	if err := c.call("open", name); err != nil {
		return nil, err
	}
	return c.file(c.FS.Open(name))
}

func (c *failingOnce) Remove(name string) error {
	if err := c.call("remove", name); err != nil {
		return err
	}
	return c.FS.Remove(name)
}

func (c *failingOnce) Rename(old, new string) error {
	if err := c.call("rename", old); err != nil {
		return err
	}
	return c.FS.Rename(old, new)
}

func (c *failingOnce) MkdirAll(name string) error {
	if err := c.call("mkdir", name); err != nil {
		return err
	}
	return c.FS.MkdirAll(name)
}

func (c *failingOnce) List(name string) ([]string, error) {
	if err := c.call("list", name); err != nil {
		return nil, err
	}
	return c.FS.List(name)
}

func (c *failingOnce) Stat(name string) (vfs.Info, error) {
	if err := c.call("stat", name); err != nil {
		return vfs.Info{}, err
	}
	return c.FS.Stat(name)
}

func (c *failingOnce) SyncDir(dir string) error {
	if err := c.call("sync", dir); err != nil {
		return err
	}
	return c.FS.SyncDir(dir)
}

func (f failingOnceFile) ReadAt(pos int64, n int) ([]byte, error) {
	if err := f.fs.call("read", f.Name()); err != nil {
		return nil, err
	}
	return f.File.ReadAt(pos, n)
}

func (f failingOnceFile) Append(b []byte) error {
	if err := f.fs.call("append", f.Name()); err != nil {
		if f.fs.short {
			_ = f.File.Append(b[:len(b)/2])
		}
		return err
	}
	return f.File.Append(b)
}

func (f failingOnceFile) WriteAt(pos int64, b []byte) error {
	if err := f.fs.call("write", f.Name()); err != nil {
		if f.fs.short {
			_ = f.File.WriteAt(pos, b[:len(b)/2])
		}
		return err
	}
	return f.File.WriteAt(pos, b)
}

func (f failingOnceFile) Truncate(size int64) error {
	if err := f.fs.call("truncate", f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f failingOnceFile) Sync() error {
	if err := f.fs.call("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// manyOps does most of what a log does. It returns what was acknowledged, and the first
// error; after that it only asks whether the log still takes anything.
func manyOps(t testingT, fs vfs.FS) (acked []record.Batch, l *Log, err error) {
	cfg := compactConfig()
	cfg.Delete = true
	m := NewManager(fs, "data", func(string) *Config { return cfg }, nil)
	do := func(what func() error) {
		if err == nil {
			err = what()
		}
	}
	do(m.Start)
	do(func() error {
		for {
			if _, done, err := m.LoadStep(1); err != nil || done {
				return err
			}
		}
	})
	do(func() (err error) { l, err = m.Create(tp("orders", 0), kafka.TopicID{1}, 1); return err })
	put := func(records ...string) {
		do(func() error {
			b := keyedBatch(t, record.ClientOptions(), kafka.TimestampMs(len(acked)+1), records...)
			info, verdict, err := l.Append(b, &LeaderAppend{Epoch: 1, Now: 1})
			if err == nil {
				equal(t, "verdict", verdict.Code, kafka.None)
				acked = append(acked, info.Batch)
				l.SetHighWatermark(l.LogEndOffset())
			}
			return err
		})
	}
	for i := range 9 {
		put("a="+strings.Repeat("x", 90), "b"+string(rune('0'+i))+"=1")
	}
	do(func() error { return l.Flush(l.LogEndOffset(), 1) })
	do(m.WriteRecoveryPoints)
	do(func() error { _, err := l.Read(3, 500, l.LogEndOffset(), true); return err })
	do(func() error { _, err := l.OffsetForTimestamp(4, l.LogEndOffset()); return err })
	do(func() error {
		acked = acked[:7] // even if it comes only half the way
		_, err := l.TruncateTo(14, 1)
		return err
	})
	do(m.WriteRecoveryPoints)
	put("c=1")
	do(func() error { _, _, err := l.DeleteRecords(2); return err })
	do(m.WriteLogStartOffsets)
	do(m.WriteHighWatermarks)
	put("d=1")
	do(func() error {
		for {
			if done, err := m.StopStep(1, 1); err != nil || done {
				return err
			}
		}
	})
	return acked, l, err
}

// TestAFaultAtAnyCallIsNeverSilent: whichever call fails, once, with EIO, ENOSPC, a short
// write or a sync that fails, the operation fails with an error that says so; the log
// refuses everything from then on, unless nothing had begun (a read of a checkpoint, a
// log that was not made); the next start finds what was acknowledged before.
func TestAFaultAtAnyCallIsNeverSilent(t *testing.T) {
	for _, kind := range []struct {
		err   error
		short bool
	}{{vfs.ErrIO, false}, {vfs.ErrIO, true}, {vfs.ErrNoSpace, true}, {vfs.ErrNoSpace, false}} {
		for at := 1; ; at++ {
			disk := newMem()
			fs := &failingOnce{FS: disk, at: at, err: kind.err, short: kind.short}
			acked, l, err := manyOps(t, fs)
			if fs.op == "" {
				check(t, err)
				if at < 120 {
					t.Fatalf("only %d calls", at)
				}
				break
			}
			what := fs.op + " " + fs.name
			if err == nil {
				t.Fatalf("call %d, %s: nobody noticed", at, what)
			}
			if !errors.Is(err, kind.err) || !strings.Contains(err.Error(), fs.name) {
				t.Fatalf("call %d, %s: %v", at, what, err)
			}
			if l != nil && l.Failure() != nil {
				refusesAll(t, l)
			}
			again := loadManager(t, disk, "data", compactConfig()).Get(tp("orders", 0))
			if again == nil {
				if len(acked) > 0 {
					t.Fatalf("call %d, %s: the partition is gone", at, what)
				}
				continue
			}
			if got := batchesOf(t, again); !isPart(acked, got) {
				t.Fatalf("call %d, %s: %d batches, acknowledged were %d", at, what, len(got), len(acked))
			}
		}
	}
}

// refusesAll: after a failure memory and files may differ.
func refusesAll(t testingT, l *Log) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrOffline) {
			t.Fatalf("%s after a failure: %v", what, err)
		}
	}
	_, _, err := l.AppendAsLeader(keyedBatch(t, record.ClientOptions(), 1, "z=1"), 1, 1)
	must("append", err)
	_, err = l.AppendAsFollower(batchAt(t, l.LogEndOffset(), 1, 10, 1), 1)
	must("follower append", err)
	_, err = l.Read(l.LogStartOffset(), 10, l.LogEndOffset(), true)
	must("read", err)
	_, err = l.TruncateTo(1, 1)
	must("truncation", err)
	must("flush", l.Flush(l.LogEndOffset()+1, 1))
	_, err = l.DeleteOldSegments(1)
	must("retention", err)
	_, err = l.CleanRange(1)
	must("cleaning", err)
	_, _, err = l.DeleteRecords(1)
	must("deletion", err)
}
