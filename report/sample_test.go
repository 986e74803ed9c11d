package report

import (
	"fmt"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

const (
	ms = kafka.Millisecond
	s  = kafka.Second
)

// noise is a repeatable sequence of numbers in [0, n).
type noise uint64

func (x *noise) below(n int64) int64 {
	*x += 0x9e3779b97f4a7c15
	z := uint64(*x)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) >> 1 % uint64(n))
}

// crashRun is what a leader crash may look like: broker-1 dies at 20 s, is elected
// away at 26.1 s, comes back at 35 s.
func crashRun() *outcome.Result {
	r := &outcome.Result{
		Scenario: "leader-crash", ScenarioSHA: "5f1c0a", Protocol: "zk-3.9", Seed: 1, Engine: 1, Verdict: outcome.Pass,
		Fingerprint: "8c1f2a90d1b7e3460a5b9c7d2e4f6081", Events: 1_204_311, Chaos: 60 * s, Settled: 60*s + 250*ms, End: 61 * s,
		Checkpoints: []outcome.Checkpoint{{Event: 4096, Hash: "00112233445566778899aabbccddeeff"}},
		Records:     outcome.Records{Sent: 22_800, Acked: 22_800, Delivered: 22_800},
		Faults:      []outcome.Fault{{Index: 0, Text: "kill: leader(orders/0)", Hit: "broker-1", Interval: outcome.Interval{From: 20 * s, To: 35 * s}}},
		Metrics:     []outcome.MetricResult{{Source: "records.lost == 0", Value: "0", Held: true, Line: 30}, {Source: "unavailable(orders/*) < 12s", Value: "6.114000s", Held: true, Line: 31}},
		Probes:      []outcome.Count{{Name: "fenced-produce", N: 3}},
	}
	for i := range 24 {
		r.Invariants = append(r.Invariants, outcome.InvariantState{Name: fmt.Sprintf("invariant-%d", i+1), Rules: fmt.Sprintf("INV-%02d", i+1),
			Words: "something holds", State: "held", Checked: uint64(1000 * i)})
	}
	r.Invariants[22].State, r.Invariants[23].State = "not-exercised", "not-exercised"
	r.Phases = []outcome.Phase{
		{Name: "before", Interval: outcome.Interval{From: 3 * s, To: 20 * s}, Acked: 6800, Bytes: 6800 << 10,
			Produce: quantilesOf(6800, 7*ms), E2E: quantilesOf(6800, 9*ms)},
		{Name: "during", Interval: outcome.Interval{From: 20 * s, To: 35*s + 900*ms}, Acked: 6360, Bytes: 6360 << 10,
			Produce: outcome.Quantiles{Count: 6360, P50: 8 * ms, P95: 4*s + 200*ms, P99: 5*s + 900*ms, P999: 6*s + 101*ms, Max: 6*s + 114*ms},
			E2E:     outcome.Quantiles{Count: 6360, P50: 11 * ms, P95: 4*s + 300*ms, P99: 6 * s, P999: 6*s + 301*ms, Max: 6*s + 414*ms}},
		{Name: "after", Interval: outcome.Interval{From: 35*s + 900*ms, To: 60 * s}, Acked: 9640, Bytes: 9640 << 10,
			Produce: quantilesOf(9640, 7*ms), E2E: quantilesOf(9640, 9*ms)},
	}
	addPartitions(r, "orders", 3, 3)
	addTimeline(r)
	addSeries(r, 3)
	return r
}

func quantilesOf(n int64, p50 kafka.Nanos) outcome.Quantiles {
	return outcome.Quantiles{Count: n, P50: p50, P95: p50 * 13 / 10, P99: p50 * 17 / 10, P999: p50 * 4, Max: p50*6 + 1234}
}

func ring(i, brokers int) []kafka.NodeID {
	var ids []kafka.NodeID
	for k := range 3 {
		ids = append(ids, kafka.NodeID((i+k)%brokers+1))
	}
	return ids
}

func without(ids []kafka.NodeID, id kafka.NodeID) []kafka.NodeID {
	var out []kafka.NodeID
	for _, x := range ids {
		if x != id {
			out = append(out, x)
		}
	}
	return out
}

func addPartitions(r *outcome.Result, topic string, n, brokers int) {
	for i := range n {
		ids := ring(i, brokers)
		tp := kafka.TopicPartition{Topic: topic, Partition: int32(i)}
		p := outcome.Partition{TP: tp, Replicas: ids, Leader: ids[0], ISR: ids, LEO: 7600, HW: 7600, UnderReplicated: 15*s + 800*ms}
		strip := outcome.Strip{TP: tp, Spans: []outcome.Span{{Interval: outcome.Interval{From: 1200 * ms, To: 26100 * ms}, Leader: ids[0], ISR: ids}}}
		if ids[0] == 1 {
			p.Elections, p.LeaderEpoch, p.Leader, p.Unavailable, p.Leaderless = 1, 1, ids[1], 6114*ms, 6109*ms
			p.ISR = without(ids, 1)
			p.Outages = []outcome.Interval{{From: 20 * s, To: 26114 * ms}}
		}
		in := without(ids, 1)
		if len(in) == 3 {
			strip.Spans[0].To = 60 * s
			p.UnderReplicated = 0
		} else {
			strip.Spans = append(strip.Spans, outcome.Span{Interval: outcome.Interval{From: 26100 * ms, To: 35900 * ms}, Leader: in[0], LeaderEpoch: 1, ISR: in},
				outcome.Span{Interval: outcome.Interval{From: 35900 * ms, To: 60 * s}, Leader: in[0], LeaderEpoch: 1, ISR: append(in[:2:2], 1)})
			p.ISR = append(in[:2:2], 1)
		}
		r.Partitions = append(r.Partitions, p)
		r.Series.Strips = append(r.Series.Strips, strip)
	}
}

