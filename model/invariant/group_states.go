package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func groupStatesLegal() rule {
	return rule{
		Info: Info{
			Name:  "group-states-legal",
			Rules: "groups VI-1",
			Words: "A group moves only from Empty, Stable or CompletingRebalance to PreparingRebalance, from there to CompletingRebalance or Empty, and from CompletingRebalance " +
				"to Stable; under one coordinator its generation grows by one with each join that completes and never else.",
			When:   "at each change of a group's state",
			Broken: "never; another coordinator may give the number of a generation out again that was not persisted (LD-9)",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &states{f} },
	}
}

type states struct{ *findings }

// mayFollow is groups 2.1: the states that each may be entered from.
var mayFollow = [...][]event.GroupState{
	event.NoGroup:                  {},
	event.GroupEmpty:               {event.GroupPreparingRebalance},
	event.GroupPreparingRebalance:  {event.GroupEmpty, event.GroupStable, event.GroupCompletingRebalance},
	event.GroupCompletingRebalance: {event.GroupPreparingRebalance},
	event.GroupStable:              {event.GroupCompletingRebalance},
	event.GroupDead:                {event.GroupEmpty, event.GroupPreparingRebalance, event.GroupCompletingRebalance, event.GroupStable, event.GroupDead},
}

func (c *states) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.ch.groups.life
	c.checked++
	if e.Text == loadedText {
		want := event.GroupEmpty
		if e.Count > 0 {
			want = event.GroupStable
		}
		if e.State != want || e.Generation < 0 {
			c.violateGroup(x, kafka.TopicPartition{}, "%s loaded it as %s, generation %d, with %d members", nodeName(e.Node), e.State, e.Generation, e.Count)
		}
		return
	}
	if !slices.Contains(mayFollow[e.State], l.state) {
		c.violateGroup(x, kafka.TopicPartition{}, "on %s it went from %s to %s (%s)", nodeName(e.Node), l.state, e.State, e.Text)
	}
	want := l.generation
	if e.State == event.GroupCompletingRebalance || e.State == event.GroupEmpty {
		want++
	}
	if e.Generation != want {
		c.violateGroup(x, kafka.TopicPartition{}, "on %s it went from %s in generation %d to %s in generation %d", nodeName(e.Node), l.state, l.generation, e.State, e.Generation)
	}
}
