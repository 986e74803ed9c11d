package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/scenarios"
)

// override is one --set: a broker-level setting, or with the prefix producer.,
// consumer. or topic:NAME: one of all producers, all consumers or a topic.
type override struct {
	scope   string // broker, producer, consumer or topic
	topic   string
	setting config.Setting
	text    string // as given
}

// clientScopes are the prefixes of clients' settings.
var clientScopes = []struct {
	name string
	keys func() []config.Key
}{{"producer", config.ProducerKeys}, {"consumer", config.ConsumerKeys}}

func parseOverride(text string) (override, error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return override{}, usage("--set %q: write key=value", text)
	}
	o := override{scope: "broker", setting: config.Setting{Key: key, Value: value}, text: text}
	if contains(config.BrokerKeys(), key) { // first: producer.purgatory… is a broker's
		return o, nil
	}
	if rest, ok := strings.CutPrefix(key, "topic:"); ok {
		name, key, ok := strings.Cut(rest, ":")
		if !ok {
			return o, usage("--set %q: write topic:NAME:key=value", text)
		}
		o.scope, o.topic, o.setting.Key = "topic", name, key
		return o, o.known(config.TopicKeys())
	}
	for _, c := range clientScopes {
		if rest, ok := strings.CutPrefix(key, c.name+"."); ok {
			o.scope, o.setting.Key = c.name, rest
			return o, o.known(c.keys())
		}
	}
	return o, o.known(config.BrokerKeys())
}

func contains(keys []config.Key, name string) bool {
	for i := range keys {
		if keys[i].Name == name {
			return true
		}
	}
	return false
}

func (o *override) known(keys []config.Key) error {
	if contains(keys, o.setting.Key) {
		return nil
	}
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	if o.scope == "broker" { // a client's setting lacks its prefix, or that is misspelt
		for _, c := range clientScopes {
			for _, k := range c.keys() {
				if k.Name == o.setting.Key {
					return usage("--set %s: %s is a setting of clients; write %s.%s", o.text, k.Name, c.name, k.Name)
				}
				names = append(names, c.name+"."+k.Name)
			}
		}
	}
	if o.scope == "broker" && contains(config.TopicKeys(), o.setting.Key) {
		ofAll := ""
		if contains(config.BrokerKeys(), "log."+o.setting.Key) {
			ofAll = ", or of all topics log." + o.setting.Key
		}
		return usage("--set %s: %s is a setting of topics; write topic:NAME:%s%s", o.text, o.setting.Key, o.setting.Key, ofAll)
	}
	if why := scenarios.Elsewhere(o.setting.Key); why != "" {
		return usage("--set %s: %s is not a setting here: %s", o.text, o.setting.Key, why)
	}
	return usage("--set %s: there is no %s setting %q%s (see simkafka config list)", o.text, o.scope, o.setting.Key, didYouMean(o.setting.Key, names))
}

// apply changes a scenario. A value that the setting does not take is an error.
func (o *override) apply(s *scenarios.Spec) error {
	p, ok := config.ProfileByName(s.Protocol)
	if !ok {
		return usage("unknown protocol %q", s.Protocol)
	}
	one := []config.Setting{o.setting}
	var errs []error
	switch o.scope {
	case "broker":
		_, errs = config.NewBroker(p, 1, "", one)
		s.Cluster.Config = append(s.Cluster.Config, o.setting)
		if err := o.topics(s, len(errs) > 0); err != nil {
			return err
		}
	case "producer":
		_, errs = config.NewProducer(p, one)
		for i := range s.Producers {
			s.Producers[i].Config = append(s.Producers[i].Config, o.setting)
		}
	case "consumer":
		_, errs = config.NewConsumer(p, one)
		for i := range s.Consumers {
			s.Consumers[i].Config = append(s.Consumers[i].Config, o.setting)
		}
	default:
		return o.applyTopic(s)
	}
	if len(errs) > 0 {
		return o.wrong(errs)
	}
	if why := scenarios.NoEffect(o.setting.Key); why != "" {
		s.Warnings = append(s.Warnings, fmt.Sprintf("--set %s has no effect: %s", o.text, why))
	}
	return nil
}

// topics gives the topics that do not say it themselves another number of partitions or
// replicas. What the scenario says of a partition must then still be there.
func (o *override) topics(s *scenarios.Spec, bad bool) error {
	says := func(t scenarios.Topic) bool { return !t.DefaultPartitions }
	switch o.setting.Key {
	case "num.partitions":
	case "default.replication.factor":
		says = func(t scenarios.Topic) bool { return !t.DefaultReplication }
	default:
		return nil
	}
	if bad {
		return nil
	}
	if !slices.ContainsFunc(s.Topics, func(t scenarios.Topic) bool { return !says(t) }) {
		s.Warnings = append(s.Warnings, fmt.Sprintf("--set %s has no effect: each topic of %s says it itself", o.text, s.Name))
		return nil
	}
	s.ApplyTopicDefaults()
	_, err := scenarios.Load(s.Name, []byte(s.YAML()), nil)
	var found *scenarios.Diagnostics
	if !errors.As(err, &found) {
		return err
	}
	var why []string // without their places, which are not those of the user's file
	for _, d := range found.List {
		if !d.Warning {
			why = append(why, d.Message)
		}
	}
	return usage("--set %s: %s", o.text, strings.Join(why, "; "))
}

// wrong reports a value that a setting does not take, under the name that was given.
func (o *override) wrong(errs []error) error {
	reasons := make([]string, len(errs))
	for i, err := range errs {
		reasons[i] = err.Error()
		if one := (*config.SettingError)(nil); errors.As(err, &one) && one.Setting.Key == o.setting.Key {
			reasons[i] = one.Reason
		}
	}
	return usage("--set %s: %s", o.text, strings.Join(reasons, "; "))
}

func (o *override) applyTopic(s *scenarios.Spec) error {
	if _, errs := config.ParseTopic(config.Topic{}, []config.Setting{o.setting}); len(errs) > 0 {
		return o.wrong(errs)
	}
	var names []string
	for i := range s.Topics {
		if s.Topics[i].Name == o.topic {
			s.Topics[i].Config = append(s.Topics[i].Config, o.setting)
			return nil
		}
		names = append(names, s.Topics[i].Name)
	}
	return usage("--set %s: %s has no topic %q%s", o.text, s.Name, o.topic, didYouMean(o.topic, names))
}
