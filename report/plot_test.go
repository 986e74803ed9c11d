package report

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

func drawAll(t testing.TB, r *outcome.Result, withPNG bool) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, c := range Charts(r) {
		if err := c.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		if withPNG {
			if err := c.WritePNG(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Bytes()
}

// TestNoChartPanics: empty, zero, single points, gaps, extreme numbers, overlapping
// and open faults, disordered spans (interface U30).
func TestNoChartPanics(t *testing.T) {
	extremes := []int64{0, 1, -1, 999, int64(s), int64(kafka.Hour), math.MaxInt64, math.MinInt64}
	number := rapid.OneOf(rapid.SampledFrom(extremes), rapid.Int64Range(0, int64(100*s)))
	moment := rapid.Custom(func(t *rapid.T) kafka.Nanos { return kafka.Nanos(number.Draw(t, "t")) })
	quantile := rapid.Custom(func(t *rapid.T) outcome.Quantiles {
		return outcome.Quantiles{Count: number.Draw(t, "n"), P50: moment.Draw(t, "50"), P95: moment.Draw(t, "95"), P99: moment.Draw(t, "99"),
			P999: moment.Draw(t, "999"), Max: moment.Draw(t, "max")}
	})
	node := rapid.Custom(func(t *rapid.T) kafka.NodeID { return kafka.NodeID(rapid.IntRange(-2, 14).Draw(t, "node")) })
	tp := rapid.Custom(func(t *rapid.T) kafka.TopicPartition {
		return kafka.TopicPartition{Topic: rapid.SampledFrom([]string{"", "a", strings.Repeat("long", 50), "世界"}).Draw(t, "topic"), Partition: int32(rapid.IntRange(0, 3).Draw(t, "p"))}
	})
	window := rapid.Custom(func(t *rapid.T) outcome.Interval {
		return outcome.Interval{From: moment.Draw(t, "from"), To: moment.Draw(t, "to")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := &outcome.Result{Scenario: "x", End: moment.Draw(t, "end")}
		sr := &r.Series
		sr.Step = moment.Draw(t, "step")
		sr.Produce = rapid.SliceOfN(quantile, 0, 5).Draw(t, "produce")
		sr.E2E = rapid.SliceOfN(quantile, 0, 5).Draw(t, "e2e")
		sr.Acked = rapid.SliceOfN(number, 0, 5).Draw(t, "acked")
		sr.Failed = rapid.SliceOfN(number, 0, 5).Draw(t, "failed")
		for i := range rapid.IntRange(0, 6).Draw(t, "faults") {
			r.Faults = append(r.Faults, outcome.Fault{Index: i / 2, Text: "kill: x", Interval: window.Draw(t, "window")})
		}
		for range rapid.IntRange(0, 45).Draw(t, "strips") {
			strip := outcome.Strip{TP: tp.Draw(t, "tp")}
			for range rapid.IntRange(0, 4).Draw(t, "spans") {
				strip.Spans = append(strip.Spans, outcome.Span{Interval: window.Draw(t, "span"), Leader: node.Draw(t, "leader"), ISR: rapid.SliceOfN(node, 0, 4).Draw(t, "isr")})
			}
			sr.Strips = append(sr.Strips, strip)
		}
		for range rapid.IntRange(0, 6).Draw(t, "lags") {
			lag := outcome.Lag{TP: tp.Draw(t, "lagtp"), Node: node.Draw(t, "lagnode")}
			for range rapid.IntRange(0, 4).Draw(t, "points") {
				lag.Points = append(lag.Points, outcome.LagPoint{At: moment.Draw(t, "at"), LEO: kafka.Offset(number.Draw(t, "leo")), HW: kafka.Offset(number.Draw(t, "hw"))})
			}
			sr.Lags = append(sr.Lags, lag)
		}
		for _, c := range Charts(r) {
			var b bytes.Buffer
			if err := c.WriteSVG(&b); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, c.Name, b.Bytes())
		}
	})
}

func wellFormed(t rapid.TB, name string, svg []byte) {
	if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
		t.Fatalf("%s draws at a place that is no number", name)
	}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := dec.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestEqualResultsGiveEqualPictures(t *testing.T) {
	if !bytes.Equal(drawAll(t, crashRun(), true), drawAll(t, crashRun(), true)) || !bytes.Equal(drawAll(t, busyRun(), false), drawAll(t, busyRun(), false)) {
		t.Error("two drawings of one result differ")
	}
}

func TestEmptyResultHasPictures(t *testing.T) {
	if svg := string(drawAll(t, &outcome.Result{}, true)); !strings.Contains(svg, "nothing was measured") {
		t.Error("an empty chart does not say that it is empty")
	}
}

// TestHugeSeriesStayCheap: the number of points drawn does not grow with the data
// (interface D9).
func TestHugeSeriesStayCheap(t *testing.T) {
	r := &outcome.Result{Series: outcome.Series{Step: ms}}
	x := noise(3)
	for range 100_000 {
		r.Series.Produce = append(r.Series.Produce, quantilesOf(1, kafka.Nanos(1+x.below(int64(s)))))
		r.Series.Acked = append(r.Series.Acked, x.below(1000))
		r.Series.Failed = append(r.Series.Failed, x.below(10))
	}
	spans := make([]outcome.Span, 50_000)
	for i := range spans {
		spans[i] = outcome.Span{Interval: outcome.Interval{From: kafka.Nanos(i) * 2 * ms, To: kafka.Nanos(i+1) * 2 * ms}, Leader: kafka.NodeID(i % 3), ISR: []kafka.NodeID{0, 1}}
	}
	r.Series.Strips = []outcome.Strip{{TP: kafka.TopicPartition{Topic: "t"}, Spans: spans}}
	if n := len(drawAll(t, r, false)); n > 1<<20 {
		t.Errorf("the charts have %d bytes", n)
	}
}

// TestNoLineIsDashedAndEveryStrokeIsShort: both are slow to rasterise (D9).
func TestNoLineIsDashedAndEveryStrokeIsShort(t *testing.T) {
	svg := string(drawAll(t, busyRun(), false))
	if strings.Contains(svg, "stroke-dasharray") {
		t.Error("a line is dashed")
	}
	for _, path := range strings.Split(svg, "<path d=\"")[1:] {
		d, _, _ := strings.Cut(path, "\"")
		if n := strings.Count(d, "L") + 1; n > chunkSize {
			t.Errorf("a stroke has %d points", n)
		}
	}
}

// TestSVGNamesFallbackFonts: another machine may not have the Liberation fonts.
func TestSVGNamesFallbackFonts(t *testing.T) {
	svg := string(drawAll(t, crashRun(), false))
	if texts, named := strings.Count(svg, "<text "), strings.Count(svg, "font-family:'Liberation Sans',Arial,"); texts == 0 || texts != named {
		t.Errorf("%d texts, %d with fallbacks", texts, named)
	}
}

// TestHorizontalLinesAreVisible guards against the old defect that long level
// lines vanished from PNG files (interface 6.4).
func TestHorizontalLinesAreVisible(t *testing.T) {
	r := &outcome.Result{Series: outcome.Series{Step: ms}}
	for range 20_000 {
		r.Series.Acked = append(r.Series.Acked, 7)
	}
	c := throughputChart(r)
	var b bytes.Buffer
	if err := c.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for y := range img.Bounds().Dy() {
		n := 0
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 < 0x40 && g>>8 > 0x50 && g>>8 < 0x90 && b>>8 > 0x90 {
				n++
			}
		}
		most = max(most, n)
	}
	if most < img.Bounds().Dx()*8/10 {
		t.Errorf("the line is %d pixels long of %d", most, img.Bounds().Dx())
	}
}

// TestDecimationKeepsEveryPeak: what stays is part of the input in its order, few
// points a column, with the least and greatest of each column and both ends.
func TestDecimationKeepsEveryPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 400).Draw(t, "n")
		cols := rapid.IntRange(1, 60).Draw(t, "columns")
		x := noise(rapid.Uint64().Draw(t, "noise"))
		in := make([]point, n)
		for i := range in {
			in[i] = point{float64(i) / 4, float64(x.below(50))}
		}
		out := decimate(in, 0, 100, cols)
		if len(out) > 2*cols+2 && len(out) != len(in) || len(out) > len(in) {
			t.Fatalf("%d of %d points for %d columns", len(out), n, cols)
		}
		at := 0
		for _, p := range out {
			i := slices.Index(in[at:], p)
			if i < 0 {
				t.Fatalf("%v is not in the input, or out of order", p)
			}
			at += i
		}
		type extent struct{ least, most float64 }
		of := func(points []point) map[int]extent {
			m := make(map[int]extent)
			for _, p := range points {
				c := columnOf(p.x, 0, 100, cols)
				e, ok := m[c]
				if !ok {
					e = extent{p.y, p.y}
				}
				m[c] = extent{min(e.least, p.y), max(e.most, p.y)}
			}
			return m
		}
		got := of(out)
		for c, want := range of(in) {
			if got[c] != want {
				t.Fatalf("column %d spans %v, want %v", c, got[c], want)
			}
		}
		if n > 0 && (out[0] != in[0] || out[len(out)-1] != in[n-1]) {
			t.Fatal("an end is gone")
		}
	})
}

