package simkafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/sweep"
)

// RunFile runs a scenario file under each of Seeds and fails the test if any of the
// runs does not pass.
func RunFile(t *testing.T, file string, options ...Option) {
	t.Helper()
	Run(t, File(file), options...)
}

// Run runs a source under each of Seeds and fails the test if any of the runs does not
// pass.
func Run(t *testing.T, source Source, options ...Option) {
	t.Helper()
	r := &run{t: t, Scenarios: source(t), settings: settingsOf(t, options), stop: budget(t)}
	r.each()
	r.report(uint64(len(r.seeds)))
}

// Sweep runs a source under Count seeds, side by side, and fails the test if any of
// the runs does not pass, or if the time was not enough for all of them.
func Sweep(t *testing.T, source Source, options ...Option) {
	t.Helper()
	r := &run{t: t, Scenarios: source(t), settings: settingsOf(t, options), stop: budget(t)}
	if r.alone {
		r.each()
		r.report(1)
		return
	}
	plan := &sweep.Plan{Source: r.source, Root: r.root, Count: r.count, Shard: r.shard, Replay: r.replay}
	file, err := sweep.Create(filepath.Join(t.TempDir(), plan.Shard.File()), plan)
	if err != nil {
		t.Fatalf("simkafka: %v", err)
	}
	defer file.Close()
	_, err = sweep.Run(plan, file, sweep.Options{Jobs: r.jobs, Keep: r.keep, KeepEach: 1, KeepAll: keepAll,
		Stop: func() string {
			if r.stop() {
				return sweep.OutOfTime
			}
			return ""
		},
		Progress: func(p sweep.Progress) { r.done, r.failed = p.Done, p.Failed }})
	if err != nil {
		t.Fatalf("simkafka: %v", err)
	}
	r.report(plan.Shard.Runs(r.count))
}

// Fuzz lets Go's fuzzer choose the seeds. Without -fuzz it runs seed 1 and those of
// the corpus.
func Fuzz(f *testing.F, source Source) {
	f.Helper()
	s := source(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := &run{t: t, Scenarios: s, settings: settings{seeds: []uint64{max(seed, 1)}}, stop: func() bool { return false }}
		r.each()
		r.report(1)
	})
}

// Main runs a package's tests and prints how many seeds they ran. It does not return.
func Main(m *testing.M) {
	code := m.Run()
	fmt.Printf("simkafka: %d seeds, %d failed\n", total.seeds.Load(), total.failed.Load())
	os.Exit(code)
}

// total is what Main prints; nothing else reads it.
var total struct{ seeds, failed atomic.Uint64 }

// keepAll bounds the failures that a test keeps: the first one of each signature.
const keepAll = 10

// run is one test.
type run struct {
	t *testing.T
	*Scenarios
	settings
	stop         func() bool
	done, failed uint64
	story        []string // what went wrong
	manifest     []kept
}

// each runs the seeds one after the other.
func (r *run) each() {
	for _, seed := range r.seeds {
		if r.stop() {
			return
		}
		r.done++
		_, failure := sweep.Try(r.source, seed)
		if failure == nil {
			continue
		}
		if r.failed++; len(r.manifest) < keepAll {
			if err := r.keep(failure); err != nil {
				r.t.Fatalf("simkafka: %v", err)
			}
		}
	}
}

// budget says when four fifths of the time until the test's deadline are over.
func budget(t *testing.T) func() bool {
	deadline, ok := t.Deadline()
	if !ok {
		return func() bool { return false }
	}
	now := time.Now()
	end := now.Add(deadline.Sub(now) * 4 / 5)
	return func() bool { return !time.Now().Before(end) }
}

// kept is an entry of manifest.json.
type kept struct {
	Dir       string `json:"dir"`
	Replay    string `json:"replay"`
	Seed      uint64 `json:"seed"`
	Signature string `json:"signature"`
}

// keep leaves a failure in the test's artifact directory.
func (r *run) keep(f *sweep.Failure) error {
	dir := filepath.Join(r.t.ArtifactDir(), fmt.Sprint("seed-", f.Seed))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	replay := fmt.Sprintf("%s --seed %d", r.replay, f.Seed)
	r.manifest = append(r.manifest, kept{filepath.Base(dir), replay, f.Seed, f.Signature})
	r.story = append(r.story, fmt.Sprintf("%s  seed %d\n  %s\n  replay  %s\n  or      SIMKAFKA_SEED=%d go test -run '^%s$'",
		strings.ToUpper(string(f.Verdict)), f.Seed, f.Signature, replay, f.Seed, topTest(r.t.Name())))
	if f.What != "" && f.What != f.Signature {
		r.story[len(r.story)-1] += "\n  what    " + f.What
	}
	r.t.Attr("simkafka.seed", fmt.Sprint(f.Seed))
	return report.WriteFailure(dir, f, report.FailureOptions{})
}

// topTest is the name of the test function; the names of subtests do not survive
// every shell.
func topTest(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// report fails the test if anything was wrong, once, and says where things are.
func (r *run) report(wanted uint64) {
	r.t.Helper()
	total.seeds.Add(r.done)
	total.failed.Add(r.failed)
	if len(r.manifest) > 0 {
		if err := r.writeManifest(); err != nil {
			r.t.Fatalf("simkafka: %v", err)
		}
	}
	if r.done < wanted {
		r.story = append(r.story, fmt.Sprintf("INCONCLUSIVE  %d of %d seeds were run before the time was over; see go test -timeout", r.done, wanted))
	}
	if r.failed == 0 && r.done == wanted {
		return
	}
	r.t.Errorf("simkafka: %s: %d of %d seeds failed; artifacts (kept with go test -artifacts) in %s\n%s", r.source.Name(), r.failed, r.done,
		r.t.ArtifactDir(), strings.Join(r.story, "\n"))
}
