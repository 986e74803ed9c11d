package explain

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// groupLinks knows what came last of a group.
type groupLinks struct {
	coordinator map[string]int // last change of the group, by broker
	member      map[string]int // last change of the member, by client
	position    map[seat]int   // last fact about where a client is
	committed   map[kafka.TopicPartition]int
	removed     map[string]int    // a member's removal
	client      map[string]string // whose a member id is
}

func newGroupLinks() groupLinks {
	return groupLinks{make(map[string]int), make(map[string]int), make(map[seat]int), make(map[kafka.TopicPartition]int), make(map[string]int), make(map[string]string)}
}

// inGroup links what happens to a group to what happened to it before: at the same
// coordinator, to the same member, to the same committed offset.
func (b *builder) inGroup(i int) {
	f, g := &b.facts[i], &b.groups
	from := func(j int, ok bool) {
		if ok {
			b.follows(i, j)
		}
	}
	switch f.Kind {
	case event.CoordinatorLoaded, event.CoordinatorUnloaded, event.GroupChanged, event.MemberJoined, event.MemberRemoved, event.AssignmentStored:
		j, ok := g.coordinator[f.Actor]
		from(j, ok)
		if f.Kind == event.CoordinatorLoaded || f.Kind == event.CoordinatorUnloaded {
			j, ok = b.replica[seat{f.Actor, f.TP}]
			from(j, ok)
		}
		if f.Kind == event.MemberRemoved {
			g.removed[f.Member] = i
		}
		g.coordinator[f.Actor] = i
	case event.JoinAnswered, event.SyncAnswered:
		j, ok := g.coordinator[f.Actor]
		from(j, ok)
	case event.OffsetCommitted, event.OffsetLoaded, event.OffsetRemoved:
		j, ok := g.committed[f.TP]
		from(j, ok)
		j, ok = g.coordinator[f.Actor]
		from(j, ok)
		g.committed[f.TP] = i
	case event.CoordinatorFound, event.CoordinatorLost, event.MemberChanged, event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost:
		j, ok := g.member[f.Actor]
		from(j, ok)
		if j, ok = g.removed[f.Member]; ok && f.Kind != event.PartitionAssigned {
			from(j, ok)
		}
		g.member[f.Actor] = i
		if f.Member != "" {
			g.client[f.Member] = f.Actor
		}
	case event.CommitSent, event.CommitAnswered, event.CommittedFetched, event.RecordDelivered, event.RecordProcessed, event.PositionReset:
		j, ok := g.member[f.Actor]
		from(j, ok)
		j, ok = g.position[seat{f.Actor, f.TP}]
		from(j, ok)
		if f.Kind == event.CommittedFetched {
			j, ok = g.committed[f.TP]
			from(j, ok)
		}
		if f.Kind != event.CommitSent && f.Kind != event.CommitAnswered {
			g.position[seat{f.Actor, f.TP}] = i
		}
	}
}

// lacks names the nodes that took part in what did not happen: a heartbeat that did not
// come, an answer.
func (g *groupLinks) lacks(f *fact) []string {
	switch f.Kind {
	case event.MemberRemoved:
		switch f.Text {
		case event.GoneSession, event.GoneNew, event.GoneRebalance, event.GoneSync:
			if c := g.client[f.Member]; c != "" {
				return []string{c, f.Actor}
			}
			return []string{f.Actor}
		}
	case event.CoordinatorLost, event.CoordinatorUnloaded:
		return []string{f.Actor, kafka.BrokerHost(f.Node)}
	case event.PartitionLost:
		return []string{f.Actor}
	}
	return nil
}
