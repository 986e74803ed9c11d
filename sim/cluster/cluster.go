// Package cluster builds a Kafka cluster from a scenario and a seed, runs it over
// the kernel, is the target of its faults, and returns what happened.
//
// A run has phases: the cluster boots at time 0 and its topics are made; the
// workload starts; faults strike until the heal; the workload stops; the cluster
// must settle; every partition is read back; the invariants give their verdict
// (DESIGN 7). Nothing here decides anything by itself: all choices are the
// scenario's, or draws keyed by the object that they concern.
package cluster

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/measure"
	"github.com/simkafka/simkafka/sim/simdisk"
	"github.com/simkafka/simkafka/sim/simnet"
)

// Engine is the version of the engine's determinism: from the first release on it changes
// whenever an equal scenario and seed give another run. Until then it stays 1.
const Engine = 1

// Options are what a run may vary without being another scenario.
type Options struct {
	Seed uint64
	// Until stops the run at this time, inconclusive; 0 = run to the end.
	Until kafka.Nanos
	// Series keeps the plots' data.
	Series bool
	// Recorder gets every step; Observer every noted fact.
	Recorder kernel.Recorder
	Observer kernel.Observer
	// Progress is called about every simulated second.
	Progress func(now kafka.Nanos, events uint64)
	// Fired is told about every fault that strikes.
	Fired func(*Firing)
	// CheckWire encodes, decodes and compares every message. Slow.
	CheckWire bool
	// ExploreTies draws the order of simultaneous events (S1).
	ExploreTies bool
	// MaxEvents makes the run inconclusive when it is reached; 0 = no limit.
	MaxEvents uint64
	// NoFingerprint runs without fingerprint, for measuring what it costs.
	NoFingerprint bool
	// Unchecked runs without invariants, for measuring what they cost.
	Unchecked bool
	// Warm is memory that earlier runs of the same thread have used; nil: new.
	Warm *Warm
}

// Cluster is one simulation.
type Cluster struct {
	spec    *scenarios.Spec
	opts    Options
	profile *config.Profile // with the scenario's bugs
	k       *kernel.Kernel
	net     *simnet.Net
	draws   step.Draws // of the faults

	store     *zookeeper.Store
	zkConfig  config.ZooKeeper
	zookeeper kernel.ActorID
	brokers   []*brokerHost
	producers []*producerHost
	consumers []*consumerHost
	admin     *client.Admin
	commands  []*topicCommand
	names     map[string]*host

	scratch *record.Scratch // of the codecs, for all processes and the invariants
	files   *simdisk.Names  // of all disks
	reads   *simdisk.Reads  // of all disks; may be nil
	view    authority
	failing []string // brokers that had lost a log directory when the cluster was healed
	plan    *plan
	suite   *invariant.Suite
	collect *measure.Collector
	probes  probes
	backlog backlog

	start      kafka.Nanos // when the workload begins
	readBack   int64
	topicConf  []config.Topic // by topic of the spec
	idleFaults []string       // disk errors that no operation met
}

// Run builds and runs a scenario. An error means that the scenario cannot be run;
// whatever goes wrong inside the run is in the result.
func Run(spec *scenarios.Spec, opts Options) (*outcome.Result, error) {
	c, err := New(spec, opts)
	if err != nil {
		return nil, err
	}
	return c.Run(), nil
}

// New builds the cluster, with every process booted at time 0.
func New(spec *scenarios.Spec, opts Options) (*Cluster, error) {
	profile, ok := config.ProfileByName(spec.Protocol)
	if !ok {
		return nil, fmt.Errorf("unknown protocol profile %q", spec.Protocol)
	}
	c := &Cluster{spec: spec, opts: opts, profile: profile.With(spec.Quirks), names: make(map[string]*host)}
	c.warm()
	c.k = kernel.New(kernel.Config{Seed: opts.Seed, ExploreTies: opts.ExploreTies, CheckWire: opts.CheckWire,
		MaxEvents: opts.MaxEvents, NoFingerprint: opts.NoFingerprint})
	c.draws = c.k.Draws().Sub("faults")
	latency, err := distribution(spec.Cluster.Network.Latency)
	if err != nil {
		return nil, err
	}
	c.net = simnet.New(c.k, simnet.Config{Latency: latency, Bandwidth: spec.Cluster.Network.Bandwidth})
	c.start = spec.WorkloadStart()
	for _, build := range []func() error{c.buildZooKeeper, c.buildBrokers, c.buildChecks, c.buildClients} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	c.k.OnExit(c.exited)
	c.k.Observe(c)
	c.k.SetRecorder(opts.Recorder)
	c.bootAll()
	c.plan = newPlan(c, c.drawChaos(spec.Events))
	return c, nil
}

