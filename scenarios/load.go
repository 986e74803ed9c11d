package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// APIVersion is what the first key of every scenario says.
const APIVersion = "simkafka/v1"

// Source gives a scenario the files that it names; paths are relative to the
// scenario's own folder.
type Source func(path string) ([]byte, error)

// loader fills a Spec from a tree. Where a check needs the whole file it is kept
// with its node until the tree has been read.
type loader struct {
	reader
	spec  *Spec
	open  Source
	later []func()

	doubt      doubt
	ofSettings int // errors about settings

	durationNode, protocolNode, brokersNode *yaml.Node
}

// Load reads a scenario. On any error the spec is nil; warnings alone leave it
// usable and are in its Warnings. The error is *Diagnostics.
func Load(file string, data []byte, open Source) (*Spec, error) {
	l := &loader{reader: reader{Diagnostics: &Diagnostics{File: file}}, spec: &Spec{File: file, Protocol: "zk-3.9"}, open: open}
	if root := l.parse(data); root != nil {
		l.root(root)
		l.topicDefaults()
		for _, check := range l.later {
			check()
		}
	}
	l.sort()
	if l.Errors() > 0 {
		return nil, l.Diagnostics
	}
	for _, d := range l.List {
		l.spec.Warnings = append(l.spec.Warnings, fmt.Sprintf("%s:%d:%d: %s", file, d.Line, d.Col, d.Message))
	}
	return l.spec, nil
}

func (l *loader) root(n *yaml.Node) {
	s := l.spec
	l.durationNode, l.protocolNode, l.brokersNode = n, n, n
	meant := l.mapping(n, "the scenario",
		field{"apiVersion", l.apiVersion, true},
		field{"name", l.name, true},
		field{"why", l.text("why", &s.Why), false},
		field{"look", l.text("look", &s.Look), false},
		field{"protocol", l.protocol, false},
		field{"quirks", func(n *yaml.Node) { l.list(n, "quirks", l.quirk) }, false},
		field{"duration", l.at(&l.durationNode, l.duration("duration", &s.Duration)), true},
		field{"heal", l.heal, false},
		field{"settle", l.duration("settle", &s.Settle), false},
		field{"cluster", l.cluster, true},
		field{"hardware", l.hardware, false},
		field{"topics", func(n *yaml.Node) { l.list(n, "topics", l.topic) }, true},
		field{"producers", l.unsure(&l.doubt.clients, func(n *yaml.Node) { l.list(n, "producers", l.producer) }), false},
		field{"consumers", l.unsure(&l.doubt.clients, func(n *yaml.Node) { l.list(n, "consumers", l.consumer) }), false},
		field{"events", func(n *yaml.Node) { l.list(n, "events", l.event) }, false},
		field{"chaos", l.chaos, false},
		field{"expect", l.expect, false},
	)
	l.rootDoubts(meant)
	l.later = append(l.later, l.wholeChecks)
}

// at remembers the node of a value for later messages.
func (l *loader) at(to **yaml.Node, read func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		*to = n
		read(n)
	}
}

func (l *loader) apiVersion(n *yaml.Node) {
	l.say(oneWord([]string{APIVersion}))
	if v, ok := l.scalar(n, "apiVersion"); ok && v != APIVersion {
		l.errorAt(n, "apiVersion is %q; this simkafka reads %q", v, APIVersion)
	}
}

func (l *loader) name(n *yaml.Node) {
	l.say(nameSchema())
	v, ok := l.scalar(n, "name")
	if !ok {
		return
	}
	if !plainName(v) {
		l.errorAt(n, "name %q: a name has letters, digits, '-', '_' and '.', at most 100", v)
	}
	l.spec.Name = v
}

// plainName keeps names usable as file, host and topic names.
func plainName(s string) bool {
	if s == "" || len(s) > 100 || s == "." || s == ".." {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)) {
			return false
		}
	}
	return true
}

func (l *loader) protocol(n *yaml.Node) {
	l.protocolNode = n
	l.say(oneWord(config.ProfileNames()))
	if v, ok := l.scalar(n, "protocol"); ok {
		l.spec.Protocol = v
		if _, known := config.ProfileByName(v); !known {
			l.errorAt(n, "unknown protocol %q%s", v, suggest(v, config.ProfileNames()))
		}
	}
}

// switches are the keys of all bugs and mutations.
func switches() []string {
	keys := quirk.Keys()
	for _, m := range quirk.Mutations() {
		keys = append(keys, m.Key)
	}
	return keys
}

// quirk puts a historical bug back.
func (l *loader) quirk(n *yaml.Node) {
	l.say(oneWord(switches()))
	v, ok := l.scalar(n, "a quirk")
	if !ok {
		return
	}
	id, known := quirk.ParseSwitch(v)
	if !known {
		l.errorAt(n, "unknown quirk %q%s", v, suggest(v, quirk.Keys()))
		return
	}
	l.spec.Quirks = l.spec.Quirks.With(id)
}

func (l *loader) heal(n *yaml.Node) {
	l.duration("heal", &l.spec.Heal)(n)
	l.later = append(l.later, func() {
		if l.spec.Heal > l.spec.Duration && l.spec.Duration > 0 {
			l.errorAt(n, "heal at %s is after the end of the run, %s", short(l.spec.Heal), short(l.spec.Duration))
		}
	})
}

