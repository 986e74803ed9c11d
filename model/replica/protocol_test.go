package replica

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// cluster is three brokers under an obvious controller: one authoritative state,
// compare-and-set ISR changes, clean elections only, and a queue of states to each
// broker, which arrive late but in order and completely (Z-18). A crash keeps the
// log and a high watermark of the past.
type cluster struct {
	*world
	rt      *rapid.T
	state   State
	queues  [][]State       // by broker: states under way to it
	answers []kmsg.Response // by broker: an answer under way to its fetcher
	oldHW   []kafka.Offset  // by broker: what a checkpoint may hold
	// committed is the ghost: the record that was below some leader's high watermark.
	committed map[kafka.Offset]string
	appended  int
}

const clusterSize = 3

func newCluster(rt *rapid.T, t testing.TB, profile string, minISR int) *cluster {
	c := &cluster{world: newWorld(t, profile, clusterSize), rt: rt, committed: make(map[kafka.Offset]string)}
	c.topic.MinInsyncReplicas = minISR
	c.queues = make([][]State, clusterSize)
	c.answers = make([]kmsg.Response, clusterSize)
	c.oldHW = make([]kafka.Offset, clusterSize)
	c.state = State{Leader: 1, ISR: ids(1, 2, 3), Replicas: ids(1, 2, 3), ControllerEpoch: 1}
	c.send()
	for i := range c.brokers {
		c.notify(i)
	}
	return c
}

// send queues the state for every live broker.
func (c *cluster) send() {
	for i, b := range c.brokers {
		if b.alive {
			c.queues[i] = append(c.queues[i], c.state)
		}
	}
}

// notify delivers the next state of a broker's queue.
func (c *cluster) notify(i int) {
	b := c.brokers[i]
	if !b.alive || len(c.queues[i]) == 0 {
		return
	}
	s := &c.queues[i][0]
	c.queues[i] = c.queues[i][1:]
	p := b.partition(0)
	if p.CheckLeaderAndISR(s, kafka.TopicID{1}) != kafka.None {
		return
	}
	switch {
	case s.Leader == b.env.Node:
		b.lead(0, int32(s.LeaderEpoch), int32(s.PartitionEpoch), s.ISR, s.Replicas)
		c.answers[i] = nil
	case s.Leader != kafka.NoNode && c.broker(int(s.Leader)).alive:
		if b.fetcher != nil && b.fetcher.cfg.Leader != s.Leader {
			b.check(b.fetcher.Remove(b.input(step.Request), b.out, p))
			c.answers[i] = nil
		}
		b.follow(0, int32(s.Leader), int32(s.LeaderEpoch), int32(s.PartitionEpoch), s.Replicas)
	}
}

// elect keeps or takes a live leader from the ISR, without the brokers in gone,
// which leave the ISR unless they are all of it (Z-24, Z-25).
func (c *cluster) elect(gone ...kafka.NodeID) {
	live := slices.DeleteFunc(slices.Clone(c.state.ISR), func(n kafka.NodeID) bool {
		return slices.Contains(gone, n) || !c.broker(int(n)).alive
	})
	next := c.state
	next.LeaderEpoch++
	next.PartitionEpoch++
	if len(live) == 0 {
		next.Leader = kafka.NoNode
	} else {
		next.ISR = live
		if !slices.Contains(live, next.Leader) {
			next.Leader = live[rapid.IntRange(0, len(live)-1).Draw(c.rt, "winner")]
		}
	}
	c.state = next
	c.send()
}

// moveLeader elects another member though the leader lives (preferred election).
func (c *cluster) moveLeader() {
	to := c.state.ISR[rapid.IntRange(0, len(c.state.ISR)-1).Draw(c.rt, "preferred")]
	if c.state.Leader == kafka.NoNode || !c.broker(int(to)).alive {
		return
	}
	c.state.Leader = to
	c.state.LeaderEpoch++
	c.state.PartitionEpoch++
	c.send()
}

// commit is the controller's answer to the oldest ISR change of a broker (Z-28).
func (c *cluster) commit(b *broker) {
	if len(b.changes) == 0 {
		return
	}
	ch := b.takeChange()
	res := ISRResult{Code: kafka.None}
	switch {
	case ch.LeaderEpoch < c.state.LeaderEpoch:
		res.Code = kafka.FencedLeaderEpoch
	case ch.PartitionEpoch != c.state.PartitionEpoch:
		res.Code = kafka.InvalidUpdateVersion
	case slices.ContainsFunc(ch.ISR, func(n kafka.NodeID) bool { return !c.broker(int(n)).alive }):
		res.Code = kafka.OperationNotAttempted
	default:
		c.state.ISR = ch.ISR
		c.state.PartitionEpoch++
		res.LeaderEpoch, res.ISR, res.PartitionEpoch = c.state.LeaderEpoch, ch.ISR, c.state.PartitionEpoch
	}
	if rapid.IntRange(0, 4).Draw(c.rt, "answer lost") == 0 {
		return
	}
	ch.Partition.HandleISR(b.input(step.Response), b.out, ch, res)
	b.settle()
}

