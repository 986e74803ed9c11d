package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func membersCarryOn() rule {
	return rule{
		Info: Info{
			Name:  "members-carry-on",
			Rules: "groups 3.2 RS-3 CJ-12 VI-8",
			Words: "No member's process ends by an error of its coordinator that it cannot cure: what is wrong on the brokers' side is told as one of the errors after which it " +
				"looks for its coordinator or joins again, and a static member that was in a generation is fenced only if another one has taken its place.",
			When: "when a member's process ends by itself",
			Broken: "a static member's id that was given in a join is persisted with the assignment, and the coordinator is lost before that (LD-9): the next one knows the id before, as does one that was replaced and serves on (LD-10); settings that the coordinator must refuse (session.timeout.ms, no protocol in common, group.max.size); a record of the group that is larger than " +
				"max.message.bytes; the record of a static member's id was lost in an allowed unclean election or power loss",
		},
		kinds: []event.Kind{event.NodeStopped},
		build: func(f *findings) checker { return &carryOn{f} },
	}
}

type carryOn struct{ *findings }

// The beginnings of what a consumer says that a coordinator's answer has ended
// (client.GroupConsumer).
var coordinatorErrors = []string{"consumer: commit: ", "consumer: heartbeat: ", "consumer: join of group ", "consumer: sync of group ",
	"consumer: committed offset", "consumer: coordinator of group "}

// refusals are errors that are the members' own fault (groups 3.2), or that of the
// topic's limits (RS-3).
var refusals = []kafka.ErrorCode{kafka.InconsistentGroupProtocol, kafka.InvalidSessionTimeout, kafka.InvalidGroupID, kafka.GroupMaxSizeReached,
	kafka.UnsupportedVersion, kafka.UnknownServerError}

func (c *carryOn) observe(e *event.Event) {
	m := c.g.ch.groups.ended
	if m.client == nil {
		return
	}
	c.checked++
	told := func(start string) bool { return strings.HasPrefix(e.Text, start) }
	is := func(code kafka.ErrorCode) bool { return strings.HasSuffix(e.Text, code.String()) }
	x := m.client.of
	switch {
	case !slices.ContainsFunc(coordinatorErrors, told), slices.ContainsFunc(refusals, is), is(kafka.FencedInstanceID) && (!m.steady || x.replaced[m.id]):
		return
	}
	if is(kafka.FencedInstanceID) && c.g.fencedByFormer(x, m) {
		c.suspend(c.g.offsetsPartition(x.index), "a coordinator that had been replaced and did not know it fenced a static member that had its id from the next one (LD-10)")
		return
	}
	if p := c.g.offsetsPartition(x.index); p != nil && is(kafka.FencedInstanceID) {
		if why := p.fellBack(p.committed.end); why != "" {
			c.suspend(p, why)
			return
		}
	}
	c.violateGroup(x, kafka.TopicPartition{}, "%s, which was the member %s, ended at %s: %s", e.Actor, m.id, e.Time, e.Text)
}

// fencedByFormer: the coordinator that the member asked last was replaced, and knows its
// instance under another id than the one that it got from a later coordinator
// (GroupCoordinator.validateCurrentMember; validateGroupStatus asks only whether the broker
// has heard that it does not own the partition any more).
func (g *ghost) fencedByFormer(x *group, m endedMember) bool {
	l := x.at(m.asked)
	if l == nil || !g.replacedAt(kafka.TopicPartition{Topic: offsetsTopic, Partition: x.index}, l.epoch) || l.byID[m.id] != nil {
		return false
	}
	instance := x.instances[m.id]
	return instance != "" && slices.ContainsFunc(l.members, func(o *member) bool { return o.instance == instance })
}
