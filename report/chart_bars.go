package report

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BarChart describes horizontal bars, one a row, with whiskers from the least to the
// greatest value.
type BarChart struct {
	Name  string // of the file, without extension
	Title string
	About string // small print beside the title
	Axis  string // what the values are
	Rows  []Bar  // from top to bottom
	Notes []string
}

// Bar is one row. Group decides the colour: rows of equal Group have the same, in order
// of their first row.
type Bar struct {
	Label          string
	Group          string
	Value          float64
	Least, Biggest float64
}

const (
	barHeight = vg.Length(15)
	barFrame  = vg.Length(46) // above and below the bars
)

// Bars makes a chart of bars. Values below 0 are drawn as 0; the axis begins at 0.
func Bars(b BarChart) Chart {
	p := newPanel(1, "")
	most := 0.0
	ticks := make([]plot.Tick, len(b.Rows))
	for i, r := range b.Rows {
		most = max(most, r.Value, r.Biggest)
		ticks[i] = plot.Tick{Value: float64(len(b.Rows) - 1 - i), Label: r.Label}
	}
	p.X.Label.Text = b.Axis
	p.X.Min, p.X.Max = 0, barCeiling(most)
	p.X.Tick.Marker = plot.TickerFunc(barTicks)
	p.Y.Min, p.Y.Max = -0.6, max(float64(len(b.Rows))-0.4, 0.4)
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.LineStyle.Width = 0
	c := Chart{
		Name: b.Name, title: b.Title, about: b.About, panels: []*plot.Plot{p}, notes: b.Notes,
		height: barHeight*vg.Length(max(len(b.Rows), 4)) + barFrame,
	}
	if len(b.Rows) == 0 {
		p.Add(message("nothing was measured"))
		return c
	}
	groups := barGroups(b.Rows)
	for i, g := range groups {
		if len(groups) > 1 {
			c.key = append(c.key, keyEntry{g, barColor(i), 0})
		}
	}
	p.Add(uprights{}, bars{b.Rows, groups})
	return c
}

func barGroups(rows []Bar) []string {
	var out []string
	for _, r := range rows {
		if groupIndex(out, r.Group) < 0 {
			out = append(out, r.Group)
		}
	}
	return out
}

func groupIndex(groups []string, g string) int {
	for i := range groups {
		if groups[i] == g {
			return i
		}
	}
	return -1
}

func barColor(i int) color.RGBA { return nodeColors[i%len(nodeColors)] }

// barTicks are those of counts, finer below 6.
func barTicks(_, hi float64) []plot.Tick {
	if hi >= maxCountTicks {
		return countTicks(0, hi)
	}
	var out []plot.Tick
	for _, t := range countTicks(0, hi*1000) {
		out = append(out, plot.Tick{Value: t.Value / 1000, Label: strconv.FormatFloat(t.Value/1000, 'g', 4, 64)})
	}
	return out
}

func barCeiling(most float64) float64 {
	if most >= maxCountTicks {
		return countCeiling(most)
	}
	return countCeiling(most*1000) / 1000
}

// uprights are the vertical lines of the grid.
type uprights struct{}

// Plot implements plot.Plotter.
func (uprights) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: gridLine, Width: 0.5}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if inside(t.Value, p.X.Min, p.X.Max) {
			c.StrokeLine2(style, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
}

type bars struct {
	rows   []Bar
	groups []string
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	whisker := draw.LineStyle{Color: ink, Width: 1}
	const half, end = barHeight * 0.34, barHeight * 0.18
	for i, r := range b.rows {
		at := y(float64(len(b.rows) - 1 - i))
		box(c, barColor(groupIndex(b.groups, r.Group)), x(0), at-half, x(clamp(r.Value, p.X)), at+half)
		if r.Biggest > r.Least {
			from, to := x(clamp(r.Least, p.X)), x(clamp(r.Biggest, p.X))
			c.StrokeLine2(whisker, from, at, to, at)
			c.StrokeLine2(whisker, from, at-end, from, at+end)
			c.StrokeLine2(whisker, to, at-end, to, at+end)
		}
	}
}
