package zkcontroller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// TestRandomClustersKeepTheInvariants boots, kills, bounces and shuts down brokers,
// expires sessions, creates topics, changes ISRs and moves leaders at random, with
// the deliveries interleaved at random. I-3, I-4, I-7 and I-25 hold at every write
// and request; when all is answered, V-1, V-2 and V-10 do.
func TestRandomClustersKeepTheInvariants(t *testing.T) {
	profiles := []*config.Profile{profile39(), profile26()}
	rapid.Check(t, func(t *rapid.T) {
		r := newRandom(t, profiles[rapid.IntRange(0, 1).Draw(t, "profile")])
		r.w.boot(1)
		t.Repeat(map[string]func(*rapid.T){
			"boot":     r.boot,
			"kill":     r.kill,
			"bounce":   r.bounce,
			"expire":   r.expire,
			"topic":    r.topic,
			"shutdown": r.shutdown,
			"alter":    r.alter,
			"elect":    r.elect,
			"deliver":  r.deliver,
			"time":     func(t *rapid.T) { r.w.advance(kafka.Nanos(rapid.IntRange(0, 8000).Draw(t, "ms")) * kafka.Millisecond) },
			"":         func(*rapid.T) {},
		})
		r.settle(t)
	})
}

// random is a world under test with what its brokers accepted.
type random struct {
	t        *rapid.T
	w        *world
	topics   int
	leaders  map[string]kafka.NodeID // by partition and leader epoch: I-3
	accepted map[*node]*view
	asked    []func() string
}

// view is a broker's: what L-28 and L-33 let it believe.
type view struct {
	controllerEpoch int32
	meta            map[kafka.TopicPartition]kmsg.UpdateMetadataRequestTopicPartition
	epochs          map[kafka.TopicPartition]int32
}

func newRandom(t *rapid.T, p *config.Profile) *random {
	r := &random{t: t, w: newWorld(p), leaders: map[string]kafka.NodeID{}, accepted: map[*node]*view{}}
	r.w.pick = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }
	r.w.zk.written = r.written
	r.w.check = r.request
	return r
}

const maxBrokers = 4

func (r *random) some(t *rapid.T) *node {
	up := r.w.sorted()
	if len(up) == 0 {
		t.Skip("nobody is up")
	}
	return up[rapid.IntRange(0, len(up)-1).Draw(t, "broker")]
}

func (r *random) boot(t *rapid.T) {
	id := kafka.NodeID(rapid.IntRange(1, maxBrokers).Draw(t, "id"))
	if r.w.nodes[id] != nil {
		t.Skip("is up")
	}
	r.w.boot(id)
}

func (r *random) kill(t *rapid.T) { r.w.kill(r.some(t).id) }

func (r *random) bounce(t *rapid.T) {
	id := r.some(t).id
	r.w.kill(id)
	r.w.boot(id)
}

func (r *random) expire(t *rapid.T) {
	n := r.some(t)
	if n.zk.s.expired {
		t.Skip("has expired already")
	}
	r.w.expireSession(n.id)
}

func (r *random) topic(t *rapid.T) {
	if r.topics == 4 {
		t.Skip("enough")
	}
	ids := rapid.SliceOfNDistinct(rapid.IntRange(1, maxBrokers), 1, 3, rapid.ID[int]).Draw(t, "replicas")
	var replicas []kafka.NodeID
	for _, id := range ids {
		replicas = append(replicas, kafka.NodeID(id))
	}
	r.w.createTopic(string(rune('a'+r.topics)), replicas, slices.Clone(replicas))
	r.topics++
}

func (r *random) shutdown(t *rapid.T) {
	n, c := r.some(t), r.some(t)
	req := &kmsg.ControlledShutdownRequest{Version: 3, BrokerID: int32(n.id), BrokerEpoch: -1}
	r.ask(t, c, func(in *step.Input, out *step.Effects, reply Reply) { c.c.ControlledShutdown(in, out, req, reply) })
}

// ask hands a request over; settle demands exactly one answer of a process that is
// still there.
func (r *random) ask(t *rapid.T, n *node, f func(in *step.Input, out *step.Effects, reply Reply)) {
	answers := 0
	r.asked = append(r.asked, func() string {
		if r.w.nodes[n.id] == n && answers != 1 {
			return fmt.Sprintf("broker %d answered a request %d times", n.id, answers)
		}
		return ""
	})
	n.do(func(in *step.Input, out *step.Effects) {
		f(in, out, func(in *step.Input, out *step.Effects, resp kmsg.Response) {
			if answers++; answers > 1 {
				t.Fatal("answered twice")
			}
			if in == nil || out == nil {
				t.Fatal("answered outside of a step")
			}
		})
	})
}

