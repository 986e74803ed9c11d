package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// doubt is what mistakes leave unknown of a scenario. A check that needs it is not made: what
// it found would follow from the mistake, which is reported where it was read.
type doubt struct {
	topics   bool            // which there are
	shapes   map[string]bool // of topics, by name: partitions and replicas
	defaults bool            // what the brokers' settings give to topics that do not say
	grown    bool            // how many partitions events add
	deleted  bool            // which topics events delete
	clients  bool            // names and groups
	racks    bool
}

// slips counts the errors that are not about a setting's name or value: of those, nothing
// else follows but for the defaults of topics.
func (l *loader) slips() int { return l.Errors() - l.ofSettings }

// unsure raises a flag if reading a value gives slips.
func (l *loader) unsure(flag *bool, read func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		before := l.slips()
		read(n)
		*flag = *flag || l.slips() > before
	}
}

// rootDoubts are raised by misspelt keys of the scenario itself.
func (l *loader) rootDoubts(meant []string) {
	l.doubt.clients = l.doubt.clients || slices.Contains(meant, "producers") || slices.Contains(meant, "consumers")
	if slices.Contains(meant, "events") {
		l.doubt.grown, l.doubt.deleted = true, true
	}
	if l.spec.Cluster.Brokers == 0 { // the key itself is wrong
		l.doubt.racks, l.doubt.defaults = true, true
	}
}

// topicDoubts are raised behind a topic, in which there were errors or not.
func (l *loader) topicDoubts(name string, errors bool) {
	if name == "" {
		l.doubt.topics = true
	}
	if errors {
		l.shapeUnsure(name)
	}
}

func (l *loader) shapeUnsure(topic string) {
	if l.doubt.shapes == nil {
		l.doubt.shapes = make(map[string]bool)
	}
	l.doubt.shapes[topic] = true
}

// eventDoubts are raised by an event that cannot be told, but for a misspelt one: meant are
// the keys that it probably has.
func (l *loader) eventDoubts(meant []string) {
	l.doubt.grown = l.doubt.grown || meant == nil || slices.Contains(meant, "create_partitions")
	l.doubt.deleted = l.doubt.deleted || meant == nil || slices.Contains(meant, "delete_topic")
}

// topicsKnown reports whether a topic that is not there would be a mistake of its own.
func (l *loader) topicsKnown() bool { return !l.doubt.topics && len(l.spec.Topics) > 0 }

// shapeKnown reports whether partitions and replicas of a topic are what was meant.
func (l *loader) shapeKnown(topic string) bool { return !l.doubt.shapes[topic] }

// partitionsKnown: the same of partitions, with those that events add.
func (l *loader) partitionsKnown(topic string) bool { return l.shapeKnown(topic) && !l.doubt.grown }
