package measure

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// latency records durations from 1 us to 1 h with three digits, in microseconds.
type latency struct {
	h   *hdrhistogram.Histogram
	max kafka.Nanos
}

const longest = kafka.Hour

func newLatency() latency {
	return latency{h: hdrhistogram.New(1, int64(longest/kafka.Microsecond), 3)}
}

// add counts n records with duration d; a longer one counts as the longest.
func (l *latency) add(d kafka.Nanos, n int64) {
	l.max = max(l.max, d)
	d = min(max(d, kafka.Microsecond), longest)
	if err := l.h.RecordValues(int64(d/kafka.Microsecond), n); err != nil {
		panic(err) // the value was clamped into the histogram's range
	}
}

func (l *latency) quantiles() outcome.Quantiles {
	n := l.h.TotalCount()
	if n == 0 {
		return outcome.Quantiles{}
	}
	at := func(perMille int64) kafka.Nanos { return min(l.at(n, perMille), l.max) } // a bin's upper edge may lie above
	return outcome.Quantiles{Count: n, P50: at(500), P95: at(950), P99: at(990), P999: at(999), Max: l.max}
}

// at is the value whose rank is perMille of n values, rounded to the nearest.
// The library takes a float and may round its product the other way on a machine
// that fuses multiplication and addition; it gets one that stands for rank + 1/4.
func (l *latency) at(n, perMille int64) kafka.Nanos {
	rank := max((n*perMille+500)/1000, 1)
	percentile := (float64(rank) - 0.25) / float64(n) * 100
	return kafka.Nanos(l.h.ValueAtQuantile(percentile)) * kafka.Microsecond
}

func (l *latency) reset() {
	l.h.Reset()
	l.max = 0
}

// phases are before, during and after the faults. "During" lasts from the first
// fault until no fault is active and the cluster is whole again; a later fault
// leads back to it. A record belongs to the phase in which it was sent.
type phases struct {
	open   [3]phase
	turns  []turn
	cur    int
	active int
	start  kafka.Nanos // faults before it count only if they last until then
	began  bool        // start has passed
}

type phase struct {
	name         string
	span         outcome.Interval
	used         bool
	produce, e2e latency
	acked, bytes int64
}

// turn is the beginning of a stretch of one phase.
type turn struct {
	at    kafka.Nanos
	phase int
}

const (
	before = iota
	during
	after
)

func newPhases(start kafka.Nanos) *phases {
	p := &phases{start: start}
	for i, n := range []string{"before", "during", "after"} {
		p.open[i] = phase{name: n, produce: newLatency(), e2e: newLatency(), span: outcome.Interval{From: -1, To: -1}}
	}
	p.open[before].span.From, p.open[before].used = start, true
	return p
}

func (p *phases) enter(i int, at kafka.Nanos) {
	p.open[p.cur].span.To = at
	p.cur = i
	p.turns = append(p.turns, turn{at, i})
	n := &p.open[i]
	if !n.used {
		n.used, n.span.From = true, at
	}
	n.span.To = at
}

// advance tells the time, before whatever happens at it.
func (p *phases) advance(now kafka.Nanos) {
	if p.began || now < p.start {
		return
	}
	p.began = true
	if p.active > 0 {
		p.enter(during, p.start)
	}
}

func (p *phases) faultStarted(at kafka.Nanos) {
	p.active++
	if p.cur != during && p.began {
		p.enter(during, at)
	}
}

func (p *phases) faultEnded(kafka.Nanos) { p.active-- }

func (p *phases) wholeness(whole bool, at kafka.Nanos) {
	if p.cur == during && whole && p.active <= 0 {
		p.enter(after, at)
	}
}

func (p *phases) end(at kafka.Nanos) { p.open[p.cur].span.To = at }

// of is the phase in which a record was sent.
func (p *phases) of(sent kafka.Nanos) *phase {
	for i := len(p.turns) - 1; i >= 0; i-- {
		if p.turns[i].at <= sent {
			return &p.open[p.turns[i].phase]
		}
	}
	return &p.open[before]
}

func (p *phases) produced(sent, took kafka.Nanos, n, bytes int64) {
	c := p.of(sent)
	c.produce.add(took, n)
	c.acked += n
	c.bytes += bytes
}

func (p *phases) delivered(sent, took kafka.Nanos, n int64) { p.of(sent).e2e.add(took, n) }

func (p *phases) result() []outcome.Phase {
	var out []outcome.Phase
	for i := range p.open {
		if c := &p.open[i]; c.used {
			out = append(out, outcome.Phase{Name: c.name, Interval: c.span, Produce: c.produce.quantiles(),
				E2E: c.e2e.quantiles(), Acked: c.acked, Bytes: c.bytes})
		}
	}
	return out
}
