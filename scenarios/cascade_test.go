package scenarios

import (
	"errors"
	"testing"

	"go.yaml.in/yaml/v4"
)

// One mistake is one error: what follows from it is not reported. Each value of a scenario
// is replaced by one of another kind in turn, and each key misspelt.
func TestOneMistakeIsOneError(t *testing.T) {
	mustLoad(t, broad)
	for _, c := range mistakes(t, broad) {
		var d *Diagnostics
		if _, err := load(c.text); !errors.As(err, &d) {
			continue // such as a word where any text is allowed
		}
		if len(d.List) > 1 {
			t.Errorf("%s\n%v", c.what, d)
		}
	}
}

// broad uses more of the format than the built-in scenarios do in one file.
const broad = `apiVersion: simkafka/v1
name: broad
protocol: zk-3.9
quirks: [KAFKA-727]
duration: 60s
heal: 50s
settle: 2m
cluster:
  brokers: 3
  racks: [a, b, c]
  config: {min.insync.replicas: 2, num.partitions: 4}
  per_broker: {broker-2: {num.io.threads: 4}}
  network: {latency: 200us..500us, bandwidth: 1Gbit/s}
  disk: {fsync: 2ms, filesystem: xfs}
  zookeeper: {endpoints: 3, config: {tickTime: 2000}}
topics:
  - {name: orders, partitions: 3, replication: 3}
  - {name: more, replication: 3, config: {min.insync.replicas: 1}}
  - {name: placed, assignment: [[1, 2, 3], [2, 3, 1]]}
producers:
  - {name: shop, count: 2, topic: orders, rate: 10/s, size: 1KiB, keys: 10, tombstones: 5%, config: {acks: all}}
  - {name: feed, topic: more, partition: 3, start: 5s}
consumers:
  - {name: bill, count: 3, topics: [orders, more], group: billing, commit: sync, config: {session.timeout.ms: 10000}}
  - {name: tail, topics: [placed], end_offsets: 5s}
events:
  - {at: 10s, kill: leader(orders/2), restart_after: 5s}
  - {at: 11s, for: 3s, cut: {from: shop-2, to: [broker-1, follower(placed/1)]}}
  - {every: 10s, from: 12s, times: 3, pause: broker-3, for: 1s}
  - {when: {event: record-acked, partition: more/3, records: 100, delay: 0ms..5ms}, power_loss: rack(b), restart_after: 2s}
  - {when: {event: group-changed, group: billing, state: Stable}, kill: coordinator(billing), restart_after: 2s}
  - {on_disk: {node: broker-2, op: sync, file: "orders-*/*.log", nth: 3}, kill: $node, restart_after: 2s}
  - {at: 30s, create_partitions: {topic: orders, partitions: 6}}
  - {at: 35s, delete_topic: placed}
  - {at: 36s, create_topic: placed}
  - {at: 37s, for: 2s, link: {between: bill-3, and: brokers, latency: 20ms}}
  - {at: 38s, for: 2s, disk_error: {node: broker-1, op: sync, drop_dirty: true}}
  - {at: 39s, for: 2s, failpoint: {node: broker-1, site: disk-sync, term: '2*off->1*return("EIO")'}}
  - {at: 40s, for: 2s, hold: {from: leader(orders/0), to: controller, api: AlterPartition, kind: request}}
chaos:
  from: 10s
  to: 45s
  count: 1..2
  of:
    - {kill: leader(more/*), restart_after: 1s..2s}
expect:
  verdict: loss
  metrics:
    - records.lost == 0
    - unavailable(orders/5) < 20s
    - produce.latency.p99 < 1s before 10s
    - group.rebalances(billing) >= 1 after 35s
`

// mistake is a text with one thing wrong.
type mistake struct{ what, text string }

// mistakes are those that can be made in one place of a text.
func mistakes(t *testing.T, text string) (out []mistake) {
	var doc yaml.Node
	if err := yaml.Load([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	dump := func(what string) {
		b, err := yaml.Dump(&doc)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, mistake{what, string(b)})
	}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i, c := range n.Content {
			at := path
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				at += "/" + n.Content[i-1].Value
			}
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				old := c.Value
				c.Value = old + "x"
				dump(at + "/" + old + " is called " + c.Value)
				c.Value = old
				continue
			}
			if path != "" {
				for _, other := range []yaml.Node{
					{Kind: yaml.ScalarNode, Tag: "!!str", Value: "x%"},
					{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{{Kind: yaml.SequenceNode, Tag: "!!seq"}}},
				} {
					n.Content[i] = &other
					dump(at + " is " + kindName(&other))
				}
				n.Content[i] = c
			}
			walk(c, at)
		}
	}
	walk(doc.Content[0], "")
	return out
}
