package perf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
)

// partitionSize is what each of many partitions has to recover, in bytes, and
// partitionsMax how many there are at most.
const (
	partitionSize = 5 << 20
	partitionsMax = 2000
)

func recoverCases(b *bench) ([]*testCase, error) {
	var out []*testCase
	for _, records := range []int{16, 64} {
		batch, err := clientBatch(records, valueSize)
		if err != nil {
			return nil, err
		}
		out = append(out, b.recovering(batch, fmt.Sprintf("recover-%d", records), fmt.Sprintf("unclean, %d records a batch", records)))
	}
	batch, err := clientBatch(16, valueSize)
	if err != nil {
		return nil, err
	}
	many := &partitions{b: b, batch: batch, n: int(max(2, min(partitionsMax, b.o.Size/partitionSize)))}
	out = append(out,
		many.loading("partitions-1", fmt.Sprintf("unclean, %d partitions, 1 thread", many.n), 1, false),
		many.loading("partitions-n", fmt.Sprintf("unclean, %d partitions, %d threads", many.n, runtime.GOMAXPROCS(0)), runtime.GOMAXPROCS(0), false),
		many.loading("clean-1", fmt.Sprintf("clean, %d partitions, 1 thread", many.n), 1, true))
	out[len(out)-1].done = many.done
	return out, nil
}

// recovering loads one log that was not closed.
func (b *bench) recovering(batch record.Batch, name, title string) *testCase {
	dir, want := place(name), int64(0)
	return &testCase{name: name, title: title, disk: real, run: func(r *run) error {
		if want == 0 {
			l, err := fresh(b.fs, dir, config())
			if err != nil {
				return err
			}
			want, err = fill(l, batch, valueSize, b.o.Size, true)
			if err := errors.Join(err, l.Close(false, now)); err != nil {
				return err
			}
		}
		var l *log.Log
		err := r.timed(func() (err error) {
			l, err = log.OpenNow(b.fs, dir, config(), log.OpenParams{Now: now})
			return err
		})
		if err != nil {
			return err
		}
		r.countLog(l, valueSize)
		return errors.Join(l.Close(false, now), demand("records recovered", r.records, want))
	}, done: func() error { return os.RemoveAll(b.path(dir)) }}
}

// partitions are many logs of a data directory.
type partitions struct {
	b     *bench
	batch record.Batch
	n     int
	made  bool
	end   []kafka.Offset
}

func (p *partitions) dir(i int) string { return fmt.Sprintf("%s/topic-%d", place("partitions"), i) }

func (p *partitions) make() error {
	if p.made {
		return nil
	}
	p.made = true
	p.end = make([]kafka.Offset, p.n)
	for i := range p.n {
		l, err := fresh(p.b.fs, p.dir(i), config())
		if err != nil {
			return err
		}
		_, err = fill(l, p.batch, valueSize, partitionSize, true)
		p.end[i] = l.LogEndOffset()
		if err := errors.Join(err, l.Close(false, now)); err != nil {
			return err
		}
	}
	return nil
}

func (p *partitions) done() error { return os.RemoveAll(p.b.path(place("partitions"))) }

// loading loads all partitions, each by one thread. A clean load needs logs that were
// closed cleanly; it closes them so before.
func (p *partitions) loading(name, title string, threads int, clean bool) *testCase {
	return &testCase{name: name, title: title, disk: real, kind: loads, run: func(r *run) error {
		if err := p.make(); err != nil {
			return err
		}
		if clean {
			if err := p.each(1, true, true); err != nil {
				return err
			}
		}
		logs := make([]*log.Log, p.n)
		err := r.timed(func() error { return p.load(logs, threads, clean) })
		for i, l := range logs {
			if l != nil {
				err = errors.Join(err, demand("end of a log", int64(l.LogEndOffset()), int64(p.end[i])), l.Close(false, now))
				r.records += int64(l.LogEndOffset())
			}
		}
		r.ops = int64(p.n)
		if !clean {
			r.bytes = r.records * valueSize
		}
		return err
	}}
}

// each loads and closes all partitions.
func (p *partitions) each(threads int, load, closeClean bool) error {
	logs := make([]*log.Log, p.n)
	err := p.load(logs, threads, !load)
	for _, l := range logs {
		if l != nil {
			err = errors.Join(err, l.Close(closeClean, now))
		}
	}
	return err
}

// load shares the partitions out to threads.
func (p *partitions) load(logs []*log.Log, threads int, clean bool) error {
	var all sync.WaitGroup
	errs := make([]error, threads)
	for t := range threads {
		all.Go(func() {
			for i := t; i < p.n; i += threads {
				o := log.OpenParams{Now: now, Clean: clean}
				if clean {
					o.RecoveryPoint = p.end[i]
				}
				l, err := log.OpenNow(p.b.fs, p.dir(i), config(), o)
				if err != nil {
					errs[t] = err
					return
				}
				logs[i] = l
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