func TestChunksJoinUp(t *testing.T) {
	for n := range 300 {
		line := make([]int, n)
		for i := range line {
			line[i] = i
		}
		var joined []int
		for i, c := range chunks(line) {
			if len(c) > chunkSize || len(c) < 2 {
				t.Fatalf("%d points: a chunk of %d", n, len(c))
			}
			if i > 0 {
				if c[0] != joined[len(joined)-1] {
					t.Fatalf("%d points: a chunk begins at %d, the one before ended at %d", n, c[0], joined[len(joined)-1])
				}
				c = c[1:]
			}
			joined = append(joined, c...)
		}
		if n >= 2 && !slices.Equal(joined, line) {
			t.Fatalf("%d points: got %v", n, joined)
		}
	}
}

// TestThinSpansKeepLeaderlessTime: a stretch without a leader is never hidden.
func TestThinSpansKeepLeaderlessTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []stretch
		at := kafka.Nanos(0)
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			to := at + kafka.Nanos(rapid.Int64Range(1, int64(2*s)).Draw(t, "d"))
			spans = append(spans, stretch{Span: outcome.Span{Interval: outcome.Interval{From: at, To: to}, Leader: kafka.NodeID(rapid.IntRange(-1, 3).Draw(t, "leader"))},
				dead: rapid.Bool().Draw(t, "dead")})
			at = to
		}
		end := seconds(at)
		out := thinSpans(spans, end, 50)
		if len(out) > 2*50 {
			t.Fatalf("%d spans for 50 columns", len(out))
		}
		for _, sp := range spans {
			if sp.Leader >= 0 {
				continue
			}
			column := columnOf(seconds(sp.From), 0, end, 50)
			if !slices.ContainsFunc(out, func(o stretch) bool {
				return o.Leader < 0 && columnOf(seconds(o.From), 0, end, 50) <= column && columnOf(seconds(o.To), 0, end, 50) >= column
			}) {
				t.Fatalf("the stretch %v without a leader is not drawn", sp.Interval)
			}
		}
	})
}

