package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// world is a few brokers with one partition, a network that moves one message
// when told to, and a clock that stands still between commands.
type world struct {
	t       testing.TB
	profile config.Profile
	topic   config.Topic
	now     kafka.Nanos
	brokers []*broker
	notes   []event.Event
}

type broker struct {
	w       *world
	env     Env
	cfg     config.Broker
	fs      *vfstest.Mem
	alive   bool
	broken  map[kafka.NodeID]bool // brokers that the metadata cache has as dead
	parts   []*Partition
	fetcher *Fetcher
	client  *netclient.Client
	out     *step.Effects

	conn     step.ConnID // being made or open
	opened   bool
	requests []step.Op // sent and not answered
	timers   []step.Op
	dones    []step.Op
	holdDone bool

	changes   []ISRChange
	controlAt step.Addr // zero: unknown
	epoch     kafka.BrokerEpoch
	moved     Moved
	truncated int
	cutError  error // what writing the recovery points answers
	logFailed error
}

const (
	fetcherLane step.Lane      = 3
	fetcherKind step.TimerKind = 30
	clientKind  step.TimerKind = 31
)

func tp(n int32) kafka.TopicPartition { return kafka.TopicPartition{Topic: "t", Partition: n} }

// testProfile is a released profile, or zk-2.6 without the gate of KAFKA-7128.
func testProfile(name string) config.Profile {
	if name == noGate {
		p := testProfile("zk-2.6")
		p.EpochStartGate = false
		return p
	}
	p, ok := config.ProfileByName(name)
	if !ok {
		panic("no profile " + name)
	}
	return *p
}

const noGate = "zk-2.6 without the gate"

func newWorld(t testing.TB, profile string, brokers int) *world {
	w := &world{t: t, profile: testProfile(profile), now: 1000 * kafka.Second}
	w.topic = config.Topic{MinInsyncReplicas: 1}
	for id := 1; id <= brokers; id++ {
		w.brokers = append(w.brokers, w.newBroker(kafka.NodeID(id)))
	}
	return w
}

func (w *world) newBroker(id kafka.NodeID) *broker {
	b := &broker{w: w, fs: vfstest.NewMem(), broken: make(map[kafka.NodeID]bool), epoch: 100 + kafka.BrokerEpoch(id)}
	b.cfg = config.Broker{
		NodeID: id, Profile: &w.profile,
		ReplicaLagTimeMax: 30 * kafka.Second, ReplicaFetchMaxBytes: 1 << 20, ReplicaFetchResponseMax: 10 << 20,
		ReplicaFetchWaitMax: 500 * kafka.Millisecond, ReplicaFetchMinBytes: 1, ReplicaFetchBackoff: kafka.Second,
		ReplicaSocketTimeout: 30 * kafka.Second, ControllerSocketTimeout: 30 * kafka.Second,
	}
	b.env = Env{Node: id, Config: &b.cfg, Cluster: b, ISR: b, Watcher: b}
	b.start()
	return b
}

// start is a fresh process on the broker's disk.
func (b *broker) start() {
	b.alive = true
	b.out = step.NewEffects()
	b.parts, b.fetcher = nil, nil
	b.conn, b.opened, b.requests, b.timers, b.dones, b.changes = 0, false, nil, nil, nil, nil
}

func (w *world) broker(id int) *broker { return w.brokers[id-1] }

// The broker's side of Env.

func (b *broker) IsAlive(n kafka.NodeID) bool    { return !b.broken[n] }
func (b *broker) Controller() (step.Addr, bool)  { return b.controlAt, b.controlAt.Host != "" }
func (b *broker) BrokerEpoch() kafka.BrokerEpoch { return b.epoch }

func (b *broker) Submit(_ *step.Input, _ *step.Effects, c ISRChange) {
	b.changes = append(b.changes, c)
}

