package report

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// quantileCurves are the lines of a latency chart, drawn in this order.
var quantileCurves = [...]struct {
	label string
	color color.RGBA
	width vg.Length
	of    func(outcome.Quantiles) kafka.Nanos
}{
	{"max", grey, 0.8, func(q outcome.Quantiles) kafka.Nanos { return q.Max }},
	{"p99.9", vermilion, 1, func(q outcome.Quantiles) kafka.Nanos { return q.P999 }},
	{"p99", orange, 1.2, func(q outcome.Quantiles) kafka.Nanos { return q.P99 }},
	{"p95", sky, 1.2, func(q outcome.Quantiles) kafka.Nanos { return q.P95 }},
	{"p50", blue, 1.5, func(q outcome.Quantiles) kafka.Nanos { return q.P50 }},
}

// latencyChart draws quantiles of each bucket over time on a logarithmic axis. A
// bucket in which nothing was measured is a gap.
// nothing says what an empty bucket means.
func latencyChart(r *outcome.Result, name, title, nothing string, buckets []outcome.Quantiles) Chart {
	end := runEnd(r)
	p := newPanel(end, "latency of a bucket of "+span(r.Series.Step))
	p.Y.Tick.Marker = plot.TickerFunc(latencyTicks)
	b := newBands(r, end)
	p.Add(b)
	c := Chart{Name: name, title: title, about: about(r), panels: []*plot.Plot{p}, notes: faultNotes(r), height: panelHeight}
	lo, hi, any := latencyRange(buckets)
	p.Y.Min, p.Y.Max = decades(lo, hi)
	p.Add(grid{vertical: true})
	for _, q := range quantileCurves {
		l := curve{color: q.color, width: q.width, runs: latencyRuns(buckets, r.Series.Step, q.of)}
		p.Add(l)
		c.key = append([]keyEntry{{q.label, q.color, q.width * 1.6}}, c.key...)
	}
	if !any {
		p.Add(message("nothing was measured"))
	} else if holes := silences(buckets, r.Series.Step); len(holes) > 0 {
		p.Add(gapLabels{holes, nothing})
		c.notes = append([]string{gapNote(holes, nothing)}, c.notes...)
	}
	p.Add(bandLabels{b})
	return c
}

// silences are the stretches without a measurement after the first one, of at least
// leastSilence and two buckets.
func silences(buckets []outcome.Quantiles, step kafka.Nanos) []outcome.Interval {
	var out []outcome.Interval
	last := -1
	note := func(next int) {
		gap := outcome.Interval{From: kafka.Nanos(last+1) * step, To: kafka.Nanos(next) * step}
		if last >= 0 && next-last > 2 && gap.To-gap.From >= leastSilence {
			out = append(out, gap)
		}
	}
	for i, q := range buckets {
		if q.Count > 0 {
			note(i)
			last = i
		}
	}
	note(len(buckets))
	return out
}

const (
	leastSilence = kafka.Second
	// maxSilences is how many a note lists.
	maxSilences = 3
)

func gapNote(holes []outcome.Interval, nothing string) string {
	var parts []string
	for _, h := range holes[:min(len(holes), maxSilences)] {
		parts = append(parts, fmt.Sprintf("%s to %s", moment(h.From), moment(h.To)))
	}
	more := ""
	if n := len(holes) - maxSilences; n > 0 {
		more = fmt.Sprintf(" and %d more times", n)
	}
	return "no line: " + nothing + ", " + strings.Join(parts, ", ") + more
}

// gapLabels says in each gap that is wide enough why nothing is drawn there.
type gapLabels struct {
	holes   []outcome.Interval
	nothing string
}

// Plot implements plot.Plotter.
func (g gapLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := textStyle(noteSize, softInk)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	for _, h := range g.holes {
		from, to := x(clamp(seconds(h.From), p.X)), x(clamp(seconds(h.To), p.X))
		if to-from > style.Width(g.nothing)+6 {
			c.FillText(style, vg.Point{X: (from + to) / 2, Y: c.Center().Y}, g.nothing)
		}
	}
}

// latencyRange is the range of all curves, as exponents of ten.
func latencyRange(buckets []outcome.Quantiles) (lo, hi float64, any bool) {
	lo, hi = -3, -2
	for _, q := range buckets {
		if q.Count <= 0 {
			continue
		}
		for _, c := range quantileCurves {
			v := logSeconds(c.of(q))
			if !any {
				lo, hi, any = v, v, true
			}
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi, any
}

// latencyRuns cuts a quantile's line where buckets are empty; a point stands in
// the middle of its bucket.
func latencyRuns(buckets []outcome.Quantiles, step kafka.Nanos, of func(outcome.Quantiles) kafka.Nanos) [][]point {
	var runs [][]point
	open := false
	for i, q := range buckets {
		if q.Count <= 0 {
			open = false
			continue
		}
		if !open {
			runs = append(runs, nil)
			open = true
		}
		last := &runs[len(runs)-1]
		*last = append(*last, point{(float64(i) + 0.5) * seconds(step), logSeconds(of(q))})
	}
	return runs
}
