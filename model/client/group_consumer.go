package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// CommitMode is when the application of a GroupConsumer commits (groups 7.1).
type CommitMode uint8

// The modes. All but the first want enable.auto.commit off.
const (
	// CommitAuto leaves it to enable.auto.commit; off, nothing is ever committed.
	CommitAuto CommitMode = iota
	// CommitSync: commitSync after a poll's records are processed, and when partitions
	// are revoked: at least once.
	CommitSync
	// CommitAsync: commitAsync after them; commitSync when partitions are revoked and at
	// the end.
	CommitAsync
	// CommitBefore: commitSync before they are processed, and only if it succeeds they
	// are: at most once.
	CommitBefore
)

// coordinatorTimer is the kind of the timer of the coordinator's connection.
const coordinatorTimer step.TimerKind = 3

// closeTimeout is KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS.
const closeTimeout = 30 * kafka.Second

// GroupConfig makes a GroupConsumer.
type GroupConfig struct {
	*config.Consumer
	Bootstrap  []step.Addr // bootstrap.servers
	Group      string      // group.id
	InstanceID string      // group.instance.id; "" = dynamic
	Topics     []string    // subscribed
	Commit     CommitMode
	// Processing is how long the application takes for one record.
	Processing kafka.Nanos
	// Revoke is how long its callback takes when partitions are revoked or lost, before it
	// commits.
	Revoke kafka.Nanos
	// Scratch may be shared with the brokers and all clients of a simulation; may be nil.
	Scratch *record.Scratch
	// Drop: at SIGTERM the application closes in the middle of a batch, as one does that ends
	// by an exception; else it finishes the records in hand.
	Drop bool
}

// GroupConsumer is a consumer process that reads what its group assigns to it
// (KafkaConsumer with subscribe). Its application calls poll, processes what it gets,
// commits, and calls poll again.
//
// One lane stands for the application's thread, which alone runs in poll, and the
// heartbeat thread. While the application processes or commits, joining waits, and so
// do the callbacks; heartbeats go on.
//
// It exits with a reason when Kafka's consumer would throw out of poll what no
// application can cure; commits that fail because the group has moved on are not
// among that: the application goes on to poll.
type GroupConsumer struct {
	reader
	group  GroupConfig
	member membership
	coord  coordinator
	join   joining
	buffer []buffered
	app    application
	sync   *syncCommit // what the application's thread waits for
	auto   kafka.Nanos // next automatic commit
	// asking: an OffsetFetch is on its way; askAt: none before.
	asking   bool
	askAt    kafka.Nanos
	commits  int64 // CommitSent so far
	finished []netclient.Completion
	it       record.Iterator // scratch
}

// NewGroupConsumer makes a consumer that has not booted.
func NewGroupConsumer(cfg GroupConfig) *GroupConsumer {
	g := &GroupConsumer{group: cfg, reader: newReader(cfg.Consumer, cfg.Bootstrap, Assignment{Topics: cfg.Topics}, nil)}
	for i := range g.topics {
		g.topics[i].listed = []int32{} // none but what the group assigns
	}
	g.share(cfg.Scratch, &g.it)
	g.hold = g.put
	g.member = membership{memberID: noMember, rejoin: true, needsPrepare: true, lastGeneration: noMember.generation}
	g.coord = newCoordinator(cfg.Consumer)
	return g
}

// Lanes is the one lane of the application and heartbeat threads.
func (g *GroupConsumer) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "poll", Workers: 1}} }

// Positions lists the partitions that the member owns and has a position in.
func (g *GroupConsumer) Positions() []StartOffset {
	var s []StartOffset
	for _, a := range g.parts {
		if a.hasPosition() {
			s = append(s, StartOffset{TP: a.tp, Offset: a.pos.offset, Epoch: a.pos.epoch})
		}
	}
	return s
}

// Leaderless lists the partitions that the member owns and does not know the leaders of.
func (g *GroupConsumer) Leaderless() []Leaderless { return g.leaderless() }

// Owned lists the partitions that the member owns.
func (g *GroupConsumer) Owned() []kafka.TopicPartition {
	out := make([]kafka.TopicPartition, len(g.parts))
	for i, a := range g.parts {
		out[i] = a.tp
	}
	return out
}

// MemberID is the id that the coordinator gave the member, "" for none.
func (g *GroupConsumer) MemberID() string { return g.member.id }

// Settled says what keeps the member from being at rest in its group, "" if nothing.
func (g *GroupConsumer) Settled() string {
	switch {
	case g.member.state != stable || g.join.assignment != nil:
		return "is " + g.member.state.String()
	case g.member.rejoin:
		return "wants to rejoin"
	case !g.coord.heard:
		return "hears nothing from its coordinator"
	}
	return ""
}

// Step takes one input and does all that it makes possible.
func (g *GroupConsumer) Step(in *step.Input, out *step.Effects) error {
	switch {
	case in.Kind == step.Terminate:
		g.app.closing = true
	case g.wake.Owns(in):
		g.wake.Fired(in)
	default:
		g.received(in, out)
	}
	next := g.turns(in, out)
	if g.failed() {
		out.Exit(g.failure)
		return nil
	}
	g.wake.Set(out, next)
	return nil
}

// received takes what the two sets of connections have to say.
func (g *GroupConsumer) received(in *step.Input, out *step.Effects) {
	for _, c := range g.network.handle(in, out) {
		if c.Tag == any(&g.coord) {
			g.coordinatorAnswered(in, out, &c)
		} else {
			g.reader.ended(in, out, &c)
		}
	}
	if done, mine := g.coord.net.Handle(in, out); mine {
		g.finished = append(g.finished, done...)
		if len(g.coord.net.Lost()) > 0 {
			g.coordinatorLost(in, out, "disconnected")
			g.coord.retryAt = in.Now + g.cfg.RetryBackoff
		}
	}
	g.drain(in, out)
}

// drain ends the requests to the coordinator. To give a coordinator up ends more.
func (g *GroupConsumer) drain(in *step.Input, out *step.Effects) {
	for i := 0; i < len(g.finished); i++ {
		c := g.finished[i]
		g.callEnded(in, out, &c)
	}
	clear(g.finished)
	g.finished = g.finished[:0]
}

// turns is one turn of both threads; it returns when to come back.
func (g *GroupConsumer) turns(in *step.Input, out *step.Effects) kafka.Nanos {
	next := g.network.maybeUpdate(in, out)
	g.assign()
	g.lead(in, out)
	next = min(next, g.heartbeat(in, out), g.application(in, out))
	g.drain(in, out)
	return min(next, g.heartbeat(in, out), g.network.maybeUpdate(in, out))
}

// inPoll: the application's thread is in poll and may join, or run callbacks.
func (g *GroupConsumer) inPoll() bool { return g.app.state == polling && g.sync == nil }

// note is a fact about this member.
func (g *GroupConsumer) note(out *step.Effects, kind event.Kind) *event.Event {
	e := out.Fact()
	e.Kind, e.Group, e.Member, e.Generation = kind, g.group.Group, g.member.id, g.member.generation
	return e
}
