package replica

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// TestL3FollowerFetchByCase: at the leader's end, at the leader's end of one fetch
// ago, behind both.
func TestL3FollowerFetchByCase(t *testing.T) {
	base := remote{id: 2, leo: 8, fetchLeaderLEO: 10, fetchTime: 50, caughtUp: 20}
	for _, c := range []struct {
		name        string
		at, leader  kafka.Offset
		caughtUp    kafka.Nanos
		fetchLeader kafka.Offset
		changed     bool
	}{
		{"at the end", 12, 12, 100, 12, true},
		{"where the leader was a fetch ago", 10, 12, 50, 12, true},
		{"behind", 9, 12, 20, 12, true},
		{"not moved", 8, 12, 20, 12, false},
		{"the leader's end never falls here", 8, 9, 20, 10, false},
	} {
		r := base
		changed := r.fetched(c.at, 3, c.leader, 100)
		if changed != c.changed || r.leo != c.at || r.logStart != 3 || r.caughtUp != c.caughtUp || r.fetchLeaderLEO != c.fetchLeader || r.fetchTime != 100 {
			t.Errorf("%s: changed %v, %+v", c.name, changed, r)
		}
	}
}

// TestL3CaughtUpTimeAgainstHistory: the caught-up time is the latest fetch time at
// which the follower, by what it has asked for by now, had the leader's end.
func TestL3CaughtUpTimeAgainstHistory(t *testing.T) {
	type fetch struct {
		time   kafka.Nanos
		leader kafka.Offset
	}
	rapid.Check(t, func(t *rapid.T) {
		r := newRemote(2)
		r.reset(false, 0, 0)
		want, now := longAgo, kafka.Nanos(0)
		leader, at := kafka.Offset(0), kafka.Offset(0)
		var last *fetch
		for range rapid.IntRange(1, 30).Draw(t, "fetches") {
			now += kafka.Nanos(rapid.IntRange(1, 9).Draw(t, "wait"))
			leader += kafka.Offset(rapid.IntRange(0, 3).Draw(t, "appended"))
			at = min(leader, at+kafka.Offset(rapid.IntRange(0, 4).Draw(t, "copied")))
			if at == leader {
				want = now
			} else if last != nil && at >= last.leader {
				want = max(want, last.time)
			}
			r.fetched(at, 0, leader, now)
			last = &fetch{now, leader}
			if r.caughtUp != want {
				t.Fatalf("caught up %d, want %d", r.caughtUp, want)
			}
		}
	})
}

// TestL4CaughtUpByOffsetOrTime with the limit itself inside.
func TestL4CaughtUpByOffsetOrTime(t *testing.T) {
	for _, c := range []struct {
		leo  kafka.Offset
		ago  kafka.Nanos
		want bool
	}{
		{10, testLag + 1, true},
		{9, testLag, true},
		{9, testLag + 1, false},
		{-1, testLag + 1, false},
	} {
		r := remote{leo: c.leo, caughtUp: 0}
		if got := r.isCaughtUp(10, c.ago, testLag); got != c.want {
			t.Errorf("leo %d, %v ago: %v", c.leo, c.ago, got)
		}
	}
}

// TestL4NeverCaughtUpIsLongAgoEvenAtTimeZero: a run's clock starts at 0, Kafka's
// does not.
func TestL4NeverCaughtUpIsLongAgoEvenAtTimeZero(t *testing.T) {
	r := newRemote(2)
	if r.isCaughtUp(10, 0, testLag) {
		t.Error("a replica that never fetched is caught up at time 0")
	}
}

// TestL5ResetByCase for a broker that was or was not leader before.
func TestL5ResetByCase(t *testing.T) {
	before := remote{id: 2, leo: 8, logStart: 1, fetchLeaderLEO: 10, fetchTime: 50, caughtUp: 20}
	for _, c := range []struct {
		name              string
		member, wasLeader bool
		want              remote
	}{
		{"new leader, member", true, false, remote{id: 2, member: true, leo: -1, logStart: -1, fetchLeaderLEO: -1, fetchTime: longAgo, caughtUp: 99}},
		{"new leader, outside", false, false, remote{id: 2, leo: -1, logStart: -1, fetchLeaderLEO: -1, fetchTime: longAgo, caughtUp: longAgo}},
		{"same leader, member", true, true, remote{id: 2, member: true, leo: 8, logStart: 1, fetchLeaderLEO: 12, fetchTime: 99, caughtUp: 99}},
		{"same leader, outside", false, true, remote{id: 2, leo: 8, logStart: 1, fetchLeaderLEO: 12, fetchTime: longAgo, caughtUp: longAgo}},
	} {
		r := before
		r.member = c.member
		r.reset(c.wasLeader, 12, 99)
		if r != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, r, c.want)
		}
	}
}
