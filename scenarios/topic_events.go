package scenarios

import (
	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
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
		if e.l.topicNamed(n, f.Topic) == nil || e.l.doubt.deleted {
			return
		}
		switch first, some := e.l.spec.firstDeletion(f.Topic); {
		case !some:
			e.l.warnAt(n, "topic %s exists from the beginning, and no event deletes it: the administrator asks in vain", f.Topic)
		case e.p.Trigger.At >= 0 && e.p.Trigger.At < first:
			e.l.warnAt(n, "topic %s exists until it is deleted at %s: the administrator, who begins at %s, is told so till then, and gives up after 3m",
				f.Topic, short(first), short(e.p.Trigger.At))
		}
	})
	e.p.Fault = f
}

// firstDeletion is a time before which no event deletes the topic; some: one may.
func (s *Spec) firstDeletion(topic string) (first kafka.Nanos, some bool) {
	note := func(f faults.Fault, from kafka.Nanos) {
		if d, ok := f.(faults.DeleteTopic); ok && d.Topic == topic {
			if !some || from < first {
				first = from
			}
			some = true
		}
	}
	for i := range s.Events {
		t := &s.Events[i].Trigger
		note(s.Events[i].Fault, max(t.At, t.From, 0)) // when and on_disk: from 0 on
	}
	if s.Chaos != nil {
		for i := range s.Chaos.Of {
			note(s.Chaos.Of[i].Fault, s.Chaos.From)
		}
	}
	return first, some
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
