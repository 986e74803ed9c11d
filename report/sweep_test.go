package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/sweep"
)

// sweepOf is what a sweep of so many runs may give: one in hundred loses a record,
// one in 250 does not end.
func sweepOf(runs uint64) *sweep.Merged {
	m := &sweep.Merged{State: sweep.Complete, Header: sweep.Header{Schema: sweep.Schema, ID: "0011", Name: "leader-crash", Source: "5f1c0a",
		Root: 1, Count: runs, Engine: 1, Replay: "simkafka run leader-crash"}}
	x := noise(1)
	for k := range runs {
		l := sweep.Line{K: k, Seed: uint64(x.below(1 << 62)), Verdict: outcome.Pass, Fingerprint: "ab", Events: 70_000 + k, End: 61 * s, Runs: 1,
			Probes: map[string]int64{"isr-at-minimum": int64(k % 3)}}
		switch {
		case k%100 == 7:
			l.Verdict, l.Signature, l.Runs = outcome.Violated, "no-acked-loss: record # is gone", 2
			l.What, l.Violated = fmt.Sprintf("record %d is <gone> & ]]> \x00 far", k), []string{"no-acked-loss", "order-preserved"}
			l.Faults = []string{"kill", "power_loss"}[:1+k%2]
		case k%250 == 3:
			l.Verdict, l.Signature, l.Runs, l.What = outcome.Inconclusive, "inconclusive: limit", 2, "limit"
		}
		m.Lines = append(m.Lines, l)
	}
	return m
}

func sweepText(t *testing.T, m *sweep.Merged, o SweepOptions) string {
	t.Helper()
	var b strings.Builder
	if err := WriteSweep(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSweepReportNamesEachFindingOnce(t *testing.T) {
	m := sweepOf(1000)
	text := sweepText(t, m, SweepOptions{Style: Style{Width: 100}, Kept: func(k uint64) string { return fmt.Sprint("kept/", k) }, Files: []string{"out"}})
	for _, want := range []string{
		"FAIL  sweep leader-crash  1,000 seeds  root seed 1  engine 1\n",
		"1,000     986        10             4       0",
		"violated         10   1.00%        7  no-acked-loss: record # is gone",
		"inconclusive      4   0.40%        3  inconclusive: limit",
		"finding 2: the shortest of 10 runs", "  violated  no-acked-loss, order-preserved", "  files     kept/7\n",
		fmt.Sprintf("  replay    simkafka run leader-crash --seed %d\n", m.Lines[7].Seed),
		"the last new finding came after 8 of 1,000 seeds", "files        out\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "finding "); n != 3 {
		t.Errorf("%d findings are told\n%s", n, text)
	}
	for line := range strings.Lines(sweepText(t, m, SweepOptions{})) {
		if displayWidth(strings.TrimSuffix(line, "\n")) > defaultWidth {
			t.Errorf("too wide: %s", line)
		}
	}
}

// What no run reached is listed, and so is whether the canary was caught.
func TestSweepReportListsUnreachedProbesAndTheCanary(t *testing.T) {
	m := sweepOf(100)
	text := sweepText(t, m, SweepOptions{Canary: &sweep.Canary{Bug: "KAFKA-727", Seed: 7, Invariant: "repeatable-read"}})
	for _, want := range []string{"isr-below-minimum", "never", "canary       KAFKA-727, put into a run of its own, was caught by repeatable-read\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "isr-at-minimum") && strings.Contains(line, "never") {
			t.Errorf("a probe that was reached: %s", line)
		}
	}
	text = sweepText(t, m, SweepOptions{Canary: &sweep.Canary{Bug: "KAFKA-727", Seed: 7, Invariant: "repeatable-read", Missed: "the verdict is pass"}})
	if !strings.Contains(text, "canary       MISSED: a run with KAFKA-727 on (bugs/KAFKA-727, seed 7) did not violate repeatable-read: the verdict is pass\n") {
		t.Errorf("a missed canary is not told:\n%s", text)
	}
}

// A thousand failing seeds of one bug stay one screen (U18).
func TestSweepReportStaysShort(t *testing.T) {
	m := sweepOf(100)
	for i := range m.Lines {
		m.Lines[i].Verdict, m.Lines[i].Signature = outcome.Violated, fmt.Sprint("bug ", i)
	}
	if n := strings.Count(sweepText(t, m, SweepOptions{}), "\n"); n > 200 {
		t.Errorf("%d lines", n)
	}
}

func TestSweepVerdictIsTheWorst(t *testing.T) {
	m := sweepOf(3)
	for _, c := range []struct {
		verdict outcome.Verdict
		state   string
		want    outcome.Verdict
		word    string
	}{
		{outcome.Pass, sweep.Complete, outcome.Pass, "PASS  "},
		{outcome.Pass, sweep.Partial, outcome.Inconclusive, "INCONCLUSIVE  "},
		{outcome.Pass, sweep.Interrupted, outcome.Inconclusive, "INCONCLUSIVE  "},
		{outcome.Inconclusive, sweep.Complete, outcome.Inconclusive, "INCONCLUSIVE  "},
		{outcome.Violated, sweep.Partial, outcome.Violated, "FAIL  "},
		{outcome.Error, sweep.Complete, outcome.Error, "ERROR  "},
	} {
		m.Lines[1].Verdict, m.State = c.verdict, c.state
		if got := SweepVerdict(m); got != c.want {
			t.Errorf("%s and %s: %s", c.verdict, c.state, got)
		}
		if text := sweepText(t, m, SweepOptions{}); !strings.HasPrefix(text, c.word) {
			t.Errorf("%s and %s:\n%s", c.verdict, c.state, text)
		}
	}
}

func TestSweepJSONHasSortedKeys(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSweepJSON(&b, sweepOf(1000), sweepOf(10)); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Error("no JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
	dec.UseNumber()
	walk(t, dec, "")
	var d struct {
		Findings []struct {
			Change   string
			Shortest struct{ Replay string }
		}
		Seeds map[string]int
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Findings) != 2 || d.Findings[0].Change != "ongoing" || !strings.HasPrefix(d.Findings[1].Shortest.Replay, "simkafka run leader-crash --seed ") ||
		d.Seeds["violated"] != 10 || d.Seeds["run"] != 1000 {
		t.Errorf("%+v", d)
	}
}

// The rules of the two schemas in use, Ant's and that of Jenkins: which elements, in
// which order, with which attributes (interface 3.4, U19).
func TestJUnitIsWhatItsSchemasAsk(t *testing.T) {
	for _, m := range []*sweep.Merged{sweepOf(1000), sweepOf(2), sweepOf(0)} {
		var b bytes.Buffer
		if err := WriteJUnit(&b, m); err != nil {
			t.Fatal(err)
		}
		counts := checkJUnit(t, b.Bytes())
		totals := m.Totals()
		failed := totals.Violated + totals.Inconclusive + totals.Errors
		want := 1 + failed
		if got := uint64(counts["testcase"]); got != want {
			t.Errorf("%d cases for %d seeds that fail", got, failed)
		}
		if failed > 0 && uint64(counts["failure"]) != totals.Violated+1 {
			t.Errorf("%d failures of %d", counts["failure"], totals.Violated)
		}
	}
}

// attributes that each element must have, and may have beside them.
var junitAttributes = map[string]string{
	"testsuites": "", "properties": "", "system-out": "", "system-err": "",
	"testsuite": "package id name timestamp hostname tests failures errors time",
	"property":  "name value", "testcase": "name classname time", "failure": "message type", "error": "message type",
}

// children in their order; + is one, * any number.
var junitChildren = map[string]string{
	"": "testsuites", "testsuites": "testsuite", "testsuite": "properties testcase* system-out system-err", "properties": "property*",
	"testcase": "failure? error?",
}

func checkJUnit(t *testing.T, text []byte) map[string]int {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	counts := make(map[string]int)
	stack, seen := []string{""}, [][]string{nil}
	var suite map[string]string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			counts[name]++
			seen[len(seen)-1] = append(seen[len(seen)-1], name)
			stack, seen = append(stack, name), append(seen, nil)
			attrs, names := map[string]string{}, []string{}
			for _, a := range x.Attr {
				attrs[a.Name.Local] = a.Value
				names = append(names, a.Name.Local)
			}
			if got := strings.Join(names, " "); got != junitAttributes[name] {
				t.Errorf("%s has attributes %q, wants %q", name, got, junitAttributes[name])
			}
			if name == "testsuite" {
				suite = attrs
			}
			if c := attrs["time"]; c != "" && c != "0" {
				t.Errorf("time is %q", c)
			}
		case xml.EndElement:
			demandOrder(t, stack[len(stack)-1], seen[len(seen)-1])
			stack, seen = stack[:len(stack)-1], seen[:len(seen)-1]
		}
	}
	demandOrder(t, "", seen[0])
	for attr, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error"} {
		if suite[attr] != strconv.Itoa(counts[element]) {
			t.Errorf("%s is %s, there are %d", attr, suite[attr], counts[element])
		}
	}
	return counts
}

