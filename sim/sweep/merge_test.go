package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/sim/cluster"
)

// The law of interface 4.3.5: the merged file does not show how many shards there
// were, how many workers, or in which order the files were named.
func TestMergeDoesNotShowTheShards(t *testing.T) {
	const count = 500
	random := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for _, n := range []int{1, 2, 3, 7, 16} {
		dir := t.TempDir()
		var names []string
		for i := 1; i <= n; i++ {
			name, state := sweepInto(t, dir, papers(count, Shard{i, n}), Options{Jobs: 1 + i%3})
			if state != Complete {
				t.Fatalf("shard %d/%d is %s", i, n, state)
			}
			names = append(names, name)
		}
		for range 4 {
			random.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
			got := merged(t, names...)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d shards in the order %v merge to something else", n, names)
			}
		}
	}
	if bytes.Contains(want, []byte("wall")) || bytes.Count(want, []byte("\n")) != count+2 {
		t.Errorf("the merged file has %d lines, or times", bytes.Count(want, []byte("\n")))
	}
}

// The same with real clusters, for which a worker must not see what another does.
func TestMergeOfRealRunsDoesNotShowTheShards(t *testing.T) {
	const count = 12
	var want []byte
	for _, n := range []int{1, 3} {
		dir := t.TempDir()
		var names []string
		for i := 1; i <= n; i++ {
			plan := &Plan{Source: Scenario(scenario1(t, "")), Root: 5, Count: count, Shard: Shard{i, n}, Replay: "simkafka run small.yaml"}
			name, _ := sweepInto(t, dir, plan, Options{Jobs: 4, Simulate: cluster.Run})
			names = append(names, name)
		}
		got := merged(t, names...)
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d shards:\n%s\none:\n%s", n, got, want)
		}
	}
	if c := bytes.Count(want, []byte(`"verdict":"pass"`)); c != count {
		t.Errorf("%d of %d runs pass", c, count)
	}
}

func TestMergeRefusesDifferentSweeps(t *testing.T) {
	dir := t.TempDir()
	a, _ := sweepInto(t, filepath.Join(dir), papers(10, Shard{1, 2}), Options{})
	for i, change := range []func(*Plan){
		func(p *Plan) { p.Root = 2 },
		func(p *Plan) { p.Count = 11 },
		func(p *Plan) { p.Source = paper{"other"} },
	} {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		p := papers(10, Shard{2, 2})
		change(p)
		b, _ := sweepInto(t, sub, p, Options{})
		if _, err := Merge(parts(t, a, b)); err == nil || !strings.Contains(err.Error(), "different sweeps") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "merged.jsonl"), merged(t, a), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(parts(t, filepath.Join(dir, "merged.jsonl"))); err == nil || !strings.Contains(err.Error(), "merged already") {
		t.Errorf("a merged file: %v", err)
	}
}

func TestMergeNamesWhatIsMissingAndWhatIsThereTwice(t *testing.T) {
	dir := t.TempDir()
	name := func(i int) string {
		n, _ := sweepInto(t, dir, papers(20, Shard{i, 4}), Options{})
		return n
	}
	one, three, four := name(1), name(3), name(4)
	m, err := Merge(parts(t, four, one, three, one))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintln(m.Missing, m.Duplicates, m.State); got != "[1 5 9 13 17] [0 4 8 12 16] partial\n" {
		t.Error(got)
	}
	whole, _ := sweepInto(t, t.TempDir(), papers(20, Whole()), Options{})
	if m, err = Merge(parts(t, whole, one)); err != nil || m.State != Complete || len(m.Missing) > 0 {
		t.Errorf("%v, %+v", err, m)
	}
}

// A sweep without a count ends with the time: what is missing are shards.
func TestMergeOfATimedSweepMissesShards(t *testing.T) {
	dir := t.TempDir()
	runs := func(i int, n uint64, state string) string {
		var done uint64
		name, _ := sweepInto(t, dir, papers(0, Shard{i, 4}), Options{Progress: func(p Progress) { done = p.Now }, Stop: func() string {
			if done < n {
				return ""
			}
			return state
		}})
		return name
	}
	one, two, four := runs(1, 9, Complete), runs(2, 5, Interrupted), runs(4, 12, Complete)
	m, err := Merge(parts(t, two, four, one))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintln(m.Absent, m.Unfinished, m.State); got != "[3] [2] partial\n" || len(m.Lines) != 26 {
		t.Errorf("%d lines, %s", len(m.Lines), got)
	}
}

// Two files that tell different things about one run are a fault of the simulator.
func TestMergeFindsDisagreement(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	a, _ := sweepInto(t, dir, papers(10, Whole()), Options{})
	b, _ := sweepInto(t, other, papers(10, Whole()), Options{})
	text := contents(t, b)
	i := bytes.LastIndex(text, []byte(`"fingerprint":"`)) + len(`"fingerprint":"`)
	text[i] = 'f'
	if err := os.WriteFile(b, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(parts(t, a, b)); !errors.Is(err, ErrDisagree) || !strings.Contains(err.Error(), "run 9 ") {
		t.Errorf("%v", err)
	}
}

func TestFindingsAreOneForEachBug(t *testing.T) {
	name, _ := sweepInto(t, t.TempDir(), papers(3000, Whole()), Options{Jobs: 2})
	m, err := Merge(parts(t, name))
	if err != nil {
		t.Fatal(err)
	}
	found := m.Findings(nil)
	var got []string
	sum := uint64(0)
	for _, f := range found {
		got = append(got, fmt.Sprint(f.Signature, " ", f.Always, " ", f.Change))
		sum += f.Runs
		if len(f.Shortest.Faults) != 2 || f.Shortest.Signature != f.Signature {
			t.Errorf("shortest of %s: %+v", f.Signature, f.Shortest)
		}
	}
	slices.Sort(got)
	want := []string{
		"inconclusive: limit of # events [kill] ",
		"log-matching: offset # differs [kill] ",
		"no-acked-loss: record # of orders-# is gone from {#} [kill] ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	totals := m.Totals()
	if sum != totals.Violated+totals.Inconclusive || totals.Passed+sum != 3000 || totals.Repeated < sum || len(totals.Probes) != 3 {
		t.Errorf("%d failures of %+v", sum, totals)
	}
	curve := m.Saturation()
	if len(curve) != 5 || curve[4] != (Point{3000, 3}) || curve[1].Runs != found[0].First+1 {
		t.Errorf("%v", curve)
	}
}

func TestBaselineTellsNewFromOngoing(t *testing.T) {
	line := func(k uint64, sig string) Line {
		l := Line{K: k, Verdict: "pass"}
		if sig != "" {
			l.Verdict, l.Signature = "violated", sig
		}
		return l
	}
	baseline, now := &Merged{}, &Merged{}
	for k := range uint64(100) {
		sig := ""
		switch {
		case k%10 == 0:
			sig = "often"
		case k%10 == 1:
			sig = "stays"
		case k == 57:
			sig = "seldom"
		}
		baseline.Lines = append(baseline.Lines, line(k, sig))
		sig = ""
		switch {
		case k%10 == 1:
			sig = "stays"
		case k == 3:
			sig = "fresh"
		}
		now.Lines = append(now.Lines, line(k, sig))
	}
	var got []string
	for _, f := range now.Findings(baseline) {
		got = append(got, f.Signature+" "+string(f.Change))
	}
	if want := []string{"stays ongoing", "fresh new", "often resolved", "seldom rare"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
