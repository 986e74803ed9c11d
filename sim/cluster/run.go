package cluster

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Run carries the cluster through its phases and returns the result.
func (c *Cluster) Run() *outcome.Result {
	c.hooks()
	c.k.At(c.spec.HealAt(), c.heal)
	r := c.header()
	if !c.advance(c.spec.Duration) {
		return c.finish(r, false, []string{"the run was stopped before its end"})
	}
	c.catchUp()
	c.collect.Close(c.spec.Duration)
	settled, open := c.settle()
	if settled {
		r.Settled = c.k.Now()
		c.k.Note(event.Event{Kind: event.Settled})
		open = c.verify()
	}
	return c.finish(r, true, open)
}

// heal undoes every fault and starts what is down.
func (c *Cluster) heal() {
	c.plan.heal()
	for _, h := range c.allHosts() {
		c.Resume(h.name)
		c.Restart(h.name)
	}
	c.failing = slices.Clone(c.view.failing)
	c.k.Note(event.Event{Kind: event.Healed})
}

// startLate starts brokers that end after the heal by a disk that failed before: they
// waited for it so long.
func (c *Cluster) startLate() {
	c.failing = slices.DeleteFunc(c.failing, func(name string) bool {
		_, up := c.running(name)
		return !up && c.Restart(name)
	})
}

func (c *Cluster) allHosts() []*host {
	var out []*host
	for i := range c.k.Actors() {
		if h := c.names[c.k.Name(kernel.ActorID(i))]; h != nil && h.kind != toolKind {
			out = append(out, h)
		}
	}
	return out
}

// advance runs to a time, or to where the options end the run; false if they did.
func (c *Cluster) advance(to kafka.Nanos) bool {
	for c.k.Now() < to {
		next := min(to, c.k.Now()+kafka.Second)
		if c.opts.Until > 0 {
			next = min(next, c.opts.Until)
		}
		if c.k.Run(next) != kernel.ReachedTime {
			return false
		}
		if c.opts.Progress != nil {
			c.opts.Progress(c.k.Now(), c.k.Events())
		}
		if c.opts.Until > 0 && c.k.Now() >= c.opts.Until {
			return false
		}
	}
	return true
}

// settleStep is how often the cluster is asked whether it has converged.
const settleStep = 250 * kafka.Millisecond

// settle runs until nothing is open any more, at most for the scenario's bound.
// It returns what is still open then.
func (c *Cluster) settle() (bool, []string) {
	end := c.spec.Duration + c.spec.SettleBound()
	for {
		c.startLate()
		open := c.open(1)
		if len(open) == 0 {
			return true, nil
		}
		if c.k.Now() >= end || !c.advance(min(end, c.k.Now()+settleStep)) {
			return false, c.open(20)
		}
	}
}

// verifyBound is how long reading everything back may take.
const verifyBound = 10 * kafka.Minute

// verify reads every partition back through a client.
func (c *Cluster) verify() []string {
	c.checkPromptly()
	cfg := c.verifierConfig()
	cfg.Batch = func(tp kafka.TopicPartition, b record.Batch, node kafka.NodeID) {
		c.readBack += int64(b.Count())
		if c.suite != nil {
			c.suite.ReadBack(tp, b, node)
		}
	}
	v := client.NewVerifier(cfg)
	h := &host{name: "verifier", kind: toolKind}
	c.add(h)
	c.k.Boot(h.id, v, nil)
	end := c.k.Now() + verifyBound
	for !v.Done() {
		if c.k.Now() >= end || !c.advance(min(end, c.k.Now()+settleStep)) {
			return unread(v)
		}
	}
	return nil
}

// unread tells what was not read to its end.
func unread(v *client.Verifier) (lines []string) {
	for _, x := range v.Remaining() {
		switch {
		case x.TP.Partition < 0:
			lines = append(lines, fmt.Sprintf("reading back did not end: %s has no partitions", x.TP.Topic))
		case x.Offset == kafka.NoOffset:
			lines = append(lines, fmt.Sprintf("reading back did not end: it knows no position in %s", x.TP))
		default:
			lines = append(lines, fmt.Sprintf("reading back did not end: it is at %d of %s", x.Offset, x.TP))
		}
	}
	return lines
}

// verifierConfig lists what was ever led. A broker may not have heard of an added partition yet: a
// controller whose request to it was lost waits for controller.socket.timeout.ms.
func (c *Cluster) verifierConfig() client.VerifierConfig {
	cfg := client.VerifierConfig{Consumer: c.toolConsumer(), Bootstrap: c.bootstrap()}
	for _, t := range c.spec.Topics {
		if c.view.isGone(t.Name) {
			continue
		}
		for _, tp := range c.view.order {
			if tp.Topic == t.Name && c.view.at(tp).isr != nil {
				cfg.Assignment.Partitions = append(cfg.Assignment.Partitions, tp)
			}
		}
	}
	return cfg
}
