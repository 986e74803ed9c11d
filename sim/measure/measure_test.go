package measure

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

var tp = kafka.TopicPartition{Topic: "orders"}

const s = kafka.Second

// story is a run of one partition on three brokers: its leader dies at 10 s, the
// next takes office at 17 s, the first comes back at 25 s.
func story() []event.Event {
	one, two, three := []kafka.NodeID{1, 2, 3}, []kafka.NodeID{2, 3}, []kafka.NodeID{2, 3, 1}
	var list []event.Event
	for i, n := range []string{"broker-1", "broker-2", "broker-3", "p"} {
		list = append(list, event.Event{Kind: event.NodeBooted, Actor: n})
		if n != "p" {
			list = append(list, event.Event{Kind: event.BrokerRegistered, Node: kafka.NodeID(i + 1)})
		}
	}
	list = append(list,
		event.Event{Time: s, Kind: event.AssignmentChanged, TP: tp, Replicas: one},
		event.Event{Time: s, Kind: event.PartitionChanged, TP: tp, Leader: 1, ISR: one},
		event.Event{Time: s, Kind: event.BecameLeader, Node: 1, TP: tp})
	for t := 2 * s; t < 10*s; t += s {
		list = append(list, ack(t, 5*kafka.Millisecond)...)
	}
	list = append(list,
		event.Event{Time: 10 * s, Kind: event.NodeCrashed, Actor: "broker-1"},
		event.Event{Time: 10 * s, Kind: event.FaultStarted, Actor: "broker-1", Text: "kill: broker-1"},
		event.Event{Time: 10*s + 1, Kind: event.BatchSent, TP: tp, Count: 1},
		event.Event{Time: 16 * s, Kind: event.PartitionChanged, TP: tp, Leader: 2, LeaderEpoch: 1, ISR: two},
		event.Event{Time: 17 * s, Kind: event.BecameLeader, Node: 2, TP: tp, LeaderEpoch: 1},
		event.Event{Time: 18*s + 1, Kind: event.RecordAcked, TP: tp, Count: 1, Created: 10*s + 1},
		event.Event{Time: 25 * s, Kind: event.NodeBooted, Actor: "broker-1"},
		event.Event{Time: 25 * s, Kind: event.FaultEnded, Text: "kill: broker-1"},
		event.Event{Time: 25*s + 1, Kind: event.BrokerRegistered, Node: 1},
		event.Event{Time: 26 * s, Kind: event.PartitionChanged, TP: tp, Leader: 2, LeaderEpoch: 1, ISR: three})
	return append(list, ack(27*s, 6*kafka.Millisecond)...)
}

func ack(at, took kafka.Nanos) []event.Event {
	return []event.Event{{Time: at - took, Kind: event.BatchSent, TP: tp, Count: 1},
		{Time: at, Kind: event.RecordAcked, TP: tp, Count: 1, Size: 100, Created: at - took},
		{Time: at, Kind: event.RecordDelivered, TP: tp, Count: 1, Created: at - took}}
}

