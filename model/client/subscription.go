package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// fetchState is what a partition waits for (SubscriptionState.FetchStates, C-3).
// Only fetching partitions are fetched.
type fetchState uint8

const (
	initializing fetchState = iota
	fetching
	awaitReset
	awaitValidation
)

var fetchStateNames = [...]string{"initializing", "fetching", "await-reset", "await-validation"}

func (s fetchState) String() string { return fetchStateNames[s] }

// position is where reading goes on.
type position struct {
	offset kafka.Offset      // next to read
	epoch  kafka.LeaderEpoch // of the batch before it; NoLeaderEpoch if unknown
	leader leaderInfo        // for which the position is valid, or being validated
}

// assigned is a partition that a reader reads.
type assigned struct {
	tp      kafka.TopicPartition
	info    *topicInfo
	index   int // in reader.parts
	state   fetchState
	pos     position
	reason  string      // why the position is being reset
	retryAt kafka.Nanos // no request before; a new leader ends the wait
	asking  *question   // the question about offsets that is in flight
	// Of partitions that a group assigned: paused ones are about to be revoked; buffered
	// ones have records that poll has not returned.
	paused, buffered bool
	// end is the high watermark to read up to, NoOffset until asked (Verifier only).
	end kafka.Offset
	// Of a lagMonitor: the end is to be asked for, now or from a time on.
	endDue bool
	endAt  kafka.Nanos
}

// transitions of C-3: for each state those that may follow.
var transitions = [...][]fetchState{
	initializing:    {fetching, awaitReset, awaitValidation},
	fetching:        {fetching, awaitReset, awaitValidation},
	awaitReset:      {fetching, awaitReset},
	awaitValidation: {fetching, awaitReset, awaitValidation},
}

func (a *assigned) enter(s fetchState) {
	for _, to := range transitions[a.state] {
		if to == s {
			a.state, a.retryAt = s, 0
			return
		}
	}
	panic("client: a partition cannot go from " + a.state.String() + " to " + s.String())
}

// requestReset asks for a position by the reset policy.
func (a *assigned) requestReset(reason string) {
	a.enter(awaitReset)
	a.reason = reason
}

// seek moves the position and says so.
func (a *assigned) seek(out *step.Effects, to kafka.Offset, epoch kafka.LeaderEpoch, reason string) {
	out.Note(event.Event{Kind: event.PositionReset, TP: a.tp, Offset: a.pos.offset, Base: to, Text: reason})
	a.pos.offset, a.pos.epoch = to, epoch
	a.enter(fetching)
}

// start gives a partition its first position (C-4).
func (r *reader) start(a *assigned) {
	for i := range r.starts {
		if s := &r.starts[i]; s.TP == a.tp {
			a.pos.offset, a.pos.epoch = s.Offset, s.Epoch
			a.enter(fetching)
			return
		}
	}
	r.reset(a, "start")
}

// reset begins a reset by policy, or raises an error when there is none (C-4, C-7).
func (r *reader) reset(a *assigned, reason string) {
	if r.policy == config.ResetNone {
		r.raise("no offset to read " + a.tp.String() + " from: " + reason)
		return
	}
	a.requestReset(reason)
}

// assign takes new metadata in: partitions that have appeared, and leaders that
// have changed (C-5).
func (r *reader) assign() {
	if r.seen == r.network.meta.version {
		return
	}
	r.seen = r.network.meta.version
	for i := range r.topics {
		t := &r.topics[i]
		for p := range t.info.partitions {
			if p == len(t.parts) {
				t.parts = append(t.parts, nil)
			}
			if t.parts[p] == nil && t.info.partitions[p].known && t.wanted(int32(p), i, r.index, r.members) {
				r.adopt(t, int32(p))
			}
		}
	}
	for _, a := range r.parts {
		r.maybeValidate(a)
	}
}

// newAssigned is a partition without a position.
func newAssigned(info *topicInfo, p int32) *assigned {
	return &assigned{tp: kafka.TopicPartition{Topic: info.name, Partition: p}, info: info, end: kafka.NoOffset,
		pos: position{kafka.NoOffset, kafka.NoLeaderEpoch, leaderInfo{kafka.NoNode, kafka.NoLeaderEpoch}}}
}

// hasPosition: the position may be committed.
func (a *assigned) hasPosition() bool { return a.state == fetching || a.state == awaitValidation }

// adopt begins to read a partition.
func (r *reader) adopt(t *readTopic, p int32) {
	a := newAssigned(t.info, p)
	a.index = len(r.parts)
	t.parts[p] = a
	r.parts = append(r.parts, a)
	r.start(a)
}

// wanted tells whether a member reads a partition: the listed ones, or every
// members-th, counted from the topic's place in the list.
func (t *readTopic) wanted(p int32, topic, index, members int) bool {
	if t.listed != nil {
		for _, l := range t.listed {
			if l == p {
				return true
			}
		}
		return false
	}
	return (topic+int(p))%max(members, 1) == index
}

// Leaderless is a partition of which a consumer's metadata name no leader. It goes on to fetch
// from the one that its position has, From in leader epoch Epoch, and asks for metadata only
// when that one refuses (AbstractFetch.prepareFetchRequests, SubscriptionState.FetchPosition);
// NoNode = it fetches from nobody.
type Leaderless struct {
	TP    kafka.TopicPartition
	From  kafka.NodeID
	Epoch kafka.LeaderEpoch // NoLeaderEpoch where metadata have none
}

func (r *reader) leaderless() []Leaderless {
	var out []Leaderless
	for _, a := range r.parts {
		if leader, _ := r.network.meta.leaderOf(a.info, a.tp.Partition); leader != kafka.NoNode {
			continue
		}
		x := Leaderless{a.tp, kafka.NoNode, kafka.NoLeaderEpoch}
		if a.state == fetching {
			x.From, x.Epoch = a.pos.leader.leader, a.pos.leader.epoch
		}
		out = append(out, x)
	}
	return out
}

// Brokers lists those that the metadata name: the only ones that are asked for newer metadata. It is
// empty before the first answer, when bootstrap.servers are asked. The caller may keep it.
func (r *reader) Brokers() []kafka.NodeID {
	var out []kafka.NodeID
	for i := range r.network.meta.brokers {
		out = append(out, r.network.meta.brokers[i].id)
	}
	return out
}

// maybeValidate: a position whose leader or leader epoch has changed must be checked
// against the new leader's epochs before it is fetched from (C-5). Without epochs,
// or before KIP-320, it is fetched from as it is.
func (r *reader) maybeValidate(a *assigned) {
	leader, epoch := r.network.meta.leaderOf(a.info, a.tp.Partition)
	now := leaderInfo{leader, epoch}
	if leader == kafka.NoNode || a.pos.leader == now {
		return
	}
	a.pos.leader, a.end = now, kafka.NoOffset
	if a.state != awaitReset && a.state != initializing {
		a.retryAt, a.asking = 0, nil // what was asked of the old leader no longer matters
		r.validate(a)
	}
}

func (r *reader) validate(a *assigned) {
	asks := r.cfg.Profile.Fencing320 && !r.cfg.Profile.Quirks.Has(quirk.PositionUnchecked)
	if asks && a.pos.epoch != kafka.NoLeaderEpoch && a.pos.leader.epoch != kafka.NoLeaderEpoch {
		a.enter(awaitValidation)
	} else {
		a.enter(fetching)
	}
}
