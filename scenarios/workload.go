package scenarios

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

func (l *loader) topic(n *yaml.Node) {
	t := Topic{} // no partitions, no replication: see topicDefaults
	var replicationNode = n
	before := l.slips()
	l.mapping(n, "a topic",
		field{"name", l.hostlike("a topic's name", &t.Name), true},
		field{"partitions", count(&l.reader, "partitions", 1, 100_000, &t.Partitions), false},
		field{"replication", l.at(&replicationNode, count(&l.reader, "replication", 1, 32_767, &t.Replication)), false},
		field{"assignment", func(n *yaml.Node) { l.assignment(n, &t) }, false},
		field{"config", func(n *yaml.Node) { t.Config = l.settings(n, "config", topicScope) }, false},
	)
	l.topicDoubts(t.Name, l.slips() > before)
	for _, other := range l.spec.Topics {
		if other.Name == t.Name && t.Name != "" {
			l.errorAt(n, "topic %q stands twice", t.Name)
		}
	}
	l.spec.Topics = append(l.spec.Topics, t)
	i := len(l.spec.Topics) - 1
	l.later = append(l.later, func() { l.checkReplication(replicationNode, &l.spec.Topics[i]) })
}

// topicDefaults: as in Kafka a topic that does not say has num.partitions partitions
// and default.replication.factor replicas.
func (l *loader) topicDefaults() {
	for i := range l.spec.Topics {
		t := &l.spec.Topics[i]
		t.DefaultPartitions, t.DefaultReplication = t.Partitions == 0, t.Replication == 0
		if l.doubt.defaults && (t.DefaultPartitions || t.DefaultReplication) {
			l.shapeUnsure(t.Name)
		}
	}
	l.spec.ApplyTopicDefaults()
}

// ApplyTopicDefaults gives topics that do not say what the brokers' settings say. It is for
// who has changed these.
func (s *Spec) ApplyTopicDefaults() {
	partitions, replication := int32(1), 1
	for _, c := range s.Cluster.Config {
		v, err := strconv.ParseInt(c.Value, 10, 32)
		switch {
		case err != nil || v < 1:
		case c.Key == "num.partitions":
			partitions = int32(v)
		case c.Key == "default.replication.factor":
			replication = int(v)
		}
	}
	for i := range s.Topics {
		if t := &s.Topics[i]; t.DefaultPartitions {
			t.Partitions = partitions
		}
		if t := &s.Topics[i]; t.DefaultReplication {
			t.Replication = replication
		}
	}
}

// checkReplication: more replicas than brokers is an error; as many as
// min.insync.replicas means that any one broker down stops acks=all writes.
func (l *loader) checkReplication(n *yaml.Node, t *Topic) {
	if !l.shapeKnown(t.Name) {
		return
	}
	brokers := l.spec.Cluster.Brokers
	if t.Replication > brokers && brokers > 0 {
		l.errorAt(n, "topic %s: replication %d needs as many brokers; the cluster has %d", t.Name, t.Replication, brokers)
		return
	}
	minISR := 1
	for _, s := range append(append([]Setting(nil), l.spec.Cluster.Config...), t.Config...) {
		if v, err := strconv.Atoi(s.Value); s.Key == "min.insync.replicas" && err == nil {
			minISR = v
		}
	}
	switch {
	case t.Replication < minISR:
		l.warnAt(n, "topic %s: replication %d is below min.insync.replicas %d: acks=all uses the smaller of both", t.Name, t.Replication, minISR)
	case t.Replication == minISR && minISR > 1:
		l.warnAt(n, "topic %s: replication %d equals min.insync.replicas: any one broker down stops acks=all writes", t.Name, t.Replication)
	}
}

// assignment places replicas by hand: a list of broker ids for each partition.
func (l *loader) assignment(n *yaml.Node, t *Topic) {
	before := l.slips()
	l.list(n, "assignment", func(item *yaml.Node) {
		var ids []kafka.NodeID
		l.list(item, "the replicas of a partition", func(e *yaml.Node) {
			id := kafka.NodeID(0)
			if count(&l.reader, "a broker id", 1, 1000, &id)(e); id == 0 {
				return
			}
			if slices.Contains(ids, id) {
				l.errorAt(e, "broker %d stands twice", id)
			}
			ids = append(ids, id)
			l.later = append(l.later, func() { l.brokerExists(e, id) })
		})
		switch {
		case l.slips() > before: // the numbers are not those that were meant
		case len(ids) == 0:
			l.errorAt(item, "a partition needs at least one replica")
		case len(t.Assignment) > 0 && len(ids) != len(t.Assignment[0]):
			l.errorAt(item, "every partition has the same number of replicas; the first has %d, this one %d", len(t.Assignment[0]), len(ids))
		}
		t.Assignment = append(t.Assignment, ids)
	})
	if len(t.Assignment) > 0 {
		t.Partitions, t.Replication = int32(len(t.Assignment)), len(t.Assignment[0])
	}
}

