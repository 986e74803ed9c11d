package cluster

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

var updateDelivery = flag.Bool("update-delivery", false, "write testdata/delivery.md anew")

// deliveryWorld: a reader polls 100 records by tens and takes 10 ms for each.
const deliveryWorld = `apiVersion: simkafka/v1
name: delivery
protocol: zk-3.9
duration: 60s
cluster:
  brokers: 3
  config: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: REPLICAS}
  disk: {writeback: 60s}
topics:
  - {name: orders, partitions: 1, replication: 3}
producers:
  - {name: shop, topic: orders, rate: 100/s, records: 100, size: 100B, config: {acks: all}}
consumers:
  - name: reader
    count: COUNT
    topics: [orders]
    group: g
    start: 8s
    processing: 10ms
    LOOP
    config: {auto.offset.reset: earliest, max.poll.records: 10, session.timeout.ms: 6000, heartbeat.interval.ms: 1000, auto.commit.interval.ms: 300}
events:
EVENTS`

// The loops of groups 7.1.
const (
	amo  = "at most once"
	alo  = "at least once"
	auto = "auto commit"
)

var loopSettings = map[string]string{amo: "commit: before", alo: "commit: sync", auto: "commit: auto"}

// Faults of the table. Batches are records 0 to 9, 10 to 19 …; the fourth is hit, and
// with auto commit, which has committed 30 by then, the fifth.
const (
	die  = "kill: reader, restart_after: 5s}"
	quit = "stop: reader, restart_after: 5s}"
	lose = "lose: {from: reader, to: brokers, api: OffsetCommit, kind: request, count: 1}, for: 3s}"
)

func when(what, fault string) string { return "{when: {event: " + what + "}, " + fault }

// zombie is two polls of ten that were fetched before the pause: until the answer to its next
// automatic commit comes, a member does not know that it is out of the group.
const zombie = 20

// ladder is a row of the table in groups 7.1, n = 10, with k = 4.
type ladder struct {
	point     string
	loop      string
	events    []string
	lost, dup int64 // as 7.1 predicts
	seed      uint64
	members   int
	drop      bool // what is in hand when the reader is stopped
	replicas  int  // of __consumer_offsets, 0 = 3
}

var ladders = []ladder{
	{point: "after poll, nothing committed", loop: amo, events: []string{when("record-processed, records: 29", lose), when("polled, nth: 4", die)}},
	{point: "after poll, nothing committed", loop: alo, events: []string{when("polled, nth: 4", die)}},
	{point: "after poll, 30 of 40 committed", loop: auto, events: []string{when("polled, nth: 5", die)}, dup: 10},
	{point: "commit sent, not durable", loop: amo, events: []string{when("record-processed, records: 29", lose), when("commit-sent, nth: 4, delay: 1ms", die)}},
	{point: "commit sent, not durable", loop: alo, events: []string{when("record-processed, records: 39", lose), when("commit-sent, nth: 4, delay: 1ms", die)}, dup: 10},
	{point: "commit durable, answer lost", loop: amo, events: []string{when("offset-committed, partition: orders/0, nth: 4", die)}, lost: 10},
	{point: "commit durable, answer lost", loop: alo, events: []string{when("offset-committed, partition: orders/0, nth: 4", die)}},
	{point: "commit durable, answer lost", loop: auto, events: []string{when("offset-committed, partition: orders/0", die)}},
	{point: "4 records of 10 processed", loop: amo, events: []string{when("record-processed, records: 34", die)}, lost: 6},
	{point: "4 records of 10 processed", loop: alo, events: []string{when("record-processed, records: 34", die)}, dup: 4},
	{point: "4 records of 10 processed", loop: auto, events: []string{when("record-processed, records: 44", die)}, dup: 14},
	{point: "in the middle of the 5th of 10", loop: amo, events: []string{when("record-processed, records: 34, delay: 5ms", die)}, lost: 6},
	{point: "in the middle of the 5th of 10", loop: alo, events: []string{when("record-processed, records: 34, delay: 5ms", die)}, dup: 4},
	{point: "in the middle of the 5th of 10", loop: auto, events: []string{when("record-processed, records: 44, delay: 5ms", die)}, dup: 14},
	{point: "all processed, before the commit", loop: alo, events: []string{when("record-processed, records: 39", lose), when("record-processed, records: 40", die)}, dup: 10},
	{point: "all processed, before the commit", loop: auto, events: []string{when("record-processed, records: 50", die)}, dup: 20},
	{point: "evicted after 4 of 10, and back", loop: amo, members: 2, events: []string{when("record-processed, records: 34", "pause: $node, for: 20s}")}},
	{point: "evicted after 4 of 10, and back", loop: alo, members: 2, events: []string{when("record-processed, records: 34", "pause: $node, for: 20s}")}, dup: 10},
	{point: "evicted after 4 of 10, and back", loop: auto, members: 2, events: []string{when("record-processed, records: 44", "pause: $node, for: 20s}")}, dup: 20 + zombie},
	{point: "closed after 4 of 10, the rest dropped", loop: amo, drop: true, events: []string{when("record-processed, records: 34", quit)}, lost: 6},
	{point: "closed after 4 of 10, the rest dropped", loop: alo, drop: true, events: []string{when("record-processed, records: 34", quit)}, dup: 4},
	{point: "closed after 4 of 10, the rest dropped", loop: auto, drop: true, events: []string{when("record-processed, records: 44", quit)}, lost: 6},
	{point: "the coordinator loses all four acknowledged commits", loop: amo, replicas: 1, seed: 3, events: lostCommits, dup: 30, lost: 0},
	{point: "the coordinator loses all four acknowledged commits", loop: alo, replicas: 1, seed: 3, events: lostCommits, dup: 40},
	{point: "the coordinator loses all two acknowledged commits", loop: auto, replicas: 1, seed: 3, events: []string{
		when("commit-answered, nth: 2", "power_loss: coordinator(g), restart_after: 4s}"), when("commit-answered, nth: 2", "kill: reader, restart_after: 10s}")}, dup: 60},
}

