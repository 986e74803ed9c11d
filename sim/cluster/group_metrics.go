package cluster

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// ofGroup is a figure of a consumer group. A group of which nothing was heard has none.
func ofGroup(m *scenarios.Metric, name string, r *outcome.Result) (v int64, isTime bool, where string) {
	g := findGroup(r, m.Arg)
	if g == nil {
		return nothingMeasured, false, ""
	}
	switch name {
	case "rebalances", "moved":
		for i := range g.Rebalances {
			if x := &g.Rebalances[i]; !within(m, x.From) {
				continue
			} else if name == "moved" {
				v += int64(x.Moved)
			} else {
				v++
			}
		}
		return v, false, ""
	case "unowned", "unowned_sum", "overlap":
		v, where = stretches(m, name, g)
		return v, true, where
	case "lag":
		v, where = mostLag(m, r)
		return v, false, where
	case "processed":
		return g.Processed, false, ""
	case "duplicates":
		return g.Duplicates, false, ""
	case "skipped":
		return g.Skipped, false, ""
	case "refused":
		return g.Refused, false, ""
	case "regressions":
		return g.Regressions, false, ""
	case "expired":
		return g.Expired, false, ""
	}
	panic("cluster: metric group." + name + " was accepted but is unknown")
}

func findGroup(r *outcome.Result, id string) *outcome.Group {
	for i := range r.Groups {
		if r.Groups[i].ID == id {
			return &r.Groups[i]
		}
	}
	return nil
}

// within: a time is in the metric's range.
func within(m *scenarios.Metric, at kafka.Nanos) bool {
	return at >= m.From && (m.To == 0 || at < m.To)
}

// stretches is the longest time of a partition with no owner or two, or the sum.
func stretches(m *scenarios.Metric, name string, g *outcome.Group) (v int64, where string) {
	for i := range g.Partitions {
		p := &g.Partitions[i]
		list := p.Unowned
		if name == "overlap" {
			list = p.Overlaps
		}
		for _, x := range list {
			d := int64(x.To - x.From)
			switch {
			case !within(m, x.From):
			case name == "unowned_sum":
				v += d
			case d > v:
				v, where = d, fmt.Sprintf("of %s from %s", p.TP, clock(x.From))
			}
		}
	}
	return v, where
}

// mostLag is the largest sample.
func mostLag(m *scenarios.Metric, r *outcome.Result) (v int64, where string) {
	v = nothingMeasured
	for _, l := range r.Series.GroupLags {
		for _, pt := range l.Points {
			if l.Group == m.Arg && within(m, pt.At) && pt.Committed > v {
				v, where = pt.Committed, "at "+clock(pt.At)
			}
		}
	}
	return v, where
}
