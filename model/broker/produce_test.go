package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// trio is three brokers and the topic orders with its leader on broker 1.
func trio(t testing.TB, profile string, settings map[string]string) *world {
	w := newWorld(t, profile)
	w.cluster(3)
	w.create("orders", settings, 1, 2, 3)
	return w
}

func TestAcks0GetsNoAnswer(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	c.send(w.produce(0, "orders", 0, batch("a")))
	c.send(w.produce(1, "orders", 0, batch("b")))
	w.run(kafka.Second)
	if len(c.resp) != 1 {
		t.Fatalf("%d answers", len(c.resp))
	}
	if code, base := produced(c.resp[0]); code != kafka.None || base != 1 {
		t.Fatalf("%v at %d: the first batch is not there", code, base)
	}
}

func TestL13Acks0ClosesTheConnectionOnAnError(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(2)
	c.send(w.produce(0, "orders", 0, batch("a")))
	w.run(kafka.Second)
	if !c.gone {
		t.Fatal("the connection is open")
	}
}

func TestAcks1IsAnsweredBeforeReplication(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.cut("broker-2", "broker-1")
	w.cut("broker-3", "broker-1")
	code, base := produced(w.client(1).ask(w.produce(1, "orders", 0, batch("a"))))
	if code != kafka.None || base != 0 || w.part(1, "orders").HighWatermark() != 0 {
		t.Fatalf("%v at %d, high watermark %d", code, base, w.part(1, "orders").HighWatermark())
	}
}

func TestL13InvalidAcksAppendNothing(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	code, _ := produced(w.client(1).ask(w.produce(2, "orders", 0, batch("a"))))
	if code != kafka.InvalidRequiredAcks || w.part(1, "orders").PublishedLEO() != 0 {
		t.Fatalf("%v, end %d", code, w.part(1, "orders").PublishedLEO())
	}
}

func TestL13WhoIsAskedForAPartitionThatIsNotHisOwn(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.create("alone", nil, 1)
	w.run(kafka.Second)
	c := w.client(2)
	for _, x := range []struct {
		topic string
		part  int32
		want  kafka.ErrorCode
		hint  int32 // KIP-951
	}{
		{"orders", 0, kafka.NotLeaderOrFollower, 1},
		{"alone", 0, kafka.NotLeaderOrFollower, 1},
		{"orders", 7, kafka.UnknownTopicOrPartition, -1},
		{"nothing", 0, kafka.UnknownTopicOrPartition, -1},
		{"__consumer_offsets", 0, kafka.InvalidTopicException, -1},
	} {
		resp := c.ask(w.produce(1, x.topic, x.part, batch("a"))).(*kmsg.ProduceResponse)
		p := &resp.Topics[0].Partitions[0]
		if kafka.ErrorCode(p.ErrorCode) != x.want || p.CurrentLeader.LeaderID != x.hint || (len(resp.Brokers) == 1) != (x.hint == 1) {
			t.Errorf("%s-%d: %v, leader %d, %d brokers", x.topic, x.part, kafka.ErrorCode(p.ErrorCode), p.CurrentLeader.LeaderID, len(resp.Brokers))
		}
	}
}

func TestInvalidBatchesAreRefusedWithTheReason(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	bad := batch("a")
	bad[len(bad)-1] ^= 1
	resp := w.client(1).ask(w.produce(-1, "orders", 0, bad)).(*kmsg.ProduceResponse)
	p := &resp.Topics[0].Partitions[0]
	if kafka.ErrorCode(p.ErrorCode) != kafka.CorruptMessage || p.ErrorMessage == nil || p.BaseOffset != -1 {
		t.Fatalf("%+v", p)
	}
}

// isrOf waits until the leader has an ISR of n.
func (w *world) isrOf(id kafka.NodeID, n int) {
	w.t.Helper()
	w.until("the ISR has the wanted size", func() bool { return len(w.part(id, "orders").ISR()) == n })
}

