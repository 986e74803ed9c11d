package zkcontroller

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

func profile39() *config.Profile {
	return &config.Profile{Name: "zk-3.9", DoomedUntold: true, Fencing320: true, AlterPartition: true, BrokerEpoch: true, RecoveryState: true,
		AutoRebalanceIgnoresReassignment: true,
		Versions:                         config.APIVersions{LeaderAndISR: 7, StopReplica: 4, UpdateMetadata: 8, ControlledShutdown: 3, AlterPartition: 2}}
}

func profile26() *config.Profile {
	return &config.Profile{Name: "zk-2.6", Fencing320: true, BrokerEpoch: true,
		Versions: config.APIVersions{LeaderAndISR: 4, StopReplica: 3, UpdateMetadata: 6, ControlledShutdown: 3}}
}

func profile010() *config.Profile {
	return &config.Profile{Name: "zk-0.10", Versions: config.APIVersions{LeaderAndISR: 0, StopReplica: 0, UpdateMetadata: 2, ControlledShutdown: 1}}
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{w: newWorld(profile39())}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.command(t, d) })
	})
}

// script interprets the commands of testdata. Each runs until everything is
// answered and prints what was noted and sent, then what it asks for itself.
type script struct{ w *world }

func (s *script) command(t *testing.T, d *datadriven.TestData) string {
	text := s.perform(t, d)
	if !d.HasArg("pending") {
		s.w.run()
	}
	log := s.w.takeLog()
	if d.HasArg("quiet") {
		log = ""
	}
	if out := strings.Trim(log+"\n"+text, "\n"); out != "" {
		return out + "\n"
	}
	return ""
}

func (s *script) perform(t *testing.T, d *datadriven.TestData) string {
	w := s.w
	switch d.Cmd {
	case "profile":
		w.profile = map[string]*config.Profile{"zk-3.9": profile39(), "zk-2.6": profile26(), "zk-0.10": profile010()}[d.CmdArgs[0].Key]
		return w.profile.Name
	case "boot":
		for _, id := range ids32(d) {
			w.boot(id)
			w.run()
		}
	case "kill":
		for _, id := range ids32(d) {
			w.kill(id)
		}
	case "bounce":
		for _, id := range ids32(d) {
			w.kill(id)
			w.boot(id)
		}
	case "expire":
		w.expireSession(ids32(d)[0])
	case "mute", "unmute":
		w.nodes[ids32(d)[0]].mute = d.Cmd == "mute"
	case "down", "up":
		w.nodes[ids32(d)[0]].up = d.Cmd == "up"
	case "topic":
		w.createTopic(d.CmdArgs[0].Key, replicaLists(d.Input)...)
	case "ask-deletion":
		w.zk.create(zookeeper.DeleteTopicPath(d.CmdArgs[0].Key), nil, nil)
	case "delete-topic":
		w.zk.delete(zookeeper.TopicPath(d.CmdArgs[0].Key))
	case "unclean":
		w.zk.create(zookeeper.TopicConfigPath(d.CmdArgs[0].Key),
			zookeeper.EncodeConfig([]zookeeper.ConfigEntry{{Key: "unclean.leader.election.enable", Value: "true"}}), nil)
		if d.HasArg("notify") {
			c := w.controller()
			c.do(func(in *step.Input, out *step.Effects) { c.c.UncleanElectionEnabled(in, out, d.CmdArgs[0].Key) })
		}
	case "advance":
		ms, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		w.advance(kafka.Nanos(ms) * kafka.Millisecond)
	case "state":
		return s.states(d)
	case "znode":
		n := w.zk.nodes[d.CmdArgs[0].Key]
		if n == nil {
			return "none"
		}
		return fmt.Sprintf("version=%d %s", n.version, n.data)
	case "children":
		return strings.Join(w.zk.children(d.CmdArgs[0].Key), " ")
	case "steal":
		s.steal(ids32(d)[0])
	case "garble":
		w.zk.garble[d.CmdArgs[0].Key] = true
	case "delete":
		w.zk.delete(d.CmdArgs[0].Key)
	case "lose-answer":
		w.loseAnswersOf = d.CmdArgs[0].Key
	case "interfere":
		return s.interfere(t, d)
	default:
		return s.request(t, d)
	}
	return ""
}

