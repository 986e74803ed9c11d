package faults_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/scenarios"
)

// planned reads one entry of events, in a cluster that has everything examples name.
func planned(t *testing.T, event string) *faults.Planned {
	t.Helper()
	spec, err := scenarios.Load("x.yaml", []byte(`apiVersion: simkafka/v1
name: x
duration: 90s
cluster: {brokers: 3, racks: [a, b, c]}
topics: [{name: orders, partitions: 3, replication: 3}]
producers: [{name: p, topic: orders, rate: 20/s}]
consumers: [{name: c, topics: [orders], group: g}]
events:
- `+event+"\n"), nil)
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	return &spec.Events[0]
}

// What is no fault of a kind: it ends one.
var endings = []string{"restart", "resume"}

func TestEveryFaultIsAnInstanceOfARowThatNamesIt(t *testing.T) {
	for _, k := range faults.Table {
		ids := faults.RowsOf(planned(t, k.Example))
		if len(ids) == 0 && !slices.Contains(endings, k.Word) {
			t.Errorf("%s is in no row", k.Example)
		}
		named := len(ids) == 0
		for _, id := range ids {
			i := slices.IndexFunc(faults.Rows, func(r faults.Row) bool { return r.ID == id })
			if i < 0 {
				t.Errorf("%s: there is no row %s", k.Example, id)
				continue
			}
			named = named || strings.Contains(faults.Rows[i].How, k.Word)
		}
		if !named {
			t.Errorf("%s: none of %v names %s", k.Example, ids, k.Word)
		}
	}
}

func TestArgumentsTargetsAndTriggersDecideTheRows(t *testing.T) {
	for _, x := range []struct{ event, want string }{
		{"{at: 10s, cut: {from: broker-1, to: broker-2, direction: one-way}}", "N12 N30"},
		{"{at: 10s, cut: {from: leader(orders/0), to: zookeeper}}", "N11 N14 N17"},
		{"{at: 10s, cut: {from: clients, to: [broker-1, broker-2]}}", "N11 N13 N16"},
		{"{at: 10s, link: {between: broker-1, and: others, loss: 5%}}", "N4"},
		{"{at: 10s, lose: {from: broker-1, to: broker-2, kind: request}}", "N29"},
		{"{at: 10s, lose: {from: broker-1, to: broker-2, kind: response}}", "N29 N30 K1"},
		{"{at: 10s, for: 5s, hold: {from: c, to: brokers, api: OffsetCommit}}", "N7 N28 K9"},
		{"{at: 10s, stall_disk: broker-1}", "N23 D3 D4"},
		{"{at: 10s, disk_error: {node: broker-1, op: sync, drop_dirty: true}}", "D16 P13"},
		{"{at: 10s, disk_error: {node: broker-1, op: read, nth: 2}}", "D19 D20 P13"},
		{"{at: 10s, damage: {node: broker-1, file: 'orders-*/*.index', how: flip}}", "D21 D33"},
		{"{at: 10s, damage: {node: broker-1, file: 'orders-*/*.log', how: garbage}}", "D9"},
		{"{at: 10s, damage: {node: broker-1, file: recovery-point-offset-checkpoint, how: half}}", "D32"},
		{"{every: 10s, from: 5s, kill: controller, restart_after: 1s}", "N25 P1 P12 O6"},
		{"{every: 10s, from: 5s, for: 1s, pause: consumers}", "N23 P5 P6 C10 K6 O10"},
		{"{when: {event: replica-loaded, node: broker-1}, kill: broker-1}", "N25 P1 P10 P11"},
		{"{at: 10s, power_loss: rack(a)}", "N25 D6 D35 P2 P14"},
		{"{at: 10s, clock_jump: {node: broker-1, by: -1h}}", "C4 C8"},
	} {
		if got := strings.Join(faults.RowsOf(planned(t, x.event)), " "); got != x.want {
			t.Errorf("%s: %s, want %s", x.event, got, x.want)
		}
	}
}
