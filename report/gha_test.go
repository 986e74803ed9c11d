package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/sweep"
)

// A text that ends the line, or a property, is escaped; percent signs first.
func TestAnnotationsAreOneLineEach(t *testing.T) {
	var b strings.Builder
	err := WriteAnnotations(&b, []Annotation{
		{Level: AnnotateError, File: "a,b:c%.yaml", Line: 3, Col: 7, Title: "x: y, z\r\n", Message: "100% of a:b, c\r\nnext"},
		{Level: AnnotateNotice, Message: "plain"},
		{Level: AnnotateWarning, Line: 4, Title: "no file, no line", Message: "m"},
	})
	want := "::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=x%3A y%2C z%0D%0A::100%25 of a:b, c%0D%0Anext\n" +
		"::warning title=no file%2C no line::m\n::notice::plain\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}

// GitHub shows ten of a level and says nothing of the others (interface U20).
func TestAnnotationsBeyondTenAreCounted(t *testing.T) {
	var list []Annotation
	for i := range 1000 {
		list = append(list, Annotation{Level: []string{AnnotateError, AnnotateWarning, AnnotateNotice}[i%3], Message: fmt.Sprint(i)})
	}
	var b strings.Builder
	if err := WriteAnnotations(&b, list); err != nil {
		t.Fatal(err)
	}
	for level, n := range map[string]int{AnnotateError: 9, AnnotateWarning: 9, AnnotateNotice: 10} {
		if got := strings.Count("\n"+b.String(), "\n::"+level); got != n {
			t.Errorf("%d of level %s, want %d", got, level, n)
		}
	}
	if !strings.HasSuffix(b.String(), "::325 more errors, 324 more warnings, 324 more notices: GitHub shows ten of each kind for a step; the log of the step has all\n") {
		t.Errorf("the last one is %s", b.String()[strings.LastIndex(strings.TrimSpace(b.String()), "\n"):])
	}
}

// A page above 1 MiB is dropped as a whole (interface U20).
func TestStepSummaryStaysBelowItsBound(t *testing.T) {
	m := &sweep.Merged{Header: sweep.Header{Name: "many", Replay: "simkafka run many.yaml"}, State: sweep.Complete}
	for k := range uint64(10_000) {
		m.Lines = append(m.Lines, sweep.Line{K: k, Seed: k, Verdict: outcome.Violated, Signature: fmt.Sprintf("rule-%d: ```` <b>|", k), What: strings.Repeat("x", 300)})
	}
	for _, used := range []int64{0, 800 << 10, 2 << 20} {
		s := NewStepSummary(used)
		for range 500 {
			s.Run(&outcome.Result{Scenario: "a|b", Verdict: outcome.Violated, Why: []string{strings.Repeat("why ", 200)}}, "")
		}
		s.Sweep(m, SweepOptions{})
		page := s.String()
		if int64(len(page)) > max(0, maxSummary-used)+64<<10 || used < 1<<20 && int64(len(page))+used > maxSummary {
			t.Errorf("%d bytes on top of %d", len(page), used)
		}
		if !strings.Contains(page, "had no room: GitHub takes pages below 1 MiB only") {
			t.Errorf("with %d used it does not say what it lacks", used)
		}
	}
}
