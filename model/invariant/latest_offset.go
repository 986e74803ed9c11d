package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func latestOffsetMonotonic() rule {
	return rule{
		Info: Info{
			Name:   "latest-offset-monotonic",
			Rules:  "INV-06",
			Words:  "The end offset that ListOffsets names for a partition never decreases from one leader epoch's answers to those of the same or a later one.",
			When:   "at each answer without error",
			Broken: "brokers before KIP-207 (2.2) after any change of leader; committed records lost in an allowed unclean election or power loss; a leader that has been replaced and does not know",
		},
		kinds: []event.Kind{event.OffsetAnswered},
		build: func(f *findings) checker { return &latest{f} },
	}
}

// offsetNotAvailableFrom is the ListOffsets version of KIP-207.
const offsetNotAvailableFrom = 5

type latest struct{ *findings }

func (c *latest) observe(e *event.Event) {
	if e.Err != kafka.None {
		return
	}
	c.checked++
	p := c.g.ch.p
	for _, a := range p.answers {
		if a.epoch > e.LeaderEpoch || e.Offset >= a.offset {
			continue
		}
		switch why := p.fellBack(e.Offset); {
		case why != "":
			c.suspend(p, why)
		case c.g.ch.r.lost != nil && c.g.ch.r.lost.from <= e.Offset:
			c.suspend(p, c.g.ch.r.lost.String())
		case a.epoch < e.LeaderEpoch && c.g.setup.Profile.Versions.ListOffsets < offsetNotAvailableFrom:
			c.suspend(p, "a new leader may name an older end offset before KIP-207")
		default:
			c.violate(p, "%s, in epoch %d, named end offset %d at %s; in epoch %d the answer was %d before", nodeName(e.Node), e.LeaderEpoch,
				e.Offset, e.Time, a.epoch, a.offset)
		}
		return
	}
}

// fellBack says why the committed end may be this low.
func (p *partition) fellBack(end kafka.Offset) string {
	for _, i := range p.incidents {
		if (i.kind == uncleanCut || i.kind == lossyCut) && i.from <= end {
			return i.String()
		}
	}
	return ""
}

const keptAnswers = 8

// answered remembers the highest answer of an epoch.
func (p *partition) answered(epoch kafka.LeaderEpoch, offset kafka.Offset) {
	for i := range p.answers {
		if p.answers[i].epoch == epoch {
			p.answers[i].offset = max(p.answers[i].offset, offset)
			return
		}
	}
	if len(p.answers) >= keptAnswers {
		copy(p.answers, p.answers[1:])
		p.answers = p.answers[:keptAnswers-1]
	}
	p.answers = append(p.answers, answer{epoch, offset})
}