func measured() *outcome.Result {
	c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
	for _, e := range story() {
		c.Observe(&e)
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	return r
}

func TestPhasesFollowTheFaultUntilTheClusterIsWhole(t *testing.T) {
	r := measured()
	want := []outcome.Phase{
		{Name: "before", Interval: outcome.Interval{From: 2 * s, To: 10 * s}, Acked: 8, Bytes: 800},
		{Name: "during", Interval: outcome.Interval{From: 10 * s, To: 26 * s}, Acked: 1},
		{Name: "after", Interval: outcome.Interval{From: 26 * s, To: 30 * s}, Acked: 1, Bytes: 100}}
	if len(r.Phases) != len(want) {
		t.Fatalf("%+v", r.Phases)
	}
	for i, p := range r.Phases {
		w := want[i]
		if p.Name != w.Name || p.Interval != w.Interval || p.Acked != w.Acked || p.Bytes != w.Bytes {
			t.Errorf("%+v, want %+v", p, w)
		}
	}
	if q := r.Phases[0].Produce; q.Count != 8 || q.P50 < 4990*kafka.Microsecond || q.P50 > 5010*kafka.Microsecond || q.Max != 5*kafka.Millisecond {
		t.Errorf("before: %+v", q)
	}
	if q := r.Phases[1].Produce; q.Max != 8*s {
		t.Errorf("during: %+v", q)
	}
}

// "After" is after the last fault; what lay between two of them has its own phase.
func TestPhaseCalmLiesBetweenFaults(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 60 * s})
	list := story()
	list = append(list, ack(30*s, 4*kafka.Millisecond)...)
	list = append(list, event.Event{Time: 40 * s, Kind: event.FaultStarted, Index: 1}, event.Event{Time: 40 * s, Kind: event.FaultEnded, Index: 1})
	list = append(list, ack(50*s, 7*kafka.Millisecond)...)
	for _, e := range list {
		c.Observe(&e)
	}
	c.Close(60 * s)
	r := new(outcome.Result)
	c.Fill(r)
	want := []outcome.Phase{
		{Name: "before", Interval: outcome.Interval{From: 2 * s, To: 10 * s}, Acked: 8},
		{Name: "during", Interval: outcome.Interval{From: 10 * s, To: 40 * s}, Acked: 1},
		{Name: "calm", Interval: outcome.Interval{From: 26 * s, To: 40 * s}, Acked: 2},
		{Name: "after", Interval: outcome.Interval{From: 40 * s, To: 60 * s}, Acked: 1}}
	if len(r.Phases) != len(want) {
		t.Fatalf("%+v", r.Phases)
	}
	for i, p := range r.Phases {
		if w := want[i]; p.Name != w.Name || p.Interval != w.Interval || p.Acked != w.Acked || p.Produce.Count != w.Acked {
			t.Errorf("%+v, want %+v", p, w)
		}
	}
	if q := r.Phases[2].Produce; q.Max != 6*kafka.Millisecond {
		t.Errorf("calm: %+v", q)
	}
}

// The office is vacant from the crash at 10 s until the next leader takes it at 17 s.
func TestVacantOfficesAreTheTimeWithoutALeader(t *testing.T) {
	r := measured()
	v := r.Series.Strips[0].Vacant
	if len(v) != 1 || v[0] != (outcome.Interval{From: 10 * s, To: 17 * s}) || r.Partitions[0].Leaderless != 7*s {
		t.Errorf("%v, leaderless %s", v, r.Partitions[0].Leaderless)
	}
}

func TestMergedLatenciesAreThoseOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b, all latency
		for _, to := range []*latency{&a, &b} {
			for range rapid.SampledFrom([]int{0, 3, maxFew - 1, maxFew + 9}).Draw(t, "n") {
				d := kafka.Nanos(rapid.Int64Range(0, int64(kafka.Second)).Draw(t, "d"))
				to.add(d, 2)
				all.add(d, 2)
			}
		}
		if a.merge(&b); a.quantiles() != all.quantiles() {
			t.Fatalf("%+v, want %+v", a.quantiles(), all.quantiles())
		}
	})
}

func TestRecordsThatNeverLeftWereAskedFor(t *testing.T) {
	c := New(Config{End: s})
	for _, e := range []event.Event{
		{Kind: event.BatchSent, TP: tp, Count: 3}, {Kind: event.RecordFailed, TP: tp, Count: 3, Index: 1, Flag: true},
		{Kind: event.RecordFailed, TP: tp, Count: 4},
	} {
		c.Observe(&e)
	}
	r := new(outcome.Result)
	c.Fill(r)
	if x := r.Records; x.Sent != 7 || x.Failed != 7 || x.Unknown != 3 {
		t.Errorf("%+v", x)
	}
}

