package report

import (
	"fmt"

	"gonum.org/v1/plot"

	"github.com/simkafka/simkafka/sim/sweep"
)

// SaturationChart draws how the number of different findings grew with the number of
// seeds. A curve that has not been flat for long says that more seeds find more.
func SaturationChart(m *sweep.Merged) Chart {
	curvePoints := m.Saturation()
	last := curvePoints[len(curvePoints)-1]
	p := newPanel(max(float64(last.Runs), 1), "different findings")
	p.X.Label.Text = "seeds"
	p.X.Tick.Marker = plot.TickerFunc(countTicks)
	p.Y.Tick.Marker = plot.TickerFunc(countTicks)
	p.Y.Max = countCeiling(float64(last.Findings))
	p.Add(grid{vertical: true})
	c := Chart{Name: "saturation", title: "Findings of a sweep", panels: []*plot.Plot{p}, height: panelHeight,
		about: fmt.Sprintf("%s · root seed %d · %s seeds", m.Header.Name, m.Header.Root, count(int64(last.Runs)))}
	if last.Findings == 0 {
		p.Add(message("every seed passed"))
		return c
	}
	var line []point
	for i, q := range curvePoints {
		if i > 0 {
			line = append(line, point{float64(q.Runs), float64(curvePoints[i-1].Findings)})
		}
		line = append(line, point{float64(q.Runs), float64(q.Findings)})
	}
	p.Add(curve{runs: [][]point{line}, color: vermilion, width: 1.5})
	return c
}
