package cluster

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/broker"
	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/kernel"
)

// topicCommand is an administrator who changes a topic: a process of its own that ends
// when it has been told what became of it.
type topicCommand struct {
	host
	what    string // for people
	process *client.TopicCommand
}

// CreatePartitions implements faults.Target.
func (c *Cluster) CreatePartitions(topic string, partitions int32) string {
	return c.command(fmt.Sprintf("create_partitions of %s to %d", topic, partitions),
		client.TopicCommandConfig{Topic: topic, Partitions: partitions})
}

// DeleteTopic implements faults.Target.
func (c *Cluster) DeleteTopic(topic string) string {
	return c.command("delete_topic of "+topic, client.TopicCommandConfig{Topic: topic})
}

// CreateTopic implements faults.Target. The administrator does not give up for long, as the
// earlier topic of the name is there until all brokers with replicas of it have come back.
func (c *Cluster) CreateTopic(topic string) string {
	cfg := client.TopicCommandConfig{Topic: topic, APITimeout: 3 * kafka.Minute, RetryBackoff: 500 * kafka.Millisecond}
	for i := range c.spec.Topics {
		if c.spec.Topics[i].Name == topic {
			t := newTopic(&c.spec.Topics[i])
			cfg.Create = &t
		}
	}
	return c.command("create_topic of "+topic, cfg)
}

// openDeletions lists the topics that are to be deleted and are still there, if no broker is
// missing: for its replicas they wait.
func (c *Cluster) openDeletions(o *opens) {
	if slices.ContainsFunc(c.brokers, func(b *brokerHost) bool {
		return c.k.State(b.id) != kernel.Running || b.process.State() != broker.Running
	}) {
		return
	}
	for i := range c.spec.Topics {
		if name := c.spec.Topics[i].Name; slices.Contains(c.view.doomed, name) {
			o.add("topic %s is to be deleted and is still there", name)
		}
	}
}

// command starts a process; its name goes by how many there were before.
func (c *Cluster) command(what string, cfg client.TopicCommandConfig) string {
	cfg.Bootstrap, cfg.MetadataVersion = c.bootstrap(), c.profile.Versions.Metadata
	t := &topicCommand{what: what, host: host{name: fmt.Sprintf("topics-%d", len(c.commands)+1), kind: toolKind}}
	t.boot = func() { // who starts it again repeats the command
		t.process = client.NewTopicCommand(cfg)
		c.k.Boot(t.id, t.process, nil)
	}
	c.commands = append(c.commands, t)
	c.add(&t.host)
	t.boot()
	return t.name
}

// openCommands lists the administrators who have not been answered.
func (c *Cluster) openCommands(o *opens) {
	for _, t := range c.commands {
		if !t.process.Done() && c.k.State(t.id) == kernel.Running {
			o.add("%s is under way", t.what)
		}
	}
}

// refusedCommands are warnings.
func (c *Cluster) refusedCommands() (out []string) {
	for _, t := range c.commands {
		if t.process.Failure() != "" {
			out = append(out, fmt.Sprintf("%s: %s", t.what, t.process.Failure()))
		}
	}
	return out
}

// partitionsOf is how many partitions a topic has by what is committed.
func (c *Cluster) partitionsOf(topic string) (n int32) {
	for _, tp := range c.view.order {
		if tp.Topic == topic {
			n = max(n, tp.Partition+1)
		}
	}
	return n
}