// steal makes another broker the holder of /controller, and no watch of the active
// controller fires: it learns of it by its next write.
func (s *script) steal(by kafka.NodeID) {
	z := s.w.zk
	for _, session := range s.w.sessions {
		delete(session.data, zookeeper.ControllerPath)
	}
	z.delete(zookeeper.ControllerPath)
	z.create(zookeeper.ControllerPath, zookeeper.EncodeController(2, zookeeper.Controller{Broker: by}), s.w.nodes[by].zk.s)
	z.set(zookeeper.ControllerEpochPath, []byte("77"))
}

func ids32(d *datadriven.TestData) (ids []kafka.NodeID) {
	for _, a := range d.CmdArgs {
		if n, err := strconv.Atoi(a.Key); err == nil {
			ids = append(ids, kafka.NodeID(n))
		}
	}
	return ids
}

func replicaLists(input string) (lists [][]kafka.NodeID) {
	for _, line := range strings.Fields(input) {
		lists = append(lists, parseNodes(line))
	}
	return lists
}

func parseNodes(text string) (ids []kafka.NodeID) {
	for _, f := range strings.Split(text, ",") {
		if n, err := strconv.Atoi(f); err == nil {
			ids = append(ids, kafka.NodeID(n))
		}
	}
	return ids
}

