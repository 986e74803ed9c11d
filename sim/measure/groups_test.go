package measure

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

const ms = kafka.Millisecond

// member is a member id as a coordinator makes it.
func member(client string) string { return client + "-0123456789abcdef0123456789abcdef" }

func of(client string, at kafka.Nanos, kind event.Kind) event.Event {
	return event.Event{Time: at, Actor: client, Kind: kind, Group: "g", TP: tp, Member: member(client), Generation: 1, Offset: kafka.NoOffset}
}

func groupIs(at kafka.Nanos, node kafka.NodeID, state event.GroupState, generation int32, why string) event.Event {
	return event.Event{Time: at, Actor: kafka.BrokerHost(node), Kind: event.GroupChanged, Group: "g", Node: node, State: state, Generation: generation, Count: 2, Text: why}
}

func records(client string, at kafka.Nanos, kind event.Kind, base, last kafka.Offset) event.Event {
	e := of(client, at, kind)
	e.Base, e.Last, e.Count, e.First = base, last, int32(last-base+1), -1
	return e
}

func state(client string, at kafka.Nanos, word string) event.Event {
	e := of(client, at, event.MemberChanged)
	e.Detail = word
	return e
}

func commit(at kafka.Nanos, before, offset kafka.Offset) event.Event {
	return event.Event{Time: at, Actor: "broker-1", Kind: event.OffsetCommitted, Group: "g", TP: tp, Base: before, Offset: offset}
}

// groupStory: a owns the partition, dies at 10 s, b owns it from 15 s on, from what was
// committed.
func groupStory() []event.Event {
	return []event.Event{
		of("a", s, event.CoordinatorSought), of("a", s+30*ms, event.CoordinatorFound),
		state("a", s+30*ms, event.MemberPreparing),
		{Time: s + 40*ms, Kind: event.MemberJoined, Group: "g", Member: member("a"), Text: event.JoinNew},
		groupIs(s+40*ms, 1, event.GroupPreparingRebalance, 0, "a member is new"),
		groupIs(4*s, 1, event.GroupCompletingRebalance, 1, "the members have joined"),
		state("a", 4*s+10*ms, event.MemberCompleting),
		groupIs(4*s+20*ms, 1, event.GroupStable, 1, ""),
		state("a", 4*s+30*ms, event.MemberStable),
		of("a", 4*s+30*ms, event.PartitionAssigned),
		records("a", 5*s, event.RecordDelivered, 0, 9),
		records("a", 6*s, event.RecordProcessed, 0, 9),
		commit(7*s, -1, 8),
		{Time: 10 * s, Kind: event.NodeCrashed, Actor: "a"},
		{Time: 14 * s, Kind: event.MemberRemoved, Group: "g", Member: member("a"), Text: event.GoneSession},
		groupIs(14*s, 1, event.GroupPreparingRebalance, 1, "a member timed out"),
		state("b", 14*s+100*ms, event.MemberPreparing), state("b", 14*s+500*ms, event.MemberCompleting),
		groupIs(14*s+600*ms, 1, event.GroupStable, 2, ""),
		state("b", 15*s, event.MemberStable),
		of("b", 15*s, event.PartitionAssigned),
		records("b", 16*s, event.RecordDelivered, 8, 14),
		records("b", 17*s, event.RecordProcessed, 8, 11),
		{Time: 18 * s, Kind: event.NodeBooted, Actor: "a"},
		of("a", 19*s, event.PartitionAssigned), // a coordinator of its own said so
		of("a", 21*s, event.PartitionLost),
		commit(22*s, 8, 15), commit(23*s, 15, 14),
	}
}