// Violations lists what the invariants have found so far. It is the cluster's.
func (c *Cluster) Violations() []outcome.Violation {
	if c.suite == nil {
		return nil
	}
	c.catchUp()
	return c.suite.Violations()
}

// Kernel is the simulation's kernel, for tests and inspectors.
func (c *Cluster) Kernel() *kernel.Kernel { return c.k }

// Event implements kernel.Observer: every noted fact goes to the view, the triggers and
// the caller at once, to the invariants, the figures and the probes a little later.
func (c *Cluster) Event(e *event.Event) {
	c.view.observe(e)
	c.check(e)
	if c.plan != nil {
		c.plan.observe(e)
	}
	if c.opts.Observer != nil {
		c.opts.Observer.Event(e)
	}
}

func (c *Cluster) buildChecks() error {
	c.probes.minISR = make(map[string]int, len(c.spec.Topics))
	for i, t := range c.spec.Topics {
		c.probes.minISR[t.Name] = min(c.topicConf[i].MinInsyncReplicas, t.Replication)
	}
	series := c.opts.Series || slices.ContainsFunc(c.spec.Expect.Metrics, readsSeries)
	c.collect = measure.New(measure.Config{Start: c.start, End: c.spec.Duration, Series: series})
	if c.opts.Unchecked {
		return nil
	}
	sound, _ := config.ProfileByName(c.spec.Protocol) // the invariants expect a model without bugs
	setup := invariant.Setup{Profile: sound, Brokers: c.spec.Cluster.Brokers, Scratch: c.scratch, Reverts: filesystem(c.spec.Cluster.Disk.Filesystem) == simdisk.Btrfs}
	for i, t := range c.spec.Topics {
		conf := c.topicConf[i]
		setup.Topics = append(setup.Topics, invariant.Topic{Name: t.Name, MinISR: conf.MinInsyncReplicas,
			Unclean: conf.UncleanLeaderElection, Retention: c.retention(i), Compact: c.compaction(i)})
	}
	for _, b := range c.brokers {
		setup.RetentionCheck = max(setup.RetentionCheck, b.cfg.LogRetentionCheckInterval)
		setup.TaskDelay = max(setup.TaskDelay, b.cfg.LogInitialTaskDelay)
	}
	c.groupChecks(&setup)
	c.suite = invariant.NewSuite(setup)
	return nil
}

// compaction is what cleaners may take of topic i, nil if no broker cleans it.
func (c *Cluster) compaction(i int) (x *invariant.Compaction) {
	for _, b := range c.brokers {
		t, _ := config.ParseTopic(b.cfg.LogDefaults, c.spec.Topics[i].Config)
		if t.CleanupPolicy == config.Delete {
			continue
		}
		y := invariant.Compaction{DeleteRetention: kafka.Millis(t.DeleteRetentionMs), MinLag: kafka.Millis(t.MinCompactionLagMs)}
		if x != nil {
			y.DeleteRetention, y.MinLag = min(x.DeleteRetention, y.DeleteRetention), min(x.MinLag, y.MinLag)
		}
		x = &y
	}
	return x
}

// retention is how long all brokers keep the records of topic i, nil if they differ.
func (c *Cluster) retention(i int) *invariant.Retention {
	r := &invariant.Retention{Ms: c.topicConf[i].RetentionMs, Bytes: c.topicConf[i].RetentionBytes}
	for _, b := range c.brokers {
		t, _ := config.ParseTopic(b.cfg.LogDefaults, c.spec.Topics[i].Config)
		if t.RetentionMs != r.Ms || t.RetentionBytes != r.Bytes {
			return nil
		}
	}
	return r
}
