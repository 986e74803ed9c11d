package client

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

func TestMurmur2GivesKafkasVectorsP12(t *testing.T) {
	for _, v := range []struct {
		key               string
		hash              int32
		mod3, mod6, mod10 int32
	}{
		{"21", -973932308, 0, 0, 0},
		{"foobar", -790332482, 0, 0, 6},
		{"a-little-bit-long-string", -985981536, 2, 2, 2},
		{"a-little-bit-longer-string", -1486304829, 2, 5, 9},
		{"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971, 2, 5, 7},
		{"abc", 479470107, 0, 3, 7},
		{"", 275646681, 0, 3, 1},
		{"key-1", 193331640, 0, 0, 0},
		{"user-1", 1404122828, 2, 2, 8},
	} {
		k := []byte(v.key)
		if h := murmur2(k); h != v.hash {
			t.Errorf("murmur2(%q) = %d, want %d", v.key, h, v.hash)
		}
		if a, b, c := PartitionForKey(k, 3), PartitionForKey(k, 6), PartitionForKey(k, 10); a != v.mod3 || b != v.mod6 || c != v.mod10 {
			t.Errorf("partitions of %q: %d %d %d", v.key, a, b, c)
		}
	}
}

func TestAdaptiveWeightsPreferShortQueuesP13(t *testing.T) {
	w := []int64{0, 3, 1}
	if !weighQueues(w, 3) || !slices.Equal(w, []int64{4, 5, 8}) {
		t.Fatalf("cumulative weights %v", w)
	}
	var got []int
	for at := range int64(8) {
		got = append(got, pick(w, at))
	}
	if !slices.Equal(got, []int{0, 0, 0, 0, 1, 2, 2, 2}) {
		t.Errorf("draws 0..7 pick %v", got)
	}
	if weighQueues([]int64{2, 2, 2}, 3) {
		t.Error("equal queues of all partitions need no weights")
	}
	if w := []int64{2, 2}; !weighQueues(w, 3) || !slices.Equal(w, []int64{1, 2}) {
		t.Errorf("a partition without a leader is left out: %v", w)
	}
}

// desk is an accumulator with a topic of three partitions and no sender.
func desk(p config.Partitioner, batchSize int32) (*accumulator, *topicQueues, *step.Input) {
	cfg := labProducerConfig()
	cfg.Partitioner, cfg.BatchSize = p, batchSize
	m := new(metadata)
	for id := kafka.NodeID(1); id <= 3; id++ {
		m.learnNode(id, addrOf(int32(id)))
	}
	acc := newAccumulator(cfg, m, 0, nil)
	topic := acc.topic("orders")
	for p := range int32(3) {
		*topic.info.part(p) = partitionInfo{leaderInfo: leaderInfo{kafka.NodeID(p + 1), 0}, known: true}
	}
	topic.info.count = 3
	in := &step.Input{Incarnation: 1}
	in.SetDraws(step.NewDraws(3))
	return &acc, topic, in
}

// put appends n records of about 100 bytes and returns their partitions.
func put(acc *accumulator, t *topicQueues, in *step.Input, n int) (partitions []int32) {
	for range n {
		before := make([]int64, 3)
		for i := range before {
			before[i] = acc.queue(t, int32(i)).next
		}
		acc.append(in, t, -1, &outgoing{timestamp: 1, value: make([]byte, 100)})
		for i := range before {
			if t.queues[i].next != before[i] {
				partitions = append(partitions, int32(i))
			}
		}
	}
	return partitions
}

func TestRoundRobinTakesTheNextPartitionWithALeaderP14(t *testing.T) {
	acc, topic, in := desk(config.RoundRobin, 16384)
	got := put(acc, topic, in, 6)
	for i := 3; i < 6; i++ {
		if got[i] != got[i-3] || got[i] == got[i-1] || got[i] == got[i-2] {
			t.Fatalf("partitions %v", got)
		}
	}
	topic.info.partitions[1].leader = kafka.NoNode
	if got := put(acc, topic, in, 4); slices.Contains(got, 1) {
		t.Errorf("a record went to the partition without a leader: %v", got)
	}
}

func TestStickyPartitionChangesWithEachNewBatchP14(t *testing.T) {
	acc, topic, in := desk(config.StickyPerBatch, 400) // three records a batch
	got := put(acc, topic, in, 30)
	for i := 0; i < 30; i += 3 {
		if got[i] != got[i+1] || got[i] != got[i+2] {
			t.Fatalf("batch of %d split over partitions: %v", i, got)
		}
		if i > 0 && got[i] == got[i-1] {
			t.Fatalf("a new batch in the same partition: %v", got)
		}
	}
}

func TestUniformStickySwitchesAfterBatchSizeBytesP13(t *testing.T) {
	acc, topic, in := desk(config.UniformSticky, 400)
	acc.cfg.Adaptive = false
	got := put(acc, topic, in, 300)
	runs := map[int]int{}
	run := 1
	for i := 1; i < len(got); i++ {
		if got[i] == got[i-1] {
			run++
			continue
		}
		runs[run]++
		run = 1
	}
	for n := range runs {
		if n < 3 {
			t.Errorf("a switch after %d records, less than batch.size: %v", n, got)
		}
	}
	for p := range int32(3) {
		if n := len(topic.queues[p].waiting); n < 10 {
			t.Errorf("partition %d got %d batches of about 100", p, n)
		}
	}
}

func TestUniformStickyNeverCutsABatchShort(t *testing.T) {
	acc, topic, in := desk(config.UniformSticky, 400)
	put(acc, topic, in, 200)
	short := 0
	for _, q := range topic.queues {
		for _, b := range q.waiting {
			if b.count < 3 {
				short++
			}
		}
	}
	if short > 3 { // the tail of each partition
		t.Errorf("%d batches are not full", short)
	}
}

func TestKeyedRecordsGoToTheirPartitionWhetherOrNotItHasALeader(t *testing.T) {
	acc, topic, in := desk(config.UniformSticky, 16384)
	topic.info.partitions[0].leader = kafka.NoNode
	acc.append(in, topic, -1, &outgoing{timestamp: 1, key: []byte("21"), value: make([]byte, 100)})
	if len(topic.queues[0].waiting) != 1 {
		t.Error("key 21 belongs to partition 0 of 3")
	}
}

func TestPickAgreesWithALinearUrn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 10).Draw(t, "lengths")
		longest := slices.Max(lengths)
		var urn []int
		for i, n := range lengths {
			for range longest + 1 - n {
				urn = append(urn, i)
			}
		}
		w := slices.Clone(lengths)
		if !weighQueues(w, len(lengths)+1) {
			t.Fatal("one partition is missing: there must be weights")
		}
		at := rapid.IntRange(0, len(urn)-1).Draw(t, "at")
		if got := pick(w, int64(at)); got != urn[at] {
			t.Fatalf("lengths %v: draw %d picks %d, want %d", lengths, at, got, urn[at])
		}
	})
}

