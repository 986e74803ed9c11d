package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/osfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// Two sizes of a call tell its price: what it costs whatever its size, and each KiB.
const (
	smallCall = 1 << 10
	largeCall = 1 << 20
)

// Hardware measures what the disk of Options.Dir costs, for scenarios. Costs are wall
// times: medians over the rounds. Only that of sendfile is the sender's CPU time where
// Options.Reader is a process, as a broker does not wait for the network. What the
// system cannot tell has the built-in cost, and About says so.
func Hardware(o Options) (*scenarios.Hardware, error) {
	if o.Runs < 1 || o.Size < 1 {
		return nil, errors.New("perf: runs and size must be positive")
	}
	h := &hardware{bench: &bench{o: o, fs: osfs.New(o.Dir)}, data: ptr(random(7)).bytes(largeCall)}
	out, err := h.measure()
	if err = errors.Join(err, h.clear()); err != nil {
		return nil, err
	}
	return out, nil
}

func ptr[T any](v T) *T { return &v }

type hardware struct {
	*bench
	data []byte
}

// step is one group of prices.
type step struct {
	what string
	run  func(*scenarios.Hardware) error
}

func (h *hardware) measure() (*scenarios.Hardware, error) {
	e := environment(h.o.Dir)
	out := &scenarios.Hardware{About: fmt.Sprintf("%s, %s %s, %s; medians of %d rounds of simkafka perf", e.FileSystem, e.OS, e.Kernel, e.Arch, h.o.Runs)}
	steps := []step{
		{"cost of an append", h.appends}, {"cost of a read, cached", h.hits}, {"cost of a read, not cached", h.misses},
		{"cost of a sync", h.syncs}, {"cost of a file's creation", h.metadata}, {"cost of sendfile", h.sends},
	}
	for i, s := range steps {
		if h.o.Stop != nil && h.o.Stop() {
			return nil, ErrStopped
		}
		if h.o.Progress != nil {
			h.o.Progress(i, len(steps), s.what)
		}
		if err := s.run(out); err != nil {
			return nil, fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return out, nil
}

// calls is how many calls of a size one round makes: enough to time, and at most Size.
func (h *hardware) calls(size int) int { return int(max(4, min(4096, h.o.Size/int64(size)))) }

// each times n calls and returns what one took.
func each(n int, call func(i int) error) (time.Duration, error) {
	begin := time.Now()
	for i := range n {
		if err := call(i); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

// median of the rounds of one measurement, after one that is not counted.
func (h *hardware) median(one func() (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for i := range h.o.Runs + 1 {
		d, err := one()
		if err != nil {
			return 0, err
		}
		if i > 0 {
			all = append(all, d)
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// price is the line through two calls.
func price(small, large time.Duration) scenarios.Cost {
	return between(smallCall, largeCall, small, large)
}

func between(smallSize, largeSize int, small, large time.Duration) scenarios.Cost {
	kib := time.Duration((largeSize - smallSize) >> 10)
	perKiB := max(0, (large-small+kib/2)/kib)
	return scenarios.Cost{
		Call:   kafka.Nanos(max(0, small-perKiB*time.Duration(smallSize>>10))),
		PerKiB: kafka.Nanos(perKiB),
	}
}

// twoSizes fits the price of a call that takes n bytes of a file.
func (h *hardware) twoSizes(one func(size int) (time.Duration, error)) (scenarios.Cost, error) {
	var took [2]time.Duration
	for i, size := range []int{smallCall, largeCall} {
		d, err := h.median(func() (time.Duration, error) { return one(size) })
		if err != nil {
			return scenarios.Cost{}, err
		}
		took[i] = d
	}
	return price(took[0], took[1]), nil
}

func (h *hardware) appends(out *scenarios.Hardware) (err error) {
	out.Append, err = h.twoSizes(func(size int) (d time.Duration, err error) {
		return d, h.withFile(func(f vfs.File) (err error) {
			d, err = each(h.calls(size), func(int) error { return f.Append(h.data[:size]) })
			return err
		})
	})
	return err
}

// withFile lends a new file.
func (h *hardware) withFile(use func(vfs.File) error) error {
	name := place("hardware")
	f, err := h.fs.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(use(f), f.Close(), h.fs.Remove(name))
}

// filled lends a file of 64 MiB or less.
func (h *hardware) filled(use func(f vfs.File, size int64) error) error {
	return h.withFile(func(f vfs.File) error {
		for f.Size() < max(largeCall, min(64<<20, h.o.Size)) {
			if err := f.Append(h.data); err != nil {
				return err
			}
		}
		return use(f, f.Size())
	})
}

func (h *hardware) hits(out *scenarios.Hardware) error {
	buf := make([]byte, largeCall)
	return h.filled(func(f vfs.File, length int64) (err error) {
		out.ReadHit, err = h.twoSizes(func(size int) (time.Duration, error) {
			return each(h.calls(size), func(i int) error { return readOne(f, scattered(i, size, length), buf[:size]) })
		})
		return err
	})
}

// scattered is the i-th of positions that jump about, each a multiple of size.
func scattered(i, size int, length int64) int64 {
	n := length / int64(size)
	return int64(i) * 7919 % n * int64(size)
}

func readOne(f vfs.File, pos int64, b []byte) error {
	n, err := f.(vfs.Copier).ReadInto(pos, b)
	if err == nil && n < len(b) {
		err = fmt.Errorf("perf: a read of %d bytes got %d", len(b), n)
	}
	return err
}

// missSize is the smallest read from the device: the simulated disk's granule.
const missSize = 64 << 10

// misses: each read is of pages that were dropped. What a hit costs is taken off.
func (h *hardware) misses(out *scenarios.Hardware) error {
	if !canDrop {
		p := simdisk.DefaultProfile()
		out.ReadMiss = scenarios.Cost{Call: p.ReadMiss, PerKiB: p.ReadMissPerKiB}
		out.About += "; read_miss is the built-in one"
		return nil
	}
	buf := make([]byte, largeCall)
	return h.filled(func(f vfs.File, length int64) error {
		var took [2]time.Duration
		for i, size := range []int{missSize, largeCall} {
			d, err := h.median(func() (time.Duration, error) {
				if err := h.dropNamed(f.Name()); err != nil {
					return 0, err
				}
				n := int(min(64, length/int64(size)))
				return each(n, func(i int) error { return readOne(f, scattered(i, size, length), buf[:size]) })
			})
			if err != nil {
				return err
			}
			hit := out.ReadHit.Call + out.ReadHit.PerKiB*kafka.Nanos(size>>10)
			took[i] = max(0, d-time.Duration(hit))
		}
		out.ReadMiss = between(missSize, largeCall, took[0], took[1])
		return nil
	})
}

func (h *hardware) dropNamed(name string) error {
	f, err := os.Open(h.path(name))
	if err != nil {
		return err
	}
	return errors.Join(dropPages(f), f.Close())
}

// syncsOfRound is how many syncs of each size one round makes.
const syncsOfRound = 8

// syncs: the least that a small sync takes, what a large one takes longer, and twice the
// way from the least to the median as what is drawn on top.
func (h *hardware) syncs(out *scenarios.Hardware) error {
	return h.withFile(func(f vfs.File) error {
		var small, large []time.Duration
		for range h.o.Runs {
			for range syncsOfRound {
				for _, s := range []struct {
					size int
					to   *[]time.Duration
				}{{smallCall, &small}, {largeCall, &large}} {
					if err := f.Append(h.data[:s.size]); err != nil {
						return err
					}
					d, err := each(1, func(int) error { return f.Sync() })
					if err != nil {
						return err
					}
					*s.to = append(*s.to, d)
				}
			}
		}
		slices.Sort(small)
		slices.Sort(large)
		least, middle := small[len(small)/10], small[len(small)/2]
		out.Fsync = price(least, least+max(0, large[len(large)/2]-middle))
		out.FsyncJitter = kafka.Nanos(2 * (middle - least))
		return nil
	})
}

// metadata is the mean of creating, statting, cutting, renaming and removing a file.
func (h *hardware) metadata(out *scenarios.Hardware) error {
	const names, calls = 64, 5
	d, err := h.median(func() (time.Duration, error) {
		return each(names, func(i int) error {
			name := place(fmt.Sprintf("meta-%d", i))
			f, err := h.fs.Create(name)
			if err != nil {
				return err
			}
			_, statErr := h.fs.Stat(name)
			return errors.Join(statErr, f.Truncate(1), f.Close(), h.fs.Rename(name, name+"x"), h.fs.Remove(name+"x"))
		})
	})
	out.Metadata = kafka.Nanos(d / calls)
	return err
}

// sends serves fetches of two sizes by sendfile.
func (h *hardware) sends(out *scenarios.Hardware) error {
	batch, err := clientBatch(16, valueSize)
	if err != nil {
		return err
	}
	s := &sends{shared: shared{b: h.bench, name: "hardware-send", batch: batch}}
	l, err := s.log()
	if err != nil {
		return err
	}
	const small = 16 << 10
	var took [2]time.Duration
	for i, size := range []int{small, largeCall} {
		took[i], err = h.median(func() (time.Duration, error) {
			r := &run{bench: h.bench}
			if err := s.serve(r, l, sendLoad{size: size}, osfs.Sendfile, false, false); err != nil {
				return 0, err
			}
			spent := r.wall
			if r.reader > 0 {
				spent = r.cpu
			}
			return spent / time.Duration(r.ops), nil
		})
		if err != nil {
			return errors.Join(err, s.done())
		}
	}
	out.Sendfile = between(small, largeCall, took[0], took[1])
	return s.done()
}