func (c *cluster) crash(i int) {
	b := c.brokers[i]
	if !b.alive {
		return
	}
	b.alive = false
	c.oldHW[i] = kafka.Offset(rapid.IntRange(0, int(b.partition(0).HighWatermark())).Draw(c.rt, "checkpoint"))
	c.answers[i] = nil
	c.queues[i] = nil
	for _, other := range c.brokers {
		other.broken[b.env.Node] = true
	}
	c.elect(b.env.Node)
}

func (c *cluster) restart(i int) {
	b := c.brokers[i]
	if b.alive {
		return
	}
	b.start()
	b.partition(0).log = b.openLog(tp(0), b.fs, c.oldHW[i])
	b.partition(0).published = b.partition(0).log.LogEndOffset()
	for _, other := range c.brokers {
		other.broken[b.env.Node] = false
	}
	c.queues[i] = []State{c.state}
	if c.state.Leader == kafka.NoNode {
		c.elect()
	}
}

// request carries a fetcher's request to its leader; the answer waits.
func (c *cluster) request(i int) {
	b := c.brokers[i]
	if !b.alive || b.fetcher == nil || b.fetcher.Len() == 0 || c.answers[i] != nil {
		return
	}
	req := b.pending()
	if req == nil {
		return
	}
	leader := c.broker(int(b.fetcher.cfg.Leader))
	if !leader.alive {
		b.disconnect()
		return
	}
	c.answers[i] = leader.serve(req)
}

func (c *cluster) respond(i int) {
	b := c.brokers[i]
	if !b.alive || c.answers[i] == nil || len(b.requests) == 0 {
		return
	}
	resp := c.answers[i]
	c.answers[i] = nil
	if rapid.IntRange(0, 9).Draw(c.rt, "connection lost") == 0 {
		b.disconnect()
		return
	}
	b.answer(resp)
}

func (c *cluster) leaders() []*broker {
	return slices.DeleteFunc(slices.Clone(c.brokers), func(b *broker) bool { return !b.alive || !b.partition(0).IsLeader() })
}

func (c *cluster) act() {
	i := rapid.IntRange(0, clusterSize-1).Draw(c.rt, "broker")
	b := c.brokers[i]
	switch rapid.SampledFrom(actions).Draw(c.rt, "action") {
	case "append":
		for _, l := range c.leaders() {
			if rapid.Bool().Draw(c.rt, "here") {
				c.appended++
				l.append(0, fmt.Sprint("r", c.appended), rapid.IntRange(1, 3).Draw(c.rt, "records"), rapid.SampledFrom([]int8{AllISR, 1}).Draw(c.rt, "acks"))
			}
		}
	case "request":
		c.request(i)
	case "respond":
		c.respond(i)
	case "commit":
		if b.alive {
			c.commit(b)
		}
	case "notify":
		c.notify(i)
	case "shrink":
		c.now += kafka.Nanos(rapid.IntRange(1, 20).Draw(c.rt, "seconds")) * kafka.Second
		if b.alive {
			b.partition(0).MaybeShrinkISR(b.input(step.Timer), b.out)
			b.settle()
		}
	case "move":
		c.moveLeader()
	case "crash":
		c.crash(i)
	case "restart":
		c.restart(i)
	}
}

var actions = []string{
	"append", "append", "request", "request", "request", "request", "respond", "respond", "respond", "respond",
	"commit", "commit", "notify", "notify", "notify", "shrink", "move", "crash", "restart", "restart",
}

// recordsOf lists a log's records as epoch:value by offset.
func (b *broker) recordsOf() map[kafka.Offset]string {
	b.w.t.Helper()
	m := make(map[kafka.Offset]string)
	b.check(b.partition(0).Log().Batches(0, func(r record.Batch) bool {
		recs, err := r.Records(nil)
		b.check(err)
		for _, rec := range recs {
			m[rec.Offset] = fmt.Sprintf("%d:%s", r.PartitionLeaderEpoch(), rec.Value)
		}
		return true
	}))
	return m
}

