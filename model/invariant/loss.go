package invariant

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// losses judges each acknowledged record that the final read did not find: bugs 2.4,
// from what happened to that record.
type losses struct {
	lost, allowed, expired int64
	reasons                []outcome.Reason
	index                  map[string]int // of reasons, by text
}

// judge looks at every producer's acknowledged records.
func (l *losses) judge(s *Suite) {
	all, one := s.byName("no-acked-loss"), s.byName("acks-1-survives")
	s.g.each(func(p *partition) {
		if p.compacted && p.keys == nil {
			return
		}
		for _, x := range p.senders {
			if len(x.acked) == 0 {
				continue
			}
			f := all
			if x.acks != allISR {
				f = one
			}
			for _, a := range x.acked {
				f.checked += uint64(a.hi - a.lo)
			}
			missing := x.acked.minus(x.present)
			if len(x.replaced) > 0 {
				missing = intervals(missing).minus(x.replaced)
			}
			if len(missing) == 0 {
				continue
			}
			remembered := p.acks.by(x)
			for _, gone := range missing {
				l.judgeSpan(f, p, x, gone, remembered)
			}
		}
	})
}

func (s *Suite) byName(name string) *findings {
	for _, f := range s.found {
		if f.name == name {
			return f
		}
	}
	panic("invariant: no rule " + name)
}

// judgeSpan goes through missing records by acknowledged batch; remembered are those of
// the sender.
func (l *losses) judgeSpan(f *findings, p *partition, x *sender, gone span, remembered []*ack) {
	for n := gone.lo; n < gone.hi; {
		a, end := ackOf(remembered, n)
		end = min(end, gone.hi)
		if last, expired := p.expired(x, a, n); expired {
			end = min(end, last+1)
			l.expired += end - n
			n = end
			continue
		}
		if why := p.bereftOf(x, n); why != "" {
			l.lost++
			l.allow(why, 1, example(p, x, a, n))
			f.suspend(p, why)
			n++
			continue
		}
		l.lost += end - n
		if why := p.allowedLoss(x, a, n); why != "" {
			l.allow(why, end-n, example(p, x, a, n))
			f.suspend(p, why)
		} else {
			f.violate(p, "%d records of producer %d, from number %d on, were acknowledged with acks=%s and are not in the log: %s",
				end-n, x.producer, n, acksWord(x.acks), example(p, x, a, n))
		}
		n = end
	}
}

// bereftRecord is one that a cleaner took for a newer one of its key, which was lost
// afterwards as the configuration allows; why says how.
type bereftRecord struct {
	sender *sender
	number int64
	why    string
}

// bereftOf is why a sender's record is gone with the newer one of its key; "" if it is not.
func (p *partition) bereftOf(x *sender, n int64) string {
	for i := range p.bereft {
		if b := &p.bereft[i]; b.sender == x && b.number == n {
			return b.why
		}
	}
	return ""
}

func (l *losses) allow(why string, records int64, example string) {
	l.allowed += records
	i, ok := l.index[why]
	if !ok {
		if l.index == nil {
			l.index = make(map[string]int)
		}
		i = len(l.reasons)
		l.index[why] = i
		l.reasons = append(l.reasons, outcome.Reason{Text: why, Example: example})
	}
	l.reasons[i].Records += records
}

func acksWord(acks int8) string {
	if acks == allISR {
		return "all"
	}
	return fmt.Sprint(acks)
}

func example(p *partition, x *sender, a *ack, n int64) string {
	if a == nil {
		return fmt.Sprintf("record %d of producer %d in %s, too old for its acknowledgement to be remembered", n, x.producer, p.tp)
	}
	return fmt.Sprintf("record %d of producer %d, acknowledged with acks=%s at %s as offset %d of %s", n, x.producer, acksWord(x.acks),
		a.at, a.base+kafka.Offset(n-a.first), p.tp)
}

// allowedLoss says why the configuration allowed a record to be lost; "" if it did
// not. a is its acknowledgement, nil if forgotten.
func (p *partition) allowedLoss(x *sender, a *ack, n int64) string {
	held := p.heldBy(a)
	if x.acks != allISR {
		return p.allowedAcks1(held, a, n)
	}
	for _, i := range p.incidents {
		if i.kind == uncleanCut && (a == nil || i.from <= a.last()) && olderThan(held, i.epoch) {
			return i.String()
		}
	}
	if why := p.allowedAhead(held, a); why != "" {
		return why
	}
	return p.allowedPowerLoss(held, a)
}

func (a *ack) last() kafka.Offset { return a.base + kafka.Offset(a.count) - 1 }

// heldBy lists the logs, as branches, in which a leader put the acknowledged batch.
// There are several if it was written at the same offset more than once.
func (p *partition) heldBy(a *ack) (logs []position) {
	if a == nil {
		return nil
	}
	for i := len(p.branches) - 1; i >= 0; i-- {
		b := p.branches[i]
		if e, _, how := b.find(a.base); a.base >= b.start && how == found && e.base == a.base && e.next() == a.last()+1 {
			logs = append(logs, position{b, e.next()})
		}
	}
	return logs
}