// A fault that only prepares the scene, over before the workload, is no part of it;
// one that lasts is.
func TestFaultsBeforeTheWorkloadCountIfTheyLast(t *testing.T) {
	for lasts, want := range map[bool]string{false: "before", true: "during"} {
		c := New(Config{Start: 3 * s, End: 30 * s})
		list := []event.Event{{Time: 0, Kind: event.FaultStarted}, {Time: s, Kind: event.FaultEnded}}
		if lasts {
			list = list[:1]
		}
		for _, e := range append(list, ack(5*s, 5*kafka.Millisecond)...) {
			c.Observe(&e)
		}
		c.Close(30 * s)
		r := new(outcome.Result)
		c.Fill(r)
		for _, p := range r.Phases {
			if (p.Acked == 1) != (p.Name == want) || p.From > p.To {
				t.Errorf("lasts %v: %+v", lasts, p)
			}
		}
	}
}

// A broker that is back as a process, but not yet registered, leaves the cluster
// broken, whatever the ISRs say: its old session is still there.
func TestPhaseDuringLastsUntilTheBrokerIsRegistered(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s})
	list := story()
	for _, e := range list {
		if e.Kind == event.BrokerRegistered && e.Time > 0 || e.Time > 25*s+1 {
			continue
		}
		if e.Kind == event.PartitionChanged {
			e.ISR, e.Leader, e.LeaderEpoch = []kafka.NodeID{1, 2, 3}, 1, 0
		}
		c.Observe(&e)
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if len(r.Phases) != 2 || r.Phases[1].To != 30*s {
		t.Errorf("%+v", r.Phases)
	}
}

// Producers that are still stuck when the ISR is full keep the phase "during".
func TestPhaseDuringLastsUntilRecordsFlow(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s})
	for _, e := range story() {
		if e.Kind != event.RecordAcked || e.Time < 17*s {
			c.Observe(&e)
		}
	}
	c.Observe(&event.Event{Time: 28 * s, Kind: event.RecordAcked, TP: tp, Count: 1, Created: 10*s + 1})
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if len(r.Phases) != 3 || r.Phases[1].To != 28*s {
		t.Errorf("%+v", r.Phases)
	}
}

// A leader that is back before its session expired has not taken office again.
func TestRebootedLeaderIsNotInOffice(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s})
	for _, e := range story() {
		if e.Time >= 16*s {
			break
		}
		c.Observe(&e)
	}
	c.Observe(&event.Event{Time: 12 * s, Kind: event.NodeBooted, Actor: "broker-1"})
	c.Observe(&event.Event{Time: 16 * s, Kind: event.BecameLeader, Node: 1, TP: tp})
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if r.Partitions[0].Leaderless != 6*s {
		t.Errorf("leaderless %s", r.Partitions[0].Leaderless)
	}
}

func TestOutageIsTheTimeThatRecordsWaited(t *testing.T) {
	p := measured().Partitions[0]
	if len(p.Outages) != 1 || p.Outages[0] != (outcome.Interval{From: 10*s + 1, To: 18*s + 1}) || p.Unavailable != 8*s {
		t.Errorf("%+v", p)
	}
	if p.Leaderless != 7*s {
		t.Errorf("leaderless %s: from the crash until the next leader took office is 7 s", p.Leaderless)
	}
	if p.UnderReplicated != 10*s || p.Elections != 1 {
		t.Errorf("under-replicated %s, %d elections", p.UnderReplicated, p.Elections)
	}
}

// A record that still waits at the end is an outage up to the end.
func TestUnansweredRecordsCountToTheEnd(t *testing.T) {
	c := New(Config{End: 30 * s})
	c.Observe(&event.Event{Time: 20 * s, Kind: event.BatchSent, TP: tp, Count: 1})
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if r.Partitions[0].Unavailable != 10*s {
		t.Errorf("%+v", r.Partitions[0])
	}
}

