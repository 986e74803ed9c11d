package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// put appends records to a partition as they are; a nil value is a tombstone.
func (l *lab) put(o record.BatchOptions, keysAndValues ...[]byte) {
	l.t.Helper()
	var b record.Builder
	b.Reset(o)
	for i := 0; i < len(keysAndValues); i += 2 {
		b.Append(labStart, keysAndValues[i], keysAndValues[i+1], nil)
	}
	batch, err := b.Build()
	if err != nil {
		l.t.Fatal(err)
	}
	l.putBatch(batch)
}

func (l *lab) putBatch(b record.Batch) {
	l.t.Helper()
	_, v, err := l.logs[0].Append(b, &log.LeaderAppend{Now: labStart, Origin: log.Coordinator})
	if err != nil || v.Code != kafka.None {
		l.t.Fatal(err, v)
	}
}

func (l *lab) marker(producer int64, commit bool) {
	l.t.Helper()
	b, err := record.MarkerBatch(record.Marker{ProducerID: producer, Commit: commit}, 0, 0, labStart)
	if err != nil {
		l.t.Fatal(err)
	}
	l.putBatch(b)
}

func transaction(producer int64) record.BatchOptions {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.Transactional = producer, 0, true
	return o
}

func keyOf(partition int32) []byte {
	return AppendOffsetKey(nil, "g", kafka.TopicPartition{Topic: "t", Partition: partition})
}

func valueOf(offset kafka.Offset) []byte {
	return AppendOffset(nil, 3, &Offset{Offset: offset, Committed: labStart})
}

// LD-3: plain offsets, transactions that were committed, aborted and left open,
// tombstones, keys of other types; LD-4: a group without a record of its own.
func TestLoadingReplaysByTheRules(t *testing.T) {
	l := newLab(t, "zk-3.9", 1)
	plain := record.ClientOptions()
	l.put(plain, keyOf(0), valueOf(1), keyOf(1), valueOf(1))
	l.put(transaction(7), keyOf(0), valueOf(2), keyOf(2), valueOf(2))
	l.put(plain, keyOf(0), valueOf(3)) // later than the commit record of the transaction
	l.marker(7, true)
	l.put(transaction(8), keyOf(3), valueOf(4))
	l.marker(8, false)
	l.put(transaction(9), keyOf(4), valueOf(5), keyOf(5), valueOf(5))
	l.put(transaction(9), keyOf(5), nil)
	l.put(plain, keyOf(1), nil)
	l.put(plain, []byte{0, 3, 0, 1, 'g'}, []byte{1, 2, 3}) // a key of KIP-848 (RS-1)
	l.elect(0, 4)
	l.work()
	g := l.c.Group("g")
	got := fmt.Sprint(g.state, g.generation, g.protocolType == "")
	g.Offsets(func(tp kafka.TopicPartition, o Offset) { got += fmt.Sprint(" ", tp, o.Offset) })
	if want := "Empty 0 true t-0 3 t-2 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !g.offsets.unstable(kafka.TopicPartition{Topic: "t", Partition: 4}) || g.offsets.unstable(kafka.TopicPartition{Topic: "t", Partition: 5}) {
		t.Errorf("open: %+v", g.offsets.open)
	}
	// RT-3: what is open keeps the group alive.
	l.deleteOffset("t")
	l.c.PartitionsDeleted(l.input(), l.out, []kafka.TopicPartition{{Topic: "t", Partition: 2}})
	l.settle(l.input())
	if l.c.Group("g") == nil {
		t.Error("the group is gone while a transaction is open")
	}
}