func (b *broker) Moved(_ *step.Input, _ *step.Effects, _ *Partition, what Moved) { b.moved |= what }
func (b *broker) Rolled(*step.Input, *step.Effects, *Partition)                  {}
func (b *broker) Truncated(*step.Input, *step.Effects, *Partition) error {
	b.truncated++
	return b.cutError
}
func (b *broker) LogFailed(_ *step.Input, _ *step.Effects, _ *Partition, err error) {
	b.logFailed = err
}

func (b *broker) input(k step.Kind) *step.Input {
	return &step.Input{Kind: k, Now: b.w.now, Wall: kafka.TimestampMs(b.w.now / kafka.Millisecond), Incarnation: 1}
}

func (b *broker) check(err error) {
	b.w.t.Helper()
	if err != nil {
		b.w.t.Fatal(err)
	}
}

// openLog loads the partition's log with a high watermark from the checkpoint.
func (b *broker) openLog(tp kafka.TopicPartition, fs vfs.FS, hw kafka.Offset) *log.Log {
	b.w.t.Helper()
	cfg := log.DefaultConfig()
	l, err := log.OpenNow(fs, "data/"+tp.String(), &cfg, log.OpenParams{Clean: false, Now: kafka.TimestampMs(b.w.now / kafka.Millisecond)})
	b.check(err)
	l.SetHighWatermark(hw)
	return l
}

// partition is the broker's replica, made when first asked for.
func (b *broker) partition(n int32) *Partition {
	for _, p := range b.parts {
		if p.TP.Partition == n {
			return p
		}
	}
	p := New(&b.env, tp(n), kafka.TopicID{1}, &b.w.topic)
	b.parts = append(b.parts, p)
	return p
}

func (b *broker) logOf(p *Partition) *log.Log {
	if p.Log() == nil {
		return b.openLog(p.TP, b.fs, 0)
	}
	return p.Log()
}

// settle carries out what the last call asked for: keeps requests and timers,
// runs Done continuations unless they are held, collects notes.
func (b *broker) settle() {
	b.w.t.Helper()
	for {
		ops := slices.Clone(b.out.Ops)
		b.w.notes = append(b.w.notes, b.out.Notes...)
		b.out.Reset()
		for _, op := range ops {
			b.take(op)
		}
		if b.holdDone || len(b.dones) == 0 {
			return
		}
		b.runDone()
	}
}

func (b *broker) take(op step.Op) {
	switch op.Kind {
	case step.OpConnect:
		b.conn, b.opened = op.Conn, false
	case step.OpClose:
		b.conn, b.opened, b.requests = 0, false, nil
	case step.OpRequest:
		b.requests = append(b.requests, op)
	case step.OpSetTimer:
		b.timers = append(b.timers, op)
	case step.OpCancelTimer:
		b.timers = slices.DeleteFunc(b.timers, func(o step.Op) bool { return o.TimerRef == op.TimerRef })
		b.out.Timers.Release(op.TimerRef)
	case step.OpDone:
		b.dones = append(b.dones, op)
	}
}

func (b *broker) runDone() {
	op := b.dones[0]
	b.dones = b.dones[1:]
	in := b.input(step.Done)
	in.Lane, in.Timer, in.Arg, in.Ref = fetcherLane, op.Timer, op.Arg, op.Ref
	b.handle(in)
}

func (b *broker) handle(in *step.Input) {
	b.w.t.Helper()
	_, err := b.fetcher.Handle(in, b.out)
	b.check(err)
}

// release runs the Done continuations that were held.
func (b *broker) release() {
	b.holdDone = false
	for len(b.dones) > 0 {
		b.runDone()
		b.settle()
	}
}

// lead makes the broker leader.
func (b *broker) lead(n int32, epoch, partitionEpoch int32, isr, replicas []kafka.NodeID) {
	b.w.t.Helper()
	p := b.partition(n)
	if b.fetcher != nil {
		b.check(b.fetcher.Remove(b.input(step.Request), b.out, p))
	}
	st := State{Leader: b.env.Node, LeaderEpoch: kafka.LeaderEpoch(epoch), ISR: isr, PartitionEpoch: kafka.PartitionEpoch(partitionEpoch), ControllerEpoch: 1, Replicas: replicas}
	_, err := p.MakeLeader(b.input(step.Request), b.out, &st, b.logOf(p))
	b.check(err)
	b.settle()
}

