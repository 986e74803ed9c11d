package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
)

// Settings of the cleaner, as log.cleaner.dedupe.buffer.size and half of
// log.cleaner.io.buffer.size with one thread.
const (
	dedupeBytes = 128 << 20
	cleanerRead = 256 << 10
)

func compactCases(b *bench) ([]*testCase, error) {
	var out []*testCase
	for _, value := range []int{100, 1024} {
		for _, unique := range []int{10, 90} {
			out = append(out, b.compacting(value, unique))
		}
	}
	return out, nil
}

// compacting cleans a log once: the map of all keys, then the copy of what stays.
func (b *bench) compacting(value, unique int) *testCase {
	name := fmt.Sprintf("value-%d-unique-%d", value, unique)
	source, dir := place(name+"-source"), place(name)
	var want int64 // keys
	return &testCase{name: name, title: fmt.Sprintf("%d B values, %d %% unique keys", value, unique), disk: real, run: func(r *run) (err error) {
		if want == 0 {
			if want, err = b.fillKeyed(source, value, unique); err != nil {
				return err
			}
		}
		if err := b.copyDir(source, dir); err != nil {
			return err
		}
		l, err := log.OpenNow(b.fs, dir, compactedConfig(), log.OpenParams{Clean: true, RecoveryPoint: 1<<62 - 1, Now: now})
		if err != nil {
			return err
		}
		l.SetHighWatermark(l.LogEndOffset())
		r.records = int64(l.LogEndOffset())
		err = r.timed(func() error { return r.clean(l, want) })
		return errors.Join(err, log.RemoveFiles(b.fs, l.TakeDeleted()), b.removeLog(l))
	}, done: func() error { return os.RemoveAll(b.path(source)) }}
}

func (r *run) clean(l *log.Log, keys int64) error {
	what, err := l.CleanRange(now)
	if err != nil {
		return err
	}
	r.bytes = what.CleanableBytes
	c := l.BeginCleaning(log.CleanParams{Range: what, Now: now, MapBytes: dedupeBytes, ReadBytes: cleanerRead, Seed: 1})
	for {
		done, err := c.Step()
		if err != nil {
			return err
		}
		if done {
			return demand("keys of the log", int64(c.Stats().Keys), keys)
		}
	}
}

func compactedConfig() *log.Config {
	c := config()
	c.Compact, c.Delete = true, false
	return c
}

// fillKeyed makes a log of batches of 16 records whose keys are drawn from a share of
// their number, closed cleanly, with an empty active segment. It returns how many
// different keys came.
func (b *bench) fillKeyed(dir string, value, unique int) (keys int64, err error) {
	cfg := compactedConfig()
	l, err := fresh(b.fs, dir, cfg)
	if err != nil {
		return 0, err
	}
	const perBatch = 16
	total := max(perBatch, b.o.Size/int64(value+40)/perBatch*perBatch)
	space := uint64(max(1, total*int64(unique)/100))
	seen := make([]bool, space)
	r := random(9)
	payload := r.bytes(value)
	var bd record.Builder
	var key []byte
	for n := int64(0); n < total; n += perBatch {
		bd.Reset(record.ClientOptions())
		for range perBatch {
			k := r.next() % space
			if !seen[k] {
				seen[k], keys = true, keys+1
			}
			key = fmt.Appendf(key[:0], "user-%019d", k)
			bd.Append(now, key, payload, nil)
		}
		batch, err := bd.Build()
		if err != nil {
			return 0, err
		}
		if _, v, err := l.AppendAsLeader(batch, 0, now); err != nil || v.Code != kafka.None {
			return 0, errors.Join(err, fmt.Errorf("perf: %s", v.Message))
		}
	}
	if err := rollNow(l, cfg); err != nil {
		return 0, err
	}
	return keys, l.Close(true, now)
}

// rollNow begins a new segment with one record that is not part of the cleaning.
func rollNow(l *log.Log, cfg *log.Config) error {
	small := *cfg
	small.SegmentBytes = 1 << 10
	l.SetConfig(&small)
	defer l.SetConfig(cfg)
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	bd.Append(now, []byte("the last"), nil, nil)
	batch, err := bd.Build()
	if err != nil {
		return err
	}
	info, v, err := l.AppendAsLeader(batch, 0, now)
	if err == nil && (v.Code != kafka.None || !info.Rolled) {
		err = fmt.Errorf("perf: no new segment: %s", v.Message)
	}
	return err
}

// copyDir copies the files of a directory into a new one.
func (b *bench) copyDir(from, to string) error {
	entries, err := os.ReadDir(b.path(from))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.path(to), 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(filepath.Join(b.path(from), e.Name()), filepath.Join(b.path(to), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