// hostlike reads a name that is also an actor's or topic's name.
func (l *loader) hostlike(what string, to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		l.say(nameSchema())
		v, ok := l.scalar(n, what)
		if ok && !plainName(v) {
			l.errorAt(n, "%s is %q; it has letters, digits, '-', '_' and '.', at most 100", what, v)
			return
		}
		*to = v
	}
}

func (l *loader) producer(n *yaml.Node) {
	p := Producer{Count: 1, Partition: -1, RatePerMil: 100_000, Arrival: "constant", Size: 1024}
	size := int64(p.Size)
	var nameNode, topicNode, partitionNode, startNode, tombstonesNode, configNode = n, n, n, n, n, n
	before := l.slips()
	l.mapping(n, "a producer",
		field{"name", l.at(&nameNode, l.hostlike("a producer's name", &p.Name)), true},
		field{"count", count(&l.reader, "count", 1, 10_000, &p.Count), false},
		field{"topic", l.at(&topicNode, l.text("topic", &p.Topic)), true},
		field{"partition", l.at(&partitionNode, count(&l.reader, "partition", 0, 100_000, &p.Partition)), false},
		field{"rate", parsed(&l.reader, "rate", &p.RatePerMil, rates()), false},
		field{"arrival", l.word("arrival", &p.Arrival, "constant", "exponential"), false},
		field{"size", l.valueSize(&size), false},
		field{"keys", count(&l.reader, "keys", 0, 1<<40, &p.Keys), false},
		field{"tombstones", l.at(&tombstonesNode, parsed(&l.reader, "tombstones", &p.Tombstones, percents())), false},
		field{"records", count(&l.reader, "records", 0, 1<<40, &p.Records), false},
		field{"start", l.at(&startNode, l.duration("start", &p.Start)), false},
		field{"stop", l.duration("stop", &p.Stop), false},
		field{"config", l.at(&configNode, func(n *yaml.Node) { p.Config = l.settings(n, "config", producerScope) }), false},
	)
	p.Size = int32(size)
	l.spec.Producers = append(l.spec.Producers, p)
	whole := l.slips() == before
	l.later = append(l.later, func() {
		l.actorName(nameNode, p.Name)
		l.clientChecks(configNode, producerScope, p.Config)
		if p.Topic != "" || whole {
			if t := l.topicNamed(topicNode, p.Topic); t != nil && l.shapeKnown(t.Name) && p.Partition >= t.Partitions {
				l.errorAt(partitionNode, "topic %s has partitions 0 to %d", p.Topic, t.Partitions-1)
			}
		}
		if p.Tombstones > 0 && p.Keys == 0 && whole {
			l.errorAt(tombstonesNode, "a tombstone deletes a key: tombstones need keys")
		}
		if p.Start >= l.spec.Duration && l.spec.Duration > 0 && p.Start > 0 {
			l.errorAt(startNode, "start at %s is not before the end of the run, %s", short(p.Start), short(l.spec.Duration))
		}
	})
}

// valueSize reads a record's size; a value carries its producer, number and time.
func (l *loader) valueSize(to *int64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var v int64
		before := l.Errors()
		parsed(&l.reader, "size", &v, sizes())(n)
		if l.Errors() > before {
			return
		}
		if v < minValue || v > 1<<30 {
			l.errorAt(n, "size is %dB; a value has at least %dB (it carries its producer, number and time) and at most 1GiB", v, minValue)
			return
		}
		*to = v
	}
}

// minValue is client.MinValueSize.
const minValue = 24