func addTimeline(r *outcome.Result) {
	seq := uint64(0)
	note := func(e event.Event) { seq++; e.Seq = seq; r.Timeline = append(r.Timeline, e) }
	for i := range 3 {
		note(event.Event{Kind: event.NodeBooted, Actor: kafka.BrokerHost(kafka.NodeID(i + 1)), Count: 1})
	}
	note(event.Event{Time: 400 * ms, Kind: event.ControllerElected, Actor: "broker-2", Node: 2, ControllerEpoch: 1})
	note(event.Event{Time: 800 * ms, Kind: event.TopicCreated, Actor: "zookeeper", TP: kafka.TopicPartition{Topic: "orders"}, Count: 3})
	changed := func(at kafka.Nanos, i int, leader kafka.NodeID, epoch kafka.LeaderEpoch, isr []kafka.NodeID) {
		note(event.Event{Time: at, Kind: event.PartitionChanged, Actor: "zookeeper", TP: kafka.TopicPartition{Topic: "orders", Partition: int32(i)},
			Leader: leader, LeaderEpoch: epoch, ISR: isr, Node: 2})
	}
	for i := range 3 {
		changed(1200*ms, i, ring(i, 3)[0], 0, ring(i, 3))
	}
	note(event.Event{Time: 20 * s, Kind: event.NodeCrashed, Actor: "broker-1", Text: "kill"})
	note(event.Event{Time: 20 * s, Kind: event.FaultStarted, Actor: "broker-1", Text: "kill: leader(orders/0)"})
	note(event.Event{Time: 26050 * ms, Kind: event.SessionExpired, Actor: "zookeeper", Text: "broker-1"})
	note(event.Event{Time: 26050 * ms, Kind: event.BrokerUnregistered, Actor: "zookeeper", Node: 1})
	note(event.Event{Time: 26090 * ms, Kind: event.LeaderElected, Actor: "broker-2", TP: kafka.TopicPartition{Topic: "orders"}, Leader: 2, LeaderEpoch: 1,
		ISR: []kafka.NodeID{2, 3}, Text: "offline partition"})
	for i := range 3 {
		in := without(ring(i, 3), 1)
		changed(26100*ms, i, in[0], 1, in)
	}
	note(event.Event{Time: 35 * s, Kind: event.NodeBooted, Actor: "broker-1", Count: 2})
	note(event.Event{Time: 35 * s, Kind: event.FaultEnded, Text: "kill: leader(orders/0)"})
	note(event.Event{Time: 35200 * ms, Kind: event.BrokerRegistered, Actor: "zookeeper", Node: 1, BrokerEpoch: 77})
	note(event.Event{Time: 35400 * ms, Kind: event.Truncated, Actor: "broker-1", Node: 1, TP: kafka.TopicPartition{Topic: "orders"}, LEO: 2502, Offset: 2500, HW: 2498, Text: "leader epoch"})
	for i := range 3 {
		in := without(ring(i, 3), 1)
		changed(35900*ms, i, in[0], 1, append(in[:2:2], 1))
	}
	note(event.Event{Time: 60 * s, Kind: event.Healed})
	note(event.Event{Time: 60250 * ms, Kind: event.Settled})
}

func addSeries(r *outcome.Result, brokers int) {
	x := noise(7)
	r.Series.Step = 250 * ms
	n := int(60 * s / r.Series.Step)
	for i := range n {
		at := kafka.Nanos(i) * r.Series.Step
		base := 6*ms + kafka.Nanos(x.below(int64(3*ms)))
		q := quantilesOf(100, base)
		acked := 90 + x.below(20)
		switch {
		case at < 3*s:
			q, acked = outcome.Quantiles{}, 0
		case at >= 20*s && at < 26*s:
			acked = acked * 2 / 3
		case at >= 26*s && at < 26250*ms:
			q = outcome.Quantiles{Count: 900, P50: 3 * s, P95: 5800 * ms, P99: 6 * s, P999: 6100 * ms, Max: 6114 * ms}
			acked = 900
		}
		if acked == 0 {
			q = outcome.Quantiles{}
		}
		e2e := q
		e2e.P50, e2e.P95 = q.P50+2*ms, q.P95+3*ms
		r.Series.Produce = append(r.Series.Produce, q)
		r.Series.E2E = append(r.Series.E2E, e2e)
		r.Series.Acked = append(r.Series.Acked, acked)
		r.Series.Bytes = append(r.Series.Bytes, acked<<10)
		r.Series.Failed = append(r.Series.Failed, 0)
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		for _, id := range p.Replicas {
			l := outcome.Lag{TP: p.TP, Node: id}
			var end kafka.Offset
			for k := range n {
				at := kafka.Nanos(k+1) * r.Series.Step
				end += 33
				leo, hw := end-kafka.Offset(x.below(4)), end-kafka.Offset(4+x.below(4))
				if id == 1 && at > 20*s && at < 36*s {
					leo, hw = 33*80, 33*80-3
				}
				l.Points = append(l.Points, outcome.LagPoint{At: at, LEO: leo, HW: hw})
			}
			r.Series.Lags = append(r.Series.Lags, l)
		}
	}
}

