package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

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
func latencyChart(r *outcome.Result, name, title string, buckets []outcome.Quantiles) Chart {
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
	}
	p.Add(bandLabels{b})
	return c
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