// A record that cannot be understood ends the load; what is served then has no groups.
func TestALoadThatFailsPublishesNothing(t *testing.T) {
	for name, value := range map[string][]byte{"unknown version": {0, 5, 0}, "cut short": {0, 3, 0}} {
		l := newLab(t, "zk-3.9", 1)
		l.put(record.ClientOptions(), keyOf(0), valueOf(1))
		l.put(record.ClientOptions(), AppendGroupKey(nil, "g"), value)
		l.elect(0, 0)
		l.work()
		if len(l.c.Groups()) != 0 || !l.c.Owns(0) {
			t.Errorf("%s: %d groups, owned %v", name, len(l.c.Groups()), l.c.Owns(0))
		}
		e := l.notes[len(l.notes)-1]
		if e.Kind != event.CoordinatorLoaded || e.Text == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// LD-7: while a log is read groups are not served, but heartbeats are answered blindly
// and SyncGroup sends members back; nothing is published before the end (KAFKA-5600).
func TestRequestsDuringALoad(t *testing.T) {
	l := newLab(t, "zk-3.9", 1, "offsets.load.buffer.size=1")
	for i := range 3 {
		l.put(record.ClientOptions(), keyOf(0), valueOf(kafka.Offset(i)))
	}
	l.elect(0, 0)
	for l.c.HasTask() {
		l.do(func(in *step.Input, out *step.Effects) {
			if err := l.c.RunTask(in, out); err != nil {
				t.Fatal(err)
			}
		})
		if !l.c.HasTask() {
			break
		}
		m := member{id: "m", generation: 1}
		for got, want := range map[string]string{
			"join " + l.join(m, 9):                  "COORDINATOR_LOAD_IN_PROGRESS",
			"sync " + l.sync(m):                     "REBALANCE_IN_PROGRESS",
			"heartbeat " + l.heartbeat(m):           "NONE",
			"leave " + l.leave(m):                   "COORDINATOR_LOAD_IN_PROGRESS",
			"commit " + l.commit(m, 1):              "COORDINATOR_LOAD_IN_PROGRESS",
			"delete " + l.deleteGroup():             "COORDINATOR_LOAD_IN_PROGRESS",
			"offsets " + l.deleteOffset("t"):        "COORDINATOR_LOAD_IN_PROGRESS",
			"list " + l.lists():                     "COORDINATOR_LOAD_IN_PROGRESS",
			"fetch " + l.fetchError():               "COORDINATOR_LOAD_IN_PROGRESS",
			"groups " + fmt.Sprint(len(l.c.groups)): "0",
		} {
			if got[len(got)-len(want):] != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
	if got := l.fetch(false); got != "NONE" {
		t.Error(got)
	}
	if e := l.c.Group("g").offsets.get(kafka.TopicPartition{Topic: "t"}); e.value.Offset != 2 {
		t.Errorf("%+v", e)
	}
}

func (l *lab) lists() string {
	l.t.Helper()
	l.do(func(_ *step.Input, out *step.Effects) {
		l.c.ListGroups(out, l.from("x", "c"), kmsg.NewPtrListGroupsRequest())
	})
	return kafka.ErrorCode(l.last.(*kmsg.ListGroupsResponse).ErrorCode).String()
}

func (l *lab) fetchError() string {
	l.t.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = 7, "g"
	l.do(func(_ *step.Input, out *step.Effects) { l.c.OffsetFetch(out, l.from("x", "c"), r) })
	return kafka.ErrorCode(l.last.(*kmsg.OffsetFetchResponse).ErrorCode).String()
}

// A load that loses the partition on the way serves what it has until the unload that
// follows, as in Kafka.
func TestALoadThatLosesItsPartitionEnds(t *testing.T) {
	l := newLab(t, "zk-3.9", 1, "offsets.load.buffer.size=1")
	for i := range int32(3) {
		l.put(record.ClientOptions(), keyOf(i), valueOf(1))
	}
	l.elect(0, 0)
	l.do(func(in *step.Input, out *step.Effects) { _ = l.c.RunTask(in, out) })
	l.leads[0] = false
	l.do(func(in *step.Input, out *step.Effects) { _ = l.c.RunTask(in, out) })
	if l.c.HasTask() || l.c.Group("g").offsets.count() != 1 {
		t.Error("the load goes on")
	}
	l.resign(0, 1)
	l.work()
	if l.c.Group("g") != nil || l.c.Owns(0) || l.c.NextDeadline() != kafka.Forever {
		t.Error("the partition is still served")
	}
}

// LD-1, KAFKA-10614: an unload that comes late does not undo a newer load, nor a load a
// newer unload.
func TestTasksOfOlderEpochsAreIgnored(t *testing.T) {
	l := newLab(t, "zk-3.9", 1)
	l.put(record.ClientOptions(), keyOf(0), valueOf(1))
	l.elect(0, 5)
	l.c.Resigned(0, 4)
	l.work()
	if l.c.Group("g") == nil {
		t.Error("an old unload was obeyed")
	}
	l.resign(0, 6)
	l.c.Elected(0, 5)
	l.work()
	if l.c.Owns(0) {
		t.Error("an old load was obeyed")
	}
	// Without an epoch (StopReplica of a deleted topic) an unload is obeyed.
	l.elect(0, 7)
	l.c.Resigned(0, kafka.NoLeaderEpoch)
	l.work()
	if l.c.Owns(0) {
		t.Error("an unload without epoch was ignored")
	}
}

// LD-6: a loaded group above group.max.size begins a rebalance, in which the first to
// come keep their places (KAFKA-9885).
func TestALoadedGroupAboveItsLimitShrinks(t *testing.T) {
	l := newLab(t, "zk-3.9", 1, "group.max.size=1")
	m := goldenGroup()
	m.Members = append(m.Members, MemberRecord{ID: "c-2", Client: "c", SessionTimeout: 10_000, RebalanceTimeout: 10_000, Subscription: m.Members[0].Subscription})
	l.put(record.ClientOptions(), AppendGroupKey(nil, "g"), AppendMetadata(nil, 3, m))
	l.elect(0, 0)
	l.work()
	if l.state() != PreparingRebalance {
		t.Fatal(l.state())
	}
	if got := l.join(member{id: "c-2"}, 9, "range"); got != "parked" {
		t.Error(got)
	}
	if got := l.join(member{id: "c-1"}, 9, "range"); got != "GROUP_MAX_SIZE_REACHED" {
		t.Error(got)
	}
	if l.state() != CompletingRebalance || len(l.c.Group("g").members) != 1 {
		t.Error(l.state(), l.c.Group("g").members)
	}
}

// The record that a group of every profile leaves can be loaded by every other.
func TestEveryProfileLoadsTheRecordsOfTheOthers(t *testing.T) {
	for _, writer := range []string{"zk-0.10", "zk-2.0", "zk-2.6", "zk-3.9"} {
		l := newLab(t, writer, 1, "group.initial.rebalance.delay.ms=0", "offsets.topic.compression.codec=1")
		l.elect(0, 0)
		l.work()
		l.join(member{}, 1)
		l.run(0)
		m := member{id: l.c.Group("g").members[0].id, generation: 1}
		l.sync(m, m.id, "mine")
		l.commit(m, 9)
		for _, reader := range []string{"zk-0.10", "zk-3.9"} {
			r := newLab(t, reader, 1)
			r.logs = l.logs
			r.elect(0, 1)
			r.work()
			g := r.c.Group("g")
			if g == nil || g.state != Stable || string(g.members[0].assignment) != "mine" || g.members[0].rebalanceTimeout != kafka.Minute ||
				g.offsets.list[0].value.Offset != 9 {
				t.Errorf("%s reads of %s: %+v", reader, writer, g)
			}
		}
	}
}

// RS-5: what a cleaner leaves of the log, also of transactions and tombstones, loads as
// the whole log does. That leaves out what Kafka's rules make of a tombstone between a
// transaction's commit of the same key and its marker: by LD-3 the marker brings the
// offset back, unless the cleaner has taken it meanwhile.
func TestACompactedLogLoadsAsTheWholeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := log.DefaultConfig()
		cfg.SegmentBytes, cfg.IndexIntervalBytes = 400, 100
		cfg.Delete, cfg.Compact, cfg.DeleteRetentionMs = false, true, 5
		l := newLab(t, "zk-3.9", 1, "offsets.load.buffer.size=300")
		opened, err := log.OpenNow(vfstest.NewMem(), "data/"+OffsetsTopic+"-0", &cfg, log.OpenParams{Now: labStart})
		if err != nil {
			t.Fatal(err)
		}
		l.logs[0] = opened
		open := map[int64]bool{}
		staged := map[int64]map[int32]bool{} // partitions in open transactions
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			partition := int32(rapid.IntRange(0, 3).Draw(t, "partition"))
			value := valueOf(kafka.Offset(rapid.IntRange(0, 99).Draw(t, "offset")))
			if rapid.IntRange(0, 3).Draw(t, "tombstone") == 0 {
				value = nil
			}
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0, 1:
				if open[7] && staged[7][partition] || open[8] && staged[8][partition] {
					value = valueOf(2000)
				}
				l.put(record.ClientOptions(), keyOf(partition), value)
			case 2:
				producer := int64(rapid.IntRange(7, 8).Draw(t, "producer"))
				l.put(transaction(producer), keyOf(partition), valueOf(1000))
				if !open[producer] {
					open[producer], staged[producer] = true, map[int32]bool{}
				}
				staged[producer][partition] = true
			case 3:
				producer := int64(rapid.IntRange(7, 8).Draw(t, "producer"))
				if open[producer] {
					l.marker(producer, rapid.Bool().Draw(t, "commit"))
					open[producer] = false
				}
			case 4:
				m := goldenGroup()
				m.Generation = int32(rapid.IntRange(1, 9).Draw(t, "generation"))
				group := AppendMetadata(nil, 3, m)
				if value == nil {
					group = nil
				}
				l.put(record.ClientOptions(), AppendGroupKey(nil, "g"), group)
			}
		}
		opened.SetHighWatermark(opened.LogEndOffset())
		l.elect(0, 0)
		l.work()
		before := l.loadedText()
		for now := labStart; now < labStart+60; now += 10 { // tombstones and markers go in later rounds
			l.clean(opened, now)
		}
		l.reboot()
		l.elect(0, 1)
		l.work()
		if after := l.loadedText(); before != after {
			t.Fatalf("the whole log: %s\ncleaned: %s\n%s", before, after, l.records(0))
		}
	})
}

func (l *lab) clean(of *log.Log, now kafka.TimestampMs) {
	l.t.Helper()
	r, err := of.CleanRange(now)
	if err != nil {
		l.t.Fatal(err)
	}
	c := of.BeginCleaning(log.CleanParams{Range: r, Now: now, MapBytes: 1 << 20, ReadBytes: 256, Seed: 7})
	for done := false; !done; {
		if done, err = c.Step(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// loadedText is all that a load has made.
func (l *lab) loadedText() (text string) {
	for _, g := range l.c.Groups() {
		text += fmt.Sprint(g.id, " ", g.state, " ", g.generation, " ", len(g.members))
		g.Offsets(func(tp kafka.TopicPartition, o Offset) { text += fmt.Sprint(" ", tp, " ", o.Offset) })
		for i := range g.offsets.open {
			text += fmt.Sprint(" open ", g.offsets.open[i].producer, g.offsets.open[i].tp, g.offsets.open[i].value.Offset)
		}
	}
	return text
}
