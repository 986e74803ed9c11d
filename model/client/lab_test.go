package client

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// lab runs one client against brokers that a script plays. Connections come up and
// metadata is answered by itself; everything else waits for the script.
type lab struct {
	t       testing.TB
	node    step.Node
	out     *step.Effects
	in      step.Input
	timers  []labTimer
	conns   []*labConn
	inputs  []step.Input
	down    map[string]bool // brokers that refuse connections
	mute    bool            // metadata is not answered by itself
	cluster labCluster
	said    strings.Builder
	quiet   bool // says nothing: for tests that read the events
	events  []event.Event
	asked   int // metadata requests
	exit    string
}

type labTimer struct {
	at   kafka.Nanos
	kind step.TimerKind
	arg  int64
	ref  step.TimerRef
}

type labConn struct {
	id       step.ConnID
	addr     step.Addr
	open     bool
	requests []labRequest // unanswered
}

type labRequest struct {
	correlation int32
	req         kmsg.Request
}

// labCluster is what metadata says. Brokers are 1, 2, 3 at broker-1:9092 and so on.
type labCluster struct {
	controller int32
	topics     []string
	leaders    map[string][]leaderInfo
	failing    map[string]kafka.ErrorCode
}

func newLab(t testing.TB, node step.Node) *lab {
	l := &lab{t: t, node: node, out: step.NewEffects(), down: map[string]bool{}}
	l.cluster = labCluster{controller: 1, leaders: map[string][]leaderInfo{}, failing: map[string]kafka.ErrorCode{}}
	l.in.SetDraws(step.NewDraws(1))
	return l
}

func addrOf(id int32) step.Addr { return step.Addr{Host: fmt.Sprintf("broker-%d", id), Port: 9092} }

// lead sets the leaders of a topic's partitions; all get the epoch.
func (l *lab) lead(topic string, epoch int32, leaders ...int32) {
	if l.cluster.leaders[topic] == nil {
		l.cluster.topics = append(l.cluster.topics, topic)
	}
	l.cluster.leaders[topic] = nil
	for _, id := range leaders {
		l.cluster.leaders[topic] = append(l.cluster.leaders[topic], leaderInfo{kafka.NodeID(id), kafka.LeaderEpoch(epoch)})
	}
}

func (l *lab) say(format string, args ...any) {
	if !l.quiet {
		fmt.Fprintf(&l.said, format+"\n", args...)
	}
}

// do delivers an input and all that follows from it at the same time.
func (l *lab) do(in step.Input) {
	l.inputs = append(l.inputs, in)
	for n := 0; len(l.inputs) > 0; n++ {
		if n > 10_000 {
			l.t.Fatal("the client never comes to rest")
		}
		next := l.inputs[0]
		l.inputs = l.inputs[1:]
		l.deliver(next)
		l.answerMetadata()
	}
}

// answerMetadata answers the metadata requests whose turn it is on their connection.
func (l *lab) answerMetadata() {
	for _, c := range l.conns {
		for len(c.requests) > 0 && !l.mute {
			m, ok := c.requests[0].req.(*kmsg.MetadataRequest)
			if !ok {
				break
			}
			l.inputs = append(l.inputs, step.Input{Kind: step.Response, Conn: c.id, Correlation: c.requests[0].correlation, Body: l.metadata(m)})
			c.requests = c.requests[1:]
		}
	}
}

func (l *lab) deliver(in step.Input) {
	now, wall := l.in.Now, kafka.TimestampMs(1_700_000_000_000+int64(l.in.Now/kafka.Millisecond))
	l.in = in
	l.in.Now, l.in.Wall, l.in.Incarnation = now, wall, 1
	l.in.SetDraws(step.NewDraws(1))
	l.out.Reset()
	if err := l.node.Step(&l.in, l.out); err != nil {
		l.t.Fatal(err)
	}
	for i := range l.out.Notes {
		l.note(&l.out.Notes[i])
	}
	for i := range l.out.Ops {
		l.perform(&l.out.Ops[i])
	}
	if l.out.Exiting {
		l.exit = l.out.ExitReason
		l.say("exits: %s", l.exit)
	}
}

