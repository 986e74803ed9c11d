package group

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// TestScripts plays the lab notebooks of testdata: a command is a request of a client or
// something that happens; the answer is what clients are told meanwhile, and with
// "facts" what is noted. Ids that were handed out are written $1, $2, … in the order in
// which they were told.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			if s.l != nil {
				s.l.t = t
			}
			return s.run(d)
		})
	})
}

type script struct {
	t   *testing.T
	l   *lab
	d   *datadriven.TestData
	ids []string
}

func (s *script) run(d *datadriven.TestData) string {
	s.d = d
	l := s.l
	switch d.Cmd {
	case "new":
		l = newLab(s.t, s.text("profile", "zk-3.9"), int32(s.number("partitions", 1)), strings.Fields(d.Input)...)
		s.l, s.ids = l, nil
		l.facts = d.HasArg("facts")
		for i := range l.logs {
			l.elect(int32(i), 0)
		}
		if !d.HasArg("unloaded") {
			l.work()
			l.told = nil
		}
		return ""
	case "run":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			s.t.Fatal(err)
		}
		l.run(kafka.Nanos(n) * kafka.Millisecond)
	case "hold":
		l.hold = true
	case "release":
		l.fail = s.code()
		l.release()
		l.fail = kafka.None
	case "elect":
		l.elect(int32(s.number("partition", 0)), kafka.LeaderEpoch(s.number("epoch", 0)))
	case "resign":
		l.resign(int32(s.number("partition", 0)), kafka.LeaderEpoch(s.number("epoch", 0)))
	case "work":
		l.work()
	case "reboot":
		l.reboot()
		for i := range l.logs {
			l.elect(int32(i), kafka.LeaderEpoch(s.number("epoch", 1)))
		}
	case "stop":
		l.c.Stop()
	case "expire":
		l.c.Expire()
		l.work()
	case "gone":
		l.do(func(in *step.Input, out *step.Effects) {
			l.c.PartitionsDeleted(in, out, []kafka.TopicPartition{s.partition(s.text("tp", ""))})
		})
	case "log":
		return s.hide(l.records(int32(s.number("partition", 0))))
	default:
		l.do(s.request)
	}
	told := strings.Join(l.told, "\n")
	l.told = nil
	if told == "" {
		return ""
	}
	return s.hide(told) + "\n"
}

func (s *script) request(in *step.Input, out *step.Effects) {
	c, client := s.l.c, s.text("client", "c")
	from := s.l.from(s.text("as", client), client)
	group, id, generation := s.text("group", "g"), s.member(), int32(s.number("gen", -1))
	version := int16(s.number("v", -1))
	of := func(newest int16) int16 {
		if version >= 0 {
			return version
		}
		return newest
	}
	switch s.d.Cmd {
	case "join":
		r := kmsg.NewPtrJoinGroupRequest()
		r.Version, r.Group, r.MemberID, r.InstanceID = of(9), group, id, s.pointer("instance")
		r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(s.number("session", 10_000)), int32(s.number("rebalance", 60_000))
		r.ProtocolType = s.text("type", "consumer")
		for _, p := range strings.Split(s.text("protocols", "range:t"), "/") {
			if name, topics, ok := strings.Cut(p, ":"); ok {
				m := kmsg.NewJoinGroupRequestProtocol()
				m.Name, m.Metadata = name, subscription(strings.Split(topics, "+")...)
				if r.ProtocolType != "consumer" {
					m.Metadata = []byte(topics)
				}
				r.Protocols = append(r.Protocols, m)
			}
		}
		c.JoinGroup(in, out, from, r)
	case "sync":
		r := kmsg.NewPtrSyncGroupRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = of(5), group, id, generation, s.pointer("instance")
		if r.Version >= 5 {
			r.ProtocolType, r.Protocol = pointerTo(s.text("type", "consumer")), pointerTo(s.text("protocol", "range"))
		}
		for _, a := range strings.Split(s.text("assign", ""), "/") {
			if m, bytes, ok := strings.Cut(a, ":"); ok {
				g := kmsg.NewSyncGroupRequestGroupAssignment()
				g.MemberID, g.MemberAssignment = s.idOf(m), []byte(bytes)
				r.GroupAssignment = append(r.GroupAssignment, g)
			}
		}
		c.SyncGroup(in, out, from, r)
	case "heartbeat":
		r := kmsg.NewPtrHeartbeatRequest()
		r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = of(4), group, id, generation, s.pointer("instance")
		c.Heartbeat(in, out, from, r)
	case "leave":
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group = of(5), group
		if r.Version < 3 {
			r.MemberID = id
		} else {
			r.Members = []kmsg.LeaveGroupRequestMember{{MemberID: id, InstanceID: s.pointer("instance")}}
		}
		c.LeaveGroup(in, out, from, r)
	case "commit":
		s.commit(in, out, from, of(8), group, id, generation)
	case "fetch":
		s.fetch(out, from, of(9), group)
	case "describe":
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Version, r.Groups = of(5), []string{group}
		c.DescribeGroups(out, from, r)
	case "list":
		r := kmsg.NewPtrListGroupsRequest()
		r.Version = of(5)
		if states := s.text("states", ""); states != "" {
			r.StatesFilter = strings.Split(states, "/")
		}
		c.ListGroups(out, from, r)
	case "delete":
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Version, r.Groups = of(2), strings.Split(group, "/")
		c.DeleteGroups(in, out, from, r)
	case "offset-delete":
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = group
		tp := s.partition(s.text("tp", ""))
		r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: tp.Topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: tp.Partition}}}}
		c.OffsetDelete(in, out, from, r, known)
	default:
		s.t.Fatalf("unknown command %s", s.d.Cmd)
	}
}

