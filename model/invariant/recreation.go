package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

func deletedStaysDeleted() rule {
	return rule{
		Info: Info{
			Name:  "deleted-stays-deleted",
			Rules: "INV-23",
			Words: "A topic that is created again under its name begins empty: no replica of the deleted one becomes one of its own, and records whose fate was " +
				"known before are neither in its log nor given to a consumer that has begun to read it.",
			When: "at each load of a log, append by a leader and delivery, of a topic created again",
			Broken: "a producer may send again what it has no answer for; a request that was given up may be carried out later; a consumer hands out what it had fetched " +
				"before, as long as it has got nothing newer",
		},
		kinds: []event.Kind{event.ReplicaLoaded, event.BatchAppended, event.RecordDelivered},
		build: func(f *findings) checker { return &staysDeleted{f} },
	}
}

type staysDeleted struct{ *findings }

func (c *staysDeleted) observe(e *event.Event) {
	p := c.g.ch.p
	if len(p.buried) == 0 || e.Kind == event.BatchAppended && !e.Flag {
		return
	}
	c.checked++
	switch {
	case !c.g.ch.risen:
	case e.Kind == event.ReplicaLoaded:
		c.violate(p, "%s opened at %s a log of %d to %d for a topic that was created again; it is of the deleted one", nodeName(e.Node), e.Time, e.LogStart, e.LEO)
	case e.Kind == event.BatchAppended:
		c.violate(p, "%s appended at offset %d records that the producer knew to be in the deleted topic, or in none", nodeName(e.Node), e.Base)
	default:
		c.violate(p, "%s got at offset %d %d records of the deleted topic, from number %d of producer %d on, after it had got some of the new one",
			e.Actor, e.Base, e.Count, e.First, e.Producer)
	}
}

// bury puts the partitions of a deleted topic away: nothing of them is judged any more, but
// what is still on its way is known.
func (g *ghost) bury(t *topic) {
	if t.count == 0 && !slices.ContainsFunc(t.parts, func(p *partition) bool { return p != nil }) {
		return // nothing was there
	}
	grave := &topic{Topic: t.Topic, doomed: true, parts: slices.Clone(t.parts)}
	for _, p := range grave.parts {
		if p != nil {
			p.topic = grave
		}
	}
	clear(t.parts)
	g.last.p = nil
	t.graves = append(t.graves, grave)
}

// inherit takes over what may still arrive of what was sent to p's predecessors.
func (p *partition) inherit(graves []*topic) {
	for i := len(graves) - 1; i >= 0; i-- {
		if n := int(p.tp.Partition); n < len(graves[i].parts) && graves[i].parts[n] != nil {
			p.buried = append(p.buried, graves[i].parts[n])
		}
	}
	for _, q := range p.buried {
		for _, x := range q.senders {
			if open := x.mayArrive(); len(open) > 0 {
				s := p.sender(x.producer, open[0].lo)
				s.pipelined = true // it may be sent behind what is sent from now on
				for _, o := range open {
					s.carried.add(o.lo, o.hi)
				}
			}
		}
	}
}

// mayArrive lists the records that a broker may be asked to append: those without an
// answer, those given up, and those of which an attempt may have been overtaken by another.
func (s *sender) mayArrive() (open intervals) {
	for _, set := range []intervals{s.sent, s.carried} {
		for _, x := range set.minus(s.acked) {
			for _, y := range (intervals{x}).minus(s.refused) {
				open.add(y.lo, y.hi)
			}
		}
	}
	for _, x := range s.retried {
		open.add(x.lo, x.hi)
	}
	return open
}

// meant is the partition that a fact of a client is about. An answer, and what is handed
// out, may be of the deleted topic of the name.
func (g *ghost) meant(e *event.Event) *partition {
	p := g.partition(e.TP)
	if len(p.buried) == 0 || e.First < 0 || e.Producer < 0 {
		return p
	}
	switch e.Kind {
	case event.RecordAcked, event.RecordFailed, event.RecordDelivered:
	default:
		return p
	}
	q := p.sentTo(e.Producer, e.First, e.Count)
	if e.Kind == event.RecordDelivered && q != p && p.reader(e.Actor).delivered {
		g.ch.risen = true
		return p
	}
	return q
}

// sentTo is the one of p and its predecessors that the records were sent to last; p if they
// were sent to none.
func (p *partition) sentTo(producer int32, first int64, count int32) *partition {
	if p.hasOf(producer, first, count) {
		return p
	}
	for _, q := range p.buried {
		if q.hasOf(producer, first, count) {
			return q
		}
	}
	return p
}

func (p *partition) hasOf(producer int32, first int64, count int32) bool {
	s := p.knownSender(producer, first)
	return s != nil && s.sent.count(first, first+int64(count)) > 0
}

// rises looks for what is of a deleted topic in a replica of the one that has its name now.
// Records that may arrive count as sent to it when its leader appends them.
func (g *ghost) rises(p *partition, r *replica, e *event.Event) {
	switch {
	case e.Kind == event.ReplicaLoaded:
		g.ch.risen = !r.opened && e.LEO > 0
		r.opened = true
	case e.Kind == event.BatchAppended && e.Flag:
		g.ch.risen = !p.arrives(&g.heads, e)
	}
}

