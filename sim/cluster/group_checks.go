package cluster

import (
	"slices"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// groupChecks tells the checkers of the scenario's groups and of where these are kept.
func (c *Cluster) groupChecks(setup *invariant.Setup) {
	for i := range c.spec.Consumers {
		s := &c.spec.Consumers[i]
		if s.Group == "" {
			continue
		}
		cfg, _ := config.NewConsumer(c.profile, s.Config)
		at := slices.IndexFunc(setup.Groups, func(g invariant.Group) bool { return g.ID == s.Group })
		if at < 0 {
			at = len(setup.Groups)
			setup.Groups = append(setup.Groups, invariant.Group{ID: s.Group, LeastSession: cfg.SessionTimeout})
		}
		g := &setup.Groups[at]
		g.Session, g.Rebalance = max(g.Session, cfg.SessionTimeout), max(g.Rebalance, cfg.MaxPollInterval)
		g.LeastSession = min(g.LeastSession, cfg.SessionTimeout)
		g.Heartbeat, g.Request = max(g.Heartbeat, cfg.HeartbeatInterval), max(g.Request, cfg.RequestTimeout)
		g.Poll = max(g.Poll, kafka.Nanos(cfg.MaxPollRecords)*s.Processing)
		g.Callback = max(g.Callback, s.Revoke)
		g.Rounds = max(g.Rounds, c.followUps(s, cfg))
		g.MetadataAge = max(g.MetadataAge, cfg.MetadataMaxAge)
	}
	if len(setup.Groups) == 0 {
		return
	}
	setup.GroupMaxSize = make(map[kafka.NodeID]int, len(c.brokers))
	for _, b := range c.brokers {
		if setup.OffsetsRetention == 0 || b.cfg.OffsetsRetention < setup.OffsetsRetention {
			setup.OffsetsRetention = b.cfg.OffsetsRetention
		}
		setup.GroupMaxSize[b.node] = b.cfg.GroupMaxSize
		setup.Detection = max(setup.Detection, 2*b.cfg.ZKSessionTimeout)
		setup.ControllerTimeout = max(setup.ControllerTimeout, b.cfg.ControllerSocketTimeout)
		for i := range setup.Groups {
			setup.Groups[i].Delay = max(setup.Groups[i].Delay, b.cfg.GroupInitialDelay)
		}
	}
	first := c.brokers[0].cfg
	setup.Topics = append(setup.Topics, invariant.Topic{Name: group.OffsetsTopic, MinISR: first.LogDefaults.MinInsyncReplicas,
		Unclean: first.LogDefaults.UncleanLeaderElection,
		Compact: &invariant.Compaction{DeleteRetention: kafka.Millis(first.LogDefaults.DeleteRetentionMs), MinLag: kafka.Millis(first.LogDefaults.MinCompactionLagMs)}})
}

// followUps is k of groups 6.5: how many rebalances may follow on one.
func (c *Cluster) followUps(s *scenarios.Consumer, cfg *config.Consumer) int {
	for _, name := range cfg.Assignors {
		if a, ok := assignor.ByName(name); !ok || !a.Cooperative() {
			return 0
		}
	}
	for i := range c.spec.Consumers {
		if o := &c.spec.Consumers[i]; o.Group == s.Group && !slices.Equal(o.Topics, s.Topics) {
			return 3
		}
	}
	return 1
}
