package report

import (
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

// Bounds of the charts of groups.
const (
	maxGroupCharts = 8
	maxMembers     = 40
	maxGroupLines  = 6
)

// groupCharts are one rebalance timeline a group, and the lag of all; none without
// groups.
func groupCharts(r *outcome.Result) (out []Chart) {
	for i := range r.Groups[:min(len(r.Groups), maxGroupCharts)] {
		out = append(out, groupChart(r, &r.Groups[i]))
	}
	if len(r.Groups) > 0 {
		out = append(out, groupLagChart(r))
	}
	return out
}

// memberRows draws one row a member: the colour is the set of partitions that it
// owns, grey while its process is away; below, thin, what it waits for.
type memberRows struct {
	rows []outcome.GroupMember
	sets []string // by first use
	end  float64
	// faults, if there are any, have a row of their own below.
	faults bands
}

func groupChart(r *outcome.Result, g *outcome.Group) Chart {
	end := runEnd(r)
	m := memberRows{rows: g.Members[:min(len(g.Members), maxMembers)], end: end}
	for i := range m.rows {
		for _, o := range m.rows[i].Owned {
			if name := partitionSet(o.Partitions); !slices.Contains(m.sets, name) {
				m.sets = append(m.sets, name)
			}
		}
	}
	p := newPanel(end, "")
	p.Y.Min, p.Y.Max = 0, float64(max(len(m.rows), 1))
	p.Y.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return m.ticks() })
	p.Y.Tick.LineStyle.Width, p.Y.Tick.Length = 0, 2
	p.Add(rebalanceBands{g.Rebalances, end}, m, generationMarks{g.Rebalances, end})
	if m.faults = newBands(r, end); len(m.faults.faults) > 0 {
		p.Y.Min = -faultRowHeight
		p.Add(faultRow{m.faults})
	}
	c := Chart{Name: "group-" + g.ID, title: "Who owns what in group " + g.ID, about: about(r), panels: []*plot.Plot{p},
		height: vg.Length(float64(max(len(m.rows), 1))-p.Y.Min)*30 + 50}
	c.key = []keyEntry{{"FindCoordinator", phaseColor(outcome.PhaseFind), 0}, {"JoinGroup", phaseColor(outcome.PhaseJoin), 0}, {"SyncGroup", phaseColor(outcome.PhaseSync), 0},
		{"process away", grey, 0}, {"rebalance", shade, 0}}
	c.notes = []string{"bar: the partitions of a member, one colour for each set; below it what the member waits for; at the top, g1 and on: the generations"}
	if n := len(g.Members); n > len(m.rows) {
		c.notes[0] += fmt.Sprintf("; the first %d of %d members", len(m.rows), n)
	}
	c.notes = append(c.notes, faultNotes(r)...)
	if len(m.rows) == 0 {
		c.height += 60
		p.Add(message("the group has no member"))
	}
	return c
}

func phaseColor(name string) color.RGBA {
	switch name {
	case outcome.PhaseFind:
		return ink
	case outcome.PhaseJoin:
		return vermilion
	}
	return yellow
}

// partitionSet names a sorted set of partitions: orders 0-2,5.
func partitionSet(list []kafka.TopicPartition) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1].Topic == list[i].Topic && list[j+1].Partition == list[j].Partition+1 {
			j++
		}
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%s ", list[i].Topic)
		case list[i].Topic != list[i-1].Topic:
			fmt.Fprintf(&b, "; %s ", list[i].Topic)
		default:
			b.WriteByte(',')
		}
		switch {
		case j == i:
			fmt.Fprint(&b, list[i].Partition)
		case j == i+1:
			fmt.Fprintf(&b, "%d,%d", list[i].Partition, list[j].Partition)
		default:
			fmt.Fprintf(&b, "%d-%d", list[i].Partition, list[j].Partition)
		}
		i = j + 1
	}
	return b.String()
}

// setColors tell sets apart; one of every shade comes before the pale ones.
func (m memberRows) color(set string) color.RGBA {
	i := slices.Index(m.sets, set)
	solid := [...]color.RGBA{blue, orange, green, purple, sky}
	c := solid[i%len(solid)]
	for range i / len(solid) % 3 {
		c = pale(pale(c))
		c = mixed(c, solid[i%len(solid)])
	}
	return c
}

// mixed is the middle of two colours.
func mixed(a, b color.RGBA) color.RGBA {
	half := func(x, y uint8) uint8 { return uint8((int(x) + int(y)) / 2) }
	return color.RGBA{half(a.R, b.R), half(a.G, b.G), half(a.B, b.B), 0xff}
}

func (m memberRows) ticks() []plot.Tick {
	out := make([]plot.Tick, 0, len(m.rows))
	for i := range m.rows {
		name := m.rows[i].Client
		if runes := []rune(name); len(runes) > maxStripName {
			name = "…" + string(runes[len(runes)-maxStripName+1:])
		}
		out = append(out, plot.Tick{Value: m.middle(i), Label: name})
	}
	if len(m.faults.faults) > 0 {
		out = append(out, plot.Tick{Value: -faultRowHeight / 2, Label: "faults"})
	}
	return out
}

func (m memberRows) middle(i int) float64 { return float64(len(m.rows)-i) - 0.5 }

