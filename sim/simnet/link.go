package simnet

import (
	"math"
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

// link is one direction between two actors.
type link struct {
	from, to  kernel.ActorID
	local     bool // within one host: no loss, no bandwidth limit
	draws     step.Draws
	packets   uint64 // sent so far: the index of the next one's draws
	latency   dist.Dist
	base      int64       // bandwidth without faults, bytes per second, 0 unlimited
	busyUntil kafka.Nanos // when its bandwidth is free

	// What the rules make of it.
	cut       bool
	clogged   bool
	extra     kafka.Nanos // added latency
	jitter    kafka.Nanos // added, uniform
	bandwidth int64
	lossPPM   int64
}

// The draws of one packet: its number, a stream, an attempt.
const (
	drawLatency uint64 = iota
	drawJitter
	drawLoss
	drawMiddle
	drawCrash
)

func (l *link) draw(packet, stream, attempt uint64) uint64 {
	return l.draws.At(packet<<8 | stream<<5 | attempt)
}

// link finds or makes the link between two actors.
func (n *Net) link(from, to kernel.ActorID) *link {
	for len(n.links) <= int(from) {
		n.links = append(n.links, nil)
	}
	row := n.links[from]
	for len(row) <= int(to) {
		row = append(row, nil)
	}
	n.links[from] = row
	if row[to] == nil {
		row[to] = n.newLink(from, to)
	}
	return row[to]
}

func (n *Net) newLink(from, to kernel.ActorID) *link {
	l := &link{from: from, to: to, local: n.k.Host(from) == n.k.Host(to), draws: n.draws.Sub(n.k.Name(from) + ">" + n.k.Name(to)),
		latency: n.cfg.Latency, base: n.cfg.Bandwidth}
	if l.local {
		l.latency, l.base = dist.Constant(n.cfg.Loopback), 0
	}
	n.all = append(n.all, l)
	n.applyRules(l)
	return l
}

// SetLatency sets the latency of one directed link for messages sent from now on.
func (n *Net) SetLatency(from, to kernel.ActorID, d dist.Dist) { n.link(from, to).latency = d }

// SetBandwidth sets the bandwidth of one directed link, bytes per second; 0 is
// unlimited.
func (n *Net) SetBandwidth(from, to kernel.ActorID, bytesPerSecond int64) {
	l := n.link(from, to)
	l.base = bytesPerSecond
	n.applyRules(l)
}

// delay is the latency of a packet.
func (l *link) delay(packet uint64) kafka.Nanos {
	d := l.latency.Sample(l.draw(packet, drawLatency, 0)) + l.extra
	if l.jitter > 0 {
		d += kafka.Nanos(step.Below(l.draw(packet, drawJitter, 0), uint64(l.jitter)+1))
	}
	return d
}

// next takes the number of the next packet.
func (l *link) next() uint64 {
	l.packets++
	return l.packets - 1
}

// transmit puts size bytes on the link now and returns when they arrive, Forever if
// every retransmission before the sender gives up would be lost too.
func (n *Net) transmit(l *link, size int) kafka.Nanos {
	packet := l.next()
	sent := max(n.k.Now(), l.busyUntil)
	if l.bandwidth > 0 {
		l.busyUntil = sent + spend(size, l.bandwidth)
		sent = l.busyUntil
	}
	if n.cfg.NIC > 0 && !l.local {
		sent = max(sent, n.card(l.from, size))
	}
	d := l.delay(packet)
	if l.lossPPM > 0 {
		lost := n.lossDelay(l, packet, size, d)
		if lost == kafka.Forever {
			return kafka.Forever
		}
		d += lost
	}
	return sent + d
}

// card returns when the sender's card has sent size more bytes.
func (n *Net) card(a kernel.ActorID, size int) kafka.Nanos {
	for len(n.nic) <= int(a) {
		n.nic = append(n.nic, 0)
	}
	n.nic[a] = max(n.nic[a], n.k.Now()) + spend(size, n.cfg.NIC)
	return n.nic[a]
}

// spend is the time that size bytes take at a bandwidth.
func spend(size int, bytesPerSecond int64) kafka.Nanos {
	return kafka.Nanos(size) * kafka.Second / kafka.Nanos(bytesPerSecond)
}

const (
	segmentSize = 1460 // payload of a packet
	maxAttempts = 15   // net.ipv4.tcp_retries2
	million     = 1_000_000
)

// lossDelay is what lost packets add to a message. A lost last packet costs
// retransmission timeouts, a lost one before it one round trip (fast retransmit).
func (n *Net) lossDelay(l *link, packet uint64, size int, oneWay kafka.Nanos) kafka.Nanos {
	threshold := l.lossThreshold()
	var d kafka.Nanos
	for i := uint64(0); l.draw(packet, drawLoss, i) < threshold; i++ {
		if d += min(n.cfg.RTO<<i, n.cfg.MaxRTO); i == maxAttempts || d > n.cfg.RetransmitTimeout {
			return kafka.Forever
		}
	}
	if others := uint64(size / segmentSize); others > 0 {
		if hi, lo := bits.Mul64(threshold, others); hi > 0 || l.draw(packet, drawMiddle, 0) < lo {
			d += 2 * oneWay
		}
	}
	return d
}

// lossThreshold is the bound below which a draw means loss; lossPPM is below a million.
func (l *link) lossThreshold() uint64 { return uint64(l.lossPPM) * (math.MaxUint64 / million) }

// nextAttempt is the first retransmission, of something first sent at sent, that
// happens at or after now.
func (n *Net) nextAttempt(sent kafka.Nanos) kafka.Nanos {
	at, rto := sent, n.cfg.RTO
	for at < n.k.Now() {
		at += rto
		rto = min(2*rto, n.cfg.MaxRTO)
	}
	return at
}
