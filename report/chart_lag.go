package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// maxLagNodes is how many followers the chart tells apart.
const maxLagNodes = 8

// nodeLag is how far one broker's followers are behind, the worst partition at
// each sample.
type nodeLag struct {
	node    kafka.NodeID
	leo, hw []point
	worst   float64
}

// lagChart draws how far each broker's replicas trail their leaders: log ends
// above, high watermarks below.
func lagChart(r *outcome.Result) Chart {
	end := runEnd(r)
	b := newBands(r, end)
	nodes := lags(r)
	c := Chart{Name: "lag", title: "Lag of followers behind their leaders", about: about(r), height: panelHeight * 1.5}
	c.notes = append(c.notes, "of each broker the partition that is furthest behind")
	if len(nodes) > maxLagNodes {
		c.notes[0] += fmt.Sprintf("; the worst %d of %d brokers", maxLagNodes, len(nodes))
		slices.SortStableFunc(nodes, func(a, b nodeLag) int { return compareFloat(b.worst, a.worst) })
		nodes = nodes[:maxLagNodes]
		slices.SortFunc(nodes, func(a, b nodeLag) int { return int(a.node) - int(b.node) })
	}
	c.notes = append(c.notes, faultNotes(r)...)
	leo, hw := newPanel(end, "records behind, log end"), newPanel(end, "behind, high watermark")
	leo.X.Label.Text = ""
	for _, p := range []*plot.Plot{leo, hw} {
		p.Y.Tick.Marker = plot.TickerFunc(countTicks)
		p.Add(b)
		c.panels = append(c.panels, p)
	}
	var topLEO, topHW float64
	for i := range nodes {
		topLEO, topHW = max(topLEO, highest(nodes[i].leo)), max(topHW, highest(nodes[i].hw))
	}
	leo.Y.Max, hw.Y.Max = countCeiling(topLEO), countCeiling(topHW)
	leo.Add(grid{vertical: true})
	hw.Add(grid{vertical: true})
	for i := range nodes {
		n := &nodes[i]
		color := lineColors[i%len(lineColors)]
		leo.Add(curve{runs: [][]point{n.leo}, color: color, width: 1.3})
		hw.Add(curve{runs: [][]point{n.hw}, color: color, width: 1.3})
		c.key = append(c.key, keyEntry{kafka.BrokerHost(n.node), color, 2.4})
	}
	if len(nodes) == 0 {
		leo.Add(message("no follower was sampled"))
	}
	leo.Add(bandLabels{b})
	return c
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// lags compares every follower's samples with those of the partition's leader at
// the same moment.
func lags(r *outcome.Result) []nodeLag {
	leaders := make(map[kafka.TopicPartition][]outcome.Span, len(r.Series.Strips))
	for _, s := range r.Series.Strips {
		leaders[s.TP] = s.Spans
	}
	var out []nodeLag
	all := r.Series.Lags
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].TP == all[0].TP {
			n++
		}
		for i, l := range all[:n] {
			out = addLag(out, l.Node, behind(all[:n], i, leaders[l.TP]))
		}
		all = all[n:]
	}
	return out
}

// gap is one comparison of a follower with its leader.
type gap struct {
	at      kafka.Nanos
	leo, hw float64
}

// behind is the lag of replica i of a partition at each of its samples at which
// somebody else led.
func behind(replicas []outcome.Lag, i int, spans []outcome.Span) []gap {
	var out []gap
	next := make([]int, len(replicas))
	span := 0
	for _, q := range replicas[i].Points {
		for span < len(spans) && spans[span].To >= spans[span].From && spans[span].To < q.At {
			span++
		}
		if span == len(spans) || spans[span].From > q.At || spans[span].Leader < 0 {
			continue
		}
		lead := slices.IndexFunc(replicas, func(l outcome.Lag) bool { return l.Node == spans[span].Leader })
		if lead < 0 || lead == i {
			continue
		}
		points := replicas[lead].Points
		for next[lead] < len(points) && points[next[lead]].At < q.At {
			next[lead]++
		}
		if next[lead] == len(points) || points[next[lead]].At != q.At {
			continue
		}
		p := points[next[lead]]
		out = append(out, gap{q.At, float64(max(p.LEO-q.LEO, 0)), float64(max(p.HW-q.HW, 0))})
	}
	return out
}

// addLag takes the worst of a broker's partitions at each moment; both lists are in
// order of time.
func addLag(list []nodeLag, node kafka.NodeID, gaps []gap) []nodeLag {
	if len(gaps) == 0 {
		return list
	}
	i, found := slices.BinarySearchFunc(list, node, func(n nodeLag, id kafka.NodeID) int { return int(n.node) - int(id) })
	if !found {
		list = slices.Insert(list, i, nodeLag{node: node})
	}
	n := &list[i]
	leo, hw := make([]point, 0, len(gaps)), make([]point, 0, len(gaps))
	for _, g := range gaps {
		leo, hw = append(leo, point{seconds(g.at), g.leo}), append(hw, point{seconds(g.at), g.hw})
		n.worst = max(n.worst, g.leo, g.hw)
	}
	n.leo, n.hw = upper(n.leo, leo), upper(n.hw, hw)
	return list
}

// upper is the higher of two lines at each of their points.
func upper(a, b []point) []point {
	if len(a) == 0 {
		return b
	}
	out := make([]point, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].x < b[0].x:
			out, a = append(out, a[0]), a[1:]
		case a[0].x > b[0].x:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, point{a[0].x, max(a[0].y, b[0].y)}), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
