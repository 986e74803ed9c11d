package client

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// memberState is where a member is in joining its group (AbstractCoordinator's
// MemberState, groups 3.1).
type memberState uint8

const (
	unjoined memberState = iota
	preparing
	completing
	stable
)

var memberStateNames = [...]string{event.MemberUnjoined, event.MemberPreparing, event.MemberCompleting, event.MemberStable}

func (s memberState) String() string { return memberStateNames[s] }

// memberID is what a request says of its sender.
type memberID struct {
	generation int32
	id         string
}

var noMember = memberID{generation: -1}

// membership is a member's place in its group.
type membership struct {
	memberID
	state memberState
	// protocol is the assignor that was voted for; leader: the member assigns, and counts
	// are then the partitions that it saw of the group's topics.
	protocol string
	leader   bool
	counts   []topicCount
	rejoin   bool // wants to join, anew perhaps
	// needsPrepare: the next join begins with what comes before a rebalance (CC-1).
	needsPrepare bool
	// last is what the assignors remember of the last assignment, for user data.
	last           []kafka.TopicPartition
	lastGeneration int32

	session     kafka.Nanos // deadline for an answered heartbeat
	heartbeatAt kafka.Nanos
	polled      kafka.Nanos // when poll was last called
}

// enter changes the state.
func (g *GroupConsumer) enter(out *step.Effects, s memberState, why string) {
	if g.member.state == s {
		return
	}
	g.member.state = s
	g.noteState(out, why)
}

// attemptFailed says that a JoinGroup or SyncGroup brought no generation. The member stays in
// the middle of a rebalance (initiateJoinGroup leaves the state as it is since 2.6.1), and so
// goes on with its heartbeats behind a SyncGroup; an older one is unjoined.
func (g *GroupConsumer) attemptFailed(out *step.Effects, why string) {
	switch m := &g.member; {
	case m.state == unjoined: // which was told when the membership was given up
	case g.cfg.Profile.BeatsFromJoin:
		g.noteState(out, why).Detail = event.MemberUnjoined
	default:
		g.enter(out, unjoined, why)
	}
}

func (g *GroupConsumer) noteState(out *step.Effects, why string) *event.Event {
	e := g.note(out, event.MemberChanged)
	e.Detail, e.Text = g.member.state.String(), why
	if g.cooperative() {
		e.Index = 1
	}
	return e
}

// requestRejoin makes the next poll join.
func (g *GroupConsumer) requestRejoin() { g.member.rejoin = true }

// resetMember gives generation, and perhaps the id, up: what the member owns it has lost
// (resetStateAndRejoin).
func (g *GroupConsumer) resetMember(out *step.Effects, why string, withID bool) {
	m := &g.member
	m.state, m.generation, m.protocol = unjoined, noMember.generation, ""
	if withID {
		m.id = ""
	}
	m.rejoin = true
	if !g.cfg.Profile.Quirks.Has(quirk.LostNotDropped) {
		m.needsPrepare = true
	}
	g.noteState(out, why).Flag = true
}

// wasReset: there is no membership that owning partitions could rest on.
func (m *membership) wasReset() bool { return m.generation == noMember.generation || m.id == "" }

// instance is the group.instance.id for a request.
func (g *GroupConsumer) instance() *string {
	if g.group.InstanceID == "" {
		return nil
	}
	return &g.group.InstanceID
}