var lostCommits = []string{when("commit-answered, nth: 4", "power_loss: coordinator(g), restart_after: 4s}"),
	when("commit-answered, nth: 4", "kill: reader, restart_after: 10s}")}

func (l *ladder) spec(t *testing.T) *scenarios.Spec {
	t.Helper()
	events := ""
	for _, e := range l.events {
		events += "  - " + e + "\n"
	}
	text := strings.NewReplacer("REPLICAS", fmt.Sprint(orElse(l.replicas, 3)), "COUNT", fmt.Sprint(max(l.members, 1)),
		"LOOP", loopSettings[l.loop]+map[bool]string{true: "\n    on_stop: drop"}[l.drop], "EVENTS", events).Replace(deliveryWorld)
	return parse(t, "delivery.yaml", text)
}

func orElse(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// progress watches how far the first life of the reader came, and where its second one
// begins.
type progress struct {
	processed  kafka.Offset // by the first, exclusive end
	resumed    kafka.Offset // what its successor found committed
	over, next bool
}

func (p *progress) Event(e *event.Event) {
	switch e.Kind {
	case event.RecordProcessed:
		if !p.over {
			p.processed = e.Last + 1
		}
	case event.NodeCrashed:
		p.over = p.over || e.Actor == "reader"
	case event.NodeStopped:
		p.over = p.over || e.Actor == "reader" && p.processed < 100
	case event.CommittedFetched:
		if p.over && !p.next {
			p.next, p.resumed = true, max(e.Offset, 0)
		}
	}
}

// TestDeliverySemanticsAreThoseOfGroups71: a crash at each step of the loops loses and
// repeats what the table of groups 7.1 says, to the record.
func TestDeliverySemanticsAreThoseOfGroups71(t *testing.T) {
	var b strings.Builder
	b.WriteString("| crash | loop | lost | again |\n|---|---|---|---|\n")
	for i := range ladders {
		l := &ladders[i]
		p := new(progress)
		r, err := Run(l.spec(t), Options{Seed: max(l.seed, 1), Observer: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.Warnings {
			t.Errorf("%s, %s: %s", l.point, l.loop, w)
		}
		g := findGroup(r, "g")
		if g == nil {
			t.Fatalf("%s, %s: no group", l.point, l.loop)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d |\n", l.point, l.loop, g.Skipped, g.Duplicates)
		if g.Skipped != l.lost || g.Duplicates != l.dup {
			t.Errorf("%s, %s: %d lost and %d again, groups 7.1 says %d and %d", l.point, l.loop, g.Skipped, g.Duplicates, l.lost, l.dup)
		}
		l.accounts(t, g, p)
	}
	const file = "testdata/delivery.md"
	if *updateDelivery {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != b.String() {
		t.Errorf("%s is not what was measured: %v\n%s", file, err, b.String())
	}
}

// accounts: what is between the end of the first life and the committed offset at the
// beginning of the second was lost or comes again, and nothing else. At most once
// repeats nothing, unless an acknowledged commit is gone; the others lose nothing.
func (l *ladder) accounts(t *testing.T, g *outcome.Group, p *progress) {
	t.Helper()
	if l.members == 0 {
		if lost, dup := max(0, p.resumed-p.processed), max(0, p.processed-p.resumed); int64(lost) != g.Skipped || int64(dup) != g.Duplicates {
			t.Errorf("%s, %s: processed up to %d, went on from %d; %d lost and %d again", l.point, l.loop, p.processed, p.resumed, g.Skipped, g.Duplicates)
		}
	}
	if g.Processed+g.Skipped != 100 {
		t.Errorf("%s, %s: %d processed and %d lost of 100", l.point, l.loop, g.Processed, g.Skipped)
	}
}
