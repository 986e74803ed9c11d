package invariant

import (
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// setupGroup is what "group" in a setup stands for.
var setupGroup = Group{ID: "g", Session: 10 * kafka.Second, Rebalance: 20 * kafka.Second, Heartbeat: kafka.Second, Request: 5 * kafka.Second, Delay: kafka.Second, MetadataAge: 5 * kafka.Minute, LeastSession: 10 * kafka.Second}

// form is a group g on broker 1 with the members a and b of the clients ca and cb, in
// generation 1: a owns partition 0 of orders, b partition 1, of 2. With static both are static.
func (x *script) form(l *fields) {
	protocol, index := l.text("protocol", "range"), ""
	if l.has("cooperative") {
		protocol, index = "cooperative-sticky", " index=1"
	}
	if !l.has("bare") {
		x.line("topic-created count=2")
	}
	for _, m := range []string{"a", "b"} {
		x.line("coordinator-found actor=c" + m + " gen=-1 node=1")
		x.line("member-changed actor=c" + m + " gen=-1 detail=preparing" + index)
	}
	a, b := "", ""
	if l.has("static") {
		a, b = " detail=ia", " detail=ib"
	}
	x.line("member-joined node=1 member=a text=new gen=0" + a)
	x.line(`group-changed node=1 state=PreparingRebalance gen=0 count=1 member=a text="a member is new"`)
	x.line("member-joined node=1 member=b text=new gen=0" + b)
	x.line("join protocol=" + protocol + index + " gen=1")
	x.line("store gen=1 a=orders/0 b=orders/1" + " protocol=" + protocol)
	x.line("take actor=ca member=a gen=1 give=orders/0" + index)
	x.line("take actor=cb member=b gen=1 give=orders/1" + index)
}

// join completes a join of a and b: own-a, own-b are what they claim, at=G of which
// generation, sub-a, sub-b what they subscribe to.
func (x *script) join(l *fields) {
	gen, protocol, index := l.text("gen", "1"), l.text("protocol", "range"), l.text("index", "0")
	x.line("group-changed node=1 state=CompletingRebalance gen=" + gen + " count=2 member=a detail=" + protocol + " text=joined")
	for _, m := range []string{"a", "b"} {
		own, flag := "", ""
		if v := l.text("own-"+m, ""); v != "" {
			own = " own=" + v + " at=" + l.text("at-"+m, "-1")
		}
		if m == "a" {
			flag = " flag"
		}
		x.line("join-answered node=1 member=" + m + " gen=" + gen + " detail=" + protocol + " text=" + protocol + flag + " sub=" + l.text("sub-"+m, "orders") + own)
		x.line("member-changed actor=c" + m + " member=" + m + " gen=" + gen + " detail=completing index=" + index)
	}
}

// store publishes what a and b are given, and tells them.
func (x *script) store(l *fields) {
	gen, protocol := l.text("gen", "1"), l.text("protocol", "range")
	a, b, first := l.text("a", ""), l.text("b", ""), l.text("first", "0")
	for _, word := range []string{"assignment-stored", "sync-answered"} {
		x.line(word + " node=1 member=a gen=" + gen + " give=" + a + " first=" + first)
		x.line(word + " node=1 member=b gen=" + gen + " give=" + b + " first=" + first)
	}
	x.line("group-changed node=1 state=Stable gen=" + gen + " count=2 member=a detail=" + protocol + " text=persisted")
}

// take is a client that takes what it was given.
func (x *script) take(l *fields) {
	who := " actor=" + l.text("actor", "") + " member=" + l.text("member", "") + " gen=" + l.text("gen", "1")
	x.line("member-changed" + who + " detail=stable index=" + l.text("index", "0"))
	for _, tp := range partitions(l.text("give", "")) {
		x.line("partition-assigned" + who + " topic=" + tp.Topic + " p=" + strconv.Itoa(int(tp.Partition)))
	}
}

// groupFields reads the fields of facts about groups.
func (l *fields) groupFields(e *event.Event) {
	e.Group, e.Member, e.Detail = l.text("group", e.Group), l.text("member", ""), l.text("detail", "")
	e.Generation, e.Index = int32(l.number("gen", 0)), int32(l.number("index", 0))
	if e.Kind >= event.GroupChanged {
		e.Group = l.text("group", "g")
	}
	if w := l.text("state", ""); w != "" {
		s, ok := event.ParseGroupState(w)
		if !ok {
			l.t.Fatalf("no state %q", w)
		}
		e.State = s
	}
	if e.Kind >= event.CoordinatorLoaded && e.Kind <= event.AssignmentStored {
		e.TP.Topic = offsetsTopic
	}
	e.TP.Topic = l.text("topic", e.TP.Topic)
	switch {
	case l.has("give"):
		e.Batch = assignmentOf(partitions(l.text("give", "")))
		e.CRC, e.Size = crc32.ChecksumIEEE(e.Batch), int32(len(e.Batch))
	case l.has("sub"):
		e.Batch = subscriptionOf(strings.Split(l.text("sub", ""), ","), partitions(l.text("own", "")), int32(l.number("at", -1)))
	}
	if l.has("crc") {
		e.CRC = uint32(l.number("crc", 0))
	}
}

// partitions reads "orders/0+orders/1".
func partitions(s string) (list []kafka.TopicPartition) {
	if s == "" {
		return nil
	}
	for _, w := range strings.Split(s, "+") {
		topic, n, _ := strings.Cut(w, "/")
		p, err := strconv.Atoi(n)
		if err != nil {
			panic(w)
		}
		list = append(list, kafka.TopicPartition{Topic: topic, Partition: int32(p)})
	}
	return list
}

func assignmentOf(parts []kafka.TopicPartition) []byte {
	a := kmsg.ConsumerMemberAssignment{Version: 3}
	for _, tp := range parts {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
	}
	return a.AppendTo(nil)
}

func subscriptionOf(topics []string, owned []kafka.TopicPartition, generation int32) []byte {
	s := kmsg.ConsumerMemberMetadata{Version: 3, Topics: topics, Generation: generation}
	for _, tp := range owned {
		s.OwnedPartitions = append(s.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
	}
	return s.AppendTo(nil)
}
