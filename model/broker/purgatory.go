package broker

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// purgatory keeps what is common to parked requests (DelayedOperationPurgatory,
// L-16). A parked request watches its partitions; it is completed once, by a look
// at one of them or by its timer, and leaves all lists then.
type purgatory struct {
	produces       []*produceOp // free ones
	answers        []produceAnswer
	fetches        []*fetchOp // by connection; nil for one that never fetched or is gone
	parkedProduces int
	parkedFetches  int
	produceLimits  deadlines
	fetchLimits    deadlines
	deletions      []*deletion // parked, oldest first
}

// fetchOf is the record for a connection's next fetch.
func (p *purgatory) fetchOf(conn step.ConnID) *fetchOp {
	for int(conn) >= len(p.fetches) {
		p.fetches = append(p.fetches, nil)
	}
	op := p.fetches[conn]
	if op == nil || op.open {
		op = &fetchOp{}
		p.fetches[conn] = op
	}
	return op
}

// forget lets go of a connection that is closed. A fetch that is parked goes on.
func (p *purgatory) forget(conn step.ConnID) {
	if int(conn) < len(p.fetches) {
		p.fetches[conn] = nil
	}
}

// deadlines are the parked requests of one kind by when they have waited long
// enough, soonest first (SystemTimer and ExpiredOperationReaper). Most of them are
// completed before, so that one alarm serves all.
type deadlines struct {
	first, last *deadline
	alarm       netclient.Alarm
}

// deadline is one request's place among them.
type deadline struct {
	at             kafka.Nanos
	list           *deadlines
	previous, next *deadline
	produce        *produceOp // one of the two
	fetch          *fetchOp
}

func (p *purgatory) init() {
	p.produceLimits.alarm = netclient.Alarm{Lane: laneExpiration, Kind: timerProduce}
	p.fetchLimits.alarm = netclient.Alarm{Lane: laneExpiration, Kind: timerFetch}
}

// add enters d, which is on no list. It looks for the place from the end: most
// requests wait equally long.
func (l *deadlines) add(out *step.Effects, d *deadline, at kafka.Nanos) {
	before := l.last
	for before != nil && before.at > at {
		before = before.previous
	}
	d.at, d.list, d.previous = at, l, before
	if before != nil {
		d.next, before.next = before.next, d
	} else {
		d.next, l.first = l.first, d
	}
	if d.next != nil {
		d.next.previous = d
	} else {
		l.last = d
	}
	l.alarm.Set(out, at)
}

// remove takes d off its list; one that is on none stays as it is.
func (d *deadline) remove() {
	l := d.list
	if l == nil {
		return
	}
	if d.previous != nil {
		d.previous.next = d.next
	} else {
		l.first = d.next
	}
	if d.next != nil {
		d.next.previous = d.previous
	} else {
		l.last = d.previous
	}
	d.list, d.previous, d.next = nil, nil, nil
}

// due is the first whose time has come, nil if there is none; the alarm is then set
// for the next.
func (l *deadlines) due(out *step.Effects, now kafka.Nanos) *deadline {
	switch {
	case l.first == nil:
		return nil
	case l.first.at <= now:
		return l.first
	}
	l.alarm.Set(out, l.first.at)
	return nil
}

// watchers are the parked requests of one kind on one partition, oldest first.
type watchers struct{ first, last *watch }

// watch is one request's place in one partition's list.
type watch struct {
	list           *watchers
	previous, next *watch
	produce        *produceOp // one of the two
	fetch          *fetchOp
	part           *fetchPart // of the fetch
}

// add appends w, which is on no list.
func (l *watchers) add(w *watch) {
	w.list, w.previous, w.next = l, l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

// remove takes w off its list; one that is on none stays as it is.
func (w *watch) remove() {
	l := w.list
	if l == nil {
		return
	}
	if w.previous != nil {
		w.previous.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.previous = w.previous
	} else {
		l.last = w.previous
	}
	w.list, w.previous, w.next = nil, nil, nil
}

// checkProduces looks at the produces parked on a partition, oldest first.
func (b *Broker) checkProduces(in *step.Input, out *step.Effects, h *hosted) {
	for w := h.produces.first; w != nil; {
		next := w.next
		if op := w.produce; op.isDone() {
			b.completeProduce(in, out, op)
			if next != nil && next.list == nil { // the same request's second watch
				next = h.produces.first
			}
		}
		w = next
	}
}

// checkFetches looks at the fetches parked on a partition, oldest first. Those
// whose bound has not moved are passed over: followers wait for the log end,
// consumers for the high watermark.
func (b *Broker) checkFetches(in *step.Input, out *step.Effects, h *hosted, what replica.Moved) error {
	for w := h.fetches.first; w != nil; {
		next := w.next
		if op := w.fetch; op.waitsFor(what) && op.isDoneBy(w.part) {
			if err := b.completeFetch(in, out, op); err != nil {
				return err
			}
			if next != nil && next.list == nil {
				next = h.fetches.first
			}
		}
		w = next
	}
	return nil
}

// expirationLane completes what has waited long enough.
func (b *Broker) expirationLane(in *step.Input, out *step.Effects) error {
	if in.Kind != step.Timer {
		return nil
	}
	switch in.Timer {
	case timerProduce:
		l := &b.waiting.produceLimits
		if !l.alarm.Fired(in) {
			return nil
		}
		for d := l.due(out, in.Now); d != nil; d = l.due(out, in.Now) {
			b.completeProduce(in, out, d.produce)
		}
	case timerFetch:
		l := &b.waiting.fetchLimits
		if !l.alarm.Fired(in) {
			return nil
		}
		for d := l.due(out, in.Now); d != nil; d = l.due(out, in.Now) {
			if err := b.completeFetch(in, out, d.fetch); err != nil {
				return err
			}
		}
	case timerGroups:
		b.groupsDue(in, out)
	case timerDeletion:
		d := in.Ref.(*deletion)
		d.timer = step.TimerRef{}
		b.completeDeletion(out, d)
	case timerRemoval:
		r := in.Ref.(*topicRemoval)
		r.timer = step.TimerRef{}
		b.completeRemoval(in, out, r)
	case timerCreation:
		c := in.Ref.(*topicCreation)
		c.timer = step.TimerRef{}
		b.completeCreation(in, out, c)
	}
	return nil
}

// resize makes s n long; what is in it is of no use.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