// A producer that gives up does not end the outage: nobody could write.
func TestRecordsThatFailLeaveTheOutageOpen(t *testing.T) {
	c := New(Config{End: 30 * s})
	list := ack(10*s, 5*kafka.Millisecond)
	for t := 11 * s; t < 20*s; t += s {
		list = append(list, event.Event{Time: t, Kind: event.BatchSent, TP: tp, Count: 1},
			event.Event{Time: t + 1, Kind: event.RecordFailed, TP: tp, Count: 1, Created: t})
	}
	list = append(list, event.Event{Time: 19 * s, Kind: event.RecordFailed, TP: kafka.TopicPartition{Topic: tp.Topic, Partition: -1}, Count: 1})
	for _, e := range append(list, ack(20*s, 5*kafka.Millisecond)...) {
		c.Observe(&e)
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if p := r.Partitions[0]; len(r.Partitions) != 1 || p.Unavailable != 9*s || len(p.Outages) != 1 {
		t.Errorf("%+v", r.Partitions)
	}
}

// Before the first state is known a partition was never whole, and nothing that
// happens after Close is charged.
func TestNothingIsChargedAfterClose(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s})
	for _, e := range story() {
		c.Observe(&e)
	}
	c.Close(30 * s)
	before := new(outcome.Result)
	c.Fill(before)
	for _, e := range []event.Event{
		{Time: 31 * s, Kind: event.PartitionChanged, TP: tp, Leader: kafka.NoNode, LeaderEpoch: 2, ISR: []kafka.NodeID{2}},
		{Time: 40 * s, Kind: event.PartitionChanged, TP: tp, Leader: 2, LeaderEpoch: 3, ISR: []kafka.NodeID{2}},
	} {
		c.Observe(&e)
	}
	after := new(outcome.Result)
	c.Fill(after)
	if a, b := after.Partitions[0], before.Partitions[0]; a.Leaderless != b.Leaderless || a.UnderReplicated != b.UnderReplicated {
		t.Errorf("%+v, before %+v", a, b)
	}
}

func TestStripsAndBucketsCoverTheRun(t *testing.T) {
	r := measured()
	spans := r.Series.Strips[0].Spans
	if len(spans) != 3 || spans[0].From != s || spans[2].To != 30*s || spans[1].Leader != 2 {
		t.Errorf("%+v", spans)
	}
	if got := kafka.Nanos(len(r.Series.Acked)) * r.Series.Step; got != 30*s {
		t.Errorf("%d buckets of %s", len(r.Series.Acked), r.Series.Step)
	}
	var acked int64
	for _, n := range r.Series.Acked {
		acked += n
	}
	if acked != 10 {
		t.Errorf("%d acknowledged in buckets", acked)
	}
}

