package scenarios

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// wholeChecks looks at what only the whole file shows: settings against each
// other, faults that nobody ends.
func (l *loader) wholeChecks() {
	s := l.spec
	if s.Duration == 0 && l.durationNode.Value == "0" { // another value was reported where it was read
		l.errorAt(l.durationNode, "duration must be longer than 0")
	}
	if s.Duration > 0 && s.Duration <= s.WorkloadStart() {
		l.errorAt(l.durationNode, "duration is %s; the workload begins at %s, when the cluster has booted", short(s.Duration), short(s.WorkloadStart()))
	}
	if why := s.WithoutCoordinators(); why != "" && l.Errors() == 0 {
		l.warnAt(l.brokersNode, "%s", why)
	}
	if len(s.Topics) == 0 && l.Errors() == 0 {
		l.errorAt(l.durationNode, "a scenario needs at least one topic")
	}
}

// clientChecks looks at a client's settings, those of node n, against each other. What is
// wrong by itself was reported where it was read.
func (l *loader) clientChecks(n *yaml.Node, s scope, all []config.Setting) {
	p, ok := config.ProfileByName(l.spec.Protocol)
	if !ok {
		return
	}
	check := func(list []config.Setting) (errs []error) {
		if s == producerScope {
			_, errs = config.NewProducer(p, list)
		} else {
			_, errs = config.NewConsumer(p, list)
		}
		return errs
	}
	var se *config.SettingError
	for i := range all {
		for _, err := range check(all[i : i+1]) {
			if errors.As(err, &se) && se.Setting.Key == all[i].Key && len(all) > 1 {
				return
			}
		}
	}
	for _, err := range check(all) {
		if errors.As(err, &se) && (len(all) > 1 || se.Setting.Key != all[0].Key) {
			l.errorAt(settingNode(n, se.Setting.Key), "%v", err)
		}
	}
}

// settingNode is the value of a setting in a mapping; the mapping if it is not there.
func settingNode(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return n
}

// memberChecks warns of what a member's settings, those of node n, mean in this cluster.
func (l *loader) memberChecks(n *yaml.Node, c *Consumer) {
	p, ok := config.ProfileByName(l.spec.Protocol)
	if !ok || c.Group == "" {
		return
	}
	cfg, errs := config.NewConsumer(p, c.Config)
	if len(errs) > 0 {
		return
	}
	l.assignorChecks(n, cfg)
	if b, errs := config.NewBroker(p, 1, "", l.spec.Cluster.Config); len(errs) == 0 {
		l.sessionChecks(n, cfg, b)
	}
}

// sessionChecks warns of a session that the coordinator refuses (GroupCoordinator,
// INVALID_SESSION_TIMEOUT): the consumer ends.
func (l *loader) sessionChecks(n *yaml.Node, cfg *config.Consumer, b *config.Broker) {
	at, session := settingNode(n, "session.timeout.ms"), cfg.SessionTimeout/kafka.Millisecond
	switch {
	case cfg.SessionTimeout < b.GroupMinSession:
		l.warnAt(at, "session.timeout.ms is %d, and the brokers' group.min.session.timeout.ms %d: no coordinator lets the consumer in", session, b.GroupMinSession/kafka.Millisecond)
	case cfg.SessionTimeout > b.GroupMaxSession:
		l.warnAt(at, "session.timeout.ms is %d, and the brokers' group.max.session.timeout.ms %d: no coordinator lets the consumer in", session, b.GroupMaxSession/kafka.Millisecond)
	}
}

// WithoutCoordinators says why no group gets a coordinator: there are fewer brokers than
// offsets.topic.replication.factor, so that __consumer_offsets cannot be made
// (INVALID_REPLICATION_FACTOR). It is "" if they do, or if there is no group.
func (s *Spec) WithoutCoordinators() string {
	p, ok := config.ProfileByName(s.Protocol)
	if !ok || p.OffsetsFactorOfAlive || !slices.ContainsFunc(s.Consumers, func(c Consumer) bool { return c.Group != "" }) {
		return ""
	}
	b, errs := config.NewBroker(p, 1, "", s.Cluster.Config)
	if len(errs) > 0 || s.Cluster.Brokers >= b.OffsetsReplication {
		return ""
	}
	return fmt.Sprintf("offsets.topic.replication.factor is %d, and there are fewer brokers, %d: no group gets a coordinator, and its consumers read nothing",
		b.OffsetsReplication, s.Cluster.Brokers)
}

// assignorChecks warns of assignors that came later than the profile's clients.
func (l *loader) assignorChecks(n *yaml.Node, cfg *config.Consumer) {
	for _, name := range cfg.Assignors {
		if !cfg.Profile.HasAssignor(name) {
			l.warnAt(settingNode(n, "partition.assignment.strategy"), "clients as old as %s have no %s assignor: the run shows what no release does", cfg.Profile.Name, name)
		}
	}
}
