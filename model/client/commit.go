package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// Versions from which OffsetCommit carries more.
const (
	commitRetentionTo  = 4 // versions 2 to 4 ask for a retention
	commitRetention    = 2
	commitEpochFrom    = 6
	commitInstanceFrom = 7
)

// commit is a set of offsets on its way to the coordinator.
type commit struct {
	number    int64
	offsets   []commitOffset
	why       string // one of event.Commit…
	pending   bool
	retriable bool // it failed, but may succeed later
	failed    bool // it failed, retriably or not
	unknown   bool // nobody can tell whether it was executed
}

type commitOffset struct {
	tp     kafka.TopicPartition
	offset kafka.Offset
	epoch  kafka.LeaderEpoch
}

func (g *GroupConsumer) autoCommits() bool { return g.group.Commit == CommitAuto && g.cfg.AutoCommit }

// consumed is the positions of partitions: the next offsets to be returned (CC-12).
func (g *GroupConsumer) consumed(parts []*assigned) (offsets []commitOffset) {
	for _, a := range parts {
		if a.hasPosition() {
			offsets = append(offsets, commitOffset{a.tp, a.pos.offset, a.pos.epoch})
		}
	}
	return offsets
}

// sendCommit commits offsets; nothing is a success at once. A member that is not in a
// stable group fails without asking (CC-4).
func (g *GroupConsumer) sendCommit(in *step.Input, out *step.Effects, offsets []commitOffset, why string) *commit {
	c := &commit{offsets: offsets, why: why}
	switch {
	case len(offsets) == 0:
	case !g.coord.known:
		c.failed, c.retriable = true, true
	case g.member.state != stable:
		c.failed = true
	case !g.askCoordinator(in, out, g.commitRequest(offsets), 0, &asked{kind: commitCall, commit: c}):
		c.failed, c.retriable = true, true
	default:
		c.pending = true
		g.commits++
		c.number = g.commits
		for i := range offsets {
			g.noteCommit(out, event.CommitSent, c, i)
		}
	}
	return c
}

func (g *GroupConsumer) noteCommit(out *step.Effects, kind event.Kind, c *commit, i int) *event.Event {
	e := g.note(out, kind)
	e.TP, e.Offset, e.First, e.Text = c.offsets[i].tp, c.offsets[i].offset, c.number, c.why
	return e
}

func (g *GroupConsumer) commitRequest(offsets []commitOffset) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = g.cfg.Profile.Versions.OffsetCommit
	req.Group, req.Generation, req.MemberID = g.group.Group, g.member.generation, g.member.id
	if req.Version >= commitInstanceFrom {
		req.InstanceID = g.instance()
	}
	if req.Version >= commitRetention && req.Version <= commitRetentionTo {
		req.RetentionTimeMillis = -1
	}
	metadata := ""
	for i := range offsets {
		x := &offsets[i]
		n := len(req.Topics)
		if n == 0 || req.Topics[n-1].Topic != x.tp.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = x.tp.Topic
			req.Topics = append(req.Topics, t)
			n++
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = x.tp.Partition, int64(x.offset), &metadata
		if req.Version >= commitEpochFrom {
			p.LeaderEpoch = int32(x.epoch)
		}
		req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, p)
	}
	return req
}

// commitEnded ends a commit: the OffsetCommit column of groups 3.2. The first error
// of a partition decides.
func (g *GroupConsumer) commitEnded(in *step.Input, out *step.Effects, c *asked, resp kmsg.Response) {
	x := c.commit
	x.pending = false
	r, ok := resp.(*kmsg.OffsetCommitResponse)
	if !ok {
		x.failed, x.retriable, x.unknown = true, true, true
	}
	decided := !ok
	for i := range x.offsets {
		err := kafka.NetworkException
		if ok {
			err = committedError(r, x.offsets[i].tp)
		}
		e := g.noteCommit(out, event.CommitAnswered, x, i)
		e.Err, e.Flag = err, !ok || err == kafka.RequestTimedOut
		if err != kafka.None && !decided {
			decided = true
			g.commitFailed(in, out, c, err)
		}
	}
	if x.why == event.CommitAuto && x.retriable {
		g.auto = min(g.auto, in.Now+g.cfg.RetryBackoff)
	}
}

func committedError(r *kmsg.OffsetCommitResponse, tp kafka.TopicPartition) kafka.ErrorCode {
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			if t.Topic == tp.Topic && t.Partitions[j].Partition == tp.Partition {
				return kafka.ErrorCode(t.Partitions[j].ErrorCode)
			}
		}
	}
	return kafka.UnknownServerError
}

func (g *GroupConsumer) commitFailed(in *step.Input, out *step.Effects, c *asked, err kafka.ErrorCode) {
	x := c.commit
	x.failed = true
	switch err {
	case kafka.CoordinatorLoadInProgress, kafka.UnknownTopicOrPartition:
		x.retriable = true
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator, kafka.RequestTimedOut:
		g.coordinatorLost(in, out, err.String())
		x.retriable, x.unknown = true, err == kafka.RequestTimedOut
	case kafka.RebalanceInProgress:
		g.requestRejoin()
	case kafka.IllegalGeneration, kafka.UnknownMemberID:
		if g.unchanged(c) {
			g.resetMember(out, "commit: "+err.String(), err == kafka.UnknownMemberID)
		}
	case kafka.FencedInstanceID:
		if g.unchanged(c) {
			g.raise("commit: " + err.String())
		}
	case kafka.OffsetMetadataTooLarge, kafka.InvalidCommitOffsetSize:
	default:
		g.raise("commit: " + err.String())
	}
}

