package scenarios

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/config"
)

// scope says whose settings a mapping holds.
type scope uint8

const (
	brokerScope scope = iota
	topicScope
	producerScope
	consumerScope
	zookeeperScope
)

// noEffect are settings that are known and change nothing here, with the reason.
var noEffect = map[string]string{
	"auto.create.topics.enable":         "clients never create topics by asking for them",
	"num.network.threads":               "network threads are not modelled",
	"num.recovery.threads.per.data.dir": "recovery has one thread",
	"queued.max.requests":               "request queues have no limit",
}

// elsewhere are settings that a scenario says in its own words, or that its actors do without.
var elsewhere = map[string]string{
	"bootstrap.servers":  "clients know every broker",
	"broker.id":          "brokers have the ids 1, 2, … in their order",
	"broker.rack":        "write racks in cluster",
	"client.id":          "it is the client's name",
	"client.rack":        "clients have no rack",
	"enable.idempotence": "producers are not idempotent yet",
	"group.id":           "write group beside config",
	"node.id":            "brokers have the ids 1, 2, … in their order",
	"transactional.id":   "producers have no transactions yet",
	"zookeeper.connect":  "write endpoints in cluster.zookeeper",
}

// Elsewhere says how a scenario says what a setting says in Kafka; "" for one that is honoured
// and for one that nobody knows.
func Elsewhere(key string) string { return elsewhere[key] }

// NoEffect says why a setting changes nothing; "" for one that is honoured.
func NoEffect(key string) string { return noEffect[key] }

// scopeKeys are the settings by scope.
var scopeKeys = [...][]config.Key{
	brokerScope: config.BrokerKeys(), topicScope: config.TopicKeys(), producerScope: config.ProducerKeys(),
	consumerScope: config.ConsumerKeys(), zookeeperScope: config.ZooKeeperKeys(),
}

func keySet(s scope) map[string]bool {
	set := make(map[string]bool)
	for _, k := range scopeKeys[s] {
		set[k.Name] = true
	}
	return set
}

// settings reads Kafka settings, each checked by itself with its place. Kafka's
// own units hold: a number is milliseconds or bytes as the key's name says.
func (l *loader) settings(n *yaml.Node, what string, s scope) []config.Setting {
	if l.say(schema{Ref: "#/definitions/" + s.definition()}) {
		return nil
	}
	n = l.follow(n)
	before := l.Errors()
	defer func() { l.ofSettings += l.Errors() - before }()
	if n.Kind != yaml.MappingNode {
		l.errorAt(n, "%s is a mapping of Kafka settings, not %s", what, kindName(n))
		return nil
	}
	var out []config.Setting
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		v, ok := l.scalar(n.Content[i+1], k.Value)
		if seen[k.Value] {
			l.errorAt(k, "setting %q stands twice in %s", k.Value, what)
		}
		seen[k.Value] = true
		if !ok {
			continue
		}
		set := config.Setting{Key: k.Value, Value: v}
		if why := NoEffect(k.Value); why != "" {
			l.warnAt(k, "%s has no effect: %s", k.Value, why)
		}
		if l.settingKnown(k, set, s) {
			l.checkSetting(n.Content[i+1], "", s, set)
			out = append(out, set)
		}
	}
	return out
}

func (l *loader) settingKnown(n *yaml.Node, set config.Setting, s scope) bool {
	keys := scopeKeys[s]
	if slices.ContainsFunc(keys, func(k config.Key) bool { return k.Name == set.Key }) {
		return true
	}
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].Name
	}
	near, isNear := nearest(set.Key, names)
	owners, places := homesOf(set.Key)
	switch {
	case owners != "" && isNear:
		l.errorAt(n, "%s is a setting of %s, not of %s: write it in %s, or %s here", set.Key, owners, scopeNames[s].of, places, near)
	case owners != "":
		l.errorAt(n, "%s is a setting of %s, not of %s: write it in %s", set.Key, owners, scopeNames[s].of, places)
	case elsewhere[set.Key] != "":
		l.errorAt(n, "%s is not a setting here: %s", set.Key, elsewhere[set.Key])
	case isNear:
		l.errorAt(n, "unknown setting %q; did you mean %q?", set.Key, near)
	default:
		l.errorAt(n, "unknown setting %q; it is not a setting that simkafka models", set.Key)
	}
	return false
}

// scopeNames say whose settings a scope has, and where a scenario has them.
var scopeNames = [...]struct{ of, place string }{
	brokerScope:    {"brokers", "cluster.config"},
	topicScope:     {"topics", "a topic's config"},
	producerScope:  {"producers", "a producer's config"},
	consumerScope:  {"consumers", "a consumer's config"},
	zookeeperScope: {"ZooKeeper", "cluster.zookeeper.config"},
}

// homesOf says whose a setting is, and where it may stand; "" if it is nobody's.
func homesOf(key string) (owners, places string) {
	var of, at []string
	for s := range scopeNames {
		if slices.ContainsFunc(scopeKeys[s], func(k config.Key) bool { return k.Name == key }) {
			of, at = append(of, scopeNames[s].of), append(at, scopeNames[s].place)
		}
	}
	return strings.Join(of, " and "), strings.Join(at, " or ")
}

// checkSetting tries one value by itself.
func (l *loader) checkSetting(n *yaml.Node, where string, s scope, set config.Setting) {
	p, ok := config.ProfileByName(l.spec.Protocol)
	if !ok {
		p, _ = config.ProfileByName("zk-3.9")
	}
	var errs []error
	one := []config.Setting{set}
	switch s {
	case topicScope:
		_, errs = config.ParseTopic(config.Topic{}, one)
	case producerScope:
		_, errs = config.NewProducer(p, one)
	case consumerScope:
		_, errs = config.NewConsumer(p, one)
	case zookeeperScope:
		_, errs = config.NewZooKeeper(one)
	default:
		_, errs = config.NewBroker(p, 1, "", one)
	}
	for _, err := range errs {
		var se *config.SettingError
		if !errors.As(err, &se) || se.Setting.Key != set.Key {
			continue // about another setting's default: checked with all of them
		}
		if where != "" {
			l.errorAt(n, "%s: %v", where, err)
		} else {
			l.errorAt(n, "%v", err)
		}
	}
}