func TestMinISRIsCheckedBeforeTheAppend(t *testing.T) {
	w := trio(t, "zk-3.9", map[string]string{"min.insync.replicas": "2"})
	w.crash(2)
	w.crash(3)
	w.isrOf(1, 1)
	c := w.client(1)
	code, _ := produced(c.ask(w.produce(-1, "orders", 0, batch("a"))))
	if code != kafka.NotEnoughReplicas || w.part(1, "orders").PublishedLEO() != 0 {
		t.Fatalf("acks=all: %v", code)
	}
	if code, _ := produced(c.ask(w.produce(1, "orders", 0, batch("a")))); code != kafka.None {
		t.Fatalf("acks=1 does not care: %v", code)
	}
}

func TestL15MinISRAfterTheAppend(t *testing.T) {
	for profile, want := range map[string]kafka.ErrorCode{
		"zk-2.6": kafka.NotEnoughReplicasAfterAppend, // the high watermark goes on
		"zk-3.9": kafka.RequestTimedOut,              // it is frozen (KAFKA-15583)
	} {
		t.Run(profile, func(t *testing.T) {
			w := trio(t, profile, map[string]string{"min.insync.replicas": "2"})
			w.crash(2)
			w.crash(3)
			c := w.client(1)
			req := w.produce(-1, "orders", 0, batch("a"))
			req.TimeoutMillis = 50_000
			code, base := produced(c.ask(req))
			if code != want || base != 0 {
				t.Fatalf("%v at %d, want %v", code, base, want)
			}
			if w.part(1, "orders").PublishedLEO() != 1 {
				t.Fatal("the record is gone")
			}
		})
	}
}

func TestL14ParkedProduceTimesOutAndTheRecordStays(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	w.cut("broker-1", "broker-2")
	c := w.client(1)
	req := w.produce(-1, "orders", 0, batch("a"))
	req.TimeoutMillis = 700
	begin := w.now
	c.send(req)
	w.run(500 * kafka.Millisecond)
	if b := w.broker(1); b.Idle() || b.waiting.parkedProduces != 1 {
		t.Fatal("not parked")
	}
	w.until("answered", func() bool { return len(c.resp) == 1 })
	code, base := produced(c.resp[0])
	if took := w.now - begin; code != kafka.RequestTimedOut || base != 0 || took < 700*kafka.Millisecond || took > 710*kafka.Millisecond {
		t.Fatalf("%v at %d after %v", code, base, took)
	}
	w.heal()
	w.until("it commits after all", func() bool { return w.part(1, "orders").HighWatermark() == 1 })
	if w.noted(event.ProduceAnswered, 1) != 1 || w.broker(1).waiting.parkedProduces != 0 || !w.broker(1).Idle() {
		t.Fatal("something is left over")
	}
}

func TestOneConnectionIsServedOneRequestAtATimeThoughProducesPark(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	for range 20 {
		c.send(w.produce(-1, "orders", 0, batch("a")))
	}
	w.until("all are answered", func() bool { return len(c.resp) == 20 })
	for i, r := range c.resp {
		if code, base := produced(r); code != kafka.None || base != kafka.Offset(i) {
			t.Fatalf("answer %d: %v at %d", i, code, base)
		}
	}
}

func TestDeposedLeaderAnswersWhatItHasParked(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	w.cut("broker-1", "broker-2")
	w.cut("broker-1", "broker-3")
	c := w.client(1)
	c.send(w.produce(-1, "orders", 0, batch("a")))
	w.run(kafka.Second)
	p := w.part(1, "orders")
	st := state(2, p.LeaderEpoch()+1, 1, 2, 3)
	st.ZKVersion = int32(p.PartitionEpoch()) + 1
	if top, part := w.control(1, w.leaderAndISR(1, 1000, st)); top != kafka.None || part != kafka.None {
		t.Fatal(top, part)
	}
	w.run(10 * kafka.Millisecond)
	if len(c.resp) != 1 {
		t.Fatal("no answer")
	}
	if code, _ := produced(c.resp[0]); code != kafka.NotLeaderOrFollower {
		t.Fatal(code)
	}
}