// Plot implements plot.Plotter.
func (m memberRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(t kafka.Nanos) vg.Length { return x(min(max(seconds(t), 0), m.end)) }
	outline := draw.LineStyle{Color: gridLine, Width: 0.5}
	for i := range m.rows {
		row := &m.rows[i]
		low, mid, high := y(m.middle(i)-0.42), y(m.middle(i)-0.22), y(m.middle(i)+0.42)
		for _, o := range row.Owned {
			m.bar(c, partitionSet(o.Partitions), at(o.From), at(o.To), mid, high)
		}
		for _, a := range row.Away {
			if seconds(a.From) >= m.end {
				continue
			}
			box(c, grey, at(a.From), mid, max(at(a.To), at(a.From)+0.5), high)
		}
		for _, ph := range row.Phases {
			if seconds(ph.From) >= m.end {
				continue
			}
			box(c, phaseColor(ph.Name), at(ph.From), low, max(at(ph.To), at(ph.From)+1), mid-0.5)
		}
		c.StrokeLine2(outline, c.Min.X, low, c.Max.X, low)
	}
}

func (m memberRows) bar(c draw.Canvas, set string, from, to, low, high vg.Length) {
	fill := m.color(set)
	box(c, fill, from, low, max(to, from+0.5), high)
	style := textStyle(8, onColor(fill))
	style.YAlign = text.YCenter
	if label := shorten(style, set, to-from-6); to-from > 24 {
		c.FillText(style, vg.Point{X: from + 3, Y: (low + high) / 2}, label)
	}
}

// rebalanceBands shades the rebalances.
type rebalanceBands struct {
	list []outcome.Rebalance
	end  float64
}

// Plot implements plot.Plotter.
func (b rebalanceBands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, r := range b.list[:min(len(b.list), maxBands)] {
		from, to := seconds(r.From), b.end
		if r.To >= 0 {
			to = min(seconds(r.To), b.end)
		}
		if from < b.end {
			box(c, shade, x(from), c.Min.Y, max(x(to), x(from)+0.7), c.Max.Y)
		}
	}
}

// faultRowHeight is that of the row of faults, in rows of members.
const faultRowHeight = 0.6

// faultRow draws the fault windows, with their numbers, below the members.
type faultRow struct{ bands }

// Plot implements plot.Plotter.
func (b faultRow) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	low, high := y(-faultRowHeight+0.08), y(-0.08)
	for _, f := range b.faults[:min(len(b.faults), maxBands)] {
		from, to := b.window(f)
		box(c, shadeRim, x(from), low, max(x(to), x(from)+1.5), high)
	}
	begin := draw.LineStyle{Color: softInk, Width: 0.7}
	for _, f := range b.faults[:min(len(b.faults), maxBands)] {
		from, _ := b.window(f)
		c.StrokeLine2(begin, x(from), low, x(from), high)
	}
	style := boldStyle(noteSize, ink)
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	for _, l := range b.labels(func(v float64) vg.Length { return x(v) }, style) {
		c.FillText(style, vg.Point{X: l.x + 3, Y: (low + high) / 2}, l.text)
	}
}

// generationMarks are a line and a number where a generation is complete.
type generationMarks struct {
	list []outcome.Rebalance
	end  float64
}

// Plot implements plot.Plotter.
func (g generationMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := boldStyle(noteSize, softInk)
	rim := draw.LineStyle{Color: softInk, Width: 0.7}
	free := c.Min.X
	for _, r := range g.list[:min(len(g.list), maxBands)] {
		if r.Generation < 0 || r.To < 0 || seconds(r.To) > g.end {
			continue
		}
		at := x(seconds(r.To))
		c.StrokeLine2(rim, at, c.Min.Y, at, c.Max.Y)
		if label := fmt.Sprintf("g%d", r.Generation); at >= free {
			c.FillText(style, vg.Point{X: at, Y: c.Max.Y + 2}, label)
			free = at + style.Width(label) + 3
		}
	}
}

// groupLagChart draws how far each group is behind: what it has committed, and, thin,
// what it has processed.
func groupLagChart(r *outcome.Result) Chart {
	end := runEnd(r)
	b := newBands(r, end)
	p := newPanel(end, "records behind")
	p.Y.Tick.Marker = plot.TickerFunc(countTicks)
	p.Add(b, grid{vertical: true})
	c := Chart{Name: "group-lag", title: "Lag of consumer groups", about: about(r), panels: []*plot.Plot{p}, height: panelHeight}
	c.notes = append([]string{"high watermark minus committed offset, summed over the group (from its start, if none is committed); pale: minus what is processed"}, faultNotes(r)...)
	top, drawn := 0.0, 0
	for i, l := range r.Series.GroupLags[:min(len(r.Series.GroupLags), maxGroupLines)] {
		var committed, rest []point
		for _, pt := range l.Points {
			committed = append(committed, point{seconds(pt.At), float64(pt.Committed)})
			rest = append(rest, point{seconds(pt.At), float64(pt.Unprocessed)})
		}
		top = max(top, highest(committed), highest(rest))
		drawn += len(committed)
		col := lineColors[i%len(lineColors)]
		p.Add(curve{runs: [][]point{rest}, color: pale(col), width: 1.3}, curve{runs: [][]point{committed}, color: col, width: 1.5})
		c.key = append(c.key, keyEntry{l.Group, col, 2.4})
	}
	p.Y.Max = countCeiling(top)
	if drawn == 0 {
		p.Add(message("no lag was sampled"))
	}
	p.Add(bandLabels{b})
	return c
}
