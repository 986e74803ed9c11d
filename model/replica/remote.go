package replica

import "github.com/simkafka/simkafka/model/kafka"

// remote is what a leader knows of one follower (kafka.cluster.Replica, L-3).
type remote struct {
	id kafka.NodeID
	// member: the follower is in the maximal ISR.
	member bool
	// leo is the follower's log end offset as of its last fetch, -1 unknown. A new
	// leader knows none, which holds its high watermark until each member fetched.
	leo      kafka.Offset
	logStart kafka.Offset
	// fetchLeaderLEO is the leader's log end offset at the last fetch, never falling.
	fetchLeaderLEO kafka.Offset
	fetchTime      kafka.Nanos
	// caughtUp is the last time at which the follower had all that the leader had.
	caughtUp kafka.Nanos
}

// newRemote is a replica of which nothing is known.
func newRemote(id kafka.NodeID) remote {
	return remote{id: id, leo: kafka.NoOffset, logStart: kafka.NoOffset, fetchTime: longAgo, caughtUp: longAgo}
}

// reset begins a new leader epoch at epochStart (L-5). wasLeader: this broker led
// the epoch before, too, so that what it knows stays true.
func (r *remote) reset(wasLeader bool, epochStart kafka.Offset, now kafka.Nanos) {
	inSync := longAgo
	if r.member {
		inSync = now
	}
	r.caughtUp = inSync
	if wasLeader {
		r.fetchLeaderLEO, r.fetchTime = epochStart, inSync
		return
	}
	r.leo, r.logStart = kafka.NoOffset, kafka.NoOffset
	r.fetchLeaderLEO, r.fetchTime = kafka.NoOffset, longAgo
}

// fetched takes a follower's fetch at offset at; leaderLEO is the leader's end as
// sampled before the read. It reports whether the follower's end changed (L-3).
func (r *remote) fetched(at, logStart, leaderLEO kafka.Offset, now kafka.Nanos) (changed bool) {
	switch {
	case at >= leaderLEO:
		r.caughtUp = max(r.caughtUp, now)
	case at >= r.fetchLeaderLEO:
		r.caughtUp = max(r.caughtUp, r.fetchTime)
	}
	changed = r.leo != at
	r.leo, r.logStart = at, logStart
	r.fetchLeaderLEO = max(leaderLEO, r.fetchLeaderLEO)
	r.fetchTime = now
	return changed
}

// isCaughtUp is L-4: at the leader's end, or there not longer than lag ago.
func (r *remote) isCaughtUp(leaderLEO kafka.Offset, now, lag kafka.Nanos) bool {
	return r.leo == leaderLEO || now-r.caughtUp <= lag
}

// canJoin is the offset part of L-22. epochStart counts only with the gate of
// KAFKA-7128.
func (r *remote) canJoin(hw, epochStart kafka.Offset, gate bool) bool {
	return r.leo >= hw && (!gate || r.leo >= epochStart)
}
