package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func rejectedMeansAbsent() rule {
	return rule{
		Info: Info{
			Name:  "rejected-means-absent",
			Rules: "I-17",
			Words: "A produce request answered with NOT_ENOUGH_REPLICAS has appended nothing, and a record that failed for sure is in no log.",
			When:  "at each such answer; for each batch of the final read",
			Broken: "never; any other error leaves the outcome unknown, also " +
				"NOT_ENOUGH_REPLICAS after an earlier attempt with an unknown outcome",
		},
		kinds: []event.Kind{event.ProduceAnswered, event.RecordFailed},
		build: func(f *findings) checker { return &rejected{f} },
	}
}

type rejected struct{ *findings }

func (c *rejected) observe(e *event.Event) {
	p := c.g.ch.p
	switch e.Kind {
	case event.ProduceAnswered:
		if e.Err != kafka.NotEnoughReplicas {
			return
		}
		c.checked++
		if e.Base >= 0 {
			c.violate(p, "%s answered NOT_ENOUGH_REPLICAS at %s for records that it had appended at offset %d", nodeName(e.Node), e.Time, e.Base)
		}
	case event.RecordFailed:
		if !e.Flag && e.First >= 0 {
			c.checked++
		}
	}
}

func (c *rejected) readBack(b *readBatch) {
	if b.sender == nil {
		return
	}
	if n := b.in(b.sender.refused); n > 0 {
		c.violate(b.p, "%d of the records %d to %d of producer %d failed for sure, but the log has them at offset %d", n, b.number, b.last(),
			b.producer, b.entry.base)
	}
}