func (l *loader) cluster(n *yaml.Node) {
	c := &l.spec.Cluster
	before, slips := l.Errors(), l.slips()
	defer func() {
		l.doubt.defaults = l.doubt.defaults || l.Errors() > before
		l.doubt.racks = l.doubt.racks || l.slips() > slips
	}()
	l.mapping(n, "cluster",
		field{"brokers", l.at(&l.brokersNode, count(&l.reader, "brokers", 1, 1000, &c.Brokers)), true},
		field{"racks", l.racks, false},
		field{"zookeeper", l.zookeeper, false},
		field{"server_properties", l.serverProperties, false},
		field{"config", func(n *yaml.Node) { c.Config = append(c.Config, l.settings(n, "config", brokerScope)...) }, false},
		field{"per_broker", l.perBroker, false},
		field{"network", l.network, false},
		field{"disk", l.disk, false},
		field{"service_time", l.duration("service_time", &c.ServiceTime), false},
	)
}

func (l *loader) racks(n *yaml.Node) {
	l.list(n, "racks", func(item *yaml.Node) {
		if v, ok := l.scalar(item, "a rack"); ok {
			l.spec.Cluster.Racks = append(l.spec.Cluster.Racks, v)
		}
	})
	l.later = append(l.later, func() {
		if c := &l.spec.Cluster; len(c.Racks) != 0 && len(c.Racks) != c.Brokers && c.Brokers > 0 && !l.doubt.racks {
			l.errorAt(n, "racks names %d racks for %d brokers; name one for each broker", len(c.Racks), c.Brokers)
		}
	})
}

func (l *loader) zookeeper(n *yaml.Node) {
	c := &l.spec.Cluster
	l.mapping(n, "zookeeper",
		field{"endpoints", count(&l.reader, "endpoints", 1, 9, &c.Endpoints), false},
		field{"config", func(n *yaml.Node) { c.ZooKeeper = l.settings(n, "config", zookeeperScope) }, false},
	)
}

func (l *loader) perBroker(n *yaml.Node) {
	if l.say(schema{Type: "object", Closed: new(bool), PatternKeys: map[string]*schema{"^broker-[0-9]+$": {Ref: "#/definitions/" + brokerScope.definition()}}}) {
		return
	}
	n = l.follow(n)
	if n.Kind != yaml.MappingNode {
		l.errorAt(n, "per_broker maps broker-1, broker-2, … to settings, not %s", kindName(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		id, ok := kafka.ParseBrokerHost(k.Value)
		if !ok {
			l.errorAt(k, "%q is not a broker; write broker-1", k.Value)
			continue
		}
		b := BrokerSettings{Node: id, Settings: l.settings(v, k.Value, brokerScope)}
		l.spec.Cluster.PerBroker = append(l.spec.Cluster.PerBroker, b)
		l.later = append(l.later, func() { l.brokerExists(k, id) })
	}
}

func (l *loader) brokerExists(n *yaml.Node, id kafka.NodeID) {
	if l.spec.Cluster.Brokers > 0 && (int(id) < 1 || int(id) > l.spec.Cluster.Brokers) {
		l.errorAt(n, "there is no %s; brokers are broker-1 to broker-%d", kafka.BrokerHost(id), l.spec.Cluster.Brokers)
	}
}

func (l *loader) network(n *yaml.Node) {
	w := &l.spec.Cluster.Network
	l.mapping(n, "network",
		field{"latency", parsed(&l.reader, "latency", &w.Latency, dists()), false},
		field{"bandwidth", parsed(&l.reader, "bandwidth", &w.Bandwidth, bandwidths()), false},
	)
}

func (l *loader) disk(n *yaml.Node) {
	d := &l.spec.Cluster.Disk
	l.mapping(n, "disk",
		field{"append", l.duration("append", &d.Append), false},
		field{"fsync", l.duration("fsync", &d.Fsync), false},
		field{"bandwidth", parsed(&l.reader, "bandwidth", &d.Bandwidth, bandwidths()), false},
		field{"capacity", parsed(&l.reader, "capacity", &d.Capacity, sizes()), false},
		field{"writeback", l.duration("writeback", &d.Writeback), false},
		field{"filesystem", l.word("filesystem", &d.Filesystem, Filesystems()...), false},
	)
}

// serverProperties takes a real server.properties: what simkafka honours applies,
// the rest is listed as not modelled.
func (l *loader) serverProperties(n *yaml.Node) {
	path, ok := l.scalar(n, "server_properties")
	if !ok {
		return
	}
	if l.open == nil {
		l.errorAt(n, "server_properties: this scenario was not read from a file, so that it cannot name others")
		return
	}
	data, err := l.open(path)
	if err != nil {
		l.errorAt(n, "server_properties: %s: %v", path, cleanPathError(err))
		return
	}
	if len(data) > maxFile || bytes.IndexByte(data, 0) >= 0 {
		l.errorAt(n, "server_properties: %s is no text of at most %d bytes", path, maxFile)
		return
	}
	entries, errs := config.ParseProperties(string(data))
	for _, e := range errs {
		l.errorAt(n, "%s: %v", path, e)
	}
	honoured := keySet(brokerScope)
	var take []config.Setting
	for _, e := range entries {
		if !honoured[e.Key] || noEffect[e.Key] != "" {
			l.spec.NotModelled = append(l.spec.NotModelled, e.Setting)
			if e.Key == "process.roles" {
				l.warnAt(n, "%s is that of a KRaft broker (process.roles); the run has ZooKeeper and its controller", path)
			}
			continue
		}
		take = append(take, e.Setting)
		l.checkSetting(n, fmt.Sprintf("%s line %d", path, e.Line), brokerScope, e.Setting)
	}
	l.spec.Cluster.Config = append(take, l.spec.Cluster.Config...) // config: wins
}

// cleanPathError leaves the machine's own folders out of a message.
func cleanPathError(err error) error {
	if u := errors.Unwrap(err); u != nil {
		return u
	}
	return err
}

// short prints a duration without trailing zeros.
func short(d kafka.Nanos) string {
	s := strings.TrimRight(strings.TrimSuffix(d.String(), "s"), "0")
	return strings.TrimSuffix(s, ".") + "s"
}