func (s *script) states(d *datadriven.TestData) string {
	s.w.run()
	var b strings.Builder
	for _, name := range s.w.topicNames() {
		for _, tp := range s.w.partitionsOf(name) {
			fmt.Fprintf(&b, "%v %s", tp, s.w.state(tp))
			if c := s.w.controller(); c != nil && c.c.ctx.partition(tp) != nil {
				fmt.Fprintf(&b, " %v", c.c.ctx.partition(tp).state)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// interfere changes a partition's state znode just before the controller's next
// write to it, as a leader does that writes its ISR itself.
func (s *script) interfere(t *testing.T, d *datadriven.TestData) string {
	tp, err := kafka.ParseTopicPartition(d.CmdArgs[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	var isr string
	d.ScanArgs(t, "isr", &isr)
	path := zookeeper.StatePath(tp)
	change := func() {
		old, err := zookeeper.DecodePartitionState(s.w.zk.nodes[path].data)
		if err != nil {
			t.Fatal(err)
		}
		old.ISR = parseNodes(strings.ReplaceAll(isr, "+", ","))
		s.w.zk.set(path, zookeeper.EncodePartitionState(old))
	}
	if d.HasArg("now") {
		change()
		if d.HasArg("notify") {
			s.w.zk.createSequential(zookeeper.IsrChangePrefix, zookeeper.EncodePartitions([]kafka.TopicPartition{tp}))
		}
		return ""
	}
	s.w.zk.interfere[path] = change
	return ""
}

// request hands a request to the active controller, or to the broker named at=.
func (s *script) request(t *testing.T, d *datadriven.TestData) string {
	n := s.w.controller()
	if d.HasArg("at") {
		var at int
		d.ScanArgs(t, "at", &at)
		n = s.w.nodes[kafka.NodeID(at)]
	}
	reply := func(_ *step.Input, _ *step.Effects, resp kmsg.Response) {
		s.w.logf("%d answers %s", n.id, describeResponse(resp))
	}
	switch d.Cmd {
	case "shutdown":
		req := &kmsg.ControlledShutdownRequest{Version: 3, BrokerID: int32(ids32(d)[0]), BrokerEpoch: s.epoch(t, d, ids32(d)[0])}
		n.do(func(in *step.Input, out *step.Effects) { n.c.ControlledShutdown(in, out, req, reply) })
	case "elect":
		req := &kmsg.ElectLeadersRequest{Version: 2}
		if d.HasArg("unclean") {
			req.ElectionType = 1
		}
		for _, text := range strings.Fields(d.Input) {
			tp, err := kafka.ParseTopicPartition(text)
			if err != nil {
				t.Fatal(err)
			}
			req.Topics = append(req.Topics, kmsg.ElectLeadersRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
		}
		n.do(func(in *step.Input, out *step.Effects) { n.c.ElectLeaders(in, out, req, reply) })
	case "preferred-znode":
		var tps []kafka.TopicPartition
		for _, text := range strings.Fields(d.Input) {
			tp, _ := kafka.ParseTopicPartition(text)
			tps = append(tps, tp)
		}
		s.w.zk.create(zookeeper.PreferredElectionPath, zookeeper.EncodePartitions(tps), nil)
	case "log-dir":
		id := ids32(d)[0]
		for _, text := range strings.Fields(d.Input) {
			tp, _ := kafka.ParseTopicPartition(text)
			s.w.nodes[id].storage[tp] = true
		}
		s.w.zk.createSequential(zookeeper.LogDirEventPrefix, zookeeper.EncodeLogDirEvent(id))
	case "alter":
		req := s.alterRequest(t, d)
		n.do(func(in *step.Input, out *step.Effects) { n.c.AlterPartition(in, out, req, reply) })
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

func (s *script) epoch(t *testing.T, d *datadriven.TestData, id kafka.NodeID) int64 {
	epoch := int64(-1)
	if n := s.w.zk.nodes[zookeeper.BrokerPath(id)]; n != nil {
		epoch = n.czxid
	}
	if d.HasArg("epoch") {
		d.ScanArgs(t, "epoch", &epoch)
	}
	return epoch
}

// alterRequest reads alter broker=1 partition=orders-0 isr=1+2 and optionally
// leader-epoch, partition-epoch (default: the stored ones), version, epoch,
// recovering, unknown-topic.
func (s *script) alterRequest(t *testing.T, d *datadriven.TestData) *kmsg.AlterPartitionRequest {
	var broker int
	var text, isr string
	version := 2
	d.ScanArgs(t, "broker", &broker)
	d.ScanArgs(t, "partition", &text)
	d.ScanArgs(t, "isr", &isr)
	d.MaybeScanArgs(t, "version", &version)
	tp, err := kafka.ParseTopicPartition(text)
	if err != nil {
		t.Fatal(err)
	}
	want := kmsg.NewAlterPartitionRequestTopicPartition()
	want.Partition = tp.Partition
	if n := s.w.zk.nodes[zookeeper.StatePath(tp)]; n != nil {
		stored, _ := zookeeper.DecodePartitionState(n.data)
		want.LeaderEpoch, want.PartitionEpoch = int32(stored.LeaderEpoch), n.version
	}
	d.MaybeScanArgs(t, "leader-epoch", &want.LeaderEpoch)
	d.MaybeScanArgs(t, "partition-epoch", &want.PartitionEpoch)
	if d.HasArg("recovering") {
		want.LeaderRecoveryState = 1
	}
	for _, id := range parseNodes(strings.ReplaceAll(isr, "+", ",")) {
		want.NewISR = append(want.NewISR, int32(id))
		want.NewEpochISR = append(want.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: -1})
	}
	topic := kmsg.AlterPartitionRequestTopic{Topic: tp.Topic, TopicID: kafka.TopicID{15: tp.Topic[0]}, Partitions: []kmsg.AlterPartitionRequestTopicPartition{want}}
	return &kmsg.AlterPartitionRequest{Version: int16(version), BrokerID: int32(broker),
		BrokerEpoch: s.epoch(t, d, kafka.NodeID(broker)), Topics: []kmsg.AlterPartitionRequestTopic{topic}}
}

func describeResponse(resp kmsg.Response) string {
	var b strings.Builder
	switch r := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		fmt.Fprintf(&b, "AlterPartition %v", kafka.ErrorCode(r.ErrorCode))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " [%s-%d %v", t.Topic, p.Partition, kafka.ErrorCode(p.ErrorCode))
				if p.ErrorCode == 0 {
					fmt.Fprintf(&b, " leader=%d/%d isr=%v pe=%d recovering=%d", p.LeaderID, p.LeaderEpoch, p.ISR, p.PartitionEpoch, p.LeaderRecoveryState)
				}
				b.WriteString("]")
			}
		}
	case *kmsg.ControlledShutdownResponse:
		fmt.Fprintf(&b, "ControlledShutdown %v", kafka.ErrorCode(r.ErrorCode))
		for _, p := range r.PartitionsRemaining {
			fmt.Fprintf(&b, " %s-%d", p.Topic, p.Partition)
		}
	case *kmsg.ElectLeadersResponse:
		fmt.Fprintf(&b, "ElectLeaders %v", kafka.ErrorCode(r.ErrorCode))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " [%s-%d %v]", t.Topic, p.Partition, kafka.ErrorCode(p.ErrorCode))
			}
		}
	}
	return b.String()
}
