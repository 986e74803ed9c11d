package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// groupScenario is three members of a group, restarted, stopped and paused, and a
// broker that dies.
const groupScenario = `
apiVersion: simkafka/v1
name: group
duration: 80s
heal: 60s
cluster:
  brokers: 3
  config: {offsets.topic.num.partitions: 3, group.initial.rebalance.delay.ms: 1000}
topics:
  - {name: orders, partitions: 6, replication: 3, config: {min.insync.replicas: 2}}
producers:
  - {name: p, topic: orders, rate: 50/s, config: {acks: all}}
consumers:
  - name: c
    count: 3
    topics: [orders]
    group: g
    processing: 2ms
    commit: COMMIT
    config:
      partition.assignment.strategy: STRATEGY
      session.timeout.ms: 6000
      heartbeat.interval.ms: 2000
      auto.offset.reset: earliest
      INSTANCE
events:
  - {at: 12s, kill: c-2, restart_after: 3s}
  - {at: 20s, for: 10s, pause: c-3}
  - {at: 33s, stop: c-1, restart_after: 2s}
  - {at: 40s, kill: broker-2, restart_after: 5s}
  - {at: 50s, for: 4s, isolate: c-1}
`

func groupSpec(t testing.TB, with ...string) *scenarios.Spec {
	t.Helper()
	text := strings.NewReplacer(append(with, "INSTANCE", "max.poll.records: 100")...).Replace(groupScenario)
	return parse(t, "group.yaml", text)
}

// membersWatch follows what members say of themselves.
type membersWatch struct {
	t         *testing.T
	owned     map[string]map[kafka.TopicPartition]bool // by actor
	acked     map[kafka.TopicPartition]map[kafka.Offset]bool
	processed map[kafka.TopicPartition]map[kafka.Offset]int
	commits   int
}

func watchMembers(t *testing.T) *membersWatch {
	return &membersWatch{t: t, owned: map[string]map[kafka.TopicPartition]bool{}, acked: map[kafka.TopicPartition]map[kafka.Offset]bool{},
		processed: map[kafka.TopicPartition]map[kafka.Offset]int{}}
}

// Event checks VI-31: a member owns a partition from assigned to revoked or lost, and
// delivers nothing else.
func (w *membersWatch) Event(e *event.Event) {
	own := w.owned[e.Actor]
	switch e.Kind {
	case event.NodeBooted, event.NodeCrashed, event.NodeStopped:
		w.owned[e.Actor] = map[kafka.TopicPartition]bool{}
	case event.PartitionAssigned:
		if own[e.TP] {
			w.t.Errorf("%s: %s is assigned %v, which it owns", e.Time, e.Actor, e.TP)
		}
		own[e.TP] = true
	case event.PartitionRevoked, event.PartitionLost:
		if !own[e.TP] {
			w.t.Errorf("%s: %s gives %v up, which it does not own", e.Time, e.Actor, e.TP)
		}
		if reset := e.Generation < 0 || e.Member == ""; (e.Kind == event.PartitionLost) != reset && e.Text != "close while rebalancing" { // VI-32
			w.t.Errorf("%s: %s: %v %v with generation %d", e.Time, e.Actor, e.Kind, e.TP, e.Generation)
		}
		delete(own, e.TP)
	case event.RecordDelivered, event.RecordProcessed:
		if !own[e.TP] {
			w.t.Errorf("%s: %s: %v of %v, which it does not own", e.Time, e.Actor, e.Kind, e.TP)
		}
		if e.Kind == event.RecordProcessed {
			for o := e.Base; o <= e.Last; o++ {
				at(w.processed, e.TP)[o]++
			}
		}
	case event.RecordAcked:
		for o := e.Base; o <= e.Last; o++ {
			at(w.acked, e.TP)[o] = true
		}
	case event.OffsetCommitted:
		w.commits++
	}
}

func at[V any](m map[kafka.TopicPartition]map[kafka.Offset]V, tp kafka.TopicPartition) map[kafka.Offset]V {
	if m[tp] == nil {
		m[tp] = map[kafka.Offset]V{}
	}
	return m[tp]
}

// count is how many acknowledged records were never processed, and how many records
// more than once.
func (w *membersWatch) count() (lost, again int) {
	for tp, offsets := range w.acked {
		for o := range offsets {
			if w.processed[tp][o] == 0 {
				lost++
			}
		}
	}
	for _, offsets := range w.processed {
		for _, n := range offsets {
			if n > 1 {
				again++
			}
		}
	}
	return lost, again
}

func runGroup(t *testing.T, spec *scenarios.Spec, opts Options) *membersWatch {
	t.Helper()
	w := watchMembers(t)
	opts.Observer = w
	r, err := Run(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != outcome.Pass {
		t.Errorf("seed %d: %v: %v", opts.Seed, r.Verdict, r.Why)
	}
	if w.commits == 0 || len(w.processed) == 0 {
		t.Error("nothing was committed or processed")
	}
	return w
}

// At least once loses nothing, at most once does nothing twice (groups 7.1), whatever
// the assignor and whether members are static.
func TestMembersOwnWhatTheyReadAndKeepTheirSemantics(t *testing.T) {
	for i, strategy := range []string{"range", "cooperative-sticky", "sticky", "roundrobin"} {
		for j, commit := range []string{"auto", "sync", "async", "before"} {
			if testing.Short() && (i+j)%4 != 0 {
				continue
			}
			t.Run(strategy+" "+commit, func(t *testing.T) {
				instance := "max.poll.records: 50"
				if (i+j)%2 == 1 {
					instance = "group.instance.id: i"
				}
				spec := groupSpec(t, "COMMIT", commit, "STRATEGY", strategy, "INSTANCE", instance)
				lost, again := runGroup(t, spec, Options{Seed: uint64(4*i + j + 1)}).count()
				if lost > 0 && commit != "before" {
					t.Errorf("%d acknowledged records were never processed", lost)
				}
				if again > 0 && commit == "before" {
					t.Errorf("%d records were processed more than once", again)
				}
			})
		}
	}
}

// Members speak the versions of their release; every message is encoded and read back.
func TestMembersOfEveryReleaseRebalance(t *testing.T) {
	for i, profile := range config.ProfileNames() {
		t.Run(profile, func(t *testing.T) {
			spec := groupSpec(t, "COMMIT", "sync", "STRATEGY", "range")
			if spec.Protocol = profile; i == 0 {
				spec.Events = slices.Delete(spec.Events, 3, 4) // before KIP-101 a dead broker alone may break promises
			}
			if lost, _ := runGroup(t, spec, Options{Seed: uint64(i + 1), CheckWire: true}).count(); lost > 0 {
				t.Errorf("%d acknowledged records were never processed", lost)
			}
		})
	}
}
