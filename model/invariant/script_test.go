package invariant

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/record"
)

// script feeds a suite from text: an event a line, by the kind's word or one of the
// short forms of play, with key=value fields. Times grow by 10 ms a line.
type script struct {
	t     testing.TB
	s     *Suite
	seq   uint64
	isr   []kafka.NodeID // as committed
	pe    kafka.PartitionEpoch
	ended bool
}

func newScript(t testing.TB, setup string) *script {
	l := fields{t: t}
	l.parse("setup " + setup)
	profile, ok := config.ProfileByName(l.text("profile", "zk-3.9"))
	if !ok {
		t.Fatalf("no profile in %q", setup)
	}
	l.has("mutation")
	topic := Topic{Name: "orders", MinISR: int(l.number("min-isr", 2)), Unclean: l.has("unclean")}
	if l.has("retention-ms") || l.has("retention-bytes") {
		topic.Retention = &Retention{Ms: l.number("retention-ms", -1), Bytes: l.number("retention-bytes", -1)}
	}
	if l.has("compact") {
		topic.Compact = &Compaction{DeleteRetention: kafka.Millis(l.number("delete-retention-ms", 86_400_000)), MinLag: kafka.Millis(l.number("min-lag-ms", 0))}
	}
	checks := Setup{Profile: profile, Brokers: 3, Topics: []Topic{topic}, RetentionCheck: kafka.Millis(l.number("check", 0)),
		OffsetsRetention: kafka.Millis(l.number("offsets-retention-ms", 0)), ControllerTimeout: 30 * kafka.Second, Reverts: l.has("reverts")}
	if l.has("group") {
		checks.Groups = []Group{setupGroup}
		checks.Topics = append(checks.Topics, Topic{Name: offsetsTopic, MinISR: 2, Compact: &Compaction{}})
		if l.has("max-size") {
			checks.GroupMaxSize = map[kafka.NodeID]int{1: int(l.number("max-size", 0))}
		}
	}
	x := &script{t: t, s: NewSuite(checks)}
	if u := l.unused(); u != nil {
		t.Fatalf("unknown setup %v", u)
	}
	return x
}

// play runs the lines and returns what was found.
func (x *script) play(lines string) *outcome.Result {
	for _, line := range strings.Split(lines, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			x.line(line)
		}
	}
	if !x.ended {
		x.s.Finish(true, nil)
	}
	r := &outcome.Result{}
	x.s.Fill(r)
	return r
}

