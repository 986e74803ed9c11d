package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

const faultWorld = `apiVersion: simkafka/v1
name: world
duration: 20s
heal: 14s
cluster:
  brokers: 3
  config: {min.insync.replicas: 2, zookeeper.session.timeout.ms: 3000, replica.lag.time.max.ms: 1500, log.segment.bytes: 20000, log.index.interval.bytes: 1, leader.imbalance.check.interval.seconds: 4}
  zookeeper: {config: {tickTime: 500}}
topics:
  - {name: orders, partitions: 3, replication: 3}
producers:
  - {name: p, topic: orders, rate: 60/s, size: 200B, config: {acks: all}}
consumers:
  - {name: c, topics: [orders], config: {auto.offset.reset: earliest}}
`

func runEvent(t *testing.T, event string) *outcome.Result {
	t.Helper()
	text := faultWorld
	if event != "" {
		text += "events:\n  - " + event + "\n"
	}
	spec := parse(t, "world.yaml", text)
	r, err := Run(spec, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each of these faults strikes, changes the run, and leaves a cluster that converges
// without a violation once it is over.
func TestMessageAndDiskFaultsStrikeAndHeal(t *testing.T) {
	calm := runEvent(t, "")
	for _, event := range []string{
		"{at: 6s, half_open: {between: broker-1, and: others}}",
		"{at: 6s, for: 4s, flap: {between: broker-1, and: others, down: 300ms, up: 200ms}}",
		"{at: 6s, for: 2s, clog: {from: leader(orders/0), to: others}}",
		"{at: 6s, for: 3s, hold: {from: brokers, to: leader(orders/0), api: Fetch, kind: request}}",
		"{at: 6s, for: 2s, hold: {from: leader(orders/0), to: p, api: produce, kind: response, count: 1}}",
		"{at: 6s, for: 1s, hold: {from: zookeeper, to: controller}}",
		"{at: 6s, for: 3s, lose: {from: leader(orders/0), to: p, api: Produce, kind: response, count: 1}}",
		"{at: 6s, for: 5s, lying_disk: {node: broker-1}}",
		`{at: 6s, damage: {node: broker-1, file: "orders-*/*.index", how: garbage}, restart_after: 1s}`,
		`{at: 6s, damage: {node: broker-1, file: "orders-*/*.timeindex", how: remove}, restart_after: 1s}`,
		`{at: 6s, damage: {node: broker-1, file: "recovery-point-offset-checkpoint", how: garbage}, restart_after: 1s}`,
		"{when: {event: produce-answered, acks: all, nth: 100}, kill: $node, restart_after: 2s}",
		"{at: 6s, wipe: broker-1, restart_after: 1s}",
	} {
		word, _, _ := strings.Cut(event, "}}")
		t.Run(word, func(t *testing.T) {
			r := runEvent(t, event)
			if r.Fingerprint == calm.Fingerprint && !strings.Contains(event, "lying") {
				t.Error("nothing changed")
			}
			if r.Verdict != outcome.Pass || len(r.Warnings) > 0 {
				t.Errorf("%s %q %q", r.Verdict, r.Why, r.Warnings)
			}
			if len(r.Faults) == 0 {
				t.Error("it never struck")
			}
		})
	}
}

// A broker that finds its epoch file spoilt does not start (storage 5.1): the run says
// so instead of going on with what it can guess.
func TestSpoiltEpochFileIsACleanFailure(t *testing.T) {
	r := runEvent(t, `{at: 6s, damage: {node: broker-1, file: "orders-0/leader-epoch-checkpoint", how: garbage}, restart_after: 1s}`)
	if got := violatedNames(r); fmt.Sprint(got) != "[converges-after-heal]" || !strings.Contains(strings.Join(r.Why, " "), "broker-1 is down") {
		t.Errorf("%v %q", got, r.Why)
	}
}

// A disk trigger can wait for something that its node notes, an event trigger for the
// size of the in-sync set.
func TestTriggersLookAtStates(t *testing.T) {
	text := faultWorld + `events:
  - {at: 6s, for: 3s, cut: {from: broker-1, to: others}}
  - {on_disk: {node: broker-1, op: sync, nth: 2, since: replica-loaded}, kill: $node, restart_after: 1s}
  - {when: {event: partition-changed, partition: orders/*, isr: 2}, for: 1s, pause: broker-3}
`
	spec := parse(t, "world.yaml", text)
	if again, err := scenarios.Load("again.yaml", []byte(spec.YAML()), nil); err != nil || again.YAML() != spec.YAML() {
		t.Fatalf("%v\n%s", err, spec.YAML())
	}
	r, err := Run(spec, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != outcome.Pass || len(r.Faults) != 3 {
		t.Errorf("%s %q %q %v", r.Verdict, r.Why, r.Warnings, r.Faults)
	}
}

// A broker whose disk stood still when a write to it failed ends only when the heal lets the
// disk go on. The heal starts what is down, so it starts that one, too.
func TestABrokerThatEndsBecauseOfAFaultAfterTheHealIsStarted(t *testing.T) {
	r := runEvent(t, "{at: 6s, disk_full: broker-1}\n  - {at: 6s, for: 30s, stall_disk: broker-1}")
	if r.Verdict != outcome.Pass || len(r.Warnings) > 0 {
		t.Errorf("%s\n%s\n%s", r.Verdict, strings.Join(r.Why, "\n"), strings.Join(r.Warnings, "\n"))
	}
}

// An administrator whose process is stopped and started again repeats the command: it is
// answered, or told that nothing is left to do.
func TestAnAdministratorWhoIsStartedAgainRepeatsTheCommand(t *testing.T) {
	r := runEvent(t, "{at: 6s, create_partitions: {topic: orders, partitions: 5}}\n"+
		"  - {when: {event: node-booted, after: 5s}, stop: $node, restart_after: 1s}")
	if r.Verdict != outcome.Pass || len(r.Faults) != 2 || r.Faults[1].Hit != "topics-1" {
		t.Errorf("%s %q %+v", r.Verdict, r.Why, r.Faults)
	}
}
