package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

func (w *world) network(p *party, op *step.Op) {
	if op.Kind == step.OpConnect {
		w.connect(p, op)
		return
	}
	l, side := p.link(op.Conn)
	if l == nil || !l.open {
		return
	}
	switch op.Kind {
	case step.OpClose:
		w.closeFrom(l, p)
	case step.OpRequest:
		checkWire(w.t, op.Body)
		w.carry(l, side, func() {
			in := step.Input{Kind: step.Request, Lane: l.ends[1].serving, Conn: l.conns[1], Correlation: op.Correlation, Body: op.Body, From: p.name}
			l.waiting = append(l.waiting, in)
			w.serve(l)
		})
	case step.OpReply:
		checkWire(w.t, op.Body)
		w.carry(l, side, func() {
			if l.client != nil {
				l.client.got(op.Body.(kmsg.Response))
				return
			}
			w.send(l.ends[0], step.Input{Kind: step.Response, Lane: l.lane, Conn: l.conns[0], Correlation: op.Correlation, Body: op.Body}, w.now)
		})
		if op.Correlation != -1 {
			l.serving = false
			w.serve(l)
		}
	case step.OpNoReply:
		l.serving = false
		w.serve(l)
	}
}

// carry takes a message over in order.
func (w *world) carry(l *link, side int, f func()) {
	l.clear[side] = max(l.clear[side], w.now+kafka.Millisecond)
	w.later(l.clear[side], func() {
		if w.isCut(l) || len(l.held) > 0 {
			l.held = append(l.held, f)
			return
		}
		if l.open {
			f()
		}
	})
}

// cut separates two parties: what they send waits for heal.
func (w *world) cut(a, b string) { w.cuts[[2]string{a, b}], w.cuts[[2]string{b, a}] = true, true }

func (w *world) heal() {
	clear(w.cuts)
	for _, p := range w.order {
		for _, l := range p.links {
			held := l.held
			l.held = nil
			for _, f := range held {
				if l.open {
					f()
				}
			}
		}
	}
}

func (w *world) isCut(l *link) bool {
	return l.ends[0] != nil && w.cuts[[2]string{l.ends[0].name, l.ends[1].name}]
}

func (w *world) serve(l *link) {
	if l.serving || len(l.waiting) == 0 || !l.open {
		return
	}
	l.serving = true
	in := l.waiting[0]
	l.waiting = l.waiting[1:]
	w.send(l.ends[1], in, w.now)
}

func (w *world) connect(p *party, op *step.Op) {
	to := w.parties[op.Addr.Host]
	switch {
	case to != nil && !to.up && w.cuts[[2]string{p.name, to.name}]:
		return // nobody says anything
	case to == nil || !to.up:
		w.send(p, step.Input{Kind: step.Refused, Lane: op.Lane, Conn: op.Conn}, w.now+2*kafka.Millisecond)
		return
	}
	l := &link{ends: [2]*party{p, to}, lane: op.Lane, open: true, conns: [2]step.ConnID{op.Conn, to.out.NewConn()}}
	p.links, to.links = append(p.links, l), append(to.links, l)
	w.carry(l, 0, func() {
		w.send(to, step.Input{Kind: step.Accepted, Lane: to.serving, Conn: l.conns[1], From: p.name}, w.now)
		w.carry(l, 1, func() { w.send(p, step.Input{Kind: step.Opened, Lane: op.Lane, Conn: op.Conn}, w.now) })
	})
}

func (p *party) link(c step.ConnID) (*link, int) {
	for _, l := range p.links {
		for side := range 2 {
			if l.ends[side] == p && l.conns[side] == c {
				return l, side
			}
		}
	}
	return nil, 0
}

// closeFrom ends a connection; the other side hears of it.
func (w *world) closeFrom(l *link, by *party) {
	if !l.open {
		return
	}
	l.open = false
	for side, p := range l.ends {
		if p == by && l.ends[0] != l.ends[1] {
			continue
		}
		if p == nil {
			l.client.got(nil)
			continue
		}
		lane := l.lane
		if side == 1 {
			lane = p.serving
		}
		if p.up && !w.isCut(l) {
			w.send(p, step.Input{Kind: step.Closed, Lane: lane, Conn: l.conns[side]}, w.now+kafka.Millisecond)
		}
	}
}
