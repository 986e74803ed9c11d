package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// selector reads one selector; what it names must exist.
func (e *entry) selector(n *yaml.Node, what string) (faults.Selector, bool) {
	e.l.say(patterned(selectorPattern(e.wild)))
	v, ok := e.l.scalar(n, what)
	if !ok {
		return faults.Selector{}, false
	}
	s, err := faults.ParseSelector(strings.ReplaceAll(v, "/*)", "/0)"))
	if err != nil {
		if near, ok := nearSelector(v); ok {
			e.l.errorAt(n, "%s: there is no selector %q; did you mean %q?", what, v, near)
		} else {
			e.l.errorAt(n, "%s: %v", what, err)
		}
		return s, false
	}
	if strings.Contains(v, "/*)") {
		if !e.wild {
			e.l.errorAt(n, "%s: topic/* is drawn in chaos only; name a partition", what)
		}
		s.TP.Partition = -1
	}
	e.l.later = append(e.l.later, func() { e.l.selectorExists(n, s) })
	return s, true
}

// single reads a selector that has no other side.
func (e *entry) single(n *yaml.Node, what string) (faults.Selector, bool) {
	if f := e.l.follow(n); f.Kind == yaml.SequenceNode {
		e.l.errorAt(n, "%s takes one selector; write an event for each, or a role such as brokers", what)
		return faults.Selector{}, false
	}
	s, ok := e.selector(n, what)
	if ok && s.Role == faults.Others {
		e.l.errorAt(n, "others is what the other side does not name, and %s has no other side; write brokers", what)
	}
	return s, ok
}

func (e *entry) into(what string, to *faults.Selector) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if s, ok := e.single(n, what); ok {
			*to = s
		}
	}
}

// disk reads the selector of a fault of disks.
func (e *entry) disk(what string, to *faults.Selector) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if s, ok := e.single(n, what); ok {
			*to = s
			e.l.later = append(e.l.later, func() { e.l.hasDisk(n, s) })
		}
	}
}

// hasDisk reports a selector of nodes whose disks are not modelled.
func (l *loader) hasDisk(n *yaml.Node, s faults.Selector) {
	switch s.Role {
	case faults.ZooKeeper, faults.Clients, faults.Producers, faults.Consumers, faults.GroupLeader:
		l.errorAt(n, "%s has no disk to fail: only brokers have one here", s)
	case faults.ByName:
		if slices.Contains(l.spec.ClientNames(), s.Name) {
			l.errorAt(n, "%s has no disk to fail: only brokers have one here", s)
		}
	case faults.Random:
		l.hasDisk(n, *s.Inner)
	}
}

// apart reports two sides that are one and the same node.
func (e *entry) apart(n *yaml.Node, a, b []faults.Selector) {
	if len(a) != 1 || len(b) != 1 || a[0] != b[0] {
		return
	}
	switch a[0].Role {
	case faults.ByName, faults.Leader, faults.Follower, faults.Controller, faults.Coordinator, faults.GroupLeader, faults.ZooKeeper:
		e.l.errorAt(n, "both sides are %s; a link is between different nodes", a[0])
	}
}

// selectors reads one selector or a list.
func (e *entry) selectors(what string, to *[]faults.Selector) func(*yaml.Node) {
	return func(n *yaml.Node) {
		add := func(n *yaml.Node) {
			if s, ok := e.selector(n, what); ok {
				*to = append(*to, s)
			}
		}
		e.l.either(n, add, func(n *yaml.Node) { e.l.list(n, what, add) })
	}
}

func (e *entry) partition(n *yaml.Node, text string) kafka.TopicPartition {
	if t, ok := strings.CutSuffix(text, "/*"); ok {
		e.l.later = append(e.l.later, func() {
			if !e.l.ofOffsets(t) {
				e.l.topicNamed(n, t)
			}
		})
		return kafka.TopicPartition{Topic: t, Partition: -1}
	}
	tp, err := faults.ParsePartition(text)
	if err != nil {
		e.l.errorAt(n, "%v", err)
		return tp
	}
	e.l.later = append(e.l.later, func() { e.l.partitionExists(n, tp) })
	return tp
}

// ofOffsets: tp is of the topic that a cluster with groups has by itself.
func (l *loader) ofOffsets(topic string) bool {
	return topic == offsetsTopic && (l.doubt.clients || slices.ContainsFunc(l.spec.Consumers, func(c Consumer) bool { return c.Group != "" }))
}

func (l *loader) partitionExists(n *yaml.Node, tp kafka.TopicPartition) {
	if l.ofOffsets(tp.Topic) {
		return
	}
	if t := l.topicNamed(n, tp.Topic); t != nil && l.partitionsKnown(t.Name) && tp.Partition >= l.spec.MostPartitions(t) {
		l.errorAt(n, "topic %s has partitions 0 to %d, not %d", tp.Topic, l.spec.MostPartitions(t)-1, tp.Partition)
	}
}

