package invariant

import (
	"cmp"
	"math"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// lifeShift: a producer numbers the records of its n-th life from (n-1) << 40 on
// (client.Producer).
const lifeShift = 40

// sender is one life of a producer, as far as it sends to one partition. Numbers
// are those of its records.
type sender struct {
	producer int32
	life     int64
	acks     int8
	// open counts the records sent and neither acknowledged nor failed. pipelined: a
	// batch was sent while another was open, or split, of which the parts may be in flight
	// together, so that order is not promised, by a producer whose settings do not promise it.
	open      int64
	pipelined bool

	sent, acked, unknown, refused intervals
	// carried, of a topic that was created again, are those sent to the deleted one that may
	// arrive now, as long as they have not; retried, those of which several attempts were made
	// before the answer came.
	carried, retried intervals
	// lastN and last are the highest number acknowledged and the offset behind it.
	lastN int64
	last  kafka.Offset
	// adrift is where last was if it was not committed when it was acknowledged.
	adrift *adrift

	// marks are places in its acknowledgements, batches counts these.
	marks   []mark
	batches int64

	// present is what the final read found, top its highest number so far; replaced is
	// what it did not find because the cleaner took it.
	present, replaced intervals
	top               int64
}

// sender finds or begins the sender of a record number.
func (p *partition) sender(producer int32, number int64) *sender {
	life := number >> lifeShift
	for i := len(p.senders) - 1; i >= 0; i-- {
		if s := p.senders[i]; s.producer == producer && s.life == life {
			return s
		}
	}
	s := &sender{producer: producer, life: life, lastN: -1, last: kafka.NoOffset, top: -1}
	p.senders = append(p.senders, s)
	return s
}

// knownSender is nil if the producer never sent to the partition in that life.
func (p *partition) knownSender(producer int32, number int64) *sender {
	for i := len(p.senders) - 1; i >= 0; i-- {
		if s := p.senders[i]; s.producer == producer && s.life == number>>lifeShift {
			return s
		}
	}
	return nil
}

// produced takes what a producer noted.
func (g *ghost) produced(e *event.Event) {
	p := g.ch.p
	if e.First < 0 {
		return // failed before it had a number
	}
	s := p.sender(e.Producer, e.First)
	g.ch.sender = s
	end := e.First + int64(e.Count)
	switch e.Kind {
	case event.BatchSent:
		s.pipelined = s.pipelined || s.open > 0 && !slices.Contains(g.inOrder, e.Producer)
		s.open += int64(e.Count)
		s.sent.add(e.First, end)
		return
	case event.RecordAcked:
		s.pipelined = s.pipelined || s.open > int64(e.Count) && !slices.Contains(g.inOrder, e.Producer)
		g.ch.last, g.ch.lastN, g.ch.adrift = s.last, s.lastN, s.adrift
		s.acks = e.Acks
		if e.Acks == 0 {
			break
		}
		s.acked.add(e.First, end)
		if e.Index > 1 {
			s.retried.add(e.First, end)
		}
		if e.First > s.lastN {
			s.lastN, s.last, s.adrift = end-1, e.Last, nil
			if e.Acks == allISR && e.Base >= 0 && e.Last >= p.committed.end {
				s.adrift = p.outOfOffice(e)
			}
		}
		if e.Base >= 0 {
			p.acks.add(ack{sender: s, first: e.First, base: e.Base, at: e.Time, created: e.Created, count: e.Count})
			s.markAck()
			if e.Acks == allISR {
				p.ackedEnd = max(p.ackedEnd, e.Last+1)
			}
		}
	case event.RecordFailed:
		s.acks = e.Acks
		if e.Flag {
			s.unknown.add(e.First, end)
		} else {
			s.refused.add(e.First, end)
		}
	}
	if s.open > 0 && s.sent.has(e.First, end) {
		s.open -= int64(e.Count)
	}
}

// allISR is acks=all.
const allISR int8 = -1

// ack is an acknowledged batch whose offset is known.
type ack struct {
	sender *sender
	first  int64
	base   kafka.Offset
	at     kafka.Nanos
	// created is when its oldest record was sent.
	created kafka.Nanos
	count   int32
}

// ledger remembers the last acknowledgements, and those that a new leader lacked: a
// bounded number of both.
type ledger struct {
	ring   []ack
	next   int
	danger []ack
}

const keptAcks = 4096

// endangered keeps the acknowledgements of what lies beyond the end of a new leader's log.
func (l *ledger) endangered(end kafka.Offset) {
	for i := range l.ring {
		a := &l.ring[i]
		if len(l.danger) < keptAcks && a.last() >= end && !slices.Contains(l.danger, *a) {
			l.danger = append(l.danger, *a)
		}
	}
}

func (l *ledger) add(a ack) {
	if len(l.ring) < keptAcks {
		if l.ring == nil {
			l.ring = make([]ack, 0, keptAcks/16)
		}
		l.ring = append(l.ring, a)
		return
	}
	l.ring[l.next] = a
	l.next = (l.next + 1) % keptAcks
}

// by lists the remembered acknowledgements of a sender in the order of numbers.
func (l *ledger) by(s *sender) (list []*ack) {
	for i := range l.ring {
		if a := &l.ring[i]; a.sender == s {
			list = append(list, a)
		}
	}
	for i := range l.danger {
		if a := &l.danger[i]; a.sender == s {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b *ack) int { return cmp.Compare(a.first, b.first) })
	return slices.CompactFunc(list, func(a, b *ack) bool { return a.first == b.first })
}

// ackOf finds the acknowledgement of a record in such a list; nil if it is forgotten or
// had no offset. end is the number up to which the answer is the same.
func ackOf(list []*ack, number int64) (a *ack, end int64) {
	i, _ := slices.BinarySearchFunc(list, number+1, func(a *ack, n int64) int { return cmp.Compare(a.first, n) })
	end = math.MaxInt64
	if i < len(list) {
		end = list[i].first
	}
	if i > 0 && number < list[i-1].first+int64(list[i-1].count) {
		return list[i-1], min(end, list[i-1].first+int64(list[i-1].count))
	}
	return nil, end
}

// reader is a consumer's place in a partition.
type reader struct {
	actor     string
	position  kafka.Offset
	at        kafka.Nanos       // since when
	delivered bool              // it got a batch since its last reset
	beyond    bool              // that brought it to where nothing was committed yet
	epoch     kafka.LeaderEpoch // of the last batch that it got, if that is known
	blind     bool              // it knew of no leader of the partition at its last reset
}

// readsBack: r is the final read, whose batches are not noted, and has come to offset o.
func (r *reader) readsBack(p *partition, o kafka.Offset) bool {
	return !r.delivered && p.back.started && o == p.back.next
}

// reader finds or begins a consumer's place; its position is NoOffset until known.
func (p *partition) reader(actor string) *reader {
	for _, r := range p.readers {
		if r.actor == actor {
			return r
		}
	}
	r := &reader{actor: actor, position: kafka.NoOffset}
	p.readers = append(p.readers, r)
	return r
}

// answer is the highest end that leaders of an epoch named.
type answer struct {
	epoch  kafka.LeaderEpoch
	offset kafka.Offset
}

// readBack is the state of the final read of a partition.
type readBack struct {
	started bool
	next    kafka.Offset
	// due is what was committed when the cluster had settled (bounded): the read begins
	// then. What comes behind it later, as a produce request on a connection that was given
	// up, the read may miss.
	due        kafka.Offset
	bounded    bool
	node       kafka.NodeID // that served the last batch
	duplicated int64
}

// mustReach is up to where the final read must get.
func (p *partition) mustReach() kafka.Offset {
	if p.back.bounded {
		return p.back.due
	}
	return p.committed.end
}
