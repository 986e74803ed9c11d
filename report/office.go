package report

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// split cuts a row's spans to [0, end) and where its leader takes office or leaves it;
// an open span ends at end.
func split(strip *outcome.Strip, end float64) []stretch {
	limit := kafka.Nanos(end * float64(kafka.Second))
	var out []stretch
	for _, sp := range strip.Spans {
		sp.From = max(sp.From, 0)
		if sp.To < sp.From || sp.To > limit {
			sp.To = limit
		}
		if sp.From >= limit {
			continue
		}
		out = append(out, divide(sp, strip.Vacant)...)
	}
	return out
}

func divide(sp outcome.Span, vacant []outcome.Interval) []stretch {
	var out []stretch
	add := func(to kafka.Nanos, dead bool) {
		if to > sp.From {
			part := sp
			part.To = to
			out = append(out, stretch{part, dead})
			sp.From = to
		}
	}
	for _, v := range vacant {
		if v.To > sp.From && v.From < sp.To {
			add(v.From, false)
			add(min(v.To, sp.To), true)
		}
	}
	add(sp.To, false)
	return out
}
