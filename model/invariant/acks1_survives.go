package invariant

import "github.com/simkafka/simkafka/model/event"

func acks1Survives() rule {
	return rule{
		Info: Info{
			Name:   "acks-1-survives",
			Rules:  "I-15",
			Words:  "A record acknowledged with acks=1 survives as long as the leader that took it leads on and keeps its disk.",
			When:   "at the end, for each record, in the final read",
			Broken: "any change of leader, a power loss of the leader: expected loss",
		},
		build: func(f *findings) checker { return &acks1Loss{f} },
	}
}

// acks1Loss has nothing to see before the end: losses judges the final read.
type acks1Loss struct{ *findings }

func (c *acks1Loss) observe(*event.Event) {}
