package simnet

import (
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Shape is what a bad link does to messages sent while it lasts. Zero fields leave
// the link as it is.
type Shape struct {
	Latency   kafka.Nanos // added, one way
	Jitter    kafka.Nanos // added, uniform in [0, Jitter]
	LossPPM   int64       // packets lost per million, added; a million is a cut
	Bandwidth int64       // bytes per second, if lower than the link's
}

// rule is one network fault in force, over every link that it matches.
type rule struct {
	from, to []string // nil is everybody
	both     bool     // and the other way
	outside  bool     // between from and everybody else
	cut      bool
	clog     bool
	shape    Shape
}

// matches: no rule comes between a node and itself.
func (r *rule) matches(from, to string) bool {
	if from == to {
		return false
	}
	if r.outside {
		return has(r.from, from) != has(r.from, to)
	}
	return all(r.from, from) && all(r.to, to) || r.both && all(r.from, to) && all(r.to, from)
}

func has(set []string, name string) bool {
	for _, s := range set {
		if s == name {
			return true
		}
	}
	return false
}

func all(set []string, name string) bool { return set == nil || has(set, name) }

// Cut silences the links from each of from to each of to, one way; nil is every
// actor (N12). A node in both keeps its link with itself. Rules stack; the returned func lifts this one, once.
func (n *Net) Cut(from, to []string) (lift func()) {
	return n.add(&rule{from: from, to: to, cut: true})
}

// CutBoth is Cut both ways (N11).
func (n *Net) CutBoth(a, b []string) (lift func()) {
	return n.add(&rule{from: a, to: b, both: true, cut: true})
}

// Isolate cuts a group off from every other actor, both ways (N11, N13).
func (n *Net) Isolate(group []string) (lift func()) {
	return n.add(&rule{from: group, outside: true, cut: true})
}

// Clog keeps everything on the links, one way, until it is lifted; then it arrives
// in a burst (N18). Nothing is lost; new connections wait.
func (n *Net) Clog(from, to []string) (lift func()) {
	return n.add(&rule{from: from, to: to, clog: true})
}

// Shape changes the links both ways between each of a and each of b (N1, N4, N9).
func (n *Net) Shape(a, b []string, s Shape) (lift func()) {
	return n.add(&rule{from: a, to: b, both: true, shape: s})
}

// ShapeOneWay changes the links from each of from to each of to.
func (n *Net) ShapeOneWay(from, to []string, s Shape) (lift func()) {
	return n.add(&rule{from: from, to: to, shape: s})
}

// Flap cuts a and b both ways for down, heals for up, and so on, until a time or
// the lift (N15). down and up are at least 1 ns.
func (n *Net) Flap(a, b []string, down, up, until kafka.Nanos) (lift func()) {
	var heal func()
	var next kernel.Handle
	var turn func()
	turn = func() {
		if heal != nil {
			heal()
			heal = nil
			next = n.k.At(n.k.Now()+max(up, 1), turn)
			return
		}
		if n.k.Now() < until {
			heal = n.CutBoth(a, b)
			next = n.k.At(min(n.k.Now()+max(down, 1), until), turn)
		}
	}
	turn()
	return func() {
		n.k.Cancel(next)
		if heal != nil {
			heal()
			heal = nil
		}
	}
}

// Reset kills the open connections between each of a and each of b: both sides
// hear it now (N20). It returns their number.
func (n *Net) Reset(a, b []string) int {
	return n.between(a, b, func(c *conn) { n.resetBoth(c) })
}

func (n *Net) resetBoth(c *conn) {
	gen := c.gen
	if n.lose(c, opener, ErrReset); c.gen == gen {
		n.lose(c, acceptor, ErrReset)
	}
}

// HalfOpen silences the open connections between each of a and each of b for ever,
// as a firewall that forgot them; new connections work (N21). It returns their number.
func (n *Net) HalfOpen(a, b []string) int {
	return n.between(a, b, func(c *conn) { c.dir[0].black, c.dir[1].black = true, true })
}

func (n *Net) between(a, b []string, do func(*conn)) (count int) {
	r := rule{from: a, to: b, both: true}
	for _, c := range n.conns {
		if c.opened && (c.end[0].live || c.end[1].live) && r.matches(n.k.Name(c.end[0].actor), n.k.Name(c.end[1].actor)) {
			count++
			do(c)
		}
	}
	return count
}

func (n *Net) add(r *rule) (lift func()) {
	n.rules = append(n.rules, r)
	n.refresh()
	return func() {
		for i, x := range n.rules {
			if x == r {
				n.rules = append(n.rules[:i:i], n.rules[i+1:]...)
				n.refresh()
				return
			}
		}
	}
}

// refresh applies the rules to all links and lets go what a lifted one held back.
func (n *Net) refresh() {
	for _, l := range n.all {
		cut, clogged, loss, bandwidth := l.cut, l.clogged, l.lossPPM, l.bandwidth
		n.applyRules(l)
		if l.busyUntil > n.k.Now() && bandwidth > 0 && (l.bandwidth == 0 || l.bandwidth > bandwidth) {
			n.widen(l, bandwidth)
		}
		if cut && !l.cut || clogged && !l.clogged || l.lossPPM < loss {
			n.letGo(l)
		}
	}
}

func (n *Net) applyRules(l *link) {
	l.cut, l.clogged = false, false
	l.extra, l.jitter, l.bandwidth, l.lossPPM = 0, 0, l.base, n.cfg.LossPPM
	if l.local {
		l.lossPPM = 0
	}
	from, to := n.k.Name(l.from), n.k.Name(l.to)
	for _, r := range n.rules {
		if !r.matches(from, to) {
			continue
		}
		l.cut = l.cut || r.cut
		l.clogged = l.clogged || r.clog
		l.extra += r.shape.Latency
		l.jitter += r.shape.Jitter
		l.lossPPM += r.shape.LossPPM
		if b := r.shape.Bandwidth; b > 0 && (l.bandwidth == 0 || b < l.bandwidth) {
			l.bandwidth = b
		}
	}
	if l.lossPPM >= million {
		l.cut, l.lossPPM = true, 0
	}
}

// widen speeds up what waits for a link whose bandwidth was lower. What had left its
// queue already may gain up to what its latency was drawn above the least.
func (n *Net) widen(l *link, before int64) {
	now := n.k.Now()
	scale := func(d kafka.Nanos) kafka.Nanos {
		if l.bandwidth == 0 {
			return 0
		}
		hi, lo := bits.Mul64(uint64(d), uint64(before))
		v, _ := bits.Div64(hi, lo, uint64(l.bandwidth)) // before is the smaller
		return kafka.Nanos(v)
	}
	l.busyUntil = now + scale(l.busyUntil-now)
	for _, c := range n.conns {
		for d := range 2 {
			if x := &c.dir[d]; x.link == l {
				n.advance(c, d, func(at kafka.Nanos) kafka.Nanos { return now + scale(at-now) + l.latency.Min() + l.extra })
			}
		}
	}
}

// letGo continues what stood still on a link.
func (n *Net) letGo(l *link) {
	for _, c := range n.conns {
		for d := range 2 {
			x := &c.dir[d]
			if x.link != l {
				continue
			}
			if x.clogged && !l.clogged {
				x.clogged = false
				n.expect(c, d)
			}
			n.retransmit(c, d)
			n.hasten(c, d)
		}
	}
}
