package report

import (
	"gonum.org/v1/plot"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// throughputChart draws acknowledged and failed records a second.
func throughputChart(r *outcome.Result) Chart {
	end := runEnd(r)
	p := newPanel(end, "records a second")
	b := newBands(r, end)
	acked, failed := rates(r.Series.Acked, r.Series.Step), rates(r.Series.Failed, r.Series.Step)
	p.Y.Max = countCeiling(max(highest(acked), highest(failed)))
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
	return c
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
