package scenarios

import (
	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
)

func (e *entry) createPartitions(n *yaml.Node) {
	f := faults.CreatePartitions{}
	topicNode, countNode := n, n
	before := e.l.slips()
	e.l.mapping(n, "create_partitions", field{"topic", e.l.at(&topicNode, e.l.text("topic", &f.Topic)), true},
		field{"partitions", e.l.at(&countNode, count(&e.l.reader, "partitions", 1, 10_000, &f.Partitions)), true})
	if e.l.slips() > before {
		e.l.doubt.grown = true
		e.p.Fault = f
		return
	}
	e.l.later = append(e.l.later, func() {
		t := e.l.topicNamed(topicNode, f.Topic)
		e.l.doubt.grown = e.l.doubt.grown || t == nil
		if t != nil && e.l.shapeKnown(t.Name) && f.Partitions <= t.Partitions && f.Partitions > 0 {
			e.l.errorAt(countNode, "topic %s begins with %d partitions; give it more", t.Name, t.Partitions)
		}
	})
	e.p.Fault = f
}

func (e *entry) deleteTopic(n *yaml.Node) {
	f := faults.DeleteTopic{}
	before := e.l.slips()
	e.l.text("delete_topic", &f.Topic)(n)
	if e.l.slips() > before {
		e.l.doubt.deleted = true
	} else {
		e.l.later = append(e.l.later, func() {
			if e.l.topicNamed(n, f.Topic) == nil {
				e.l.doubt.deleted = true
			}
		})
	}
	e.p.Fault = f
}

func (e *entry) createTopic(n *yaml.Node) {
	f := faults.CreateTopic{}
	before := e.l.slips()
	e.l.text("create_topic", &f.Topic)(n)
	if e.l.slips() > before {
		return
	}
	e.l.later = append(e.l.later, func() {
		if t := e.l.topicNamed(n, f.Topic); t != nil && !e.l.doubt.deleted && !e.l.spec.mayDelete(f.Topic) {
			e.l.warnAt(n, "topic %s exists from the beginning, and no event deletes it: the administrator asks in vain", f.Topic)
		}
	})
	e.p.Fault = f
}

// mayDelete reports whether some event deletes the topic.
func (s *Spec) mayDelete(topic string) (may bool) {
	s.eachFault(func(f faults.Fault) {
		d, ok := f.(faults.DeleteTopic)
		may = may || ok && d.Topic == topic
	})
	return may
}

// eachFault visits the faults of all events, those that may be drawn too.
func (s *Spec) eachFault(visit func(faults.Fault)) {
	for i := range s.Events {
		visit(s.Events[i].Fault)
	}
	if s.Chaos != nil {
		for i := range s.Chaos.Of {
			visit(s.Chaos.Of[i].Fault)
		}
	}
}

// MostPartitions is how many partitions t may have at most: some are added by events.
func (s *Spec) MostPartitions(t *Topic) int32 {
	most := t.Partitions
	s.eachFault(func(f faults.Fault) {
		if g, ok := f.(faults.CreatePartitions); ok && g.Topic == t.Name {
			most = max(most, g.Partitions)
		}
	})
	return most
}
