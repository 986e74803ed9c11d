package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
)

func benchHead() benchHeader {
	return benchHeader{Schema: benchSchema, Generator: "small", Digest: "abc", Engine: 1, MaxSeeds: 10}
}

// What a bench has measured is there when it goes on; a line that was cut off is not.
func TestABenchGoesOnWithItsFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench.jsonl")
	b, err := openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	first := find{Bug: "KAFKA-727", Start: 0, Worlds: 3, Ended: foundIt, CPU: time.Second, Seed: 7, Invariant: "repeatable-read"}
	second := find{Bug: "KAFKA-727", Start: 1, Worlds: 10, Ended: outOfSeeds, CPU: 2 * time.Second}
	for _, f := range []find{first, second} {
		if err := b.add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	b, err = openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.finds) != 1 || b.finds[0] != first || !b.has("KAFKA-727", 0) || b.has("KAFKA-727", 1) {
		t.Errorf("the file gives %+v", b.finds)
	}
	if err := b.add(second); err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(name); string(again) != string(data) {
		t.Errorf("the file is now\n%s", again)
	}
}

// Starts of other worlds are not mixed.
func TestABenchRefusesTheFileOfAnother(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench.jsonl")
	b, err := openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	other := benchHead()
	other.Digest = "def"
	if _, err := openBench(name, other); err == nil || codeOf(err) != exitUsage {
		t.Errorf("another generator: %v", err)
	}
	if err := os.WriteFile(name, []byte("{\"schema\": \"x\"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openBench(name, benchHead()); err == nil || !strings.Contains(err.Error(), benchSchema) {
		t.Errorf("another kind of file: %v", err)
	}
}

// A start that found nothing is later than all that did.
func TestBenchRanksCountWhatWasNotFound(t *testing.T) {
	finds := []find{
		{Bug: "KAFKA-727", Start: 0, Worlds: 10, Ended: outOfSeeds, CPU: 9 * time.Second},
		{Bug: "KAFKA-727", Start: 1, Worlds: 4, Ended: foundIt, CPU: 4 * time.Second, Invariant: "a"},
		{Bug: "KAFKA-727", Start: 2, Worlds: 2, Ended: foundIt, CPU: 2 * time.Second, Invariant: "b"},
	}
	s := summarize(benchHead(), finds)
	if len(s.Bugs) != 1 {
		t.Fatalf("rows %+v", s.Bugs)
	}
	got := strings.Join(s.Bugs[0].cells(true), "|")
	if want := "KAFKA-727|2 of 3|4|> 10|4.0|> 9.0|b, a"; got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	if s.All.Starts != 3 || s.All.Found != 2 {
		t.Errorf("all: %+v", s.All)
	}
}

// Worlds within the budget have no unclean election. A bug that needs one is looked for in
// those beyond, of the same size.
func TestABugThatNeedsMoreThanTheBudgetIsDrawnBeyondIt(t *testing.T) {
	for gen, want := range map[string]string{"small,small-groups": "small-beyond", "swarm": "swarm-beyond", "small,groups": "small-beyond swarm-beyond"} {
		b := bench{starts: 1, maxSeeds: 1, gen: gen}
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
		for _, bug := range quirk.All() {
			var names []string
			for _, g := range b.generatorsOf(&bug) {
				names = append(names, g.Name)
			}
			switch {
			case bug.Beyond && strings.Join(names, " ") != want:
				t.Errorf("%s with --gen %s is drawn by %v", bug.Key, gen, names)
			case !bug.Beyond && strings.Join(names, ",") != gen:
				t.Errorf("%s with --gen %s is drawn by %v", bug.Key, gen, names)
			}
		}
	}
}

// Records are lost beyond the budget with the bug and without it: only what must hold even
// there shows a bug.
func TestABugBeyondTheBudgetIsShownByWhatHoldsThere(t *testing.T) {
	bug := quirk.PositionUnchecked.Bug()
	if !bug.Beyond {
		t.Fatalf("%s needs an unclean election", bug.Key)
	}
	spec, err := bugSpec(bug)
	if err != nil {
		t.Fatal(err)
	}
	spec.Expect = scenarios.Expect{BeyondBudget: true}
	var b bench
	for _, test := range []struct {
		bug  quirk.Bug
		want string
	}{{bug, "truncation-noticed"}, {quirk.ReadToLogEnd.Bug(), ""}} { // which shows as repeatable-read, within the budget
		got, err := b.showsIn(spec, test.bug, 1)
		if err != nil || got != test.want {
			t.Errorf("%s is shown by %q, want %q (%v)", test.bug.Key, got, test.want, err)
		}
	}
	r := &outcome.Result{Violations: []outcome.Violation{{Invariant: "repeatable-read"}, {Invariant: "truncation-noticed"}}}
	if got := firstThatDecides(r, spec); got != "truncation-noticed" {
		t.Errorf("beyond the budget %s decides", got)
	}
	spec.Expect.BeyondBudget = false
	if got := firstThatDecides(r, spec); got != "repeatable-read" {
		t.Errorf("within the budget %s decides", got)
	}
}

// The worlds of a start are known by their numbers: a find's seed is that of the last, and
// without a plan it is the world that the -uniform generator draws.
func TestBenchKnowsTheWorldsThatFollowedAPlan(t *testing.T) {
	head, finds, _, err := parseBench(benchData)
	if err != nil || errBenchData != nil {
		t.Fatal(err, errBenchData)
	}
	for i := range finds {
		if f := &finds[i]; f.found() && benchSeed(benchDraws(f.Bug, uint64(f.Start)), f.Worlds-1) != f.Seed {
			t.Fatalf("%s start %d found it in another world than its last", f.Bug, f.Start)
		}
	}
	var got guidance
	for _, r := range summarize(head, finds[:100]).Bugs {
		got.add(r.Drawn)
	}
	worlds, found := 0, 0
	for i := range finds[:100] {
		worlds += finds[i].Worlds
		if finds[i].found() {
			found++
		}
	}
	if got.Planned+got.Plain != worlds || got.PlannedFinds+got.PlainFinds != found || got.Planned < worlds*2/5 || got.Plain < worlds*2/5 {
		t.Errorf("%+v of %d worlds and %d finds", got, worlds, found)
	}
	mixed, _ := scenarios.GeneratorByName("small")
	uniform, _ := scenarios.GeneratorByName("small-uniform")
	for seed := range uint64(10) {
		a, err := mixed.Draw(seed)
		if err != nil {
			t.Fatal(err)
		}
		b, err := uniform.Draw(seed)
		if err != nil {
			t.Fatal(err)
		}
		a.Name, a.Why, b.Name, b.Why = "", "", "", ""
		if same := a.YAML() == b.YAML(); same == scenarios.Guided("small", seed) {
			t.Errorf("seed %d: follows a plan %v, as without one %v", seed, !same, same)
		}
	}
}