func (l *lab) perform(op *step.Op) {
	switch op.Kind {
	case step.OpConnect:
		c := &labConn{id: op.Conn, addr: op.Addr}
		l.conns = append(l.conns, c)
		if l.down[op.Addr.Host] {
			l.say("%s refuses a connection", op.Addr.Host)
			l.drop(c)
			l.inputs = append(l.inputs, step.Input{Kind: step.Refused, Conn: c.id})
			return
		}
		c.open = true
		l.inputs = append(l.inputs, step.Input{Kind: step.Opened, Conn: c.id})
	case step.OpClose:
		c := l.conn(op.Conn)
		l.say("closes its connection to %s", c.addr.Host)
		l.drop(c)
	case step.OpRequest:
		l.request(l.conn(op.Conn), op.Correlation, op.Body.(kmsg.Request))
	case step.OpSetTimer:
		l.timers = append(l.timers, labTimer{op.At, op.Timer, op.Arg, op.TimerRef})
		sort.SliceStable(l.timers, func(i, j int) bool { return l.timers[i].at < l.timers[j].at })
	case step.OpCancelTimer:
		for i := range l.timers {
			if l.timers[i].ref == op.TimerRef {
				l.timers = append(l.timers[:i], l.timers[i+1:]...)
				l.out.Timers.Release(op.TimerRef)
				break
			}
		}
	}
}

func (l *lab) conn(id step.ConnID) *labConn {
	for _, c := range l.conns {
		if c.id == id {
			return c
		}
	}
	l.t.Fatalf("no connection %d", id)
	return nil
}

func (l *lab) drop(c *labConn) {
	for i := range l.conns {
		if l.conns[i] == c {
			l.conns = append(l.conns[:i], l.conns[i+1:]...)
			return
		}
	}
}

func (l *lab) request(c *labConn, correlation int32, req kmsg.Request) {
	checkVersion(l.t, req)
	if _, ok := req.(*kmsg.MetadataRequest); ok {
		l.asked++
		c.requests = append(c.requests, labRequest{correlation, req})
		return
	}
	if p, ok := req.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
		c.requests = append(c.requests, labRequest{correlation, req})
	}
	l.say("to %s: %s", c.addr.Host, describe(req))
}

// take removes the oldest unanswered request to a broker.
func (l *lab) take(broker int32) (*labConn, labRequest) {
	l.t.Helper()
	for _, c := range l.conns {
		if c.addr == addrOf(broker) && len(c.requests) > 0 && !isOfGroup(c.requests[0].req) {
			r := c.requests[0]
			c.requests = c.requests[1:]
			return c, r
		}
	}
	l.t.Fatalf("broker-%d has no request", broker)
	return nil, labRequest{}
}

// waiting counts the unanswered requests to a broker.
func (l *lab) waiting(broker int32) (n int) {
	for _, c := range l.conns {
		if c.addr == addrOf(broker) {
			n += len(c.requests)
		}
	}
	return n
}

func (l *lab) answer(c *labConn, r labRequest, resp kmsg.Response) {
	l.do(step.Input{Kind: step.Response, Conn: c.id, Correlation: r.correlation, Body: resp})
}

// cut closes the connections of a broker.
func (l *lab) cut(broker int32) {
	for _, c := range append([]*labConn(nil), l.conns...) {
		if c.addr == addrOf(broker) {
			l.drop(c)
			l.do(step.Input{Kind: step.Closed, Conn: c.id})
		}
	}
}

// advance lets time pass and fires what falls due.
func (l *lab) advance(d kafka.Nanos) {
	end := l.in.Now + d
	for n := 0; len(l.timers) > 0 && l.timers[0].at <= end; n++ {
		if n > 100_000 {
			l.t.Fatal("timers without end")
		}
		t := l.timers[0]
		l.timers = l.timers[1:]
		l.out.Timers.Release(t.ref)
		l.in.Now = max(l.in.Now, t.at)
		l.do(step.Input{Kind: step.Timer, Timer: t.kind, Arg: t.arg})
	}
	l.in.Now = end
}

