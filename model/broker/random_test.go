package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// acked is a record that some leader acknowledged with acks=all.
type acked struct {
	value string
	at    kafka.Offset
}

// troubles is a cluster under random crashes and cuts, with a client that produces
// and believes the answers.
type troubles struct {
	w       *world
	sent    int
	acked   []acked
	pending []*attempt
}

type attempt struct {
	c     *testClient
	value string
}

func (tr *troubles) produce(to kafka.NodeID) {
	if tr.w.down(to) {
		return
	}
	a := &attempt{tr.w.client(to), fmt.Sprint("v", tr.sent)}
	tr.sent++
	req := tr.w.produce(-1, "orders", 0, batch(a.value))
	req.TimeoutMillis = 5000
	a.c.send(req)
	tr.pending = append(tr.pending, a)
}

func (tr *troubles) collect() {
	left := tr.pending[:0]
	for _, a := range tr.pending {
		switch {
		case len(a.c.resp) > 0:
			if code, base := produced(a.c.resp[0]); code == kafka.None {
				tr.acked = append(tr.acked, acked{a.value, base})
			}
		case !a.c.gone:
			left = append(left, a)
		}
	}
	tr.pending = left
}

// values reads a replica's whole log.
func (tr *troubles) values(id kafka.NodeID) map[kafka.Offset]string {
	got := map[kafka.Offset]string{}
	err := tr.w.part(id, "orders").Log().Batches(0, func(b record.Batch) bool {
		var it record.Iterator
		for it.Reset(b); it.Next(); {
			got[it.Record().Offset] = string(it.Record().Value)
		}
		return it.Err() == nil
	})
	if err != nil {
		tr.w.t.Fatal(err)
	}
	return got
}

// Whatever crashes and is cut off: with two in-sync replicas demanded, no unclean
// elections and disks that keep their cache, what was acknowledged stays where it
// was, on all replicas, and the healed cluster converges.
func TestAcknowledgedRecordsSurviveCrashesAndCuts(t *testing.T) {
	for _, profile := range []string{"zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { survive(t, rt, profile) })
		})
	}
}

// drawn makes a failure one of the drawn case, so that it is shrunk.
type drawn struct {
	testing.TB
	rt *rapid.T
}

func (d drawn) Fatal(args ...any)                 { d.rt.Fatal(args...) }
func (d drawn) Fatalf(format string, args ...any) { d.rt.Fatalf(format, args...) }

func survive(t *testing.T, rt *rapid.T, profile string) {
	w := newWorld(drawn{t, rt}, profile).with("replica.lag.time.max.ms", "4000").with("zookeeper.session.timeout.ms", "6000")
	tr := &troubles{w: w}
	w.cluster(3)
	w.create("orders", map[string]string{"min.insync.replicas": "2"}, 1, 2, 3)
	names := []string{"broker-1", "broker-2", "broker-3", "zk"}
	for range rapid.IntRange(1, 12).Draw(rt, "steps") {
		id := kafka.NodeID(rapid.IntRange(1, 3).Draw(rt, "broker"))
		switch rapid.SampledFrom([]string{"produce", "produce", "crash", "start", "term", "cut", "heal"}).Draw(rt, "what") {
		case "produce":
			for to := range kafka.NodeID(3) {
				tr.produce(to + 1)
			}
		case "crash":
			w.crash(id)
		case "term":
			if !w.down(id) {
				w.term(id)
			}
		case "start":
			if w.down(id) {
				w.start(id)
			}
		case "cut":
			a, b := rapid.IntRange(0, 3).Draw(rt, "a"), rapid.IntRange(0, 3).Draw(rt, "b")
			if a != b {
				w.cut(names[a], names[b])
			}
		case "heal":
			w.heal()
		}
		w.run(kafka.Nanos(rapid.IntRange(0, 8000).Draw(rt, "ms")) * kafka.Millisecond)
		tr.collect()
	}
	tr.settle(rt)
}

// settle heals everything, waits until the cluster has converged and compares.
func (tr *troubles) settle(rt *rapid.T) {
	w := tr.w
	w.heal()
	for second := 0; ; second++ {
		for id := range kafka.NodeID(3) {
			if w.down(id + 1) {
				w.start(id + 1)
			}
		}
		w.run(kafka.Second)
		tr.collect()
		if tr.converged() {
			break
		}
		if second == 240 {
			s := script{w: w}
			rt.Fatalf("after %d s, %d produces open:\n%s", second, len(tr.pending), s.state())
		}
	}
	for id := range kafka.NodeID(3) {
		got := tr.values(id + 1)
		for _, a := range tr.acked {
			if got[a.at] != a.value {
				rt.Fatalf("broker %d has %q at %d, acknowledged was %q", id+1, got[a.at], a.at, a.value)
			}
		}
	}
}

func (tr *troubles) converged() bool {
	var leader kafka.NodeID
	var ends [3]kafka.Offset
	for id := range kafka.NodeID(3) {
		p := tr.w.part(id+1, "orders")
		if tr.w.down(id+1) || tr.w.broker(id+1).State() != Running || p == nil {
			return false
		}
		ends[id] = p.PublishedLEO()
		if p.IsLeader() && len(p.ISR()) == 3 && p.HighWatermark() == p.PublishedLEO() {
			leader = id + 1
		}
	}
	if leader == 0 || ends[0] != ends[1] || ends[1] != ends[2] || len(tr.pending) > 0 {
		return false
	}
	md := tr.w.client(leader%3 + 1).ask(tr.w.metadata(9, false, "orders")).(*kmsg.MetadataResponse)
	return len(md.Topics[0].Partitions) == 1 && md.Topics[0].Partitions[0].Leader == int32(leader)
}