func (x *script) line(line string) {
	l := fields{t: x.t}
	l.parse(line)
	switch l.word {
	case "start": // three replicas, broker 1 leads epoch 0
		x.line("assignment-changed replicas=1,2,3")
		x.line("state leader=1 epoch=0 isr=" + l.text("isr", "1,2,3"))
		for _, n := range []string{"1", "2", "3"} {
			x.line("replica-loaded node=" + n)
		}
		x.line("lead node=1 epoch=0")
		x.line("follow node=2,3 epoch=0 leader=1")
	case "append": // the first node as leader
		for i, n := range l.nodes("node") {
			e := l.event()
			e.Kind, e.Node, e.Flag = event.BatchAppended, n, i == 0 && !l.has("follow")
			e.TP.Topic = l.text("topic", e.TP.Topic)
			x.note(e)
		}
	case "state":
		e := l.event()
		e.TP.Topic = l.text("topic", e.TP.Topic)
		if !l.has("pe") {
			e.PartitionEpoch = x.pe
		}
		x.pe, x.isr, e.Kind = e.PartitionEpoch+1, e.ISR, event.PartitionChanged
		x.note(e)
	case "lead", "follow":
		for _, n := range l.nodes("node") {
			e := l.event()
			e.Kind, e.Node = event.BecameFollower, n
			e.TP.Topic = l.text("topic", e.TP.Topic)
			if l.word == "lead" {
				e.Kind = event.BecameLeader
				x.maximal(&l, &e)
				if !l.has("offset") {
					e.Offset = e.LEO
				}
			}
			x.note(e)
		}
	case "hw": // of a leader
		e := l.event()
		e.Kind, e.Flag = event.HighWatermark, true
		e.TP.Topic = l.text("topic", e.TP.Topic)
		x.maximal(&l, &e)
		x.note(e)
	case "follower-hw":
		for _, n := range l.nodes("node") {
			e := l.event()
			e.Kind, e.Node = event.HighWatermark, n
			x.note(e)
		}
	case "commits": // as many commit-sent as n says
		n, e := l.number("n", 1), l.event()
		e.Kind = event.CommitSent
		l.groupFields(&e)
		for range n {
			x.note(e)
			e.First++
		}
	case "die": // a client
		x.note(event.Event{Kind: event.NodeCrashed, Actor: l.text("actor", ""), Text: "kill", Time: l.event().Time})
	case "kill", "power", "stop", "boot":
		for _, n := range l.nodes("node") {
			e := event.Event{Kind: event.NodeCrashed, Actor: kafka.BrokerHost(n), Text: "kill", Time: l.event().Time}
			switch l.word {
			case "power":
				e.Text = powerLossText
			case "stop":
				e.Kind, e.Text = event.NodeStopped, "terminated"
			case "boot":
				e.Kind, e.Text = event.NodeBooted, ""
			}
			x.note(e)
		}
	case "form":
		x.form(&l)
	case "join":
		x.join(&l)
	case "store":
		x.store(&l)
	case "take":
		x.take(&l)
	case "send", "ack", "deliver", "answer":
		e := l.event()
		e.Kind = map[string]event.Kind{"send": event.BatchSent, "ack": event.RecordAcked, "deliver": event.RecordDelivered,
			"answer": event.ProduceAnswered}[l.word]
		if !l.has("acks") {
			e.Acks = allISR
		}
		l.groupFields(&e)
		x.note(e)
	case "read":
		e := l.event()
		x.s.ReadBack(e.TP, e.Batch, e.Node)
	case "read-other":
		e := l.event()
		b := otherBatch(e.Count)
		b.SetBaseOffset(e.Base)
		b.SetPartitionLeaderEpoch(e.LeaderEpoch)
		x.s.ReadBack(e.TP, b, e.Node)
	case "knows": // a consumer, brokers
		x.s.Knows(l.text("actor", ""), l.nodes("brokers"))
	case "end":
		var open []string
		if l.has("open") {
			open = strings.Split(l.text("open", ""), "|")
		}
		x.s.Finish(!l.has("stopped"), open)
		x.ended = true
	default:
		e := l.event()
		k, ok := event.ParseKind(l.word)
		if !ok {
			x.t.Fatalf("unknown kind in %q", line)
		}
		e.Kind = k
		l.groupFields(&e)
		x.note(e)
	}
	for _, k := range l.unused() {
		x.t.Fatalf("unknown field %s in %q", k, line)
	}
}

// maximal fills the in-sync sets that a line leaves out.
func (x *script) maximal(l *fields, e *event.Event) {
	if !l.has("isr") {
		e.ISR = x.isr
	}
	if !l.has("maximal") {
		e.MaximalISR = e.ISR
	}
}

func (x *script) note(e event.Event) {
	x.seq++
	if e.Seq == 0 {
		e.Seq = x.seq
	}
	if e.Time == 0 {
		e.Time = kafka.Nanos(x.seq) * 10 * kafka.Millisecond
	}
	if e.Actor == "" && e.Node > 0 {
		e.Actor = kafka.BrokerHost(e.Node)
	}
	x.s.Observe(&e)
}

// fields are the key=value pairs of a line.
type fields struct {
	t    testing.TB
	word string
	keys []string
	vals []string
	used []bool
}

func (l *fields) parse(line string) {
	for _, w := range split(line) {
		if l.word == "" {
			l.word = w
			continue
		}
		k, v, _ := strings.Cut(w, "=")
		l.keys, l.vals, l.used = append(l.keys, k), append(l.vals, v), append(l.used, false)
	}
}

// split cuts at spaces outside quotes, which it drops.
func split(line string) (words []string) {
	var b strings.Builder
	quoted := false
	for _, r := range line + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			if b.Len() > 0 {
				words = append(words, b.String())
				b.Reset()
			}
		default:
			b.WriteRune(r)
		}
	}
	return words
}

func (l *fields) unused() (keys []string) {
	for i, u := range l.used {
		if !u {
			keys = append(keys, l.keys[i])
		}
	}
	return keys
}

func (l *fields) has(key string) bool {
	for i, k := range l.keys {
		if k == key {
			l.used[i] = true
			return true
		}
	}
	return false
}

func (l *fields) text(key, otherwise string) string {
	for i, k := range l.keys {
		if k == key {
			l.used[i] = true
			return l.vals[i]
		}
	}
	return otherwise
}

func (l *fields) number(key string, otherwise int64) int64 {
	s := l.text(key, "")
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		l.t.Fatalf("%s=%s: %v", key, s, err)
	}
	return n
}