// selectorExists reports a selector that can match nothing.
func (l *loader) selectorExists(n *yaml.Node, s faults.Selector) {
	switch s.Role {
	case faults.ByName:
		l.actorExists(n, s.Name)
	case faults.Leader:
		l.partitionExists(n, s.TP)
	case faults.Follower, faults.Followers:
		l.partitionExists(n, s.TP)
		if t := l.findTopic(s.TP.Topic); t != nil && l.shapeKnown(t.Name) && t.Replication == 1 {
			l.errorAt(n, "%s selects nothing: topic %s has one replica, hence no followers", s, t.Name)
		}
	case faults.Rack:
		if !slices.Contains(l.spec.Cluster.Racks, s.Name) && !l.doubt.racks {
			l.errorAt(n, "there is no rack %q%s", s.Name, suggest(s.Name, l.spec.Cluster.Racks))
		}
	case faults.Producers:
		if len(l.spec.Producers) == 0 && !l.doubt.clients {
			l.errorAt(n, "producers selects nothing: the scenario has none")
		}
	case faults.Consumers:
		if len(l.spec.Consumers) == 0 && !l.doubt.clients {
			l.errorAt(n, "consumers selects nothing: the scenario has none")
		}
	case faults.Clients:
		if len(l.spec.Producers)+len(l.spec.Consumers) == 0 && !l.doubt.clients {
			l.errorAt(n, "clients selects nothing: the scenario has none")
		}
	case faults.Coordinator, faults.GroupLeader:
		l.groupExists(n, s.Name)
	case faults.Random:
		l.selectorExists(n, *s.Inner)
	}
}

// groupExists reports a group without consumers: it has no coordinator, and nothing happens
// to it.
func (l *loader) groupExists(n *yaml.Node, name string) {
	var groups []string
	for i := range l.spec.Consumers {
		groups = append(groups, l.spec.Consumers[i].Group)
	}
	if !slices.Contains(groups, name) && !l.doubt.clients {
		l.errorAt(n, "there is no consumer with group: %s%s", name, suggest(name, groups))
	}
}

func (l *loader) actorExists(n *yaml.Node, name string) {
	if id, ok := kafka.ParseBrokerHost(name); ok {
		l.brokerExists(n, id)
		return
	}
	names := l.spec.ClientNames()
	if !slices.Contains(names, name) && !l.doubt.clients {
		if slices.Contains(calls, name) {
			l.errorAt(n, "%s needs an argument: write %s(%s)", name, name, l.exampleOf(name))
			return
		}
		var words []string
		for i := range l.spec.Cluster.Brokers {
			words = append(words, kafka.BrokerHost(kafka.NodeID(i+1)))
			if name == strconv.Itoa(i+1) {
				l.errorAt(n, "%q selects nothing; did you mean %q?", name, words[i])
				return
			}
		}
		words = append(append(words, "controller", "brokers", "clients", "producers", "consumers", "zookeeper", "others"), names...)
		l.errorAt(n, "%q selects nothing: there is no such node%s", name, suggest(name, words))
	}
}

// calls are the selectors that take an argument.
var calls = []string{"leader", "follower", "followers", "coordinator", "group_leader", "rack", "random"}

// nearSelector corrects the word before the parenthesis of a misspelt selector.
func nearSelector(v string) (string, bool) {
	word, arg, ok := strings.Cut(v, "(")
	if !ok || slices.Contains(calls, word) {
		if inner, isRandom := strings.CutPrefix(v, "random("); isRandom {
			near, ok := nearSelector(strings.TrimSuffix(inner, ")"))
			return "random(" + near + ")", ok
		}
		return "", false
	}
	near, ok := nearest(word, calls)
	return near + "(" + arg, ok
}

// exampleOf is an argument that the scenario could give.
func (l *loader) exampleOf(call string) string {
	switch call {
	case "random":
		return "brokers"
	case "coordinator", "group_leader":
		return "group"
	case "rack":
		if len(l.spec.Cluster.Racks) > 0 {
			return l.spec.Cluster.Racks[0]
		}
		return "a"
	}
	if len(l.spec.Topics) > 0 {
		return fmt.Sprintf("%s/0", l.spec.Topics[0].Name)
	}
	return "orders/0"
}

func (l *loader) findTopic(name string) *Topic {
	for i := range l.spec.Topics {
		if l.spec.Topics[i].Name == name {
			return &l.spec.Topics[i]
		}
	}
	return nil
}