// autoCommit commits positions when the time has come; poll calls it (CC-12, CC-13).
func (g *GroupConsumer) autoCommit(in *step.Input, out *step.Effects) kafka.Nanos {
	if !g.autoCommits() {
		return kafka.Forever
	}
	if in.Now < g.auto {
		return g.auto
	}
	g.auto = in.Now + g.cfg.AutoCommitInterval
	offsets := g.consumed(g.parts)
	if g.cfg.Profile.Quirks.Has(quirk.CommitsUnreturned) {
		g.moveBehindBuffer(offsets)
	}
	if c := g.sendCommit(in, out, offsets, event.CommitAuto); c.failed && c.retriable {
		g.auto = in.Now + g.cfg.RetryBackoff
	}
	return g.auto
}

// moveBehindBuffer is KAFKA-2942: what the poll is about to return is committed, too.
func (g *GroupConsumer) moveBehindBuffer(offsets []commitOffset) {
	for i := range g.buffer {
		x := &g.buffer[i]
		at := slices.IndexFunc(offsets, func(o commitOffset) bool { return o.tp == x.part.tp })
		for data := x.data; at >= 0 && len(data) > 0; {
			b, rest, err := record.Next(data)
			if err != nil {
				break
			}
			offsets[at].offset, offsets[at].epoch, data = b.NextOffset(), b.PartitionLeaderEpoch(), rest
		}
	}
}

// after says what goes on when a commit that was waited for has ended.
type after uint8

const (
	afterPoll     after = iota // the application's next poll
	afterBefore                // process, if it succeeded
	afterPrepare               // the callback before a rebalance
	afterComplete              // the callback after one
	afterClose
	afterGiven // the callback of close
)

// syncCommit is what the application's thread waits for (commitSync): retried until
// it succeeds, fails for good, or the time is up.
type syncCommit struct {
	offsets []commitOffset
	why     string
	then    after
	from    kafka.Nanos // before, a callback is busy
	until   kafka.Nanos
	commit  *commit // the attempt
	retryAt kafka.Nanos
	unknown bool // an attempt may have been executed
}

// commitSync makes the application wait.
func (g *GroupConsumer) commitSync(in *step.Input, offsets []commitOffset, why string, then after, timeout kafka.Nanos) {
	g.sync = &syncCommit{offsets: offsets, why: why, then: then, until: saturatingAdd(in.Now, timeout)}
}

// callback is the application's, in the thread that polls: it takes its time, then commits
// what is revoked, if the application does (a commit of what is lost would be refused). False:
// it has come to its end already.
func (g *GroupConsumer) callback(in *step.Input, kind event.Kind, parts []*assigned, then after) bool {
	if len(parts) == 0 {
		return false
	}
	var offsets []commitOffset
	if kind == event.PartitionRevoked && then != afterGiven && (g.group.Commit == CommitSync || g.group.Commit == CommitAsync) {
		offsets = g.consumed(parts)
	}
	if len(offsets) == 0 && g.group.Revoke == 0 {
		return false
	}
	from := saturatingAdd(in.Now, g.group.Revoke)
	g.sync = &syncCommit{offsets: offsets, why: event.CommitRevoked, then: then, from: from, until: saturatingAdd(from, g.cfg.APITimeout)}
	return true
}

// driveSync goes on with the commit that the application waits for. done: it waits no
// longer.
func (g *GroupConsumer) driveSync(in *step.Input, out *step.Effects) (next kafka.Nanos, done bool) {
	s := g.sync
	switch c := s.commit; {
	case in.Now < s.from:
		return s.from, false
	case s.commit == nil && len(s.offsets) == 0:
		g.syncEndedWith(in, out, true)
		return 0, true
	case c != nil && !c.pending && !c.retriable:
		g.syncEndedWith(in, out, !c.failed)
		return 0, true
	case c != nil && !c.pending:
		s.unknown = s.unknown || c.unknown
		s.commit, s.retryAt = nil, in.Now+g.cfg.RetryBackoff
		return 0, true
	case in.Now >= s.until:
		s.unknown = s.unknown || c != nil
		g.syncEndedWith(in, out, false)
		return 0, true
	case c != nil:
		return s.until, false
	case s.retryAt > in.Now:
		return min(s.retryAt, s.until), false
	case !g.coord.known:
		return min(g.seek(in, out), s.until), false
	}
	s.commit = g.sendCommit(in, out, s.offsets, s.why)
	return 0, true
}

// syncEndedWith returns from commitSync.
func (g *GroupConsumer) syncEndedWith(in *step.Input, out *step.Effects, ok bool) {
	s := g.sync
	g.sync = nil
	switch s.then {
	case afterBefore:
		if !ok {
			g.app.work = g.app.work[:0] // it may be committed, so that it must not be processed
		}
	case afterPrepare:
		g.prepareEnded(out)
	case afterComplete:
		g.takeOver(in, out)
	case afterClose:
		g.app.committed = true
	case afterGiven:
		g.given(in, out)
	}
}