func TestWorkloadValuesDescribeThemselves(t *testing.T) {
	v := make([]byte, 40)
	putValue(v, 12, 1<<40+5, 99*kafka.Second)
	if p, n, sent, ok := ParseValue(v); !ok || p != 12 || n != 1<<40+5 || sent != 99*kafka.Second {
		t.Error(p, n, sent, ok)
	}
	for _, alien := range [][]byte{nil, v[:23], make([]byte, 100)} {
		if _, _, _, ok := ParseValue(alien); ok {
			t.Errorf("%d alien bytes parse", len(alien))
		}
	}
}

func TestExponentialDelaysHaveTheirMeanAndTheirShape(t *testing.T) {
	const mean, n = kafka.Millisecond, 100_000
	d := step.NewDraws(5)
	sum, below := kafka.Nanos(0), 0
	for i := range uint64(n) {
		x := exponential(mean, d.At(i))
		if x < 0 || x > 45*mean {
			t.Fatalf("delay %v", x)
		}
		sum += x
		if x < mean*693147/1000000 {
			below++
		}
	}
	if avg := sum / n; avg < mean*99/100 || avg > mean*101/100 {
		t.Errorf("mean %v", avg)
	}
	if below < n*49/100 || below > n*51/100 {
		t.Errorf("%d of %d below the median", below, n)
	}
	if exponential(mean, 1<<64-1) > 1000 || exponential(kafka.Forever, 0) != kafka.Forever {
		t.Error("ends")
	}
}

func TestConstantCallsDoNotDrift(t *testing.T) {
	w := Workload{RatePerMil: 3000, StartAt: kafka.Second, StopAt: 11 * kafka.Second}
	in := &step.Input{Incarnation: 1}
	a := newArrivals(in, &w)
	var times []kafka.Nanos
	for a.next != kafka.Forever {
		times = append(times, a.next)
		in.Now = a.next
		a.pass(in)
	}
	if len(times) != 30 || times[0] != kafka.Second || times[3] != 2*kafka.Second || times[27] != 10*kafka.Second {
		t.Errorf("%d calls: %v", len(times), times)
	}
	in.Now = 9*kafka.Second + 1
	if late := newArrivals(in, &w); late.next != times[25] {
		t.Errorf("a late start begins with %v, want %v", late.next, times[25])
	}
}

func TestCountBoundsTheRecordsOfAWorkload(t *testing.T) {
	w := Workload{RatePerMil: 1000, RecordsPerCall: 4, Count: 10, Arrival: Exponential}
	in := &step.Input{Incarnation: 1}
	a := newArrivals(in, &w)
	got := ""
	for a.next != kafka.Forever {
		got += fmt.Sprint(a.records(), " ")
		a.pass(in)
	}
	if got != "4 4 2 " {
		t.Error(got)
	}
}
