package report

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// downtime is a stretch in which a broker's process was dead or stood still.
type downtime struct {
	node kafka.NodeID
	outcome.Interval
}

// downtimes reads them from the timeline, in order of their beginnings; one that
// lasts has To = Forever.
func downtimes(r *outcome.Result) []downtime {
	var out []downtime
	for i := range r.Timeline {
		e := &r.Timeline[i]
		id, ok := kafka.ParseBrokerHost(e.Actor)
		if !ok {
			continue
		}
		open := -1
		for k := range out {
			if out[k].node == id && out[k].To == kafka.Forever {
				open = k
			}
		}
		switch e.Kind {
		case event.NodeCrashed, event.NodeStopped, event.NodePaused:
			if open < 0 {
				out = append(out, downtime{id, outcome.Interval{From: e.Time, To: kafka.Forever}})
			}
		case event.NodeBooted, event.NodeResumed:
			if open >= 0 {
				out[open].To = e.Time
			}
		}
	}
	return out
}

// split cuts spans to [0, end) and where their leader dies or comes back; an open
// span ends at end.
func split(spans []outcome.Span, down []downtime, end float64) []stretch {
	limit := kafka.Nanos(end * float64(kafka.Second))
	var out []stretch
	for _, sp := range spans {
		sp.From = max(sp.From, 0)
		if sp.To < sp.From || sp.To > limit {
			sp.To = limit
		}
		if sp.From >= limit {
			continue
		}
		out = append(out, divide(sp, down)...)
	}
	return out
}

func divide(sp outcome.Span, down []downtime) []stretch {
	var out []stretch
	add := func(to kafka.Nanos, dead bool) {
		if to > sp.From {
			part := sp
			part.To = to
			out = append(out, stretch{part, dead})
			sp.From = to
		}
	}
	for _, d := range down {
		if d.node == sp.Leader && d.To > sp.From && d.From < sp.To {
			add(d.From, false)
			add(min(d.To, sp.To), true)
		}
	}
	add(sp.To, false)
	return out
}
