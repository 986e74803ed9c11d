package report

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// maxStrips is how many partitions the chart shows.
const maxStrips = 40

// strips draws one row a partition: the colour is the leader, pale while it is not in
// office; the height of the bar is the part of the replicas that are in
// sync; black is no leader.
type strips struct {
	rows []outcome.Strip
	full []int // replicas of each row
	ids  []kafka.NodeID
	end  float64
}

// stretch is a span, or the part of one in which its leader is in office or is not.
type stretch struct {
	outcome.Span
	dead bool
}

// partitionsChart draws leaders and ISR over time, the worst partitions first.
func partitionsChart(r *outcome.Result) Chart {
	end := runEnd(r)
	s := worstStrips(r, end)
	p := newPanel(end, "")
	b := newBands(r, end)
	p.Y.Min, p.Y.Max = 0, float64(max(len(s.rows), 1))
	p.Y.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return s.ticks() })
	p.Y.Tick.LineStyle.Width, p.Y.Tick.Length = 0, 2
	p.Add(b, s, bandLabels{b})
	c := Chart{Name: "partitions", title: "Leader and in-sync replicas of each partition", about: about(r), panels: []*plot.Plot{p},
		height: vg.Length(max(len(s.rows), 1))*20 + 46}
	c.key = s.key()
	c.notes = append(c.notes, "bar height: in-sync replicas of all replicas; pale: the leader is not in office (down, still, or not yet told to lead)")
	if n := len(r.Series.Strips); n > len(s.rows) {
		c.notes[0] += fmt.Sprintf("; the worst %d of %d partitions", len(s.rows), n)
	}
	c.notes = append(c.notes, faultNotes(r)...)
	if len(s.rows) == 0 {
		c.height += 60
		p.Add(message("no partition was created"))
	}
	return c
}

func worstStrips(r *outcome.Result, end float64) strips {
	s := strips{rows: slices.Clone(r.Series.Strips), end: end}
	replicas := make(map[kafka.TopicPartition]int, len(r.Partitions))
	for i := range r.Partitions {
		replicas[r.Partitions[i].TP] = len(r.Partitions[i].Replicas)
	}
	if len(s.rows) > maxStrips {
		rank := make(map[kafka.TopicPartition]int, len(r.Partitions))
		sorted := slices.Clone(r.Partitions)
		slices.SortStableFunc(sorted, worseFirst)
		for i := range sorted {
			rank[sorted[i].TP] = i + 1
		}
		slices.SortStableFunc(s.rows, func(a, b outcome.Strip) int { return order(rank, a.TP) - order(rank, b.TP) })
		s.rows = s.rows[:maxStrips]
	}
	for _, row := range s.rows {
		full := replicas[row.TP]
		for _, sp := range row.Spans {
			full = max(full, len(sp.ISR))
			if i, found := slices.BinarySearch(s.ids, sp.Leader); sp.Leader >= 0 && !found {
				s.ids = slices.Insert(s.ids, i, sp.Leader)
			}
		}
		s.full = append(s.full, max(full, 1))
	}
	return s
}

// order puts partitions without a story last.
func order(rank map[kafka.TopicPartition]int, tp kafka.TopicPartition) int {
	if n := rank[tp]; n > 0 {
		return n
	}
	return len(rank) + 1
}

const maxStripName = 22

func (s strips) ticks() []plot.Tick {
	out := make([]plot.Tick, 0, len(s.rows))
	for i, row := range s.rows {
		name := row.TP.String()
		if runes := []rune(name); len(runes) > maxStripName {
			name = "…" + string(runes[len(runes)-maxStripName+1:])
		}
		out = append(out, plot.Tick{Value: s.middle(i), Label: name})
	}
	return out
}

// middle is the row's place on the axis, the first row on top.
func (s strips) middle(i int) float64 { return float64(len(s.rows)-i) - 0.5 }

// maxKeyNodes keeps the key in one line.
const maxKeyNodes = 10

func (s strips) key() []keyEntry {
	out := []keyEntry{{label: "no leader", color: black}}
	for i, id := range s.ids {
		if i == maxKeyNodes {
			break
		}
		label := fmt.Sprint(id)
		if i == 0 {
			label = "leader " + label
		}
		out = append(out, keyEntry{label: label, color: nodeColor(s.ids, id)})
	}
	if len(s.ids) > maxKeyNodes {
		out[len(out)-1].label += fmt.Sprintf(" to %d: see the bars", s.ids[len(s.ids)-1])
	}
	return out
}

// Plot implements plot.Plotter.
func (s strips) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	outline := draw.LineStyle{Color: gridLine, Width: 0.5}
	for i, row := range s.rows {
		low, high := y(s.middle(i)-0.42), y(s.middle(i)+0.42)
		for _, sp := range thinSpans(split(&row, s.end), s.end, columns) {
			from, to := x(seconds(sp.From)), x(seconds(sp.To))
			s.bar(c, sp, from, to, low, low+(high-low)*vg.Length(s.part(sp.Span, i)))
		}
		c.StrokeLine2(outline, c.Min.X, low, c.Max.X, low)
		c.StrokeLine2(outline, c.Min.X, high, c.Max.X, high)
	}
}

// part is how much of the row's height a bar takes.
func (s strips) part(sp outcome.Span, row int) float64 {
	if sp.Leader < 0 {
		return 1
	}
	return min(float64(max(len(sp.ISR), 0))/float64(s.full[row]), 1)
}

func (s strips) bar(c draw.Canvas, sp stretch, from, to, low, high vg.Length) {
	fill, label := color.RGBA(black), "none"
	if sp.Leader >= 0 {
		fill, label = nodeColor(s.ids, sp.Leader), fmt.Sprint(sp.Leader)
		if sp.dead {
			fill, label = pale(fill), label+" away"
		}
	}
	box(c, fill, from, low, max(to, from+0.5), high)
	style := textStyle(8, onColor(fill))
	style.YAlign = text.YCenter
	if high-low > 8 && style.Width(label)+6 < to-from {
		c.FillText(style, vg.Point{X: from + 3, Y: (low + high) / 2}, label)
	}
}

// thinSpans bounds what a row draws: of the stretches that begin in one of columns
// equal parts of the axis only the worst stays, no leader before a dead one before
// the smallest ISR.
func thinSpans(spans []stretch, end float64, columns int) []stretch {
	var out []stretch
	last := -1
	for _, sp := range spans {
		column := columnOf(seconds(sp.From), 0, end, columns)
		if column != last || len(out) == 0 {
			out = append(out, sp)
			last = column
			continue
		}
		o := &out[len(out)-1]
		if columnOf(seconds(sp.To), 0, end, columns) != column { // it reaches further: it must be seen
			o.To = sp.From
			out = append(out, sp)
			continue
		}
		to := max(o.To, sp.To)
		if worseSpan(sp, *o) {
			o.Leader, o.ISR, o.dead = sp.Leader, sp.ISR, sp.dead
		}
		o.To = to
	}
	return out
}

func worseSpan(a, b stretch) bool {
	rank := func(s stretch) int {
		switch {
		case s.Leader < 0:
			return 0
		case s.dead:
			return 1
		}
		return 2 + len(s.ISR)
	}
	return rank(a) < rank(b)
}
