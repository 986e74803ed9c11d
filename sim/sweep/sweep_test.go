package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// A shard that was killed at any byte and goes on merges to what an undisturbed one
// merges to (U25).
func TestResumeAfterAnyCut(t *testing.T) {
	plan := papers(8, Shard{2, 3})
	dir := t.TempDir()
	name, _ := sweepInto(t, dir, plan, Options{Jobs: 2})
	whole, want := contents(t, name), merged(t, name)
	header := bytes.IndexByte(whole, '\n') + 1
	for cut := header; cut <= len(whole); cut += min(1+cut%5, max(len(whole)-cut, 1)) {
		if err := os.WriteFile(name, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Resume(name, plan)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		again := 0
		state, err := Run(plan, f, Options{Simulate: func(s *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
			again++
			return fake(s, o)
		}})
		if err != nil || state != Complete {
			t.Fatalf("cut at %d: %s, %v", cut, state, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if again > 0 && len(f.Lines) == 3 {
			t.Errorf("cut at %d: %d runs again, although all were done", cut, again)
		}
		if got := merged(t, name); !bytes.Equal(got, want) || parts(t, name)[0].Footer == nil {
			t.Fatalf("cut at %d:\n%s", cut, got)
		}
	}
	for cut := range header {
		if err := os.WriteFile(name, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(name, plan); !errors.Is(err, ErrEmpty) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// Only a torn end is forgiven.
func TestResumeIsStrict(t *testing.T) {
	dir := t.TempDir()
	plan := papers(9, Shard{1, 2})
	name, _ := sweepInto(t, dir, plan, Options{})
	whole := string(contents(t, name))
	lines := strings.SplitAfter(whole, "\n")
	for what, text := range map[string]string{
		"a line is missing":         lines[0] + lines[2],
		"a line is there twice":     lines[0] + lines[1] + lines[1],
		"lines change places":       lines[0] + lines[2] + lines[1],
		"no JSON":                   lines[0] + "{\n",
		"an unknown key":            lines[0] + strings.Replace(lines[1], `{"k"`, `{"new":1,"k"`, 1),
		"another seed":              lines[0] + strings.Replace(lines[1], `"seed":`, `"seed":1`, 1),
		"a footer in between":       lines[0] + lines[1] + "{\"done\":1,\"state\":\"interrupted\"}\n" + lines[2],
		"a footer that counts less": lines[0] + lines[1] + "{\"done\":0,\"state\":\"interrupted\"}\n",
		"a changed header":          strings.Replace(whole, `"root_seed":1`, `"root_seed":2`, 1),
		"another schema":            strings.Replace(whole, "sweep/v1", "sweep/v2", 1),
		"no header":                 lines[1],
		"a wrong shard":             strings.Replace(whole, `"shard":1`, `"shard":3`, 1),
		"a long line":               lines[0] + strings.Repeat("x", maxLine+100_000),
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(name, plan); err == nil {
			t.Errorf("%s: accepted", what)
		}
		if got := string(contents(t, name)); got != text {
			t.Errorf("%s: the file was changed", what)
		}
	}
	if err := os.WriteFile(name, []byte(whole), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, other := range []*Plan{papers(9, Shard{2, 2}), papers(9, Whole()), papers(10, Shard{1, 2})} {
		if _, err := Resume(name, other); err == nil {
			t.Errorf("taken for shard %s of %d", other.Shard, other.Count)
		}
	}
}

// One passing run of twenty and every failing one is run twice.
func TestFivePercentAndAllFailuresRunTwice(t *testing.T) {
	var runs atomic.Int64
	name, _ := sweepInto(t, t.TempDir(), papers(4000, Whole()), Options{Jobs: 3, Simulate: func(s *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
		runs.Add(1)
		return fake(s, o)
	}})
	passed, repeated, want := 0, 0, int64(0)
	for _, l := range parts(t, name)[0].Lines {
		want += int64(l.Runs)
		switch {
		case l.Verdict != outcome.Pass:
			if l.Runs != 2 {
				t.Errorf("run %d failed and was run %d times", l.K, l.Runs)
			}
		case l.Runs == 2:
			repeated++
			passed++
		default:
			passed++
		}
	}
	if runs.Load() != want {
		t.Errorf("%d runs, the file says %d", runs.Load(), want)
	}
	if repeated*100 < passed*4 || repeated*100 > passed*6 {
		t.Errorf("%d of %d passing runs were repeated", repeated, passed)
	}
}

// A run whose repetition gives something else is the simulator's fault.
func TestDisagreementIsAnError(t *testing.T) {
	calls := make(map[uint64]int)
	name, _ := sweepInto(t, t.TempDir(), papers(60, Whole()), Options{Simulate: func(s *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
		r, err := fake(s, o)
		if calls[o.Seed]++; calls[o.Seed] == 2 {
			r.Fingerprint = "other"
		}
		return r, err
	}})
	broken := 0
	for _, l := range parts(t, name)[0].Lines {
		if l.Runs == 2 {
			broken++
			if l.Verdict != outcome.Error || !strings.Contains(l.What, "two runs of one seed differ") {
				t.Errorf("%+v", l)
			}
		}
	}
	if broken == 0 {
		t.Error("nothing was repeated")
	}
}

// A panic costs one run.
func TestPanicIsOneRunsError(t *testing.T) {
	panics := Seed(1, paper{"made-up"}.Digest(), 5)
	var kept []*Failure
	name, state := sweepInto(t, t.TempDir(), papers(20, Whole()), Options{Jobs: 2, KeepEach: 1, KeepAll: 9,
		Keep: func(f *Failure) error {
			if f.Seed == panics {
				kept = append(kept, f)
			}
			return nil
		},
		Simulate: func(s *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
			if o.Seed == panics {
				panic("index out of range [7]")
			}
			return fake(s, o)
		}})
	l := parts(t, name)[0].Lines[5]
	if state != Complete || l.Verdict != outcome.Error || l.Signature != "error: the simulator failed: index out of range [#]" {
		t.Errorf("%s: %+v", state, l)
	}
	if len(kept) != 1 {
		t.Fatalf("%d kept", len(kept))
	}
	if r, stack, err := kept[0].Run(nil); r != nil || err == nil || !strings.Contains(stack, "goroutine") {
		t.Errorf("%v, %q, %v", r, stack, err)
	}
}

// The first failures of each signature are kept, in order of k, whatever the workers do.
func TestTheFirstFailuresOfEachSignatureAreKept(t *testing.T) {
	var first []string
	for _, jobs := range []int{1, 5} {
		var kept []string
		sweepInto(t, t.TempDir(), papers(400, Whole()), Options{Jobs: jobs, KeepEach: 2, KeepAll: 5, Keep: func(f *Failure) error {
			r, _, err := f.Run(nil)
			if err != nil || r.Seed != f.Seed {
				t.Errorf("%v, %v", r, err)
			}
			kept = append(kept, fmt.Sprint(f.K, " ", f.Signature))
			return nil
		}})
		if first == nil {
			first = kept
		}
		if !slices.Equal(kept, first) || len(kept) != 5 {
			t.Errorf("%d workers kept %q, one kept %q", jobs, kept, first)
		}
	}
}

func TestAnErrorOfKeepEndsTheSweep(t *testing.T) {
	plan := papers(400, Whole())
	f, err := Create(filepath.Join(t.TempDir(), "f"), plan)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full := errors.New("disk full")
	if _, err := Run(plan, f, Options{Jobs: 3, KeepEach: 1, KeepAll: 1, Simulate: fake, Keep: func(*Failure) error { return full }}); !errors.Is(err, full) {
		t.Error(err)
	}
}

// What began before the stop ends, and is written; the rest can be resumed.
func TestStopKeepsWhatIsDone(t *testing.T) {
	dir := t.TempDir()
	plan := papers(300, Whole())
	asked := 0
	name, state := sweepInto(t, dir, plan, Options{Jobs: 4, Stop: func() string {
		if asked++; asked > 50 {
			return Interrupted
		}
		return ""
	}})
	p := parts(t, name)[0]
	if state != Interrupted || p.Footer == nil || p.Footer.State != Interrupted || len(p.Lines) < 10 || len(p.Lines) > 51 {
		t.Fatalf("%s, %d lines, %+v", state, len(p.Lines), p.Footer)
	}
	f, err := Resume(name, plan)
	if err != nil {
		t.Fatal(err)
	}
	if state, err = Run(plan, f, Options{Jobs: 2, Simulate: fake}); err != nil || state != Complete {
		t.Fatal(state, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole, _ := sweepInto(t, t.TempDir(), plan, Options{})
	if !bytes.Equal(merged(t, name), merged(t, whole)) {
		t.Error("the resumed sweep differs")
	}
}

// Runs that wait for an earlier one are bounded.
func TestBacklogIsBounded(t *testing.T) {
	const jobs = 2
	var begun, most atomic.Int64
	hold := make(chan bool)
	slow := Seed(1, paper{"made-up"}.Digest(), 0)
	sweepInto(t, t.TempDir(), papers(2000, Whole()), Options{Jobs: jobs, Simulate: func(s *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
		if begun.Add(1) == jobs*backlog {
			close(hold)
		}
		if o.Seed == slow && most.Load() == 0 {
			<-hold
			for range 1000 {
				runtime.Gosched()
			}
			most.Store(begun.Load())
		}
		return fake(s, o)
	}})
	if n := most.Load(); n > 2*jobs*backlog { // those that were run twice count twice
		t.Errorf("%d runs began while the first one lasted", n)
	}
}

func TestSignatureDropsNumbersAlone(t *testing.T) {
	for text, want := range map[string]string{
		"record p1 #12 of orders-3":     "record p# ## of orders-#",
		"isr {1,2,3} and {1, 2}":        "isr {#} and {#}",
		"41.207s":                       "#s",
		"1,234 records, then 5":         "# records, then #",
		"ends with 7":                   "ends with #",
		"":                              "",
		"offset 10, epoch 4, leader 2.": "offset #, epoch #, leader #.",
	} {
		if got := Pattern(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestProgressCountsEveryRun(t *testing.T) {
	var last Progress
	sweepInto(t, t.TempDir(), papers(200, Shard{2, 2}), Options{Jobs: 2, Progress: func(p Progress) { last = p }})
	if last.Done != 100 || last.Total != 100 || last.Now != 100 || last.Findings == 0 || last.Violated == 0 {
		t.Errorf("%+v", last)
	}
}
