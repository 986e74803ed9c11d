package measure

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// latency records durations from 1 us to 1 h with three digits, in microseconds: the
// first few as they come, more in a histogram.
type latency struct {
	few  []sample
	h    *hdrhistogram.Histogram // empty while few suffices
	full bool                    // few was moved to h
	max  kafka.Nanos
}

// sample is n durations of us microseconds.
type sample struct{ us, n int64 }

const (
	longest = kafka.Hour
	// maxFew is up to where sorting is cheaper than clearing 200 KiB of counters.
	maxFew = 512
	digits = 3
)

// add counts n records with duration d; a longer one counts as the longest.
func (l *latency) add(d kafka.Nanos, n int64) {
	l.max = max(l.max, d)
	l.put(sample{int64(min(max(d, kafka.Microsecond), longest) / kafka.Microsecond), n})
}

func (l *latency) put(s sample) {
	if !l.full && len(l.few) < maxFew {
		l.few = append(l.few, s)
		return
	}
	if !l.full {
		l.fill()
	}
	l.record(s)
}

// fill moves few to the histogram.
func (l *latency) fill() {
	if l.h == nil {
		l.h = hdrhistogram.New(1, int64(longest/kafka.Microsecond), digits)
	}
	for _, s := range l.few {
		l.record(s)
	}
	l.few, l.full = l.few[:0], true
}

func (l *latency) record(s sample) {
	if err := l.h.RecordValues(s.us, s.n); err != nil {
		panic(err) // the value was clamped into the histogram's range
	}
}

// merge adds what another one has.
func (l *latency) merge(o *latency) {
	l.max = max(l.max, o.max)
	for _, s := range o.few {
		l.put(s)
	}
	if o.full {
		if !l.full {
			l.fill()
		}
		l.h.Merge(o.h)
	}
}

func (l *latency) quantiles() outcome.Quantiles {
	var at func(rank, n int64) int64
	var n int64
	if l.full {
		at, n = l.at, l.h.TotalCount()
	} else {
		at, n = l.sorted()
	}
	if n == 0 {
		return outcome.Quantiles{}
	}
	rank := func(perMille int64) kafka.Nanos { // rounded to the nearest
		us := at(max((n*perMille+500)/1000, 1), n)
		return min(kafka.Nanos(us)*kafka.Microsecond, l.max) // a bin's upper edge may lie above
	}
	return outcome.Quantiles{Count: n, P50: rank(500), P95: rank(950), P99: rank(990), P999: rank(999), Max: l.max}
}

// at is the value of a rank of n. The library takes a float and may round its product
// the other way on a machine that fuses multiplication and addition; it gets one that
// stands for rank + 1/4.
func (l *latency) at(rank, n int64) int64 {
	return l.h.ValueAtQuantile((float64(rank) - 0.25) / float64(n) * 100)
}

// sorted gives the same answers from few.
func (l *latency) sorted() (at func(rank, n int64) int64, n int64) {
	slices.SortFunc(l.few, func(a, b sample) int { return cmp.Compare(a.us, b.us) })
	for _, s := range l.few {
		n += s.n
	}
	return func(rank, _ int64) int64 {
		i := 0
		for ; rank > l.few[i].n; i++ {
			rank -= l.few[i].n
		}
		return binEnd(l.few[i].us)
	}, n
}

// binEnd is the greatest value of the histogram's bin that v falls into: of 1,024
// bins for each power of two, single values below 2,048.
func binEnd(v int64) int64 { return v | (1<<max(bits.Len64(uint64(v))-11, 0) - 1) }

func (l *latency) reset() {
	if l.full {
		l.h.Reset()
	}
	l.few, l.full, l.max = l.few[:0], false, 0
}

// phases are before, during, between and after the faults. "During" lasts from a
// fault until no fault is active and the cluster is whole again. What follows is
// "after", and becomes "calm" if another fault comes. A record belongs to the phase
// in which it was sent.
type phases struct {
	open   [4]phase
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
	calm
	after
)

func newPhases(start kafka.Nanos) *phases {
	p := &phases{start: start}
	for i, n := range []string{"before", "during", "calm", "after"} {
		p.open[i] = phase{name: n, produce: latency{}, e2e: latency{}, span: outcome.Interval{From: -1, To: -1}}
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
		p.notTheLast()
	}
}

// notTheLast makes the last "after" a "calm".
func (p *phases) notTheLast() {
	b, a := &p.open[calm], &p.open[after]
	if !a.used {
		return
	}
	if !b.used {
		b.used, b.span = true, a.span
	}
	b.span.To = a.span.To
	b.produce.merge(&a.produce)
	b.e2e.merge(&a.e2e)
	b.acked, b.bytes = b.acked+a.acked, b.bytes+a.bytes
	a.produce.reset()
	a.e2e.reset()
	a.used, a.acked, a.bytes = false, 0, 0
	for i := range p.turns {
		if p.turns[i].phase == after {
			p.turns[i].phase = calm
		}
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