// alter asks as a leader does that knows the stored state: by AlterPartition, or in
// the older profile by writing itself and notifying.
func (r *random) alter(t *rapid.T) {
	c := r.some(t)
	tp, stored, version, ok := r.somePartition(t)
	if !ok || r.w.nodes[stored.Leader] == nil {
		t.Skip("no leader to ask")
	}
	isr := []kafka.NodeID{stored.Leader}
	for _, id := range r.w.replicasOf(tp) {
		if id != stored.Leader && r.w.nodes[id] != nil && rapid.Bool().Draw(t, "member") {
			isr = append(isr, id)
		}
	}
	if !r.w.profile.AlterPartition {
		stored.ISR = isr
		r.w.zk.set(zookeeper.StatePath(tp), zookeeper.EncodePartitionState(stored))
		r.w.zk.createSequential(zookeeper.IsrChangePrefix, zookeeper.EncodePartitions([]kafka.TopicPartition{tp}))
		return
	}
	n := r.w.zk.nodes[zookeeper.BrokerPath(stored.Leader)]
	if n == nil {
		t.Skip("the leader is not registered")
	}
	req := &kmsg.AlterPartitionRequest{Version: 2, BrokerID: int32(stored.Leader), BrokerEpoch: n.czxid,
		Topics: []kmsg.AlterPartitionRequestTopic{{TopicID: kafka.TopicID{15: tp.Topic[0]}, Partitions: []kmsg.AlterPartitionRequestTopicPartition{{
			Partition: tp.Partition, LeaderEpoch: int32(stored.LeaderEpoch), PartitionEpoch: version, NewISR: ids(isr)}}}}}
	r.ask(t, c, func(in *step.Input, out *step.Effects, reply Reply) { c.c.AlterPartition(in, out, req, reply) })
}

func (r *random) somePartition(t *rapid.T) (tp kafka.TopicPartition, s zookeeper.PartitionState, version int32, ok bool) {
	names := r.w.topicNames()
	if len(names) == 0 {
		return tp, s, 0, false
	}
	tps := r.w.partitionsOf(names[rapid.IntRange(0, len(names)-1).Draw(t, "topic")])
	tp = tps[rapid.IntRange(0, len(tps)-1).Draw(t, "partition")]
	n := r.w.zk.nodes[zookeeper.StatePath(tp)]
	if n == nil {
		return tp, s, 0, false
	}
	s, err := zookeeper.DecodePartitionState(n.data)
	return tp, s, n.version, err == nil
}

func (r *random) elect(t *rapid.T) {
	c := r.some(t)
	req := &kmsg.ElectLeadersRequest{Version: 2, ElectionType: int8(rapid.IntRange(0, 1).Draw(t, "type"))}
	r.ask(t, c, func(in *step.Input, out *step.Effects, reply Reply) { c.c.ElectLeaders(in, out, req, reply) })
}

func (r *random) deliver(t *rapid.T) {
	for range rapid.IntRange(1, 60).Draw(t, "actions") {
		r.w.one()
	}
}

// written checks a state as it is written: I-4 and I-7.
func (r *random) written(path string, old, data []byte) {
	tp, ok := zookeeper.ParseStatePath(path)
	if !ok {
		return
	}
	s, err := zookeeper.DecodePartitionState(data)
	if err != nil {
		r.t.Fatal(err)
	}
	replicas := r.w.replicasOf(tp)
	if len(s.ISR) == 0 {
		r.t.Fatalf("%v: empty ISR", tp)
	}
	for i, id := range s.ISR {
		if !slices.Contains(replicas, id) || slices.Contains(s.ISR[:i], id) {
			r.t.Fatalf("%v: ISR %v of replicas %v", tp, s.ISR, replicas)
		}
	}
	if s.Leader != kafka.NoNode && !slices.Contains(s.ISR, s.Leader) {
		r.t.Fatalf("%v: leader %d outside ISR %v", tp, s.Leader, s.ISR)
	}
	if old == nil {
		return
	}
	was, _ := zookeeper.DecodePartitionState(old)
	if s.LeaderEpoch < was.LeaderEpoch || (s.Leader != was.Leader && s.LeaderEpoch == was.LeaderEpoch) || s.ControllerEpoch < was.ControllerEpoch {
		r.t.Fatalf("%v: %s after %s", tp, data, old)
	}
}