func (l *lab) metadata(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	r := kmsg.NewPtrMetadataResponse()
	r.Version, r.ControllerID = req.Version, l.cluster.controller
	for id := int32(1); id <= 3; id++ {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = id, addrOf(id).Host, addrOf(id).Port
		r.Brokers = append(r.Brokers, b)
	}
	for _, asked := range req.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = asked.Topic
		t.ErrorCode = int16(l.cluster.failing[*asked.Topic])
		if req.Version >= 10 {
			t.TopicID = labTopicID(*asked.Topic)
		}
		if l.cluster.leaders[*asked.Topic] == nil && t.ErrorCode == 0 {
			t.ErrorCode = int16(kafka.UnknownTopicOrPartition)
		}
		for i, lead := range l.cluster.leaders[*asked.Topic] {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader = int32(i), int32(lead.leader)
			if lead.leader == kafka.NoNode {
				p.ErrorCode = int16(kafka.LeaderNotAvailable)
			}
			if req.Version >= 7 {
				p.LeaderEpoch = int32(lead.epoch)
			}
			t.Partitions = append(t.Partitions, p)
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

func labTopicID(name string) (id [16]byte) {
	copy(id[:], name)
	return id
}

// labTopic is the name of a topic in a message that has names or ids.
func labTopic(name string, id [16]byte) string {
	if name != "" {
		return name
	}
	return strings.TrimRight(string(id[:]), "\x00")
}

func (l *lab) note(e *event.Event) {
	e.Time = l.in.Now
	l.events = append(l.events, *e)
	switch e.Kind {
	case event.BatchSent, event.MetadataSeen:
	case event.RecordAcked:
		l.say("acked %v: records %d+%d at offsets %d-%d, attempt %d, %v after the call", e.TP, e.First, e.Count, e.Base, e.Last, e.Index, l.in.Now-e.Created)
	case event.RecordFailed:
		certain := "surely not in the log"
		if e.Flag {
			certain = "perhaps in the log"
		}
		l.say("failed %v: records %d+%d, %v, %s %s", e.TP, e.First, e.Count, e.Err, certain, e.Text)
	case event.RecordDelivered:
		l.say("delivered %v: offsets %d-%d, %d records from broker %d, producer %d from %d", e.TP, e.Base, e.Last, e.Count, e.Node, e.Producer, e.First)
	case event.PositionReset:
		l.say("position of %v: %d to %d, %s", e.TP, e.Offset, e.Base, e.Text)
	default:
		if !l.noteGroup(e) {
			l.say("%v %s", e.Kind, e.Text)
		}
	}
}

func describe(req kmsg.Request) string {
	var b strings.Builder
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		fmt.Fprintf(&b, "Produce acks=%d", r.Acks)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d %s", t.Topic, p.Partition, describeRecords(p.Records))
			}
		}
	case *kmsg.FetchRequest:
		fmt.Fprintf(&b, "Fetch")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d@%d(epoch %d)", labTopic(t.Topic, t.TopicID), p.Partition, p.FetchOffset, p.CurrentLeaderEpoch)
			}
		}
	case *kmsg.ListOffsetsRequest:
		fmt.Fprintf(&b, "ListOffsets")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d at %d(epoch %d)", t.Topic, p.Partition, p.Timestamp, p.CurrentLeaderEpoch)
			}
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		fmt.Fprintf(&b, "OffsetForLeaderEpoch")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d of epoch %d(epoch %d)", t.Topic, p.Partition, p.LeaderEpoch, p.CurrentLeaderEpoch)
			}
		}
	case *kmsg.CreateTopicsRequest:
		fmt.Fprintf(&b, "CreateTopics")
		for _, t := range r.Topics {
			fmt.Fprintf(&b, " %s:%dx%d", t.Topic, t.NumPartitions, t.ReplicationFactor)
		}
	case *kmsg.DeleteTopicsRequest:
		fmt.Fprintf(&b, "DeleteTopics %v", r.TopicNames)
	case *kmsg.CreatePartitionsRequest:
		fmt.Fprintf(&b, "CreatePartitions")
		for _, t := range r.Topics {
			fmt.Fprintf(&b, " %s:%d", t.Topic, t.Count)
		}
	default:
		b.WriteString(describeGroup(req))
	}
	return b.String()
}

func describeRecords(data []byte) string {
	var it record.Iterator
	b, _, err := record.Next(data)
	if err != nil {
		return err.Error()
	}
	it.Reset(b)
	if !it.Next() {
		return "empty"
	}
	_, number, _, _ := ParseValue(it.Record().Value)
	return fmt.Sprintf("[%d+%d]", number, b.Count())
}

// checkVersion proves that a message sets no field that its version does not have.
func checkVersion(t testing.TB, req kmsg.Request) {
	t.Helper()
	decoded := kmsg.RequestForKey(req.Key())
	decoded.SetVersion(req.GetVersion())
	if err := decoded.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatalf("%T version %d does not decode: %v", req, req.GetVersion(), err)
	}
	if a, b := fields(t, req), fields(t, decoded); a != b {
		t.Fatalf("%T version %d loses fields:\n%s\n%s", req, req.GetVersion(), a, b)
	}
}

func fields(t testing.TB, m any) string {
	j, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(j), "null", "[]")
}

func labProfile(name string) *config.Profile {
	p, ok := config.ProfileByName(name)
	if !ok {
		panic("no profile " + name)
	}
	return p
}

func labProducerConfig() *config.Producer {
	c, errs := config.NewProducer(labProfile("zk-3.9"), nil)
	if len(errs) > 0 {
		panic(errs[0])
	}
	return c
}

func labConsumerConfig() *config.Consumer {
	c, errs := config.NewConsumer(labProfile("zk-3.9"), nil)
	if len(errs) > 0 {
		panic(errs[0])
	}
	return c
}
