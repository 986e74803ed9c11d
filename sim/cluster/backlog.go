package cluster

import "github.com/simkafka/simkafka/model/event"

// backlogSize is how many facts wait for the checks: enough that what the checks run through
// is in the processor's caches for many of them, few enough that the facts are still there.
const backlogSize = 128

// backlog are the facts that the invariants, the figures and the probes have not seen yet.
// Nothing that happens in a run depends on these, so that they need not see each fact at
// once: a processor's caches do not hold the code of a simulation and that of its checks.
// What a fact refers to stays as it was noted until the run ends.
type backlog struct {
	facts []event.Event
	n     int // that wait
	// prompt: facts do not wait.
	prompt bool
}

// check lets a fact wait for the checks.
func (c *Cluster) check(e *event.Event) {
	b := &c.backlog
	if b.facts == nil {
		b.facts = make([]event.Event, backlogSize)
	}
	b.facts[b.n] = *e
	if b.n++; b.prompt || b.n == backlogSize {
		c.catchUp()
	}
}

// catchUp shows the checks what waits.
func (c *Cluster) catchUp() {
	facts := c.backlog.facts[:c.backlog.n]
	c.backlog.n = 0
	if c.suite != nil {
		for i := range facts {
			c.suite.Observe(&facts[i])
		}
	}
	for i := range facts {
		c.collect.Observe(&facts[i])
	}
	for i := range facts {
		c.probes.observe(&facts[i])
	}
}

// checkPromptly ends the waiting.
func (c *Cluster) checkPromptly() {
	c.catchUp()
	c.backlog.prompt = true
}