// follow makes the broker follow leader, with a fetcher if the leader epoch grew.
func (b *broker) follow(n int32, leader, epoch, partitionEpoch int32, replicas []kafka.NodeID) {
	b.w.t.Helper()
	p := b.partition(n)
	st := State{Leader: kafka.NodeID(leader), LeaderEpoch: kafka.LeaderEpoch(epoch), PartitionEpoch: kafka.PartitionEpoch(partitionEpoch), ControllerEpoch: 1, Replicas: replicas}
	in := b.input(step.Request)
	if p.MakeFollower(in, b.out, &st, b.logOf(p)) {
		if b.fetcher != nil {
			b.check(b.fetcher.Remove(in, b.out, p))
		}
		b.useFetcher(kafka.NodeID(leader))
		b.fetcher.Add(in, b.out, p)
	}
	b.settle()
}

// useFetcher makes the fetcher for a leader, in place of that for another.
func (b *broker) useFetcher(leader kafka.NodeID) {
	if b.fetcher != nil && b.fetcher.cfg.Leader == leader {
		return
	}
	b.conn, b.opened, b.requests, b.timers = 0, false, nil, nil
	b.client = netclient.New(netclient.Config{Lane: fetcherLane, TimerKind: clientKind, ReconnectBackoff: 50 * kafka.Millisecond, ReconnectBackoffMax: 50 * kafka.Millisecond, Name: "fetcher"})
	b.fetcher = NewFetcher(&b.env, FetcherConfig{Leader: leader, Addr: step.Addr{Host: kafka.BrokerHost(leader), Port: 9092}, Lane: fetcherLane, Client: b.client, Timer: fetcherKind})
}

