package replica

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

const (
	managerLane step.Lane      = 5
	managerKind step.TimerKind = 50
)

// managed is a leader of partitions 0 and 1 (ISR {1,2} of {1,2,3}, 10 records)
// whose ISR changes go through an AlterPartitionManager.
type managed struct {
	*broker
	m *AlterPartitionManager
}

func newManaged(t *testing.T, version int16) *managed {
	t.Helper()
	w := newWorld(t, "zk-3.9", 3)
	w.profile.Versions.AlterPartition = version
	b := w.broker(1)
	b.controlAt = step.Addr{Host: "broker-9", Port: 9092}
	client := netclient.New(netclient.Config{Lane: managerLane, TimerKind: managerKind + 1, ReconnectBackoff: 50 * kafka.Millisecond, ReconnectBackoffMax: 50 * kafka.Millisecond, Name: "controller"})
	x := &managed{b, NewAlterPartitionManager(&b.env, managerLane, managerKind, client)}
	b.env.ISR = x.m
	for n := range int32(2) {
		b.lead(n, 0, 0, ids(1), ids(1))
		b.append(n, "x", 10, 1)
		b.lead(n, 1, 1, ids(1, 2), ids(1, 2, 3))
	}
	return x
}

// expand makes follower 3 join partition n.
func (x *managed) expand(n int32) {
	p := x.partition(n)
	a := FetchArgs{Replica: 3, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, Offset: 10}
	p.UpdateFollower(x.input(step.Request), x.out, &a, 10)
	x.settle()
}

func (x *managed) deliver(in *step.Input) {
	x.w.t.Helper()
	if !x.m.Handle(in, x.out) {
		x.w.t.Fatalf("not the manager's: %v", in.Kind)
	}
	x.settle()
}

// next fires timers until a request is out, and returns it.
func (x *managed) next() *kmsg.AlterPartitionRequest {
	x.w.t.Helper()
	for n := 0; len(x.requests) == 0; n++ {
		if n == 20 || len(x.timers) == 0 {
			return nil
		}
		x.tick()
	}
	return x.requests[0].Body.(*kmsg.AlterPartitionRequest)
}

// tick advances to the next timer and runs it.
func (x *managed) tick() {
	x.w.t.Helper()
	slices.SortStableFunc(x.timers, func(a, b step.Op) int { return int(a.At - b.At) })
	op := x.timers[0]
	x.timers = x.timers[1:]
	x.out.Timers.Release(op.TimerRef)
	x.w.now = max(x.w.now, op.At)
	in := x.input(step.Timer)
	in.Lane, in.Timer, in.Arg = op.Lane, op.Timer, op.Arg
	x.deliver(in)
}