func (l *loader) consumer(n *yaml.Node) {
	c := Consumer{Count: 1}
	var nameNode, configNode = n, n
	before := l.slips()
	// Keys that only a member of a group has, and those that none has.
	var ofGroups, ofReaders []*yaml.Node
	l.mapping(n, "a consumer",
		field{"name", l.at(&nameNode, l.hostlike("a consumer's name", &c.Name)), true},
		field{"count", count(&l.reader, "count", 1, 10_000, &c.Count), false},
		field{"topics", func(n *yaml.Node) {
			l.list(n, "topics", func(item *yaml.Node) {
				if v, ok := l.scalar(item, "a topic"); ok {
					c.Topics = append(c.Topics, v)
					l.later = append(l.later, func() { l.topicNamed(item, v) })
				}
			})
		}, true},
		field{"start", l.duration("start", &c.Start), false},
		field{"group", l.hostlike("a group", &c.Group), false},
		field{"end_offsets", l.among(&ofReaders, l.duration("end_offsets", &c.EndOffsets)), false},
		field{"processing", l.among(&ofGroups, l.duration("processing", &c.Processing)), false},
		field{"revoke", l.among(&ofGroups, l.duration("revoke", &c.Revoke)), false},
		field{"commit", l.among(&ofGroups, l.word("commit", &c.Commit, CommitWords()...)), false},
		field{"on_stop", l.among(&ofGroups, l.word("on_stop", &c.OnStop, "finish", "drop")), false},
		field{"config", l.at(&configNode, func(n *yaml.Node) { c.Config = l.settings(n, "config", consumerScope) }), false},
	)
	if l.slips() == before {
		l.checkKind(&c, ofGroups, ofReaders)
		l.checkCommit(n, &c)
	}
	l.spec.Consumers = append(l.spec.Consumers, c)
	l.later = append(l.later, func() {
		l.actorName(nameNode, c.Name)
		l.clientChecks(configNode, consumerScope, c.Config)
		l.memberChecks(configNode, &c)
	})
}

// checkKind reports keys that only a member of a group has, and those that none has.
func (l *loader) checkKind(c *Consumer, ofGroups, ofReaders []*yaml.Node) {
	for _, only := range ofGroups {
		if c.Group == "" {
			l.errorAt(only, "only a member of a group processes and commits; give the consumer a group")
		}
	}
	for _, only := range ofReaders {
		if c.Group != "" {
			l.errorAt(only, "a member of a group asks for no end offsets; give them to a consumer without a group")
		}
	}
}

// CommitWords are the values of a consumer's commit.
func CommitWords() []string { return []string{"auto", "sync", "async", "before"} }

// among remembers where a key was used.
func (l *loader) among(nodes *[]*yaml.Node, read func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*nodes = append(*nodes, n)
		read(n)
	}
}

// checkCommit: who commits himself does not want Kafka's consumer to, and settings of
// members mean nothing to others.
func (l *loader) checkCommit(n *yaml.Node, c *Consumer) {
	for _, s := range c.Config {
		if c.Group == "" && config.OfGroups(s.Key) {
			l.warnAt(n, "consumer %s: %s has no effect without a group", c.Name, s.Key)
		}
		if s.Key == "enable.auto.commit" && s.Value == "true" && c.Commit != "" && c.Commit != "auto" {
			l.errorAt(n, "consumer %s: commit: %s goes with enable.auto.commit off, which it is then by itself", c.Name, c.Commit)
		}
	}
}

// topicNamed finds a topic of the scenario, or reports that there is none.
func (l *loader) topicNamed(n *yaml.Node, name string) *Topic {
	names := make([]string, len(l.spec.Topics))
	for i := range l.spec.Topics {
		if l.spec.Topics[i].Name == name {
			return &l.spec.Topics[i]
		}
		names[i] = l.spec.Topics[i].Name
	}
	if !l.topicsKnown() {
		return nil
	}
	l.errorAt(n, "there is no topic %q%s", name, suggest(name, names))
	return nil
}

// actorName checks that no two actors share a name.
func (l *loader) actorName(n *yaml.Node, name string) {
	if name == "" {
		return
	}
	same := 0
	for _, a := range l.spec.ClientNames() {
		if a == name {
			same++
		}
	}
	_, broker := kafka.ParseBrokerHost(name)
	if broker || name == "zookeeper" || name == "admin" || name == "verifier" {
		l.errorAt(n, "the name %q belongs to the cluster; choose another", name)
	} else if same > 1 {
		l.errorAt(n, "the name %q stands for two clients", name)
	}
}

// ClientNames lists the names of all clients in the order of their actors: NAME, or
// NAME-1, NAME-2, … where a count is above 1.
func (s *Spec) ClientNames() []string {
	var out []string
	add := func(name string, count int) {
		for i := range max(count, 1) {
			if count > 1 {
				out = append(out, name+"-"+strconv.Itoa(i+1))
			} else {
				out = append(out, name)
			}
		}
	}
	for _, p := range s.Producers {
		add(p.Name, p.Count)
	}
	for _, c := range s.Consumers {
		add(c.Name, c.Count)
	}
	return out
}
