package report

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

func TestSilencesAreTheStretchesWithoutAMeasurement(t *testing.T) {
	counts := []int64{0, 0, 5, 0, 5, 0, 0, 0, 5, 0, 0}
	buckets := make([]outcome.Quantiles, len(counts))
	for i, n := range counts {
		buckets[i].Count = n
	}
	got := silences(buckets, 500*ms)
	want := []outcome.Interval{{From: 2500 * ms, To: 4 * s}, {From: 4500 * ms, To: 5500 * ms}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
	if note := gapNote(got, "nothing was acknowledged"); note != "no line: nothing was acknowledged, 2.500s to 4.000s, 4.500s to 5.500s" {
		t.Error(note)
	}
	if silences(nil, s) != nil || silences(make([]outcome.Quantiles, 9), s) != nil {
		t.Error("a run that measured nothing has no gap")
	}
}

// A burst after an outage leaves the rest of the chart readable, and is told; without
// one the axis reaches the highest rate.
func TestOneBurstDoesNotFlattenTheThroughputChart(t *testing.T) {
	flat := make([]int64, 100)
	for i := range flat {
		flat[i] = 100
	}
	if top, clipped := rateCeiling(rates(flat, s), nil); clipped || top < 100 || top > 150 {
		t.Errorf("even: axis to %g, clipped %v", top, clipped)
	}
	flat[40] = 9000
	if top, clipped := rateCeiling(rates(flat, s), nil); !clipped || top < 100 || top > 300 {
		t.Errorf("burst: axis to %g, clipped %v", top, clipped)
	}
	r := &outcome.Result{Series: outcome.Series{Step: s, Acked: flat}}
	var b strings.Builder
	c := throughputChart(r)
	if err := c.WriteSVG(&b); err != nil || !strings.Contains(b.String(), "9,000") || !strings.Contains(b.String(), "the axis is cut") {
		t.Errorf("the chart does not tell the burst: %v", err)
	}
	if top, clipped := rateCeiling(rates(flat[:40], s), rates([]int64{0, 5000}, s)); !clipped || top > 300 {
		t.Errorf("one burst of failures: axis to %g, clipped %v", top, clipped)
	}
	if top, clipped := rateCeiling(nil, nil); clipped || top != 1 {
		t.Error("nothing", top, clipped)
	}
}

func TestSeveralNodesTakeAPlural(t *testing.T) {
	for _, x := range []struct {
		kind       event.Kind
		what, want string
	}{
		{event.NodeCrashed, "crashes: kill", "crash: kill"}, {event.NodeBooted, "boots", "boot"},
		{event.NodeBooted, "boots again (incarnation 2)", "boot again (incarnation 2)"},
		{event.NodeStopped, "exits: all log directories offline", "exit: all log directories offline"},
		{event.NodePaused, "pauses", "pause"}, {event.NodeResumed, "resumes", "resume"},
		{event.BrokerRegistered, "registered", "registered"},
	} {
		if got := several(x.kind, x.what); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// A timeline's line names fewer partitions before it is cut.
func TestTimelineLineNamesWhatFits(t *testing.T) {
	l := line{node: "zookeeper", what: "broker-1 leaves the ISR", subjects: []string{"accounts-0", "accounts-1", "payments-0", "payments-1", "payments-5"}}
	for room, want := range map[int]string{
		80: "broker-1 leaves the ISR (accounts-0, accounts-1, payments-0 and 2 more)",
		60: "broker-1 leaves the ISR (accounts-0, accounts-1 and 3 more)",
		50: "broker-1 leaves the ISR (accounts-0 and 4 more)",
		30: "broker-1 leaves the ISR (acco…",
	} {
		if got := l.fitting(room); got != want {
			t.Errorf("%d: %q, want %q", room, got, want)
		}
	}
}

// A long cell of a wrapped column takes more lines; none is wider than the table.
func TestWrappedCellsTakeMoreLines(t *testing.T) {
	table := Table{Columns: []Column{{Name: "#", Right: true}, {Name: "fault", Wrap: true}, {Name: "hit", Wrap: true}},
		Rows: [][]string{{"1", strings.Repeat("word ", 20), strings.Repeat("broker-1 ", 30)}, {"2", "kill", "broker-1"}}}
	var b strings.Builder
	if err := table.Write(&b, Style{Width: 40}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) != 1+maxCellLines+1 || !strings.HasPrefix(lines[5], "2") {
		t.Errorf("%q", lines)
	}
	for _, l := range lines {
		if displayWidth(l) > 40 {
			t.Errorf("wide: %q", l)
		}
	}
	if !strings.Contains(lines[4], "…") {
		t.Errorf("what is left out is not told: %q", lines[4])
	}
}

func TestSuspendedInvariantsShareAReason(t *testing.T) {
	r := &outcome.Result{Verdict: outcome.Pass, Invariants: []outcome.InvariantState{
		{Name: "a", State: "suspended", Note: "because"}, {Name: "b", State: "suspended", Note: "other"}, {Name: "c", State: "suspended", Note: "because"}}}
	var b strings.Builder
	if err := WriteSummary(&b, r, SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "suspended  a, c: because\n") || !strings.Contains(got, "suspended  b: other\n") {
		t.Error(got)
	}
}

func TestDeletedRecordsAreTold(t *testing.T) {
	var b strings.Builder
	if err := WriteSummary(&b, &outcome.Result{Records: outcome.Records{Acked: 12000, Expired: 11000}, End: kafka.Second}, SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "retention or DeleteRecords has taken 11,000 that were acknowledged") {
		t.Error(b.String())
	}
}

// No peak above the axis is without its number: those that stand close together share a label,
// and no two labels touch.
func TestEachPeakHasItsNumber(t *testing.T) {
	at := func(q point) vg.Length { return vg.Length(10 * q.x) }
	width := func(text string) vg.Length { return vg.Length(5 * len([]rune(text))) }
	rapid.Check(t, func(t *rapid.T) {
		acked, failed := rapid.SliceOfN(rapid.Int64Range(0, 30), 60, 60).Draw(t, "acked"), rapid.SliceOfN(rapid.Int64Range(0, 22), 60, 60).Draw(t, "failed")
		peaks := highestOf([][]point{rates(acked, s), rates(failed, s)}, 19)
		told, end := 0, vg.Length(0)
		for _, l := range peakLabels(peaks, at, width, 0, 600) {
			if l.x < end || l.end > 600 {
				t.Fatalf("label %q from %g to %g, the one before ends at %g", l.text, l.x, l.end, end)
			}
			told, end = told+len(l.peaks), l.end
			if !strings.Contains(strings.Join(l.text, " ")+" ", " "+countLabel(highest(l.peaks))+" ") {
				t.Fatalf("%q lacks %s", l.text, countLabel(highest(l.peaks)))
			}
		}
		if told != len(peaks) {
			t.Fatalf("%d of %d peaks have a label", told, len(peaks))
		}
	})
}