// TestSplitSpansShowVacantOffices: the parts of a span cover it, and exactly those in
// which nobody is in office are dead.
func TestSplitSpansShowVacantOffices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strip := outcome.Strip{Spans: []outcome.Span{{Interval: outcome.Interval{From: 2 * s, To: 40 * s}, Leader: 1}}}
		at := kafka.Nanos(0)
		for range rapid.IntRange(0, 10).Draw(t, "vacant") {
			from := at + kafka.Nanos(rapid.Int64Range(0, 5).Draw(t, "gap"))*s
			at = from + kafka.Nanos(rapid.Int64Range(1, 5).Draw(t, "length"))*s
			strip.Vacant = append(strip.Vacant, outcome.Interval{From: from, To: at})
		}
		parts := split(&strip, 60)
		for at := 2*s + s/2; at < 40*s; at += s {
			vacant := slices.ContainsFunc(strip.Vacant, func(v outcome.Interval) bool { return v.From <= at && at < v.To })
			i := slices.IndexFunc(parts, func(p stretch) bool { return p.From <= at && at < p.To })
			if i < 0 || parts[i].dead != vacant {
				t.Fatalf("at %s the office's being vacant is %v; parts %v", at, vacant, parts)
			}
		}
	})
}

func TestLagIsTheDistanceToTheLeaderOfTheMoment(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "t"}
	lag := func(id kafka.NodeID, leo ...kafka.Offset) outcome.Lag {
		l := outcome.Lag{TP: tp, Node: id}
		for i, o := range leo {
			l.Points = append(l.Points, outcome.LagPoint{At: kafka.Nanos(i+1) * s, LEO: o, HW: o})
		}
		return l
	}
	r := &outcome.Result{Series: outcome.Series{
		Lags: []outcome.Lag{lag(1, 10, 20, 20, 35), lag(2, 8, 20, 30, 40)},
		Strips: []outcome.Strip{{TP: tp, Spans: []outcome.Span{{Interval: outcome.Interval{From: 0, To: 2500 * ms}, Leader: 1},
			{Interval: outcome.Interval{From: 2500 * ms, To: 5 * s}, Leader: 2}}}},
	}}
	got := lags(r)
	want := []nodeLag{{1, []point{{3, 10}, {4, 5}}, []point{{3, 10}, {4, 5}}, 10}, {2, []point{{1, 2}, {2, 0}}, []point{{1, 2}, {2, 0}}, 2}}
	if len(got) != 2 || !slices.Equal(got[0].leo, want[0].leo) || !slices.Equal(got[1].leo, want[1].leo) || got[0].worst != 10 {
		t.Errorf("got %v, want %v", got, want)
	}
}
