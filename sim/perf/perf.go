package perf

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/simkafka/simkafka/sim/osfs"
)

// Options say what to measure where.
type Options struct {
	// Dir is a directory of the file system to measure; it exists and is empty, and is
	// left empty.
	Dir string
	// Runs is the number of counted rounds.
	Runs int
	// Size in bytes is what one run of a case moves, roughly.
	Size int64
	// Only keeps the cases whose name contains it.
	Only string
	// Reader is the command line of a process that reads what sendfile sends: with an
	// address and the words of ReadFrom appended. Empty reads in this process, which
	// then cannot tell the sender's CPU time from the reader's.
	Reader []string
	// Progress is told of each run before it begins; may be nil.
	Progress func(done, all int, what string)
	// Stop ends the measurement before the next run with ErrStopped; may be nil.
	Stop func() bool
}

// ErrStopped is the end of a measurement that Options.Stop ended.
var ErrStopped = errors.New("stopped")

// UnknownCaseError is an Options.Only that no case has.
type UnknownCaseError struct{ Workload, Only string }

// Error names both.
func (e *UnknownCaseError) Error() string {
	return fmt.Sprintf("%s has no case with %q in its name", e.Workload, e.Only)
}

// Workload is what a verb measures.
type Workload struct {
	Name  string
	About string
	cases func(*bench) ([]*testCase, error)
}

// Workloads lists all, in the order of a log's life.
func Workloads() []Workload {
	return []Workload{
		{"append", "append as leader and as follower, with and without sync", appendCases},
		{"read", "read in order: headers, checksums, records", readCases},
		{"index", "look up offsets in the memory-mapped index", indexCases},
		{"recover", "load logs after an unclean and after a clean stop", recoverCases},
		{"compact", "both passes of the cleaner", compactCases},
		{"sendfile", "send fetches over loopback, by every way", sendCases},
	}
}

// Find is the workload of a name.
func Find(name string) (Workload, bool) {
	for _, w := range Workloads() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// gcPercent is the collector's setting while measuring.
const gcPercent = 400

// bench is one measurement under way.
type bench struct {
	o  Options
	fs osfs.FS
}

// testCase is one row. run does one run and times the part that counts.
type testCase struct {
	name  string // of the JSON and of Options.Only
	title string
	disk  string // real, sim, or raw: no log at all
	kind  kind
	run   func(*run) error
	// done lets go of what the runs shared; may be nil.
	done func() error
}

// kind is what a case's time is told in.
type kind uint8

const (
	throughput kind = iota // bytes and records a second
	lookups                // ns an operation
	loads                  // operations with bytes: both
)

// run is one run of a case; it is filled by timed.
type run struct {
	bench   *bench
	wall    time.Duration
	cpu     time.Duration // of this process
	reader  time.Duration // CPU of the reading process
	bytes   int64
	records int64
	ops     int64
	paths   map[string]int64
}

// timed runs what counts, after a collection of what came before.
func (r *run) timed(f func() error) error {
	runtime.GC()
	before := pathBytes(r.bench.fs.Paths())
	cpu, begin := processCPU(), time.Now()
	err := f()
	r.wall += time.Since(begin)
	r.cpu += processCPU() - cpu
	if r.paths == nil {
		r.paths = make(map[string]int64)
	}
	for name, n := range pathBytes(r.bench.fs.Paths()) {
		r.paths[name] += n - before[name]
	}
	return err
}

// pathBytes names the ways of the bytes.
func pathBytes(p *osfs.Paths) map[string]int64 {
	return map[string]int64{
		"pread": p.Read.Bytes(), "pwrite": p.Write.Bytes(), "mmap": p.Mapped.Bytes(), "sendfile": p.Sendfile.Bytes(),
		"combined write": p.Combined.Bytes(), "read+write": p.Copied.Bytes(), "mmap+write": p.MapWrite.Bytes(), "tls": p.TLS.Bytes(),
	}
}

// Run measures one workload. Files that it made are gone when it returns.
func Run(w Workload, o Options) (*Report, error) {
	if o.Runs < 1 || o.Size < 1 {
		return nil, errors.New("perf: runs and size must be positive")
	}
	b := &bench{o: o, fs: osfs.New(o.Dir)}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	cases, err := w.cases(b)
	if err == nil {
		cases = slices.DeleteFunc(cases, func(c *testCase) bool { return !strings.Contains(c.name, o.Only) })
		if len(cases) == 0 {
			err = &UnknownCaseError{w.Name, o.Only}
		}
	}
	var rows []Row
	if err == nil {
		rows, err = b.rounds(cases)
	}
	for _, c := range cases {
		if c.done != nil {
			err = errors.Join(err, c.done())
		}
	}
	err = errors.Join(err, b.clear())
	if err != nil {
		return nil, err
	}
	return &Report{Schema: Schema, Workload: w.Name, About: w.About, Env: environment(o.Dir), Runs: o.Runs, Size: o.Size, Rows: rows, Notes: notes(w.Name)}, nil
}

// rounds runs all cases in turn, once without counting.
func (b *bench) rounds(cases []*testCase) ([]Row, error) {
	samples := make([][]*run, len(cases))
	all := (b.o.Runs + 1) * len(cases)
	for round := range b.o.Runs + 1 {
		for i, c := range cases {
			if b.o.Stop != nil && b.o.Stop() {
				return nil, ErrStopped
			}
			if b.o.Progress != nil {
				b.o.Progress(round*len(cases)+i, all, c.title)
			}
			r := &run{bench: b}
			if err := c.run(r); err != nil {
				return nil, fmt.Errorf("%s: %w", c.title, err)
			}
			if round > 0 {
				samples[i] = append(samples[i], r)
			}
		}
	}
	rows := make([]Row, len(cases))
	for i, c := range cases {
		rows[i] = rowOf(c, samples[i])
	}
	return rows, nil
}
