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
		p.Add(peaks{acked}, peaks{failed})
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
	top, usual := 0.0, 0.0
	for _, line := range lines {
		var some []float64
		for i := 0; i < len(line); i += 2 { // each bucket has two points
			if line[i].y > 0 {
				some = append(some, line[i].y)
			}
		}
		if len(some) == 0 {
			continue
		}
		slices.Sort(some)
		top = max(top, some[len(some)-1])
		usual = max(usual, some[len(some)-1-len(some)/fewInAll])
	}
	if top > spike*usual {
		return countCeiling(clipSpace * usual), true
	}
	return countCeiling(top), false
}

// peaks writes the height of what is above the axis at its top.
type peaks struct{ line []point }

// Plot implements plot.Plotter.
func (l peaks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := top(textStyle(noteSize, ink))
	end := c.Min.X
	for i := 0; i+1 < len(l.line); i += 2 {
		most := l.line[i]
		for ; i+3 < len(l.line) && l.line[i].y > p.Y.Max && l.line[i+2].y > p.Y.Max; i += 2 { // one number for neighbours
			if l.line[i+2].y > most.y {
				most = l.line[i+2]
			}
		}
		if most.y <= p.Y.Max {
			continue
		}
		label := "↑ " + countLabel(most.y)
		at := x(clamp(most.x, p.X)) + 3
		if at+style.Width(label) > c.Max.X {
			at -= style.Width(label) + 6
		}
		if at < end {
			continue // it would cover the one before
		}
		c.FillText(style, vg.Point{X: at, Y: c.Max.Y - 2}, label)
		end = at + style.Width(label) + 4
	}
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
