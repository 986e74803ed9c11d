package zkcontroller

import (
	"fmt"
	"sort"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (n *node) note(ev event.Event) {
	switch ev.Kind {
	case event.ControllerElected, event.ControllerResigned:
		n.w.logf("%d %v epoch=%d", n.id, ev.Kind, ev.ControllerEpoch)
	case event.LeaderElected:
		unclean := ""
		if ev.Flag {
			unclean = " unclean"
		}
		n.w.logf("%d %v %v leader=%d epoch=%d isr=%v %s%s", n.id, ev.Kind, ev.TP, ev.Leader, ev.LeaderEpoch, ev.ISR, ev.Text, unclean)
	case event.ShutdownAnswered:
		n.w.logf("%d %v broker=%d remaining=%d", n.id, ev.Kind, ev.Node, ev.Count)
	default:
		panic("an unexpected note: " + ev.Kind.String())
	}
}

// state reads a partition's state znode as text.
func (w *world) state(tp kafka.TopicPartition) string {
	n := w.zk.nodes[zookeeper.StatePath(tp)]
	if n == nil {
		return "none"
	}
	s, err := zookeeper.DecodePartitionState(n.data)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("leader=%d epoch=%d isr=%v version=%d controller=%d", s.Leader, s.LeaderEpoch, s.ISR, n.version, s.ControllerEpoch)
	if s.Recovering {
		text += " recovering"
	}
	return text
}

func (w *world) topicNames() (names []string) {
	names = w.zk.children(zookeeper.TopicsPath)
	sort.Strings(names)
	return names
}

func (w *world) partitionsOf(name string) (tps []kafka.TopicPartition) {
	t, err := zookeeper.DecodeTopic(w.zk.nodes[zookeeper.TopicPath(name)].data)
	if err != nil {
		panic(err)
	}
	for _, p := range t.Partitions {
		tps = append(tps, kafka.TopicPartition{Topic: name, Partition: p.Partition})
	}
	return tps
}

// createTopic writes a topic znode; each list is the replicas of one partition.
func (w *world) createTopic(name string, replicas ...[]kafka.NodeID) {
	t := zookeeper.TopicAssignment{TopicID: kafka.TopicID{15: name[0]}}
	for i, r := range replicas {
		t.Partitions = append(t.Partitions, zookeeper.PartitionAssignment{Partition: int32(i), Replicas: r})
	}
	data := zookeeper.EncodeTopic(3, t)
	if w.zk.nodes[zookeeper.TopicPath(name)] != nil {
		w.zk.set(zookeeper.TopicPath(name), data)
		return
	}
	w.zk.create(zookeeper.TopicPath(name), data, nil)
}

func (w *world) controller() *node {
	for _, n := range w.sorted() {
		if n.c.IsActive() {
			return n
		}
	}
	return nil
}

func (w *world) takeLog() string {
	text := strings.Join(w.log, "\n")
	w.log = nil
	return text
}
