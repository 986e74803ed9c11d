package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func committedMovesForward() rule {
	return rule{
		Info: Info{
			Name:  "committed-moves-forward",
			Rules: "groups VI-41",
			Words: "What a group has committed for a partition goes back only for a cause that is on record.",
			When:  "at each published commit that is lower than the one before",
			Broken: "the consumer's position went back (reset, truncation); a commit without a generation on an empty group; a request that was given up was carried out after a " +
				"newer one (CC-14); the committer owned the partition no more, or did not know that a round which it missed has given it away (CO-1); the next owner asked while the last commit of the one before was under way, in releases " +
				"before KIP-447; an older value was loaded or told (see committed-offsets-kept)",
		},
		kinds: []event.Kind{event.OffsetCommitted},
		build: func(f *findings) checker { return &forwardCommits{f} },
	}
}

type forwardCommits struct{ *findings }

func (c *forwardCommits) observe(e *event.Event) {
	x, com := c.g.ch.groups.of, c.g.ch.groups.com
	if e.Base < 0 {
		return
	}
	c.checked++
	if e.Offset >= e.Base {
		return
	}
	why := c.g.decrease(com, e)
	if p := c.g.ch.p; why == "" && e.Base > p.committed.end && e.Base <= p.shownBefore() {
		why = recreatedText
	}
	if why != "" {
		c.suspend(c.g.ch.p, why)
		return
	}
	c.violateGroup(x, e.TP, "%s committed %d for %s in generation %d after %d, without any cause on record", e.Member, e.Offset, e.TP, e.Generation, e.Base)
}

// stableFetchVersion is from which OffsetFetch version on members wait for commits that
// are under way (KIP-447).
const stableFetchVersion = 7

// decrease finds the cause of a lower commit; "" for none.
func (g *ghost) decrease(com *committed, e *event.Event) string {
	if e.Generation < 0 {
		return "a commit without a generation, as an administrator's"
	}
	part, sent := g.commitOf(e)
	switch {
	case sent == nil && part != nil && part.forgotten:
		return fmt.Sprintf("the request is older than the %d of this member that are remembered of those without an answer", keptCommits)
	case sent == nil:
		return "" // nobody sent it: see commits-a-position
	case !sent.owned:
		return "the committer did not own the partition any more (CO-1)"
	case g.givesUpLate(com, part, e):
		return "the committer, away for a round that gave the partition to another one, is back and gives it up (CO-1)"
	case com.gaveUpAhead(part):
		return "the committer of the value before, away for a round that gave the partition to this one, was back and gave it up (CO-1)"
	case part.jump.at > 0 && part.jump.to <= e.Offset && part.jump.from > e.Offset:
		return fmt.Sprintf("the consumer's position had gone back (%s)", part.jump.why)
	case com.late(part, e):
		return "a request was carried out after a newer one, over another connection (CC-14)"
	case com.by != nil && com.by != part.client && com.accepted <= part.fetchedAt && part.fetchedAt <= com.published &&
		g.setup.Profile.Versions.OffsetFetch < stableFetchVersion:
		return "the new owner was told the committed offset while a newer commit was under way (before KIP-447)"
	}
	return g.toldOld(com, part, e)
}

// missedRounds is gaps in the generations that a member joined, oldest first: those after one
// and before another.
type missedRounds []struct{ after, before int32 }

// keptGaps bounds the gaps that are remembered of a member.
const keptGaps = 16

func (r missedRounds) holds(generation int32) bool {
	for _, gap := range r {
		if gap.after < generation && generation < gap.before {
			return true
		}
	}
	return false
}

// givesUp tells for a published commit which rounds its member was away for, if the member is
// static, has joined the generation of the commit and is not given the partition in it: none
// otherwise. GroupCoordinator.onCompleteJoin keeps such a member without its JoinGroup; a
// dynamic one is removed, and its id is not known any more.
func (l *life) givesUp(e *event.Event) missedRounds {
	m := l.byID[e.Member]
	if m == nil || m.instance == "" || m.joined != e.Generation || m.given.generation != e.Generation || m.given.unread || slices.Contains(m.given.parts, e.TP) {
		return nil
	}
	return m.missed
}

// givesUpLate: the committer of the value before was given the partition in a round that this
// one missed, after it had been given it itself. Back in a newer generation, which gives it to
// the other one still, it gives the partition up and commits for it once more: that is the
// listener's commitSync in onPartitionsRevoked, which ConsumerCoordinator.onJoinComplete calls
// in the new generation while the partition is still assigned (cooperative members only). The
// coordinator asks for member and generation, not for owners (doCommitOffsets).
func (g *ghost) givesUpLate(com *committed, part *clientPart, e *event.Event) bool {
	if com.by == nil || com.by == part.client {
		return false
	}
	other := com.by.byTP.Get(e.TP)
	return other != nil && part.generation < other.generation && g.ch.groups.life.givesUp(e).holds(other.generation)
}