// olderThan: a record written in epoch or later is not what an election of epoch
// removed.
func olderThan(held []position, epoch kafka.LeaderEpoch) bool {
	for _, x := range held {
		if x.b.epoch < epoch {
			return true
		}
	}
	return len(held) == 0
}

// allowedPowerLoss applies the budget: as many replicas as min.insync.replicas says
// lost the record unsynced, or, without KIP-966, one that was elected afterwards.
func (p *partition) allowedPowerLoss(held []position, a *ack) string {
	var lost []*incident
	led := false
	for _, i := range p.incidents {
		if i.kind == lossy && i.took(held, a) {
			lost = append(lost, i)
			led = led || i.led
		}
	}
	nodes := distinct(lost)
	budget := min(p.minISR(), max(len(p.assignment), 1))
	switch {
	case nodes == 0:
		return p.allowedRewrite(held, a)
	case nodes >= budget:
		return fmt.Sprintf("%s took the unsynced record from %s: min.insync.replicas %d does not cover the loss of %d unsynced copies", takenBy(lost), losers(lost), p.topic.MinISR, nodes)
	case led:
		return fmt.Sprintf("%s took the unsynced record from %s, which was elected since: before KIP-966 a broker that restarts with a shorter log keeps its place in the in-sync set", takenBy(lost), losers(lost))
	}
	return p.allowedRewrite(held, a)
}

// allowedRewrite is A-13: a leader lost its tail and led the same epoch again.
func (p *partition) allowedRewrite(held []position, a *ack) string {
	for _, i := range p.incidents {
		if i.kind != lossyCut || a != nil && i.from > a.last() {
			continue
		}
		for _, x := range held {
			if x.excused(i.from) {
				return i.String() + ": followers that kept the lost records did not notice (A-13)"
			}
		}
	}
	return ""
}

// took reports whether the node of a lossy incident held the record and lost it.
func (i *incident) took(held []position, a *ack) bool {
	if a == nil {
		return true
	}
	if i.from > a.last() {
		return false
	}
	for _, x := range held {
		if meet(i.held, x).end > a.base {
			return true
		}
	}
	return len(held) == 0 && i.to > a.base
}

func distinct(list []*incident) (n int) {
	for k, i := range list {
		again := false
		for _, j := range list[:k] {
			again = again || j.node == i.node
		}
		if !again {
			n++
		}
	}
	return n
}

// allowedAcks1: the leader alone had promised, so that any other leader, or a power
// loss of its own, ends the promise.
func (p *partition) allowedAcks1(held []position, a *ack, n int64) string {
	why := ""
	for _, o := range p.took {
		if len(held) == 0 || !olderThan(held, o.epoch) || !p.tookFrom(held, o.node) {
			continue
		}
		writer, next := nodeName(p.writer(held, o.epoch)), nodeName(o.node)
		switch {
		case a != nil && a.at >= o.at:
			return fmt.Sprintf("acknowledged with acks=1 by %s, when %s led already (epoch %d, since %s)", writer, next, o.epoch, o.at)
		case a != nil && p.beganBelow(o.epoch, a):
			return fmt.Sprintf("acknowledged with acks=1 by %s; %s, which took over in epoch %d at %s, did not have them", writer, next, o.epoch, o.at)
		case why == "":
			why = fmt.Sprintf("acknowledged with acks=1 by %s; %s has led since, in epoch %d from %s", writer, next, o.epoch, o.at)
		}
	}
	if why != "" {
		return why
	}
	for _, i := range p.incidents {
		if i.kind == lossy && i.took(held, a) || i.kind != lossy && (a == nil || i.from <= a.last()) {
			return "acknowledged with acks=1; " + i.String()
		}
	}
	if len(held) == 0 && p.elections > 0 {
		return "acknowledged with acks=1; the leader has changed since, but where they were is no longer remembered"
	}
	return ""
}

// beganBelow: an epoch has written in the place of an acknowledged batch.
func (p *partition) beganBelow(epoch kafka.LeaderEpoch, a *ack) bool {
	for _, b := range p.branches {
		if b.epoch == epoch && b.start <= a.last() {
			return true
		}
	}
	return false
}

// writer is the leader that put a record into its log before an epoch.
func (p *partition) writer(held []position, before kafka.LeaderEpoch) kafka.NodeID {
	for _, x := range held {
		if x.b.epoch < before {
			return holder(p.took, x.b.epoch)
		}
	}
	return kafka.NoNode
}

// tookFrom: another broker than the one that wrote the record took the lead. The
// writer is known as the leader of the record's epoch.
func (p *partition) tookFrom(held []position, node kafka.NodeID) bool {
	for _, x := range held {
		if holder(p.took, x.b.epoch) != node {
			return true
		}
	}
	return false
}