func groupMeasured(list []event.Event) *outcome.Group {
	c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
	for i := range list {
		c.Observe(&list[i])
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	return &r.Groups[0]
}

func TestRebalancesHaveCauseDurationAndPhases(t *testing.T) {
	g := groupMeasured(groupStory())
	want := []outcome.Rebalance{
		{Interval: outcome.Interval{From: s + 40*ms, To: 4*s + 20*ms}, Coordinator: 1, Generation: 1, Members: 2, Cause: "a member is new: a",
			Find: 30 * ms, Join: 2*s + 980*ms, Sync: 20 * ms},
		{Interval: outcome.Interval{From: 14 * s, To: 14*s + 600*ms}, Coordinator: 1, Generation: 2, Members: 2, Cause: "a member timed out: a",
			Moved: 2, Unowned: 5 * s, Join: 400 * ms, Sync: 500 * ms},
	}
	if !slices.Equal(g.Rebalances, want) {
		t.Errorf("%+v\nwant %+v", g.Rebalances, want)
	}
}

func TestOwnersAreCountedWhileTheirProcessRuns(t *testing.T) {
	p := groupMeasured(groupStory()).Partitions[0]
	if !slices.Equal(p.Unowned, []outcome.Interval{{From: 10 * s, To: 15 * s}}) {
		t.Errorf("unowned %v", p.Unowned)
	}
	if !slices.Equal(p.Overlaps, []outcome.Interval{{From: 19 * s, To: 21 * s}}) {
		t.Errorf("overlaps %v", p.Overlaps)
	}
}

// a processes 0 to 9, b 8 to 11 of 8 to 14, and in the end 14 is committed.
func TestRecordsAreProcessedAgainOrSkipped(t *testing.T) {
	g := groupMeasured(groupStory())
	if g.Processed != 12 || g.Duplicates != 2 || g.Skipped != 2 || g.Regressions != 1 {
		t.Errorf("processed %d, again %d, skipped %d, %d regressions", g.Processed, g.Duplicates, g.Skipped, g.Regressions)
	}
}

// TestHolesOfACompactedLogAreNotSkipped: a client that reads on finds no record there.
func TestHolesOfACompactedLogAreNotSkipped(t *testing.T) {
	one := records("a", 2*s, event.RecordDelivered, 0, 9)
	one.Count = 2 // 0 and 4
	first, second := records("a", 3*s, event.RecordProcessed, 0, 0), records("a", 3*s, event.RecordProcessed, 4, 4)
	next, last := records("a", 4*s, event.RecordDelivered, 20, 20), records("a", 5*s, event.RecordProcessed, 20, 20)
	g := groupMeasured([]event.Event{of("a", s, event.PartitionAssigned), one, first, second, next, last, commit(6*s, -1, 21)})
	if g.Processed != 3 || g.Skipped != 0 || g.Duplicates != 0 {
		t.Errorf("processed %d, again %d, skipped %d", g.Processed, g.Duplicates, g.Skipped)
	}
}

// TestCoveredOffsetsCountAsASetDoes compares with one counter an offset.
func TestCoveredOffsetsCountAsASetDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &owned{start: 0}
		p.out.Committed = kafka.NoOffset
		var times [60]int64
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			from := rapid.IntRange(0, 50).Draw(t, "from")
			to := from + rapid.IntRange(1, 9).Draw(t, "length")
			p.cover(kafka.Offset(from), kafka.Offset(to), int64(to-from))
			for i := from; i < to; i++ {
				times[i]++
			}
		}
		p.settle()
		var processed, again, skipped int64
		end := 0
		for i, n := range times {
			if n > 0 {
				processed, again, end = processed+1, again+n-1, i
			}
		}
		for _, n := range times[:end] {
			if n == 0 {
				skipped++
			}
		}
		if p.out.Processed != processed || p.out.Duplicates != again || p.out.Skipped != skipped {
			t.Fatalf("processed %d, again %d, skipped %d; want %d, %d, %d", p.out.Processed, p.out.Duplicates, p.out.Skipped, processed, again, skipped)
		}
	})
}