// reply answers the request in flight: per partition the code, in request order.
func (x *managed) reply(top kafka.ErrorCode, codes ...kafka.ErrorCode) {
	x.w.t.Helper()
	req := x.next()
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.Version, resp.ErrorCode = req.Version, int16(top)
	for _, t := range req.Topics {
		rt := kmsg.AlterPartitionResponseTopic{Topic: t.Topic, TopidID: t.TopicID}
		for _, p := range t.Partitions {
			if len(codes) == 0 {
				break
			}
			rp := kmsg.AlterPartitionResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(codes[0]), LeaderID: 1, LeaderEpoch: p.LeaderEpoch, ISR: p.NewISR, PartitionEpoch: p.PartitionEpoch + 1}
			for _, m := range p.NewEpochISR {
				rp.ISR = append(rp.ISR, m.BrokerID)
			}
			codes = codes[1:]
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if !x.opened {
		x.opened = true
		in := x.input(step.Opened)
		in.Conn = x.conn
		x.deliver(in)
	}
	op := x.requests[0]
	x.requests = x.requests[1:]
	in := x.input(step.Response)
	in.Conn, in.Correlation, in.Body = op.Conn, op.Correlation, resp
	x.deliver(in)
}

func (x *managed) close() {
	x.w.t.Helper()
	x.next()
	in := x.input(step.Closed)
	in.Conn = x.conn
	x.conn, x.opened, x.requests = 0, false, nil
	x.deliver(in)
}

func isrOf(p *kmsg.AlterPartitionRequestTopicPartition) []kafka.NodeID {
	list := nodeIDs(p.NewISR)
	for _, m := range p.NewEpochISR {
		list = append(list, kafka.NodeID(m.BrokerID))
	}
	return list
}

// TestL25RequestByVersion: names or topic ids, plain or epoch ISR, and nothing that
// the version does not have.
func TestL25RequestByVersion(t *testing.T) {
	for version := int16(0); version <= 3; version++ {
		x := newManaged(t, version)
		x.expand(0)
		x.expand(1)
		req := x.next()
		if req.Version != version || req.BrokerID != 1 || req.BrokerEpoch != 101 || len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 2 {
			t.Fatalf("v%d: %+v", version, req)
		}
		topic := req.Topics[0]
		if byName := topic.Topic == "t"; byName != (version < 2) || (topic.TopicID == [16]byte{1}) != (version >= 2) {
			t.Errorf("v%d: %+v", version, topic)
		}
		part := topic.Partitions[1]
		if part.Partition != 1 || part.LeaderEpoch != 1 || part.PartitionEpoch != 1 || part.LeaderRecoveryState != 0 || !slices.Equal(isrOf(&part), ids(1, 2, 3)) {
			t.Errorf("v%d: %+v", version, part)
		}
		if version >= 3 && part.NewEpochISR[0].BrokerEpoch != -1 {
			t.Errorf("v%d: a broker epoch in ZooKeeper mode", version)
		}
		wire(t, req)
		x.reply(kafka.None, kafka.None, kafka.None)
		if p := x.partition(1); !slices.Equal(p.ISR(), ids(1, 2, 3)) || p.PartitionEpoch() != 2 {
			t.Errorf("v%d: isr %v at %d", version, p.ISR(), p.PartitionEpoch())
		}
	}
}

// TestL25WithoutTopicIDsTheRequestGoesByName.
func TestL25WithoutTopicIDsTheRequestGoesByName(t *testing.T) {
	x := newManaged(t, 3)
	x.partition(0).TopicID = kafka.TopicID{}
	x.expand(0)
	if req := x.next(); req.Version != 1 || req.Topics[0].Topic != "t" || len(req.Topics[0].Partitions[0].NewISR) != 3 {
		t.Errorf("%+v", req)
	}
}

// TestL25OneRequestInFlightAndTheRestQueues.
func TestL25OneRequestInFlightAndTheRestQueues(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	x.next()
	x.expand(1)
	if len(x.requests) != 1 {
		t.Fatalf("%d requests", len(x.requests))
	}
	x.reply(kafka.None, kafka.None)
	req := x.next()
	if part := req.Topics[0].Partitions; len(part) != 1 || part[0].Partition != 1 {
		t.Errorf("%+v", part)
	}
}

// TestL25AStrayTimerSendsNothingTwice.
func TestL25AStrayTimerSendsNothingTwice(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	x.next()
	in := x.input(step.Timer)
	in.Lane, in.Timer = managerLane, managerKind
	x.deliver(in)
	if len(x.requests) != 1 {
		t.Errorf("%d requests", len(x.requests))
	}
}

// TestL25OneItemAPartition: a second one, of a newer role, is not attempted, and
// the answer to the first is ignored.
func TestL25OneItemAPartition(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	x.next()
	x.lead(0, 2, 2, ids(1, 2), ids(1, 2, 3))
	x.expand(0)
	if p := x.partition(0); p.ISRInFlight() || !slices.Equal(p.MaximalISR(), ids(1, 2)) {
		t.Errorf("in flight %v, maximal %v", p.ISRInFlight(), p.MaximalISR())
	}
	x.reply(kafka.None, kafka.None)
	if got := x.partition(0).ISR(); !slices.Equal(got, ids(1, 2)) {
		t.Errorf("an old answer made the ISR %v", got)
	}
	x.expand(0) // free again
	if x.next() == nil {
		t.Error("nothing sent")
	}
}

// TestL25NotControllerAnywhereResendsTheWholeRequest: handlers never see it.
func TestL25NotControllerAnywhereResendsTheWholeRequest(t *testing.T) {
	for name, reply := range map[string]func(x *managed){
		"top":       func(x *managed) { x.reply(kafka.NotController, kafka.None, kafka.None) },
		"partition": func(x *managed) { x.reply(kafka.None, kafka.None, kafka.NotController) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newManaged(t, 1)
			x.expand(0)
			x.expand(1)
			first := x.next()
			reply(x)
			if !x.partition(0).ISRInFlight() || !x.partition(1).ISRInFlight() {
				t.Fatal("a handler saw the answer")
			}
			x.controlAt = step.Addr{Host: "broker-8", Port: 9092}
			start := x.w.now
			if again := x.next(); again != first || x.w.now-start != controllerLookup {
				t.Errorf("another request, or after %v", x.w.now-start)
			}
			x.reply(kafka.None, kafka.None, kafka.InvalidUpdateVersion)
			if x.partition(0).ISRInFlight() || !x.partition(1).ISRInFlight() {
				t.Error("the second answer did not arrive")
			}
		})
	}
}

// TestL25ADisconnectResendsTheWholeRequest when the reconnect backoff is over.
func TestL25ADisconnectResendsTheWholeRequest(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	first := x.next()
	x.close()
	if x.next() != first || !x.partition(0).ISRInFlight() {
		t.Error("another request")
	}
}

// TestL25LooksForAControllerEvery100ms.
func TestL25LooksForAControllerEvery100ms(t *testing.T) {
	x := newManaged(t, 1)
	x.controlAt = step.Addr{}
	start := x.w.now
	x.expand(0)
	for range 4 {
		x.tick()
	}
	if len(x.requests) != 0 || x.w.now-start != 300*kafka.Millisecond {
		t.Fatalf("after %v: %d requests", x.w.now-start, len(x.requests))
	}
	x.controlAt = step.Addr{Host: "broker-9", Port: 9092}
	if x.next() == nil {
		t.Error("not sent")
	}
}

// TestL25AnotherTopErrorMakesANewRequestAfter50ms, with a newer broker epoch.
func TestL25AnotherTopErrorMakesANewRequestAfter50ms(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	first := x.next()
	x.reply(kafka.StaleBrokerEpoch)
	x.epoch = 555
	start := x.w.now
	again := x.next()
	if again == first || again.BrokerEpoch != 555 || x.w.now-start != 50*kafka.Millisecond {
		t.Errorf("after %v: %+v", x.w.now-start, again)
	}
}

// TestL25WhatWasNotAnsweredStaysQueued.
func TestL25WhatWasNotAnsweredStaysQueued(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	x.expand(1)
	x.next()
	x.reply(kafka.None, kafka.None) // of partition 0 only
	if req := x.next(); req == nil || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 1 {
		t.Errorf("%+v", req)
	}
}

// TestL26AnythingElseIsResentThroughTheManager.
func TestL26AnythingElseIsResentThroughTheManager(t *testing.T) {
	x := newManaged(t, 1)
	x.expand(0)
	x.next()
	x.reply(kafka.None, kafka.UnknownServerError)
	if req := x.next(); req == nil || !slices.Equal(isrOf(&req.Topics[0].Partitions[0]), ids(1, 2, 3)) {
		t.Errorf("%+v", req)
	}
}