func (s *script) commit(in *step.Input, out *step.Effects, from Caller, version int16, group, id string, generation int32) {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation, r.InstanceID = version, group, id, generation, s.pointer("instance")
	if n := s.number("retention", -1); version >= 2 && version <= 4 {
		r.RetentionTimeMillis = int64(n)
	}
	for _, o := range strings.Split(s.text("offsets", ""), "+") {
		where, offset, _ := strings.Cut(o, ":")
		tp := s.partition(where)
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		n, err := strconv.ParseInt(offset, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = tp.Partition, n, int32(s.number("epoch", -1)), s.pointer("metadata")
		r.Topics = append(r.Topics, kmsg.OffsetCommitRequestTopic{Topic: tp.Topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}})
	}
	s.l.c.OffsetCommit(in, out, from, r, known)
}

func (s *script) fetch(out *step.Effects, from Caller, version int16, group string) {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.RequireStable = version, s.d.HasArg("stable")
	asked := s.text("tp", "")
	tp := s.partition(asked)
	switch {
	case version >= 8:
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = group
		if asked != "" {
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: tp.Topic, Partitions: []int32{tp.Partition}}}
		}
		r.Groups = append(r.Groups, g)
	default:
		r.Group = group
		if asked != "" {
			r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: tp.Topic, Partitions: []int32{tp.Partition}}}
		}
	}
	s.l.c.OffsetFetch(out, from, r)
}

func (s *script) text(key, otherwise string) string {
	for _, a := range s.d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
		if a.Key == key {
			return ""
		}
	}
	return otherwise
}

func (s *script) pointer(key string) *string {
	if !s.d.HasArg(key) {
		return nil
	}
	return pointerTo(s.text(key, ""))
}

func (s *script) number(key string, otherwise int) int {
	text := s.text(key, "")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) code() kafka.ErrorCode {
	for c := kafka.ErrorCode(-1); c < 120; c++ {
		if c.String() == s.text("fail", "NONE") {
			return c
		}
	}
	s.t.Fatalf("no error %s", s.text("fail", ""))
	return 0
}

// partition reads t/0; "" is no partition.
func (s *script) partition(text string) kafka.TopicPartition {
	topic, number, _ := strings.Cut(text, "/")
	n, _ := strconv.Atoi(number)
	return kafka.TopicPartition{Topic: topic, Partition: int32(n)}
}

func (s *script) member() string { return s.idOf(s.text("id", "")) }

// idOf reads $1.
func (s *script) idOf(text string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(text, "$")); err == nil && strings.HasPrefix(text, "$") {
		if n > len(s.ids) {
			s.t.Fatalf("there is no %s yet", text)
		}
		return s.ids[n-1]
	}
	return text
}

// hide writes ids as $1, $2, …
func (s *script) hide(text string) string {
	for i := 0; i+33 <= len(text); i++ {
		if text[i] != '-' || !isID(text[i+1:i+33]) {
			continue
		}
		start := strings.LastIndexAny(text[:i], " \"[:,\n") + 1
		id := text[start : i+33]
		found := -1
		for n, known := range s.ids {
			if known == id {
				found = n
			}
		}
		if found < 0 {
			s.ids = append(s.ids, id)
			found = len(s.ids) - 1
		}
		text = text[:start] + fmt.Sprintf("$%d", found+1) + text[i+33:]
		i = start
	}
	return text
}

func isID(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
