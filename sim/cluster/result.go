package cluster

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/kernel"
)

func (c *Cluster) header() *outcome.Result {
	return &outcome.Result{
		Scenario: c.spec.Name, ScenarioSHA: c.spec.Digest(), Protocol: c.profile.Name, Quirks: c.spec.Quirks.Names(), Seed: c.opts.Seed, Engine: Engine,
		Chaos: c.spec.HealAt(), Settled: -1, Warnings: append([]string(nil), c.spec.Warnings...),
	}
}

// finish asks the invariants, checks the expectations and gives the verdict.
func (c *Cluster) finish(r *outcome.Result, complete bool, open []string) *outcome.Result {
	r.End, r.Events = c.k.Now(), c.k.Events()
	c.catchUp()
	c.collect.Fill(r)
	c.probes.fill(r)
	if c.suite != nil {
		for _, h := range c.consumers {
			if c.k.State(h.id) == kernel.Running {
				c.suite.Knows(h.name, h.process.Brokers())
			}
		}
		c.suite.Finish(complete, open)
		c.suite.Fill(r)
	}
	for _, a := range c.k.Assertions() {
		r.Violations = append(r.Violations, outcome.Violation{Invariant: "assertion", At: a.Time,
			What: fmt.Sprintf("%s: %s", a.Actor, a.Message)})
	}
	r.Fingerprint = c.k.Fingerprint().String()
	for _, p := range c.k.Checkpoints() {
		r.Checkpoints = append(r.Checkpoints, outcome.Checkpoint{Event: p.Seq, Hash: p.Sum.String()})
	}
	r.Warnings = append(r.Warnings, c.plan.idle()...)
	for _, s := range c.spec.NotModelled {
		r.NotModelled = append(r.NotModelled, s.Key+"="+s.Value)
	}
	if complete {
		r.Metrics = evaluate(c.spec.Expect.Metrics, r)
	}
	c.judge(r, complete, open)
	return r
}

// judge gives the verdict: what the scenario expects, against what was found.
func (c *Cluster) judge(r *outcome.Result, complete bool, open []string) {
	e := &c.spec.Expect
	r.Verdict = outcome.Pass
	fail := func(v outcome.Verdict, format string, args ...any) {
		if r.Verdict == outcome.Pass {
			r.Verdict = v
		}
		r.Why = append(r.Why, fmt.Sprintf(format, args...))
	}
	wanted := make(map[string]bool, len(e.Violated))
	for _, name := range e.Violated {
		wanted[name] = true
		if !violates(r, name) && complete {
			fail(outcome.Violated, "expected: %s is violated; it held", name)
		}
	}
	for _, v := range r.Violations {
		if !wanted[v.Invariant] && Decides(c.spec, v.Invariant) {
			fail(outcome.Violated, "%s is violated at %s: %s", v.Invariant, v.At, v.What)
		}
	}
	if !complete {
		fail(outcome.Inconclusive, "%s", open[0])
		return
	}
	if e.Loss && r.Loss.Records == 0 {
		fail(outcome.Violated, "expected: acknowledged records are lost; none was")
	}
	for _, m := range r.Metrics {
		if !m.Held {
			fail(outcome.Violated, "expected %s: it is %s", m.Source, strings.TrimSpace(m.Value+" "+m.Where))
		}
	}
}

func violates(r *outcome.Result, name string) bool {
	for _, v := range r.Violations {
		if v.Invariant == name {
			return true
		}
	}
	return false
}

// toolConsumer is the configuration of the reader that reads everything back.
func (c *Cluster) toolConsumer() *config.Consumer {
	cfg, errs := config.NewConsumer(c.profile, []config.Setting{
		{Key: "auto.offset.reset", Value: "earliest"},
		// A broker copies what is not in one piece: reading all logs back must not double
		// the memory of the run.
		{Key: "max.partition.fetch.bytes", Value: "65536"},
		{Key: "metadata.max.age.ms", Value: "5000"}, // the broker that it asks may not know a partition yet
	})
	if len(errs) > 0 {
		panic(errs[0]) // the settings above are valid
	}
	return cfg
}

// Timeline kinds are chosen by measure; Note lets callers add a mark of their own.
func (c *Cluster) Note(text string) { c.k.Note(event.Event{Kind: event.Probe, Text: text}) }