// batch is count records, each with a value that names the batch.
func batch(t testing.TB, name string, count int) record.Batch {
	t.Helper()
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for range count {
		bd.Append(1000, nil, []byte(name), nil)
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// append appends and, unless held, publishes.
func (b *broker) append(n int32, name string, count int, acks int8) (AppendResult, kafka.ErrorCode) {
	b.w.t.Helper()
	p := b.partition(n)
	res, code, err := p.Append(b.input(step.Request), b.out, batch(b.w.t, name, count), acks)
	b.check(err)
	if code == kafka.None && !b.holdDone {
		p.Publish(b.input(step.Done), b.out, res.Number)
	}
	b.settle()
	return res, code
}

// fire advances the clock to the next timer and runs it.
func (b *broker) fire() bool {
	b.w.t.Helper()
	if len(b.timers) == 0 {
		return false
	}
	i := 0
	for j := range b.timers {
		if b.timers[j].At < b.timers[i].At {
			i = j
		}
	}
	op := b.timers[i]
	b.timers = slices.Delete(b.timers, i, i+1)
	b.out.Timers.Release(op.TimerRef)
	b.w.now = max(b.w.now, op.At)
	in := b.input(step.Timer)
	in.Lane, in.Timer, in.Arg, in.Ref = op.Lane, op.Timer, op.Arg, op.Ref
	b.handle(in)
	b.settle()
	return true
}

// pending is the fetcher's request in flight; timers that are due or wait for a
// backoff are fired until there is one.
func (b *broker) pending() kmsg.Request {
	b.w.t.Helper()
	for n := 0; len(b.requests) == 0; n++ {
		if n == 10 || !b.fire() {
			return nil
		}
	}
	return b.requests[0].Body.(kmsg.Request)
}

// exchange carries the fetcher's request to its leader and the answer back. A
// dead or unreachable leader refuses.
func (b *broker) exchange() (kmsg.Request, kmsg.Response) {
	b.w.t.Helper()
	req := b.pending()
	if req == nil {
		return nil, nil
	}
	leader := b.w.broker(int(b.fetcher.cfg.Leader))
	if !leader.alive {
		b.disconnect()
		return req, nil
	}
	asked := copied(req)
	resp := leader.serve(req)
	b.answer(resp)
	return asked, resp
}

// copied is a request that stays as it is: the fetcher uses its fetches again.
func copied(req kmsg.Request) kmsg.Request {
	f, ok := req.(*kmsg.FetchRequest)
	if !ok {
		return req
	}
	c := *f
	c.Topics = slices.Clone(f.Topics)
	for i := range c.Topics {
		c.Topics[i].Partitions = slices.Clone(c.Topics[i].Partitions)
	}
	return &c
}

// answer delivers a response to the oldest request.
func (b *broker) answer(resp kmsg.Response) {
	b.w.t.Helper()
	if !b.opened {
		b.opened = true
		in := b.input(step.Opened)
		in.Conn = b.conn
		b.handle(in)
	}
	op := b.requests[0]
	b.requests = b.requests[1:]
	in := b.input(step.Response)
	in.Lane, in.Conn, in.Correlation, in.Body = fetcherLane, op.Conn, op.Correlation, resp
	b.handle(in)
	b.settle()
}

func (b *broker) disconnect() {
	b.w.t.Helper()
	in := b.input(step.Refused)
	if b.opened {
		in.Kind = step.Closed
	}
	in.Conn = b.conn
	b.conn, b.opened, b.requests = 0, false, nil
	b.handle(in)
	b.settle()
}

// contents lists a log's batches as base..last@epoch:name.
func (b *broker) contents(n int32) string {
	b.w.t.Helper()
	l := b.partition(n).Log()
	var words []string
	b.check(l.Batches(l.LogStartOffset(), func(r record.Batch) bool {
		recs, err := r.Records(nil)
		b.check(err)
		words = append(words, fmt.Sprintf("%d..%d@%d:%s", r.BaseOffset(), r.LastOffset(), r.PartitionLeaderEpoch(), recs[0].Value))
		return true
	}))
	return strings.Join(words, " ")
}

func ids(list ...kafka.NodeID) []kafka.NodeID { return list }

// fetchFrom is a follower's fetch at an offset, with the partition's own epoch.
func (b *broker) fetchFrom(follower kafka.NodeID, offset kafka.Offset) FetchResult {
	b.w.t.Helper()
	p := b.partition(0)
	args := FetchArgs{Replica: follower, CurrentLeaderEpoch: p.LeaderEpoch(), LastFetchedEpoch: kafka.NoLeaderEpoch, Offset: offset, MaxBytes: 1 << 20, MinOne: true}
	res, err := p.Fetch(&args)
	b.check(err)
	if res.Code == kafka.None {
		p.UpdateFollower(b.input(step.Request), b.out, &args, res.LEO)
	}
	b.settle()
	return res
}

// commitISR answers the change in flight as a controller that agrees.
func (b *broker) commitISR(p *Partition) {
	b.w.t.Helper()
	c := b.takeChange()
	p.HandleISR(b.input(step.Response), b.out, c, ISRResult{LeaderEpoch: c.LeaderEpoch, ISR: c.ISR, PartitionEpoch: c.PartitionEpoch + 1})
	b.settle()
}

func (b *broker) takeChange() ISRChange {
	b.w.t.Helper()
	if len(b.changes) == 0 {
		b.w.t.Fatal("no ISR change was submitted")
	}
	c := b.changes[0]
	b.changes = b.changes[1:]
	return c
}

// only is the one note of a kind.
func (w *world) only(k event.Kind) event.Event {
	w.t.Helper()
	list := w.all(k)
	if len(list) != 1 {
		w.t.Fatalf("%d notes of %v, want 1", len(list), k)
	}
	return list[0]
}

func (w *world) all(k event.Kind) []event.Event {
	var list []event.Event
	for _, e := range w.notes {
		if e.Kind == k {
			list = append(list, e)
		}
	}
	return list
}