func (l *fields) nodes(key string) (ids []kafka.NodeID) {
	s := l.text(key, "")
	if s == "" {
		return nil
	}
	for _, w := range strings.Split(s, ",") {
		n, err := strconv.Atoi(w)
		if err != nil {
			l.t.Fatalf("%s=%s: %v", key, s, err)
		}
		ids = append(ids, kafka.NodeID(n))
	}
	return ids
}

// event reads all fields. of=P/N+C is a batch of producer P with C records from
// number N on.
func (l *fields) event() event.Event {
	e := event.Event{TP: kafka.TopicPartition{Topic: "orders", Partition: int32(l.number("p", 0))}}
	if n := l.nodes("node"); n != nil {
		e.Node = n[0]
	}
	e.Actor, e.Text, e.Flag = l.text("actor", ""), l.text("text", ""), l.has("flag")
	e.Time, e.Seq = kafka.Millis(l.number("ms", 0)), uint64(l.number("seq", 0))
	e.Peer = kafka.NodeID(l.number("peer", 0))
	e.Leader = kafka.NodeID(l.number("leader", 0))
	e.LeaderEpoch = kafka.LeaderEpoch(l.number("epoch", 0))
	e.PartitionEpoch = kafka.PartitionEpoch(l.number("pe", 0))
	e.ControllerEpoch = kafka.ControllerEpoch(l.number("ce", 0))
	e.BrokerEpoch = kafka.BrokerEpoch(l.number("be", 0))
	e.Base, e.Offset = kafka.Offset(l.number("base", 0)), kafka.Offset(l.number("offset", 0))
	e.LogStart, e.HW = kafka.Offset(l.number("start", 0)), kafka.Offset(l.number("hw", 0))
	e.Size, e.Created = int32(l.number("size", 0)), kafka.Millis(l.number("created", 0))
	e.Count, e.Producer, e.First = int32(l.number("count", 1)), int32(l.number("producer", 1)), l.number("first", 0)
	e.CRC = 1000*uint32(e.LeaderEpoch) + uint32(e.Base)
	e.Acks = int8(l.number("acks", 0))
	e.Err = kafka.ErrorCode(l.number("err", 0))
	e.ISR, e.MaximalISR, e.Replicas = l.nodes("isr"), l.nodes("maximal"), l.nodes("replicas")
	if of := l.text("of", ""); of != "" {
		if _, err := fmt.Sscanf(of, "%d/%d+%d", &e.Producer, &e.First, &e.Count); err != nil {
			l.t.Fatalf("of=%s: %v", of, err)
		}
		b := l.batch(&e)
		e.Batch, e.CRC = b, b.CRC()
	}
	e.CRC = uint32(l.number("crc", int64(e.CRC)))
	e.Last = kafka.Offset(l.number("last", int64(e.Base)+int64(e.Count)-1))
	if e.Batch != nil {
		e.Count = record.Batch(e.Batch).Count()
	}
	e.LEO = kafka.Offset(l.number("leo", int64(e.Last)+1))
	if l.word == "hw" || l.word == "follower-hw" {
		e.LEO = kafka.Offset(l.number("leo", int64(e.HW)))
	}
	if l.word == "lead" || l.word == "follow" || l.word == "replica-loaded" {
		e.LEO = kafka.Offset(l.number("leo", 0))
	}
	return e
}

// found prints an invariant's state and everything that was violated or lost.
func printResult(r *outcome.Result, name string) string {
	var b strings.Builder
	i := stateOf(r, name)
	fmt.Fprintf(&b, "%s: %s", name, i.State)
	if i.Note != "" {
		fmt.Fprintf(&b, " (%s)", i.Note)
	}
	b.WriteByte('\n')
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "%s: %s\n", v.Invariant, v.What)
	}
	for _, x := range r.Loss.Reasons {
		fmt.Fprintf(&b, "expected loss of %d: %s (%s)\n", x.Records, x.Text, x.Example)
	}
	if n := r.Records.Expired; n > 0 {
		fmt.Fprintf(&b, "deleted %d\n", n)
	}
	if n := r.Records; n.Lost+n.Duplicated+n.UnknownPresent > 0 {
		fmt.Fprintf(&b, "lost %d, duplicated %d, of unknown outcome and present %d\n", n.Lost, n.Duplicated, n.UnknownPresent)
	}
	return b.String()
}

func stateOf(r *outcome.Result, name string) *outcome.InvariantState {
	for i := range r.Invariants {
		if r.Invariants[i].Name == name {
			return &r.Invariants[i]
		}
	}
	panic("no invariant " + name)
}