// busyRun has many partitions, brokers and faults.
func busyRun() *outcome.Result {
	r := crashRun()
	r.Scenario = "w1-with-a-rather-long-scenario-name"
	r.Partitions, r.Series = nil, outcome.Series{}
	addPartitions(r, "a-topic-with-a-rather-long-name", 60, 11)
	addSeries(r, 11)
	for i := range 9 {
		from := kafka.Nanos(5+i*5) * s
		r.Faults = append(r.Faults, outcome.Fault{Index: i + 1, Text: "link: {between: random(brokers), and: others, latency: 50ms, loss: 5%}",
			Hit: fmt.Sprintf("broker-%d", i+1), Interval: outcome.Interval{From: from, To: from + kafka.Nanos(i)*s}})
	}
	return r
}

// lossRun loses records that its configuration allowed to be lost.
func lossRun() *outcome.Result {
	r := crashRun()
	r.Scenario = "acks-1-loss"
	r.Records.Lost, r.Records.Failed, r.Records.Unknown, r.Records.UnknownPresent = 42, 12, 10, 7
	r.Loss = outcome.Loss{Records: 42, Reasons: []outcome.Reason{{Text: "acks=1: the leader died before any follower had fetched the record", Records: 42,
		Example: "p-1 #2501 of orders-0, acknowledged at 19.998s at offset 2501 in epoch 0 by broker-1; broker-2 began epoch 1 at 2500"}}}
	r.Invariants[3] = outcome.InvariantState{Name: "no-acked-loss", Rules: "INV-04 I-1", Words: "No acknowledged record is lost.", State: "suspended",
		Note: "acks=1 promises nothing beyond the leader's own log"}
	r.Warnings = []string{"leader-crash.yaml:7:3: replication 2 <= min.insync.replicas 2: any one broker down stops acks=all writes"}
	r.NotModelled = []string{"listeners=PLAINTEXT://:9092", "num.network.threads=3", "socket.send.buffer.bytes=102400", "log.dirs=/tmp/kafka-logs"}
	return r
}

// violatedRun breaks an invariant.
func violatedRun() *outcome.Result {
	r := crashRun()
	r.Scenario, r.Protocol, r.Seed, r.Verdict = "hw-truncation", "zk-0.10", 42, outcome.Violated
	r.Records.Lost = 1
	tp := kafka.TopicPartition{Topic: "orders"}
	r.Invariants[3] = outcome.InvariantState{Name: "no-acked-loss", Rules: "INV-04 I-1", State: "violated", Checked: 9000,
		Words: "A record that was acknowledged with acks=all while the ISR had at least min.insync.replicas members is in every later leader's log."}
	v := outcome.Violation{Invariant: "no-acked-loss", At: 41207 * ms, TP: tp,
		What: "orders-0 offset 8812 was acknowledged to p-1 at 40.118s, but broker-1, elected in epoch 5, does not have it",
		Facts: []string{"acked    p-1 #20931 at offset 8812, epoch 3, acks=all, ISR {1,2,3}, at 40.118s",
			"missing  broker-1 truncated to its high watermark 8812 at 40.702s and was elected at 41.207s"}}
	for i := range 14 {
		v.Recent = append(v.Recent, event.Event{Time: 40*s + kafka.Nanos(i)*80*ms, Seq: uint64(90000 + i), Actor: "broker-1", Kind: event.HighWatermark, Node: 1,
			TP: tp, HW: kafka.Offset(8800 + i), LEO: kafka.Offset(8801 + i), LeaderEpoch: 3})
	}
	v.Recent = append(v.Recent, event.Event{Time: 40702 * ms, Seq: 90100, Actor: "broker-1", Kind: event.Truncated, Node: 1, TP: tp, LEO: 8813, Offset: 8812, HW: 8812, Text: "high watermark"},
		event.Event{Time: 41207 * ms, Seq: 90200, Actor: "broker-3", Kind: event.LeaderElected, TP: tp, Leader: 1, LeaderEpoch: 5, ISR: []kafka.NodeID{1}, Text: "preferred replica"})
	r.Violations = []outcome.Violation{v}
	r.Why = []string{"no-acked-loss is violated at 41.207000s: " + v.What, "expected records.lost == 0: it is 1"}
	r.Metrics[0].Held, r.Metrics[0].Value = false, "1"
	return r
}
