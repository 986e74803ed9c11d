package group

import (
	"slices"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// expire removes what is due of all groups (groups 1.6), and groups that hold nothing.
func (c *Coordinator) expire(in *step.Input, out *step.Effects) {
	for _, g := range slices.Clone(c.groups) {
		c.removeOffsets(in, out, g, c.expired(in, g), event.RemovedExpired)
	}
}

// expired are the partitions whose committed offsets are due. A commit under way protects
// its partition.
func (c *Coordinator) expired(in *step.Input, g *Group) (list []kafka.TopicPartition) {
	base, spared, any := g.expiry(c.cfg.Profile)
	if !any {
		return nil
	}
	retention := kafka.TimestampMs(c.cfg.OffsetsRetention / kafka.Millisecond)
	for _, e := range g.offsets.list {
		if !e.known || e.pending {
			continue
		}
		if _, found := slices.BinarySearch(spared, e.tp.Topic); found {
			continue
		}
		since := base
		if base == kafka.NoTimestamp {
			since = e.value.Committed
		}
		due := in.Wall-since >= retention
		if e.value.Expires != kafka.NoTimestamp {
			due = in.Wall >= e.value.Expires
		}
		if due {
			list = append(list, e.tp)
		}
	}
	return list
}

// expiry says which of a group's offsets may expire at all, and from when on their time
// runs: base, or their commits' own time if it is NoTimestamp. spared are topics that are
// kept, sorted.
func (g *Group) expiry(p *config.Profile) (base kafka.TimestampMs, spared []string, any bool) {
	base = kafka.NoTimestamp
	switch {
	case !p.ExpireIdleGroups || g.protocolType == "":
		return base, nil, true
	case g.state == Empty:
		return g.stateTime, nil, true
	case (g.state == Stable || p.Quirks.Has(quirk.ExpireUnstable)) && g.protocolType == consumerType && g.subscribedKnown:
		return base, g.subscribed, true
	}
	return base, nil, false
}

// removeOffsets forgets partitions of a group, and the group itself if it is empty then,
// and writes tombstones for them (cleanupGroupMetadata; RS-4). What is lost of these is
// met again later.
func (c *Coordinator) removeOffsets(in *step.Input, out *step.Effects, g *Group, list []kafka.TopicPartition, why string) {
	c.begin()
	for _, tp := range list {
		was, known := g.offsets.remove(tp)
		if !known {
			continue
		}
		e := c.fact(out, event.OffsetRemoved, g)
		e.TP, e.Index, e.Base, e.Text = tp, g.partition, was.Offset, why
		c.builder.Append(in.Wall, AppendOffsetKey(nil, g.id, tp), nil, nil)
	}
	if g.state == Empty && !g.offsets.has() {
		c.move(in, out, g, Dead, "it has neither members nor offsets")
	}
	if l, _ := c.host.OffsetsLog(g.partition); l == nil {
		return
	}
	if g.state == Dead && c.byID[g.id] == g {
		c.forget(g)
		if g.generation > 0 {
			c.builder.Append(in.Wall, AppendGroupKey(nil, g.id), nil, nil)
		}
	}
	if c.builder.Count() > 0 {
		c.store(g.partition, 0, nil)
	}
}
