package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// throughputChart draws acknowledged and failed records a second.
func throughputChart(r *outcome.Result) Chart {
	end := runEnd(r)
	p := newPanel(end, "records a second")
	b := newBands(r, end)
	acked, failed := rates(r.Series.Acked, r.Series.Step), rates(r.Series.Failed, r.Series.Step)
	ceiling, clipped := rateCeiling(acked, failed)
	p.Y.Max = ceiling
	p.Y.Tick.Marker = plot.TickerFunc(countTicks)
	p.Add(b, grid{vertical: true})
	c := Chart{Name: "throughput", title: "Throughput of all producers", about: about(r), panels: []*plot.Plot{p}, notes: faultNotes(r), height: panelHeight}
	c.key = []keyEntry{{"acknowledged", blue, 2.4}, {"failed", vermilion, 2.4}}
	if len(acked) == 0 && len(failed) == 0 {
		p.Add(message("nothing was sent"))
	} else {
		p.Add(curve{runs: [][]point{acked}, color: blue, width: 1.5}, curve{runs: [][]point{failed}, color: vermilion, width: 1.5})
	}
	p.Add(bandLabels{b})
	if clipped {
		p.Add(peaks{[][]point{acked, failed}})
		c.notes = append([]string{"the axis is cut: what is higher stands at the top with its number"}, c.notes...)
	}
	return c
}

// A short burst, such as what waited through an outage, must not make all else flat:
// beyond spike times the rate that all but a few buckets stay below, the axis is cut.
const (
	spike     = 3
	fewInAll  = 20 // one bucket in so many is few
	clipSpace = 1.6
)

// rateCeiling is the end of the axis of rates, and whether some are above it.
func rateCeiling(lines ...[]point) (ceiling float64, clipped bool) {
	var some []float64 // of all lines: the few buckets of a short one are no rule of their own
	for _, line := range lines {
		for i := 0; i < len(line); i += 2 { // each bucket has two points
			if line[i].y > 0 {
				some = append(some, line[i].y)
			}
		}
	}
	if len(some) == 0 {
		return countCeiling(0), false
	}
	slices.Sort(some)
	top, usual := some[len(some)-1], some[len(some)-1-len(some)/fewInAll]
	if top > spike*usual {
		return countCeiling(clipSpace * usual), true
	}
	return countCeiling(top), false
}

// peaks writes the heights of what is above the axis at its top.
type peaks struct{ lines [][]point }

// Plot implements plot.Plotter.
func (l peaks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := top(textStyle(noteSize, ink))
	at := func(q point) vg.Length { return x(clamp(q.x, p.X)) }
	for _, m := range peakLabels(highestOf(l.lines, p.Y.Max), at, style.Width, c.Min.X, c.Max.X) {
		for i, text := range m.text {
			c.FillText(style, vg.Point{X: m.x, Y: c.Max.Y - 2 - vg.Length(i)*noteSize*lineGap}, text)
		}
	}
}

// highestOf are the peaks of all lines above a ceiling, in order of time: of neighbouring
// buckets the highest.
func highestOf(lines [][]point, ceiling float64) (out []point) {
	for _, line := range lines {
		open := false
		for i := 0; i < len(line); i += 2 { // each bucket has two points
			switch last := len(out) - 1; {
			case line[i].y <= ceiling:
				open = false
			case !open:
				out, open = append(out, line[i]), true
			case line[i].y > out[last].y:
				out[last] = line[i]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b point) int { return compareFloat(a.x, b.x) })
	return out
}

// mostPeaks is how many numbers a label lists, one below the other.
const mostPeaks = 3

// peakLabel is a label of one or more peaks, from x to end.
type peakLabel struct {
	x, end vg.Length
	text   []string
	peaks  []point
}

// peakLabels places a label to the right of each peak, at the right edge, to, to its left. Peaks
// whose labels would touch, or that a label would cover, share one; where nothing else is left,
// it stands on them.
func peakLabels(all []point, x func(point) vg.Length, width func(string) vg.Length, from, to vg.Length) (out []peakLabel) {
	const gap = 5
	place := func(peaks []point) peakLabel {
		text, wide := peakText(peaks), vg.Length(0)
		for _, t := range text {
			wide = max(wide, width(t))
		}
		at := x(peaks[len(peaks)-1]) + gap
		if at+wide > to {
			at = x(peaks[0]) - gap - wide
		}
		if at < from {
			at = max(to-wide, from)
		}
		return peakLabel{at, at + wide, text, peaks}
	}
	for i := range all {
		l := place(all[i : i+1])
		for n := len(out); n > 0 && min(l.x, x(l.peaks[0])) < out[n-1].end+gap; n = len(out) {
			l = place(append(slices.Clone(out[n-1].peaks), l.peaks...))
			out = out[:n-1]
		}
		out = append(out, l)
	}
	return out
}

func peakText(peaks []point) (lines []string) {
	if len(peaks) > mostPeaks {
		return []string{"↑ up to " + countLabel(highest(peaks))}
	}
	for _, q := range peaks {
		lines = append(lines, "↑ "+countLabel(q.y))
	}
	return lines
}

// rates draws buckets as stairs, in records a second.
func rates(buckets []int64, step kafka.Nanos) []point {
	if step <= 0 {
		return nil
	}
	s := seconds(step)
	out := make([]point, 0, 2*len(buckets))
	for i, n := range buckets {
		y := max(float64(n), 0) / s
		out = append(out, point{float64(i) * s, y}, point{float64(i+1) * s, y})
	}
	return out
}

func highest(points []point) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.y)
	}
	return most
}
