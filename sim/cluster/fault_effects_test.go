package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// happened counts facts of a kind whose text contains words.
func happened(r *outcome.Result, kind event.Kind, words string) (n int) {
	for i := range r.Timeline {
		if e := &r.Timeline[i]; e.Kind == kind && strings.Contains(e.Actor+" "+e.Text, words) {
			n++
		}
	}
	return n
}

// worstProduce is the worst latency of records sent in a phase.
func worstProduce(r *outcome.Result, phase string) kafka.Nanos {
	for i := range r.Phases {
		if r.Phases[i].Name == phase {
			return r.Phases[i].Produce.Max
		}
	}
	return 0
}

// Each fault has the effect that its line in faults.Table promises, ends when it says,
// and the run goes on without losing a record (issue 2, part 3).
func TestEachFaultDoesWhatItSays(t *testing.T) {
	slower := func(least kafka.Nanos) func(r *outcome.Result) bool {
		return func(r *outcome.Result) bool {
			return worstProduce(r, "before") < least && worstProduce(r, "during") >= least
		}
	}
	facts := func(n int, kind event.Kind, words string) func(r *outcome.Result) bool {
		return func(r *outcome.Result) bool { return happened(r, kind, words) >= n }
	}
	both := func(a, b func(r *outcome.Result) bool) func(r *outcome.Result) bool {
		return func(r *outcome.Result) bool { return a(r) && b(r) }
	}
	const ms = kafka.Millisecond
	again := facts(1, event.NodeBooted, "broker-1")
	offline := facts(1, event.DirectoryOffline, "broker-1")
	for _, x := range []struct {
		event string
		saw   func(r *outcome.Result) bool
	}{
		{"{at: 6s, kill: broker-1, restart_after: 2s}", both(again, facts(1, event.NodeCrashed, "broker-1 kill"))},
		{"{at: 6s, power_loss: broker-1, restart_after: 2s}", facts(1, event.NodeCrashed, "broker-1 power loss")},
		{"{at: 6s, stop: broker-1, restart_after: 2s}", facts(1, event.NodeStopped, "broker-1")},
		{"{at: 6s, for: 5s, pause: leader(orders/0)}", both(facts(1, event.NodePaused, ""), facts(1, event.NodeResumed, ""))},
		{"{at: 6s, for: 6s, isolate: controller}", facts(2, event.ControllerElected, "")},
		{"{at: 6s, for: 6s, cut: {from: leader(orders/0), to: zookeeper}}", facts(1, event.SessionExpired, "")},
		{"{at: 6s, for: 6s, cut: {from: zookeeper, to: leader(orders/0), direction: one-way}}", facts(1, event.SessionExpired, "")},
		{"{at: 6s, for: 4s, cut: {from: follower(orders/0), to: leader(orders/0)}}", func(r *outcome.Result) bool { return r.Partitions[0].UnderReplicated > 0 }},
		{"{at: 6s, for: 3s, link: {between: p, and: brokers, latency: 40ms}}", slower(80 * ms)},
		{"{at: 6s, for: 3s, link: {between: p, and: brokers, loss: 30%}}", slower(200 * ms)},
		{"{at: 6s, for: 3s, link: {between: p, and: brokers, bandwidth: 64kbit/s}}", slower(100 * ms)},
		{"{at: 6s, reset: {between: clients, and: brokers}}", func(r *outcome.Result) bool {
			return strings.Contains(r.Faults[0].Hit, " connections") && !strings.Contains(r.Faults[0].Hit, " 0 connections")
		}},
		{"{at: 6s, for: 3s, slow_disk: {node: brokers, factor: 10000x}}", slower(20 * ms)},
		{"{at: 6s, for: 2s, stall_disk: leader(orders/0)}", slower(1000 * ms)},
		{`{at: 6s, for: 2s, disk_error: {node: broker-1, op: write, file: "orders-*/*.log"}}`, offline},
		{`{at: 6s, for: 7s, disk_error: {node: broker-1, op: sync}}`, offline},
		{`{at: 6s, for: 7s, disk_error: {node: brokers, op: read, file: "*.log"}}`, nil},
		{"{at: 6s, for: 2s, disk_full: broker-1}", offline},
		{`{at: 6s, failpoint: {node: broker-1, site: disk-append, term: '2*off->1*return("ENOSPC")'}}`, offline},
		{`{at: 6s, failpoint: {node: broker-1, site: message-delivery, term: '1*return("reset")'}}`, nil},
		{"{at: 6s, for: 3s, clock_offset: {node: broker-1, by: 5m}}", nil},
		{"{at: 6s, clock_jump: {node: clients, by: -1h}}", nil},
		{"{every: 3s, from: 5s, times: 3, reset: {between: clients, and: brokers}}", func(r *outcome.Result) bool { return len(r.Faults) == 3 }},
		{"{when: {event: record-acked, partition: orders/0, records: 50, delay: 5ms..9ms}, kill: leader(orders/0), restart_after: 2s}", facts(1, event.NodeCrashed, "kill")},
		{`{on_disk: {node: random(brokers), op: append, file: "orders-*/*.log", nth: 100}, power_loss: $node, restart_after: 2s}`, facts(1, event.NodeCrashed, "power loss")},
	} {
		t.Run(x.event, func(t *testing.T) {
			r := runEvent(t, x.event)
			if len(r.Faults) == 0 || r.Faults[0].Hit == "" {
				t.Fatalf("it never struck: %q", r.Warnings)
			}
			if x.saw != nil && !x.saw(r) {
				t.Errorf("no trace of it: %s %+v", phases(r), r.Faults)
			}
			if r.Verdict != outcome.Pass || r.Records.Lost != 0 {
				t.Errorf("%s %q", r.Verdict, r.Why)
			}
		})
	}
}

func phases(r *outcome.Result) (text string) {
	for i := range r.Phases {
		text += fmt.Sprintf("%s p50 %s max %s; ", r.Phases[i].Name, r.Phases[i].Produce.P50, r.Phases[i].Produce.Max)
	}
	return text
}