// gaveUpAhead is givesUpLate the other way round: who missed the round had read on, and its
// commit, the value before, is ahead of the owner.
func (com *committed) gaveUpAhead(part *clientPart) bool {
	if com.by == nil || com.by == part.client || !part.owned {
		return false
	}
	other := com.by.byTP.Get(part.tp)
	return other != nil && other.generation < part.generation && com.away.holds(part.generation)
}

// late: the value before the published one was a newer request of its committer.
func (com *committed) late(part *clientPart, e *event.Event) bool {
	v := com.below(e.First)
	return v != nil && v.by == part.client && part.lateAs(e, v.number)
}

// lateAs: a request like the published one was sent before the newer number, and its
// connection was lost before that. Several may be open for one offset, and which one was
// carried out is not known.
func (x *clientPart) lateAs(e *event.Event, newer int64) bool {
	return slices.ContainsFunc(x.sent, func(s sentCommit) bool {
		return s.offset == e.Offset && s.member == e.Member && s.generation == e.Generation && s.number <= s.lost && s.lost < newer
	})
}

// toldOld: the committer began from an older value that a coordinator gave it.
func (g *ghost) toldOld(com *committed, part *clientPart, e *event.Event) string {
	if part.fetched == kafka.NoOffset || part.fetched > e.Offset {
		return ""
	}
	if p := g.offsetsPartition(com.index); p != nil {
		if why := p.fellBack(kafka.Offset(com.at)); why != "" {
			return why
		}
	}
	if part.fetched < com.offset && part.client.lostAt > part.fetchedAt {
		return "the owner had begun from what a coordinator told it that was replaced"
	}
	return ""
}

func commitsAPosition() rule {
	return rule{
		Info: Info{
			Name:  "commits-a-position",
			Rules: "groups VI-42 VI-43",
			Words: "A member commits, for partitions that it owns, positions that it has: what it began from, or one past the last record that it got; never beyond the high watermark; " +
				"and what is published with a generation is what some member sent.",
			When: "at each request to commit and at each published commit",
			Broken: "the log was cut below the position in an allowed unclean election or power loss; in a compacted log a position also moves over records that are gone; an " +
				"application that commits offsets of its own (not in these runs)",
		},
		kinds: []event.Kind{event.CommitSent, event.OffsetCommitted},
		build: func(f *findings) checker { return &aPosition{f} },
	}
}

type aPosition struct{ *findings }

func (c *aPosition) observe(e *event.Event) {
	x, p, part := c.g.ch.groups.of, c.g.ch.p, c.g.ch.groups.part
	c.checked++
	if e.Kind == event.OffsetCommitted {
		if e.Generation < 0 || c.g.groups.byMember[e.Member] == nil {
			return // an administrator's, or of an id that is forgotten
		}
		if part, sent := c.g.commitOf(e); sent == nil && !part.forgotten {
			c.violateGroup(x, e.TP, "%s published %d for %s as a commit of %s in generation %d, which never sent it", nodeName(e.Node), e.Offset, e.TP, e.Member, e.Generation)
		}
		return
	}
	switch {
	case !part.owned:
		c.violateGroup(x, e.TP, "%s commits %d for %s at %s (%s) without owning it", e.Actor, e.Offset, e.TP, e.Time, e.Text)
	case e.Offset == part.position || e.Offset == part.before:
	case p.compacted && part.position != kafka.NoOffset && e.Offset > part.position && e.Offset <= p.committed.end:
	case e.Offset > part.position && p.keys != nil && part.position != kafka.NoOffset: // beyond what the cleaner left
	default:
		c.violateGroup(x, e.TP, "%s commits %d for %s at %s (%s); its position is %d", e.Actor, e.Offset, e.TP, e.Time, e.Text, part.position)
	}
	if e.Offset > p.shown() {
		if why := p.fellBack(e.Offset); why != "" {
			c.suspend(p, why)
			return
		}
		if e.Offset <= p.shownBefore() {
			c.suspend(p, recreatedText)
			return
		}
		c.violateGroup(x, e.TP, "%s commits %d for %s at %s; the high watermark was never above %d", e.Actor, e.Offset, e.TP, e.Time, p.shown())
	}
}

// shown is the highest high watermark that a consumer may have seen: also a deposed leader
// moves its own on while the replicas in sync follow it still.
func (p *partition) shown() kafka.Offset {
	end := max(p.committed.end, p.readEnd)
	for _, r := range p.replicas {
		end = max(end, r.hw)
	}
	return end
}