// A topic that is to be deleted has no leader, and nobody misses one.
func TestAStripEndsWhereItsTopicIsDeleted(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
	for _, e := range append(story(),
		event.Event{Time: 28 * s, Kind: event.TopicDeletionAsked, TP: tp},
		event.Event{Time: 28*s + 1, Kind: event.PartitionChanged, TP: tp, Leader: kafka.NoNode, LeaderEpoch: 2, ISR: []kafka.NodeID{2}}) {
		c.Observe(&e)
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	if spans := r.Series.Strips[0].Spans; len(spans) != 3 || spans[2].To != 28*s {
		t.Errorf("%+v", spans)
	}
}

// The strip of a topic that is created again goes on there, with a gap before.
func TestAStripGoesOnWhereItsTopicIsCreatedAgain(t *testing.T) {
	c := New(Config{Start: 2 * s, End: 30 * s, Series: true})
	for _, e := range append(story(),
		event.Event{Time: 26 * s, Kind: event.TopicDeletionAsked, TP: tp},
		event.Event{Time: 27 * s, Kind: event.TopicDeleted, TP: tp},
		event.Event{Time: 28 * s, Kind: event.TopicCreated, TP: tp},
		event.Event{Time: 29 * s, Kind: event.PartitionChanged, TP: tp, Leader: 2, ISR: []kafka.NodeID{2}}) {
		c.Observe(&e)
	}
	c.Close(30 * s)
	r := new(outcome.Result)
	c.Fill(r)
	spans := r.Series.Strips[0].Spans
	if n := len(spans); n != 4 || spans[2].To != 26*s || spans[3].From != 29*s || spans[3].To != 30*s || spans[3].LeaderEpoch != 0 {
		t.Errorf("%+v", spans)
	}
}

func TestBucketsAreFewEnoughForAPlot(t *testing.T) {
	for _, run := range []kafka.Nanos{s, 30 * s, kafka.Minute, kafka.Hour, 100 * kafka.Hour} {
		if n := run / bucketWidth(run); n > maxBuckets {
			t.Errorf("%s: %d buckets", run, n)
		}
	}
}

// A quantile is the value of the nearest rank, counted in integers: values 1 to n
// are their own ranks.
func TestQuantilesAreTheValuesOfTheirRanks(t *testing.T) {
	l := latency{}
	for n := int64(1); n <= 2000; n++ { // up to 2000 the histogram keeps single microseconds
		l.add(kafka.Nanos(n)*kafka.Microsecond, 1)
		q := l.quantiles()
		for perMille, got := range map[int64]kafka.Nanos{500: q.P50, 950: q.P95, 990: q.P99, 999: q.P999} {
			if want := kafka.Nanos(max((n*perMille+500)/1000, 1)) * kafka.Microsecond; got != want {
				t.Fatalf("%d of 1000 of 1 to %d is %s, want %s", perMille, n, got, want)
			}
		}
	}
	if !l.full {
		t.Error("2000 values are few")
	}
}

// A few values are not put into the histogram; nobody sees that.
func TestFewValuesHaveTheQuantilesOfTheHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l latency
		for range rapid.IntRange(1, 30).Draw(t, "values") {
			d := kafka.Nanos(1)<<rapid.IntRange(0, 43).Draw(t, "scale") + kafka.Nanos(rapid.Int64Range(0, 1<<40).Draw(t, "more"))
			l.add(d, rapid.Int64Range(1, 100).Draw(t, "records"))
		}
		few := l.quantiles()
		l.fill()
		if all := l.quantiles(); few != all {
			t.Fatalf("%+v, by the histogram %+v", few, all)
		}
		l.reset()
		if l.quantiles() != (outcome.Quantiles{}) {
			t.Fatal("not empty")
		}
	})
}

// TestAPartitionThatIsTakenOutOfItsTopicIsWaitedForByNobody: of two requests for more partitions
// at once the second may undo the first.
func TestAPartitionThatIsTakenOutOfItsTopicIsWaitedForByNobody(t *testing.T) {
	added := kafka.TopicPartition{Topic: tp.Topic, Partition: 1}
	c := New(Config{Start: 2 * s, End: 30 * s})
	for _, e := range story() {
		c.Observe(&e)
	}
	before := c.parts.unfit
	c.Observe(&event.Event{Time: 28 * s, Kind: event.AssignmentChanged, TP: added, Replicas: []kafka.NodeID{1, 2, 3}})
	if c.parts.unfit != before+1 {
		t.Errorf("%d partitions without a leader, %d before", c.parts.unfit, before)
	}
	c.Observe(&event.Event{Time: 28*s + 1, Kind: event.AssignmentChanged, TP: added})
	if c.parts.unfit != before {
		t.Errorf("%d partitions without a leader, %d before", c.parts.unfit, before)
	}
	c.Observe(&event.Event{Time: 29 * s, Kind: event.AssignmentChanged, TP: added, Replicas: []kafka.NodeID{1, 2, 3}})
	if c.parts.unfit != before+1 {
		t.Errorf("added again: %d partitions without a leader, %d before", c.parts.unfit, before)
	}
}
