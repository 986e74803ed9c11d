package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// checkWire proves that a message has no field above its version.
func checkWire(t testing.TB, m step.Message) {
	t.Helper()
	type message interface {
		GetVersion() int16
		SetVersion(int16)
		AppendTo([]byte) []byte
		ReadFrom([]byte) error
	}
	k, ok := m.(message)
	if !ok {
		return
	}
	var copied message
	switch r := m.(type) {
	case kmsg.Request:
		copied = kmsg.RequestForKey(r.Key())
	case kmsg.Response:
		copied = kmsg.ResponseForKey(r.Key()).(message)
	}
	copied.SetVersion(k.GetVersion())
	if err := copied.ReadFrom(k.AppendTo(nil)); err != nil {
		t.Fatalf("%T does not decode: %v", m, err)
	}
	if a, b := show(m), show(copied); a != b {
		t.Fatalf("%T v%d loses fields:\n%s\n%s", m, k.GetVersion(), a, b)
	}
}

// testClient is a connection from outside of any actor.
type testClient struct {
	w    *world
	l    *link
	resp []kmsg.Response
	gone bool
}

func (c *testClient) got(r kmsg.Response) {
	if r == nil {
		c.gone = true
		return
	}
	c.resp = append(c.resp, r)
}

// client connects to a broker that is up.
func (w *world) client(id kafka.NodeID) *testClient {
	p := w.parties[kafka.BrokerHost(id)]
	c := &testClient{w: w}
	c.l = &link{ends: [2]*party{nil, p}, open: true, client: c, conns: [2]step.ConnID{0, p.out.NewConn()}}
	p.links = append(p.links, c.l)
	w.send(p, step.Input{Kind: step.Accepted, Lane: p.serving, Conn: c.l.conns[1], From: "test"}, w.now)
	return c
}

func (c *testClient) send(req kmsg.Request) {
	checkWire(c.w.t, req)
	in := step.Input{Kind: step.Request, Lane: c.l.ends[1].serving, Conn: c.l.conns[1], Correlation: 1, Body: req, From: "test"}
	c.w.later(c.w.now+kafka.Millisecond, func() {
		c.l.waiting = append(c.l.waiting, in)
		c.w.serve(c.l)
	})
}

// ask sends and waits for the answer.
func (c *testClient) ask(req kmsg.Request) kmsg.Response {
	c.w.t.Helper()
	n := len(c.resp)
	c.send(req)
	c.w.until(fmt.Sprintf("answered: %T", req), func() bool { return len(c.resp) > n || c.gone })
	if c.gone {
		c.w.t.Fatalf("connection closed on %T", req)
	}
	return c.resp[n]
}

// Requests.

func batch(values ...string) []byte {
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for _, v := range values {
		bd.Append(1_700_000_000_000, nil, []byte(v), nil)
	}
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) produce(acks int16, topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = w.profile.Versions.Produce, acks, 30_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func produced(r kmsg.Response) (kafka.ErrorCode, kafka.Offset) {
	p := &r.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return kafka.ErrorCode(p.ErrorCode), kafka.Offset(p.BaseOffset)
}

func (w *world) fetch(topic string, partition int32, at kafka.Offset, maxWait int32) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = min(12, w.profile.Versions.Fetch), -1, maxWait, 1, 50<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, int64(at), 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func fetched(r kmsg.Response) *kmsg.FetchResponseTopicPartition {
	return &r.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

// create makes a topic with one partition on the named replicas, through the
// controller, and waits for its leader.
func (w *world) create(topic string, settings map[string]string, replicas ...int32) {
	w.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 1, 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = replicas
	t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	for k, v := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp := w.client(w.controller()).ask(req).(*kmsg.CreateTopicsResponse)
	if code := kafka.ErrorCode(resp.Topics[0].ErrorCode); code != kafka.None {
		w.t.Fatalf("create %s: %v", topic, code)
	}
}

func (w *world) controller() kafka.NodeID {
	w.t.Helper()
	var id kafka.NodeID
	w.until("a controller", func() bool {
		for _, p := range w.order {
			if p.up && p.broker != nil && p.broker.Controller().IsActive() {
				id = p.broker.cfg.NodeID
				return true
			}
		}
		return false
	})
	return id
}

func (w *world) broker(id kafka.NodeID) *Broker { return w.parties[kafka.BrokerHost(id)].broker }

// part is a broker's partition 0 of a topic, nil if it is not hosted.
func (w *world) part(id kafka.NodeID, topic string) *replica.Partition {
	if h := w.broker(id).topics.get(topic, 0); h != nil {
		return h.p
	}
	return nil
}

// cluster boots brokers 1 to n and waits until all run and know each other.
func (w *world) cluster(n int) {
	w.t.Helper()
	for id := 1; id <= n; id++ {
		w.start(kafka.NodeID(id))
	}
	w.until("all brokers know each other", func() bool {
		for id := 1; id <= n; id++ {
			if len(w.broker(kafka.NodeID(id)).cache.brokers) != n {
				return false
			}
		}
		return true
	})
}

// onZK runs f on a broker's ZooKeeper lane.
func (w *world) onZK(id kafka.NodeID, f func(in *step.Input, out *step.Effects)) {
	p := w.parties[kafka.BrokerHost(id)]
	in := step.Input{Kind: step.Timer, Lane: laneZK, Timer: timerCall, Ref: call(func(in *step.Input, out *step.Effects) error {
		f(in, out)
		return nil
	})}
	ref := p.out.SetTimer(laneZK, w.now, timerCall, 0, nil)
	w.push(&due{at: w.now, to: p, life: p.life, in: in, timer: ref})
}

// term sends SIGTERM.
func (w *world) term(id kafka.NodeID) {
	w.send(w.parties[kafka.BrokerHost(id)], step.Input{Kind: step.Terminate}, w.now)
}

func (w *world) down(id kafka.NodeID) bool { return !w.parties[kafka.BrokerHost(id)].up }

// crash kills a broker as a machine's reset does, its page cache kept.
func (w *world) crash(id kafka.NodeID) { w.kill(kafka.BrokerHost(id), "crashed") }

// noted counts events of a kind at a broker.
func (w *world) noted(k event.Kind, node kafka.NodeID) (n int) {
	for i := range w.notes {
		if w.notes[i].Kind == k && w.notes[i].Node == node {
			n++
		}
	}
	return n
}

func show(m any) string { return fmt.Sprintf("%+v", printable(m)) }