// demandOrder checks children against the list of what may stand there, in order.
func demandOrder(t *testing.T, parent string, children []string) {
	t.Helper()
	i := 0
	for _, want := range strings.Fields(junitChildren[parent]) {
		name := strings.TrimRight(want, "*?")
		n := 0
		for i < len(children) && children[i] == name {
			i++
			n++
		}
		if n == 0 && name == want || n > 1 && !strings.HasSuffix(want, "*") {
			t.Errorf("%d %s in %q", n, name, parent)
		}
	}
	if i < len(children) {
		t.Errorf("%s in %q is out of place", children[i], parent)
	}
}

// The body alone is enough: some readers show nothing else (U19).
func TestJUnitBodyIsEnoughToReplay(t *testing.T) {
	m := sweepOf(100)
	var b bytes.Buffer
	if err := WriteJUnit(&b, m); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cases []struct {
			Failure string `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range doc.Cases[1:] {
		if c.Failure == "" {
			continue
		}
		found = true
		for _, want := range []string{"leader-crash", "replay     simkafka run leader-crash --seed ", "is <gone> & ]]>  far"} {
			if !strings.Contains(c.Failure, want) {
				t.Errorf("no %q in %q", want, c.Failure)
			}
		}
	}
	if !found {
		t.Error("no failure has a body")
	}
}

func TestJUnitOfManyFailuresIsBounded(t *testing.T) {
	m := sweepOf(3 * maxCases)
	for i := range m.Lines {
		m.Lines[i].Verdict = outcome.Violated
	}
	var b bytes.Buffer
	if err := WriteJUnit(&b, m); err != nil {
		t.Fatal(err)
	}
	if n := checkJUnit(t, b.Bytes())["testcase"]; n != maxCases+1 {
		t.Errorf("%d cases", n)
	}
}

func TestSaturationChartOfAnySweepCanBeDrawn(t *testing.T) {
	for _, m := range []*sweep.Merged{sweepOf(0), sweepOf(1), sweepOf(5), sweepOf(1000)} {
		c := SaturationChart(m)
		if err := errors.Join(c.WriteSVG(io.Discard), c.WritePNG(io.Discard)); err != nil {
			t.Error(err)
		}
	}
}
