package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// committed is what a group has committed for a partition: com(p) of groups 6.
type committed struct {
	tp    kafka.TopicPartition
	known bool
	// life is the coordinator that has this value, nil if none is known to have it.
	life *life
	// offset is the value, at the offset of its record in partition index of
	// __consumer_offsets.
	offset kafka.Offset
	at     int64
	index  int32
	batch  *commitBatch // that it was published in
	// since is from when on there is always some value, accepted and published are those
	// of the newest commit.
	since, accepted, published kafka.Nanos
	// by is whose commit it was; nil for one that was loaded. loaded tells those apart
	// from commits of nobody, from is the log that it was loaded from.
	by     *groupClient
	loaded bool
	from   position
	number int64
	// gone is where the tombstone of the last removal went, NoOffset for none.
	gone kafka.Offset
	// away are the rounds that the committer had missed, if the commit gave the partition up.
	away missedRounds
	// values are the last ones, newest at count-1.
	values [keptValues]pastValue
	count  int
}

// commitBatch is a batch of committed offsets. A load names what it reads by the batch's
// first record that is there: a cleaner may have taken those before
// (GroupMetadataManager.doLoadGroupsAndOffsets).
type commitBatch struct{ first, records int64 }

func (b *commitBatch) holds(at int64) bool {
	return b != nil && b.first <= at && at < b.first+b.records
}

// pastValue is one that was published.
type pastValue struct {
	offset kafka.Offset
	at     int64
	when   kafka.Nanos
	// by and number are as those of committed.
	by     *groupClient
	number int64
	// former: it is of a deleted topic of the name, see partition.formerly.
	former bool
}

// keptValues bounds the values that are remembered of a partition.
const keptValues = 16

// committed finds or begins what the group committed for a partition.
func (x *group) committed(tp kafka.TopicPartition) *committed {
	c := x.comsBy.Get(tp)
	if c == nil {
		c = &committed{tp: tp, offset: kafka.NoOffset, at: -1, index: -1, gone: kafka.NoOffset}
		x.comsBy.Put(tp, c)
		x.coms = append(x.coms, c)
	}
	return c
}

// offsetChanged follows a fact about a committed offset.
func (x *group) offsetChanged(g *ghost, e *event.Event) {
	c, l := g.ch.groups.com, g.ch.groups.life
	c.index, x.index = e.Index, e.Index
	switch e.Kind {
	case event.OffsetRemoved:
		if c.life == l || c.life == nil || l == x.newest() {
			c.known, c.life, c.by, c.gone = false, nil, nil, g.tombstone(e)
		}
		return
	case event.OffsetCommitted:
		if c.known && e.First <= c.at || c.wasRemoved(e) && g.deposed(e) {
			return // a deposed coordinator hears of what was replicated before
		}
		c.by, c.number, c.loaded, c.away = nil, 0, false, nil
		if part, sent := g.commitOf(e); sent != nil {
			c.by, c.number = part.client, sent.number
			if sent.owned {
				c.away = l.givesUp(e)
			}
		}
		c.accepted = e.Created
		if x.batch == nil || x.batch.first != e.First {
			x.batch = &commitBatch{first: e.First}
		}
		x.batch.records++
		c.batch = x.batch
	case event.OffsetLoaded:
		if g.deposed(e) || c.wasRemoved(e) && g.offsetsPartition(e.Index).lostTombstone(c.gone) {
			return
		}
		if c.known && (e.First == c.at || c.batch.holds(c.at) && c.batch.holds(e.First) && e.Offset == c.offset) {
			c.life = l
			return
		}
		c.by, c.number, c.loaded, c.accepted, c.away = nil, 0, true, e.Time, nil
		c.from = g.offsetsLog(e.Index, e.Node)
	}
	if !c.known {
		c.since = e.Time
	}
	c.known, c.life, c.offset, c.at, c.published = true, l, e.Offset, e.First, e.Time
	c.values[c.count%keptValues] = pastValue{e.Offset, e.First, e.Time, c.by, c.number, c.by != nil && g.ch.p.formerly(c.by.actor, e.Offset)}
	c.count++
}

// tombstone is where the record of a removal goes: the end of the coordinator's log. NoOffset if
// it is none that lasts, as another broker leads by then.
func (g *ghost) tombstone(e *event.Event) kafka.Offset {
	if x := g.offsetsLog(e.Index, e.Node); x.b != nil && !g.deposed(e) {
		return x.end
	}
	return kafka.NoOffset
}

// wasRemoved: what an event tells of is a record from before the removal. A replica that was away
// until a cleaner had taken the tombstone (delete.retention.ms) keeps it, and loads it when it
// leads; the others have none (bugs S-12).
func (c *committed) wasRemoved(e *event.Event) bool {
	return !c.known && kafka.Offset(e.First) < c.gone
}

// lostTombstone: the tombstone at an offset was committed, and a cleaner has come by it.
func (p *partition) lostTombstone(at kafka.Offset) bool {
	return p.committed.end > at && slices.ContainsFunc(p.replicas, func(r *replica) bool { return r.clean.bound > at })
}

// offsetsLog is a broker's log of a partition of __consumer_offsets, nowhere if nothing was
// noted of it.
func (g *ghost) offsetsLog(index int32, id kafka.NodeID) position {
	if p := g.offsetsPartition(index); p != nil {
		if r := p.known(id); r != nil {
			return r.log
		}
	}
	return position{}
}

// deposed: what a coordinator loads in an epoch that is over by then is no news.
func (g *ghost) deposed(e *event.Event) bool {
	index := e.Index
	if e.Kind == event.CoordinatorLoaded {
		index = e.TP.Partition
	}
	return g.replacedAt(kafka.TopicPartition{Topic: offsetsTopic, Partition: index}, e.LeaderEpoch)
}

// replacedAt: the leader of an epoch of a partition of __consumer_offsets is replaced.
func (g *ghost) replacedAt(tp kafka.TopicPartition, epoch kafka.LeaderEpoch) bool {
	p := g.offsetsPartition(tp.Partition)
	return p != nil && p.auth.known && epoch < p.auth.epoch
}

// neverCommitted: the value was loaded from above the high watermark, and its record was
// not committed since. GroupMetadataManager reads to the log end.
func (c *committed) neverCommitted(p *partition) bool {
	at := kafka.Offset(c.at)
	return c.loaded && (at >= p.committed.end || c.from.b != nil && meet(c.from, p.committed).end <= at)
}

// below is the newest value at a record before at, nil if none is remembered: what a deposed
// coordinator that publishes at had.
func (c *committed) below(at int64) (v *pastValue) {
	c.each(func(x *pastValue) bool {
		if x.at < at {
			v = x
		}
		return v == nil
	})
	return v
}

// each visits the remembered values, newest first, until visit is false. It is true if
// older ones were forgotten.
func (c *committed) each(visit func(*pastValue) bool) (forgotten bool) {
	for i := range min(c.count, keptValues) {
		if !visit(&c.values[(c.count-1-i)%keptValues]) {
			return false
		}
	}
	return c.count > keptValues
}
