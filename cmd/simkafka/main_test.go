package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/sweep"
)

func TestCodesFollowTheirPrecedence(t *testing.T) {
	order := []int{exitSimulator, exitUsage, exitEnvironment, exitViolated, exitInconclusive, exitPass}
	for i, a := range order {
		for j, b := range order {
			if want := order[min(i, j)]; worse(a, b) != want {
				t.Errorf("worse(%d, %d) = %d, want %d", a, b, worse(a, b), want)
			}
		}
	}
}

func TestVerdictsHaveTheirCodes(t *testing.T) {
	for _, c := range []struct {
		v    outcome.Verdict
		on   string
		want int
	}{
		{outcome.Pass, failInconclusive, 0}, {outcome.Violated, failInconclusive, 1}, {outcome.Inconclusive, failInconclusive, 3},
		{outcome.Error, failInconclusive, 4}, {outcome.Violated, failViolation, 1}, {outcome.Inconclusive, failViolation, 0},
		{outcome.Violated, failNever, 0}, {outcome.Error, failNever, 4},
	} {
		if got := verdictCode(c.v, c.on); got != c.want {
			t.Errorf("%s with --fail-on %s: %d, want %d", c.v, c.on, got, c.want)
		}
	}
}

// A sweep that would not see a bug has shown nothing (interface 4.3.8).
func TestAMissedCanaryIsInconclusive(t *testing.T) {
	if got := canaryCode(&sweep.Canary{Missed: "the verdict is pass"}); got != exitInconclusive {
		t.Errorf("missed: code %d", got)
	}
	if got := canaryCode(&sweep.Canary{}); got != exitPass {
		t.Errorf("caught: code %d", got)
	}
}

// TestPanicIsTheSimulatorsFault: a crash of the program itself is code 4, with the
// command that repeats it.
func TestPanicIsTheSimulatorsFault(t *testing.T) {
	r := &runner{app: &app{stderr: new(bytes.Buffer)}, stop: catchInterrupt()}
	defer r.stop.release()
	_, err := r.simulate(&job{source: &source{arg: "x.yaml"}}) // without a scenario
	if err == nil || codeOf(err) != exitSimulator || !strings.Contains(err.Error(), "simkafka run x.yaml --seed 0") {
		t.Errorf("code %d: %v", codeOf(err), err)
	}
}

func TestWarningsAreTakenApart(t *testing.T) {
	for text, want := range map[string]finding{
		"a.yaml:7:3: rf: too small":   {3, "a.yaml", 7, "rf: too small", "warning"},
		`c:\a.yaml:7:3: too small`:    {3, `c:\a.yaml`, 7, "too small", "warning"},
		"no place":                    {0, "", 0, "no place", "warning"},
		"a: b":                        {0, "", 0, "a: b", "warning"},
		"a.yaml:x:3: line is no line": {0, "", 0, "a.yaml:x:3: line is no line", "warning"},
	} {
		if got := warning(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestSuggestionsAreNear(t *testing.T) {
	known := []string{"run", "lint", "version"}
	for word, want := range map[string]string{"rnu": `; did you mean "run"?`, "vresion": `; did you mean "version"?`, "nothing": "", "x": "", "": ""} {
		if got := didYouMean(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestReplayLinesSurviveAShell(t *testing.T) {
	for word, want := range map[string]string{"a.yaml": "a.yaml", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "k=v,w": "k=v,w"} {
		if got := quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// TestReplayTimeReadsBack: what the summary prints behind --until is what the flag
// reads.
func TestReplayTimeReadsBack(t *testing.T) {
	for _, d := range []int64{1, 41_207_345_678, 12_500_000_000, 3_600_000_000_000} {
		got, err := scenarios.ParseDuration(report.Exact(kafka.Nanos(d)), false)
		if err != nil || int64(got) != d {
			t.Errorf("%d: %d, %v", d, int64(got), err)
		}
	}
}
