package report

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// grid draws the lines of the labelled ticks.
type grid struct{ vertical bool }

// Plot implements plot.Plotter.
func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: gridLine, Width: 0.5}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && inside(t.Value, p.Y.Min, p.Y.Max) {
			c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
	if !g.vertical {
		return
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if inside(t.Value, p.X.Min, p.X.Max) {
			c.StrokeLine2(style, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
}

func inside(v, lo, hi float64) bool { return v >= lo && v <= hi }

// curve is a line with gaps: each run is drawn alone; a run of one point is a dot.
type curve struct {
	runs  [][]point
	color color.RGBA
	width vg.Length
}

// Plot implements plot.Plotter.
func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: l.color, Width: l.width}
	dot := draw.GlyphStyle{Color: l.color, Radius: max(l.width, 1.2), Shape: draw.CircleGlyph{}}
	for _, run := range l.runs {
		thin := decimate(run, p.X.Min, p.X.Max, columns)
		line := make([]vg.Point, 0, len(thin))
		for _, q := range thin {
			line = append(line, vg.Point{X: x(clamp(q.x, p.X)), Y: y(clamp(q.y, p.Y))})
		}
		if len(line) == 1 {
			c.DrawGlyphNoClip(dot, line[0])
		}
		for _, part := range chunks(line) {
			c.StrokeLines(style, part)
		}
	}
}

// clamp keeps a value on its axis; a logarithmic one has no zero.
func clamp(v float64, a plot.Axis) float64 { return min(max(v, a.Min), a.Max) }

// bands shades the fault windows, behind everything, and numbers them at the top.
type bands struct {
	faults []outcome.Fault // in order of From
	end    float64
}

func newBands(r *outcome.Result, end float64) bands {
	faults := slices.Clone(r.Faults)
	slices.SortStableFunc(faults, func(a, b outcome.Fault) int { return cmp.Compare(a.From, b.From) })
	return bands{faults, end}
}

// maxBands bounds what is drawn; the notes say how many there are.
const maxBands = 200

// Plot implements plot.Plotter.
func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	rim := draw.LineStyle{Color: shadeRim, Width: 0.7}
	faults := b.faults[:min(len(b.faults), maxBands)]
	for _, f := range faults {
		from, to := b.window(f)
		box(c, shade, x(from), c.Min.Y, x(to), c.Max.Y)
	}
	for _, f := range faults {
		from, to := b.window(f)
		c.StrokeLine2(rim, x(from), c.Min.Y, x(from), c.Max.Y)
		if to > from {
			c.StrokeLine2(rim, x(to), c.Min.Y, x(to), c.Max.Y)
		}
	}
}

func (b bands) window(f outcome.Fault) (from, to float64) {
	from = min(max(seconds(f.From), 0), b.end)
	to = min(seconds(f.To), b.end)
	if f.To < f.From {
		to = b.end // it was still active
	}
	return from, max(to, from)
}

// bandLabels numbers the windows above the panel's top edge; numbers that would
// touch share one label.
type bandLabels struct{ bands }

// Plot implements plot.Plotter.
func (b bandLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := boldStyle(noteSize, softInk)
	style.XAlign = text.XLeft
	for _, l := range b.labels(func(v float64) vg.Length { return x(v) }, style) {
		c.FillText(style, vg.Point{X: l.x, Y: c.Max.Y + 2}, l.text)
	}
}

type placed struct {
	x    vg.Length
	text string
}

func (b bands) labels(x func(float64) vg.Length, style text.Style) []placed {
	var out []placed
	var group []string
	end := vg.Length(0)
	for i, f := range b.faults[:min(len(b.faults), maxBands)] {
		from, _ := b.window(f)
		at, number := x(from), fmt.Sprint(f.Index+1)
		if i > 0 && at < end+4 {
			if !slices.Contains(group, number) {
				group = append(group, number)
			}
		} else {
			group = []string{number}
			out = append(out, placed{x: at})
		}
		o := &out[len(out)-1]
		o.text = strings.Join(group, ",")
		if len(group) > 4 {
			o.text = strings.Join(group[:3], ",") + "…"
		}
		end = o.x + style.Width(o.text)
	}
	return out
}

// maxFaultNotes is how many faults the notes spell out.
const maxFaultNotes = 5

// faultNotes are the lines below a chart that say what its shaded windows are: one
// for each fault of the plan, however often it struck.
func faultNotes(r *outcome.Result) []string {
	byIndex := slices.Clone(r.Faults)
	slices.SortStableFunc(byIndex, func(a, b outcome.Fault) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.From, b.From))
	})
	var out []string
	for len(byIndex) > 0 {
		n := 1
		for n < len(byIndex) && byIndex[n].Index == byIndex[0].Index {
			n++
		}
		out = append(out, faultNote(byIndex[0], n))
		byIndex = byIndex[n:]
	}
	if len(out) > maxFaultNotes {
		more := len(out) - (maxFaultNotes - 1)
		out = append(out[:maxFaultNotes-1], fmt.Sprintf("and %d more; timeline.txt has all", more))
	}
	return out
}

func faultNote(f outcome.Fault, times int) string {
	note := fmt.Sprintf("%d  %s", f.Index+1, f.Text)
	if f.Hit != "" && times == 1 {
		note += " → " + f.Hit
	}
	if f.To > f.From {
		note += fmt.Sprintf(", %s to %s", moment(f.From), moment(f.To))
	} else {
		note += ", at " + moment(f.From)
	}
	if times > 1 {
		note += fmt.Sprintf(", the first of %d times", times)
	}
	return note
}

// message stands in the middle of a panel without data.
type message string

// Plot implements plot.Plotter.
func (m message) Plot(c draw.Canvas, _ *plot.Plot) {
	style := textStyle(titleSize, softInk)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	c.FillText(style, c.Center(), string(m))
}

// runEnd is the right end of every time axis: the end of the measured time. The last
// bucket may be missing, so that the strips, which reach to the end, are asked too.
func runEnd(r *outcome.Result) float64 {
	end := kafka.Nanos(max(len(r.Series.Produce), len(r.Series.Acked))) * r.Series.Step
	for i := range r.Series.Strips {
		if spans := r.Series.Strips[i].Spans; len(spans) > 0 {
			end = max(end, spans[len(spans)-1].To)
		}
	}
	if end <= 0 {
		end = r.End
	}
	if end <= 0 {
		end = kafka.Second
	}
	return seconds(end)
}
