package invariant

import (
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func noGhostMember() rule {
	return rule{
		Info: Info{
			Name:  "no-ghost-member",
			Rules: "groups VI-32 3.2",
			Words: "A dynamic member keeps its id while its coordinator knows it: it gives it up only when it leaves or is told that it is no member. Else the group waits for a member " +
				"that nobody is, until that one's session ends.",
			When: "when a member gives its id up",
			Broken: "a member that gave its generation up while its assignment was on the way gives up its id as well, as Kafka's does; a process that dies forgets all; a static " +
				"member's next id replaces the one before",
		},
		kinds: []event.Kind{event.MemberChanged},
		build: func(f *findings) checker { return &ghostMember{f} },
	}
}

type ghostMember struct{ *findings }

// idGone are what the reasons for giving an id up contain (client.resetMember's).
var idGone = [...]string{"UNKNOWN_MEMBER_ID", "poll timeout", "closed", "before its assignment came"}

func (c *ghostMember) observe(e *event.Event) {
	x, client := c.g.ch.groups.of, c.g.ch.groups.client
	if !e.Flag || e.Member != "" || client.member == "" {
		return
	}
	c.checked++
	for _, why := range idGone {
		if strings.Contains(e.Text, why) {
			return
		}
	}
	if l := x.newest(); l != nil && l.byID[client.member] != nil && l.byID[client.member].instance == "" {
		c.violateGroup(x, kafka.TopicPartition{}, "%s gives its id up at %s (%s); %s is a member still", e.Actor, e.Time, e.Text, client.member)
	}
}