// A topic that is deleted has no records left that a group could be behind in.
func TestNobodyIsBehindInADeletedTopic(t *testing.T) {
	lead := []event.Event{
		{Time: s, Kind: event.PartitionChanged, TP: tp, Leader: 1, ISR: []kafka.NodeID{1}},
		{Time: s, Kind: event.BecameLeader, Node: 1, TP: tp},
		{Time: s, Kind: event.HighWatermark, Node: 1, TP: tp, HW: 100},
	}
	for _, deleted := range []bool{false, true} {
		list := append(slices.Clone(lead), groupStory()...)
		if deleted {
			list = append(list, event.Event{Time: 24 * s, Kind: event.TopicDeletionAsked, TP: tp})
		}
		c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
		for i := range list {
			c.Observe(&list[i])
		}
		c.Close(30 * s)
		r := new(outcome.Result)
		c.Fill(r)
		points := r.Series.GroupLags[0].Points
		if last, want := points[len(points)-1], int64(86); deleted && (last.Committed != 0 || last.Unprocessed != 0) || !deleted && last.Committed != want {
			t.Errorf("deleted %v: %d behind at %s", deleted, last.Committed, last.At)
		}
	}
}

// In a topic that was created again the group is behind anew, and what it does not read because
// it goes on from where it was in the deleted one counts as skipped.
func TestATopicCreatedAgainIsMeasuredAnew(t *testing.T) {
	is := func(at kafka.Nanos, k event.Kind) event.Event { return event.Event{Time: at, Kind: k, TP: tp} }
	hw := func(at kafka.Nanos, hw kafka.Offset) event.Event {
		return event.Event{Time: at, Kind: event.HighWatermark, Node: 1, TP: tp, HW: hw}
	}
	leads := func(at kafka.Nanos) event.Event {
		return event.Event{Time: at, Kind: event.PartitionChanged, TP: tp, Leader: 1, ISR: []kafka.NodeID{1}}
	}
	fetched := of("a", 13*s, event.CommittedFetched)
	fetched.Offset = 40
	kept := of("a", 12*s, event.OffsetCommitted)
	kept.Offset, kept.Base = 40, kafka.NoOffset
	list := []event.Event{
		leads(2 * s), {Time: 2 * s, Kind: event.BecameLeader, Node: 1, TP: tp}, hw(2*s, 40),
		of("a", 3*s, event.PartitionAssigned), {Time: 3 * s, Kind: event.PositionReset, Actor: "a", TP: tp},
		is(10*s, event.TopicDeletionAsked), is(11*s, event.TopicDeleted), is(12*s, event.TopicCreated),
		kept, leads(13 * s), hw(13*s, 0), fetched, hw(14*s, 50),
	}
	c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
	for i := range list {
		c.Observe(&list[i])
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	g := r.Groups[0]
	points := r.Series.GroupLags[0].Points
	if last := points[len(points)-1]; last.Committed != 10 || g.Partitions[0].Skipped != 40 {
		t.Errorf("behind %d, skipped %d", last.Committed, g.Partitions[0].Skipped)
	}
	if p := r.Partitions[0]; p.Elections != 0 || p.Leaderless != 17*s { // nobody has taken office again
		t.Errorf("%d elections, leaderless for %s", p.Elections, p.Leaderless)
	}
}

// A static member that comes back does without a rebalance: the one long before is not to blame.
func TestUnownedTimeIsNotThatOfARebalanceBefore(t *testing.T) {
	g := groupMeasured([]event.Event{
		groupIs(3*s, 1, event.GroupPreparingRebalance, 0, "a member is new"),
		groupIs(4*s, 1, event.GroupStable, 1, ""),
		state("a", 4*s, event.MemberStable), of("a", 4*s, event.PartitionAssigned),
		{Time: 10 * s, Kind: event.NodeCrashed, Actor: "a"},
		{Time: 20 * s, Kind: event.NodeBooted, Actor: "a"},
		of("a", 21*s, event.PartitionAssigned),
	})
	if gaps := g.Partitions[0].Unowned; len(gaps) != 1 || g.Rebalances[0].Unowned != 0 {
		t.Errorf("without an owner %v, of that in the rebalance %s", gaps, g.Rebalances[0].Unowned)
	}
}