// arrives reports whether the records of an appended batch may be in p.
func (p *partition) arrives(it *record.Iterator, e *event.Event) bool {
	producer, first, ok := firstOf(it, e.Batch)
	if !ok {
		return true // nobody's: see no-phantom
	}
	end := first + int64(e.Count)
	s := p.knownSender(producer, first)
	if s == nil {
		return p.sentTo(producer, first, e.Count) == p
	}
	for _, x := range s.carried {
		if lo, hi := max(x.lo, first), min(x.hi, end); lo < hi {
			s.sent.add(lo, hi)
		}
	}
	return s.sent.has(first, end) || p.sentTo(producer, first, e.Count) == p
}

// firstOf reads the head of a batch's first record.
func firstOf(it *record.Iterator, b record.Batch) (producer int32, number int64, ok bool) {
	if len(b) < record.HeaderSize || b.IsControl() {
		return 0, 0, false
	}
	if it.Reset(b); !it.Next() {
		return 0, 0, false
	}
	producer, number, _, ok = client.ParseRecord(it.Record())
	return producer, number, ok
}

// recreatedText is why positions are not judged: Kafka's consumer keeps its own, and commits
// it, until it hears that the topic was gone or that it is out of range; it may hear neither.
const recreatedText = "the topic was deleted and created again, and a consumer went on from its position in the deleted one"

// readBefore reports whether a consumer may have a position in a deleted topic of the name.
func (p *partition) readBefore(actor string) bool {
	return slices.ContainsFunc(p.buried, func(q *partition) bool {
		return slices.ContainsFunc(q.readers, func(r *reader) bool { return r.actor == actor })
	})
}

// committedBefore reports whether a committed offset must be of a deleted topic of the name: it
// may be, and nobody has read as far in the new one. A leader is asked for the end of its
// epoch, names the start of the first one that it knows (LeaderEpochFileCache.endOffsetFor), and
// the consumer takes what lies between for truncated
// (SubscriptionState.maybeCompleteValidation).
func (p *partition) committedBefore(o kafka.Offset) bool {
	return p.readEnd < o && o <= p.shownBefore()
}

// formerly reports whether a committed offset is of a deleted topic of the name, since who
// commits it has got nothing of the new one. Commits name no topic id, and one before a
// rebalance is repeated while the topic is gone (KAFKA-13310).
func (p *partition) formerly(actor string, o kafka.Offset) bool {
	return len(p.buried) > 0 && o <= p.shownBefore() &&
		!slices.ContainsFunc(p.readers, func(r *reader) bool { return r.actor == actor && r.position != kafka.NoOffset })
}

// beganFormerly reports whether a member of a group began at o since it was committed for a
// deleted topic of the name.
func (x *clientPart) beganFormerly(o kafka.Offset) (former bool) {
	if x == nil || x.fetched != o {
		return false
	}
	if com := x.client.of.comsBy.Get(x.tp); com != nil {
		com.each(func(v *pastValue) bool {
			former = v.offset == o && v.former
			return !former
		})
	}
	return former
}

// shownBefore is the highest position that a consumer may have in a deleted topic of the name.
func (p *partition) shownBefore() (end kafka.Offset) {
	for _, q := range p.buried {
		end = max(end, q.shown())
	}
	return end
}

// sighting is what a client last learned of a partition's leader; NoNode if it knows none.
type sighting struct {
	actor  string
	leader kafka.NodeID
	epoch  kafka.LeaderEpoch
}

// sighted keeps what a client learns of a topic that was created again.
func (g *ghost) sighted(e *event.Event) {
	if !g.createdAgain(e.TP.Topic) {
		return
	}
	p := g.partition(e.TP)
	i := slices.IndexFunc(p.sightings, func(s sighting) bool { return s.actor == e.Actor })
	if i < 0 {
		p.sightings = append(p.sightings, sighting{actor: e.Actor})
		i = len(p.sightings) - 1
	}
	p.sightings[i].leader, p.sightings[i].epoch = e.Leader, e.LeaderEpoch
}

func (g *ghost) createdAgain(name string) bool {
	for _, t := range g.topics {
		if t.Name == name {
			return len(t.graves) > 0 && !t.doomed
		}
	}
	return false
}

// awaitsEpoch says that a consumer stays where it is because its committed offset is of the
// deleted topic, in a leader epoch above the one that the new topic has come to: it knows no
// leader until an election brings that epoch.
//
// Kafka 3.9 is the same. Coordinators drop the committed offsets of a deleted topic, but one
// that a member commits after that, as in the loop of KAFKA-13310, is taken as soon as the
// name is there again. ConsumerCoordinator.refreshCommittedOffsetsIfNeeded tells its epoch to
// Metadata.updateLastSeenEpochIfNewer; Metadata.updateLatestMetadata then takes no lower one
// while the topic keeps its id, and partitionMetadataIfCurrent has no leader.
func (g *ghost) awaitsEpoch(line string, p *partition) string {
	if p == nil || len(p.buried) == 0 {
		return ""
	}
	for _, s := range p.sightings {
		if waits(line, s.actor) && s.leader == kafka.NoNode && s.epoch > p.auth.epoch && p.hadEpoch(s.epoch) {
			return "its committed offset is of the deleted topic of that name, in a leader epoch that the new one has not come to"
		}
	}
	return ""
}

// waits: a line says that a consumer is behind, or knows no leader.
func waits(line, actor string) bool {
	return strings.HasPrefix(line, "consumer "+actor+" is at ") || strings.HasPrefix(line, "consumer "+actor+" does not know the leader of ")
}

// hadEpoch reports whether a deleted topic of the name came to an epoch.
func (p *partition) hadEpoch(epoch kafka.LeaderEpoch) bool {
	return slices.ContainsFunc(p.buried, func(q *partition) bool { return q.auth.known && q.auth.epoch >= epoch })
}
