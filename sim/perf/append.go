package perf

import (
	"errors"
	"fmt"
	"os"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// syncedShare is which part of the size a case appends that waits for the device after
// each batch.
const syncedShare = 16

func appendCases(b *bench) ([]*testCase, error) {
	var out []*testCase
	for _, records := range []int{16, 64} {
		batch, err := clientBatch(records, valueSize)
		if err != nil {
			return nil, err
		}
		out = append(out,
			b.leader(batch, fmt.Sprintf("leader-%d", records), fmt.Sprintf("leader, %d records a batch", records), leaderOptions{}),
			b.rawAppend(len(batch), b.o.Size, fmt.Sprintf("raw-%d", records), fmt.Sprintf("write(2), %d KiB at once", records), false, false))
		if records == 64 {
			out = append(out,
				b.leader(batch, "leader-64-sync", "leader, 64 a batch, sync at the end", leaderOptions{syncEnd: true}),
				b.rawAppend(len(batch), b.o.Size, "raw-64-sync", "write(2), 64 KiB, sync at the end", true, false))
		}
		if records == 16 {
			out = append(out,
				b.leader(batch, "leader-16-sync-each", "leader, 16 a batch, sync each", leaderOptions{syncEach: true}),
				b.rawAppend(len(batch), b.o.Size/syncedShare, "raw-16-sync-each", "write(2), 16 KiB, sync each", false, true))
		}
		out = append(out, b.leaderSimulated(batch, fmt.Sprintf("leader-%d-sim", records), fmt.Sprintf("leader, %d a batch", records)))
		if records == 16 {
			out = append(out, b.follower(batch), b.followerSimulated(batch))
		}
	}
	return out, nil
}

type leaderOptions struct{ syncEnd, syncEach bool }

func (b *bench) leader(batch record.Batch, name, title string, o leaderOptions) *testCase {
	return &testCase{name: name, title: title, disk: real, run: func(r *run) error {
		cfg, size := config(), b.o.Size
		if o.syncEach {
			cfg.FlushMessages, size = 1, size/syncedShare
		}
		l, err := fresh(b.fs, place(name), cfg)
		if err != nil {
			return err
		}
		err = r.timed(func() error {
			if err := appendAsLeader(l, batch, size); err != nil || !o.syncEnd {
				return err
			}
			return l.Flush(l.LogEndOffset(), now)
		})
		r.countLog(l, valueSize)
		return errors.Join(err, b.removeLog(l))
	}}
}

// appendAsLeader appends batch until size bytes of values are in the log.
func appendAsLeader(l *log.Log, batch record.Batch, size int64) error {
	n := max(1, size/(int64(batch.Count())*valueSize))
	for range n {
		info, verdict, err := l.AppendAsLeader(batch, 0, now)
		if err != nil {
			return err
		}
		if verdict.Code != kafka.None || info.Count != batch.Count() {
			return fmt.Errorf("perf: the log refuses a batch: %s", verdict.Message)
		}
	}
	return demand("records in the log", int64(l.LogEndOffset()), n*int64(batch.Count()))
}

// countLog counts everything in a log that the run has filled.
func (r *run) countLog(l *log.Log, value int) {
	r.records = int64(l.LogEndOffset())
	r.bytes = r.records * int64(value)
	r.ops = r.records
}

func (b *bench) follower(batch record.Batch) *testCase {
	const name = "follower"
	return &testCase{name: name, title: "follower, answers of 1 MiB", disk: real, run: func(r *run) error {
		l, err := fresh(b.fs, place(name), config())
		if err != nil {
			return err
		}
		err = r.timed(func() error {
			_, err := fill(l, batch, valueSize, b.o.Size, true)
			return err
		})
		r.countLog(l, valueSize)
		return errors.Join(err, b.removeLog(l))
	}}
}

// simulated is an empty simulated disk.
func simulated() *simdisk.Disk {
	return simdisk.New(simdisk.Config{}, func(string, uint64) uint64 { return 0 })
}

// simulatedShare bounds what is kept on a simulated disk, which is memory.
const simulatedMax = 256 << 20

func (b *bench) leaderSimulated(batch record.Batch, name, title string) *testCase {
	return &testCase{name: name, title: title, disk: sim, run: func(r *run) error {
		l, err := fresh(simulated(), "log", config())
		if err != nil {
			return err
		}
		err = r.timed(func() error { return appendAsLeader(l, batch, min(b.o.Size, simulatedMax)) })
		r.countLog(l, valueSize)
		return err
	}}
}

func (b *bench) followerSimulated(batch record.Batch) *testCase {
	return &testCase{name: "follower-sim", title: "follower, answers of 1 MiB", disk: sim, run: func(r *run) error {
		l, err := fresh(simulated(), "log", config())
		if err != nil {
			return err
		}
		err = r.timed(func() error {
			_, err := fill(l, batch, valueSize, min(b.o.Size, simulatedMax), false)
			return err
		})
		r.countLog(l, valueSize)
		return err
	}}
}

// real and raw are names of testCase.disk.
const (
	real = "real"
	sim  = "sim"
	raw  = "raw"
)

// rawAppend is what the system can do: writes of one size.
func (b *bench) rawAppend(piece int, size int64, name, title string, syncEnd, syncEach bool) *testCase {
	r5 := random(5)
	data := r5.bytes(piece)
	return &testCase{name: name, title: title, disk: raw, run: func(r *run) error {
		f, err := b.fs.Create(place(name))
		if err != nil {
			return err
		}
		err = r.timed(func() error { return writeOut(f, data, size, syncEnd, syncEach) })
		r.bytes = f.Size()
		r.ops = r.bytes / int64(piece)
		return errors.Join(err, f.Close(), os.Remove(b.path(place(name))))
	}}
}

func writeOut(f vfs.File, data []byte, size int64, syncEnd, syncEach bool) error {
	for f.Size() < size {
		if err := f.Append(data); err != nil {
			return err
		}
		if syncEach {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	if syncEnd {
		return f.Sync()
	}
	return nil
}