// check holds I-1, I-2, I-9, I-11, I-14 and the order of epochs after every action.
func (c *cluster) check() {
	c.rt.Helper()
	for _, e := range c.notes {
		c.checkNote(&e)
	}
	c.notes = c.notes[:0]
	logs := make([]map[kafka.Offset]string, clusterSize)
	for i, b := range c.brokers {
		if b.partition(0).Log() == nil {
			continue
		}
		logs[i] = b.recordsOf()
		p := b.partition(0)
		if hw := p.HighWatermark(); hw < p.Log().LogStartOffset() || hw > p.PublishedLEO() || p.PublishedLEO() > p.Log().LogEndOffset() {
			c.rt.Fatalf("I-1: broker %d: hw %d published %d end %d", i+1, hw, p.PublishedLEO(), p.Log().LogEndOffset())
		}
	}
	for _, l := range c.leaders() {
		i := int(l.env.Node) - 1
		for o := kafka.Offset(0); o < l.partition(0).HighWatermark(); o++ {
			if was, known := c.committed[o]; known && was != logs[i][o] {
				c.rt.Fatalf("I-9: offset %d was committed as %s, leader %d has %q below its high watermark", o, was, i+1, logs[i][o])
			}
			c.committed[o] = logs[i][o]
		}
	}
	for _, n := range c.state.ISR {
		for o, want := range c.committed {
			if got := logs[n-1][o]; got != want {
				c.rt.Fatalf("I-9: ISR member %d lacks committed offset %d: %q, want %s", n, o, got, want)
			}
		}
	}
	c.checkLogMatching(logs)
}

// checkLogMatching is I-14 for pairs, and I-5: offset and epoch name one record.
func (c *cluster) checkLogMatching(logs []map[kafka.Offset]string) {
	for i := range logs {
		for j := range i {
			if logs[i] == nil || logs[j] == nil {
				continue
			}
			both := min(c.brokers[i].partition(0).HighWatermark(), c.brokers[j].partition(0).HighWatermark())
			for o := kafka.Offset(0); o < both; o++ {
				if logs[i][o] != logs[j][o] {
					c.rt.Fatalf("I-14: offset %d is %q on %d and %q on %d", o, logs[i][o], i+1, logs[j][o], j+1)
				}
			}
		}
	}
}

func (c *cluster) checkNote(e *event.Event) {
	switch e.Kind {
	case event.HighWatermark:
		p := c.broker(int(e.Node)).partition(0)
		if e.Flag && e.LeaderEpoch == p.LeaderEpoch() && p.IsLeader() {
			for _, r := range p.remotes {
				if contains(e.MaximalISR, r.id) && e.HW > r.leo {
					c.rt.Fatalf("I-2: hw %d above member %d at %d", e.HW, r.id, r.leo)
				}
			}
		}
	case event.FetcherFailed:
		if e.Text != "fenced by the leader" {
			c.rt.Fatalf("broker %d: %s", e.Node, e.Text)
		}
	}
}

// settleDown heals: everybody up and told, fetching until nothing changes. Then
// all is in sync and equal (V-3, V-5).
func (c *cluster) settleDown() {
	for i := range c.brokers {
		c.restart(i)
		c.answers[i] = nil
		if b := c.brokers[i]; b.fetcher != nil && len(b.requests) > 0 {
			b.disconnect()
		}
	}
	c.elect() // a fresh epoch, told to all
	for i := range c.brokers {
		for len(c.queues[i]) > 0 {
			c.notify(i)
		}
	}
	for range 40 {
		for i := range c.brokers {
			c.request(i)
			if resp := c.answers[i]; resp != nil {
				c.answers[i] = nil
				c.brokers[i].answer(resp)
			}
		}
		for _, b := range c.leaders() {
			for len(b.changes) > 0 {
				c.commitSurely(b)
			}
		}
	}
	c.check()
	leader := c.broker(int(c.state.Leader))
	if len(c.state.ISR) != clusterSize {
		c.rt.Fatalf("V-3: the ISR is %v after the heal", c.state.ISR)
	}
	if p := leader.partition(0); p.HighWatermark() != p.PublishedLEO() {
		c.rt.Fatalf("V-5: high watermark %d, end %d", p.HighWatermark(), p.PublishedLEO())
	}
	for _, b := range c.brokers {
		if b.contents(0) != leader.contents(0) {
			c.rt.Fatalf("broker %d has %q, the leader %q", b.env.Node, b.contents(0), leader.contents(0))
		}
	}
}

func (c *cluster) commitSurely(b *broker) {
	ch := b.takeChange()
	if ch.LeaderEpoch != c.state.LeaderEpoch || ch.PartitionEpoch != c.state.PartitionEpoch {
		ch.Partition.HandleISR(b.input(step.Response), b.out, ch, ISRResult{Code: kafka.InvalidUpdateVersion})
		return
	}
	c.state.ISR = ch.ISR
	c.state.PartitionEpoch++
	ch.Partition.HandleISR(b.input(step.Response), b.out, ch, ISRResult{LeaderEpoch: ch.LeaderEpoch, ISR: ch.ISR, PartitionEpoch: c.state.PartitionEpoch})
	b.settle()
}

// TestRandomClustersKeepWhatWasCommitted under clean elections, lost and late
// messages and process crashes, for each safe profile.
func TestRandomClustersKeepWhatWasCommitted(t *testing.T) {
	for _, profile := range []string{"zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				c := newCluster(rt, t, profile, rapid.IntRange(1, 2).Draw(rt, "min isr"))
				for range rapid.IntRange(1, 150).Draw(rt, "actions") {
					c.act()
					c.check()
				}
				c.settleDown()
			})
		})
	}
}