// request checks a control request as a broker takes it: I-3, and no epoch goes back.
func (r *random) request(to *node, req kmsg.Request) {
	v := r.accepted[to]
	if v == nil {
		v = &view{meta: map[kafka.TopicPartition]kmsg.UpdateMetadataRequestTopicPartition{}, epochs: map[kafka.TopicPartition]int32{}}
		r.accepted[to] = v
	}
	epoch, brokerEpoch := epochsOf(req)
	if registered := r.w.zk.nodes[zookeeper.BrokerPath(to.id)]; registered == nil || epoch < v.controllerEpoch || brokerEpoch < registered.czxid {
		return // fenced (L-28)
	}
	v.controllerEpoch = epoch
	switch q := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		for _, t := range q.TopicStates {
			for i := range t.PartitionStates {
				r.leadership(v, t.Topic, &t.PartitionStates[i])
			}
		}
	case *kmsg.UpdateMetadataRequest:
		for _, t := range q.TopicStates {
			for _, p := range t.PartitionStates {
				v.meta[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p
			}
		}
	}
}

func epochsOf(req kmsg.Request) (controller int32, broker int64) {
	switch q := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return q.ControllerEpoch, q.BrokerEpoch
	case *kmsg.UpdateMetadataRequest:
		return q.ControllerEpoch, q.BrokerEpoch
	case *kmsg.StopReplicaRequest:
		return q.ControllerEpoch, q.BrokerEpoch
	}
	panic("not a control request")
}

func (r *random) leadership(v *view, name string, p *kmsg.LeaderAndISRRequestTopicPartition) {
	tp := kafka.TopicPartition{Topic: name, Partition: p.Partition}
	if p.LeaderEpoch < v.epochs[tp] {
		r.t.Fatalf("%v: leader epoch %d after %d from a controller that is not older", tp, p.LeaderEpoch, v.epochs[tp])
	}
	v.epochs[tp] = p.LeaderEpoch
	key := fmt.Sprintf("%v/%d", tp, p.LeaderEpoch)
	if leader, known := r.leaders[key]; known && leader != kafka.NodeID(p.Leader) {
		r.t.Fatalf("%v: two leaders, %d and %d, in epoch %d (I-3)", tp, leader, p.Leader, p.LeaderEpoch)
	}
	r.leaders[key] = kafka.NodeID(p.Leader)
}

func (w *world) replicasOf(tp kafka.TopicPartition) []kafka.NodeID {
	t, err := zookeeper.DecodeTopic(w.zk.nodes[zookeeper.TopicPath(tp.Topic)].data)
	if err != nil {
		panic(err)
	}
	return t.Partitions[tp.Partition].Replicas
}

// settle lets everything be answered and checks the end: one controller (V-1), a
// leader where the ISR has a live member (V-2), the same metadata everywhere (V-10).
func (r *random) settle(t *rapid.T) {
	r.w.pick = nil
	r.w.run()
	r.w.advance(kafka.Second) // resends
	if len(r.w.nodes) == 0 {
		return
	}
	if r.w.controller() == nil && r.w.zk.nodes[zookeeper.ControllerPath] == nil {
		r.w.boot(maxBrokers + 1) // the gap described at elect: another start closes it
		r.w.run()
	}
	for _, problem := range r.asked {
		if text := problem(); text != "" {
			t.Fatal(text)
		}
	}
	up := r.w.sorted()
	active := 0
	for _, n := range up {
		if n.c.IsActive() {
			active++
		}
	}
	if active != 1 {
		t.Fatalf("%d controllers", active)
	}
	c := r.w.controller().c
	for _, name := range r.w.topicNames() {
		for _, tp := range r.w.partitionsOf(name) {
			r.checkSettled(t, c, tp)
		}
	}
}

func (r *random) checkSettled(t *rapid.T, c *Controller, tp kafka.TopicPartition) {
	n := r.w.zk.nodes[zookeeper.StatePath(tp)]
	if n == nil {
		for _, id := range r.w.replicasOf(tp) {
			if c.ctx.isLive(id) {
				t.Fatalf("%v: has a live replica and no state", tp)
			}
		}
		return
	}
	s, _ := zookeeper.DecodePartitionState(n.data)
	p := c.ctx.partition(tp)
	if p == nil || !p.hasInfo || p.info.leader != s.Leader || p.info.leaderEpoch != s.LeaderEpoch || !slices.Equal(p.info.isr, s.ISR) || int32(p.info.partitionEpoch) != n.version {
		t.Fatalf("%v: the controller does not know %s", tp, n.data)
	}
	for _, id := range s.ISR {
		if c.ctx.isLive(id) && !c.ctx.isReplicaOnlineOrShuttingDown(s.Leader, p) {
			t.Fatalf("%v: leader %d is not there, member %d is", tp, s.Leader, id)
		}
	}
	for _, b := range r.w.sorted() {
		meta, known := r.accepted[b].meta[tp]
		if !known || meta.Leader != int32(s.Leader) || meta.LeaderEpoch != int32(s.LeaderEpoch) || !slices.Equal(meta.ISR, ids(s.ISR)) || meta.ZKVersion != n.version {
			t.Fatalf("%v: broker %d knows %+v, stored is %s version %d (V-10)", tp, b.id, meta, n.data, n.version)
		}
	}
}
