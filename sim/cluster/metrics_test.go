package cluster

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// A latency of a time in which nothing was acknowledged is no latency: neither
// "below 50 ms" nor "above 50 ms" is true of it.
func TestExpectationsAboutNothingDoNotHold(t *testing.T) {
	r := &outcome.Result{Phases: []outcome.Phase{{Name: "before", Produce: outcome.Quantiles{Count: 3, P99: kafka.Second}}, {Name: "during"}}}
	limit := int64(50 * kafka.Millisecond)
	list := []scenarios.Metric{
		{Name: "produce.latency.p99", Arg: "before", Op: ">", Value: limit},
		{Name: "produce.latency.p99", Arg: "during", Op: "<", Value: limit},
		{Name: "produce.latency.p99", Arg: "during", Op: ">", Value: limit},
		{Name: "produce.latency.p99", Arg: "after", Op: "<", Value: limit},
		{Name: "e2e.latency.max", Op: "<", Value: limit},
		{Name: "records.lost", Op: "==", Value: 0},
	}
	want := []bool{true, false, false, false, false, true}
	for i, m := range evaluate(list, r) {
		if m.Held != want[i] || !want[i] && !strings.Contains(m.Value, "not measured") {
			t.Errorf("%+v is %s, held %v", list[i], m.Value, m.Held)
		}
	}
}

// A figure says what it is of: the worst stretch, a phase, the worst partition.
func TestExpectationsSayWhatTheyMeasured(t *testing.T) {
	q := func(p99 kafka.Nanos) outcome.Quantiles {
		return outcome.Quantiles{Count: 1, P99: p99 * kafka.Millisecond}
	}
	r := &outcome.Result{
		Series:     outcome.Series{Step: 500 * kafka.Millisecond, Produce: []outcome.Quantiles{q(1), q(3), q(2), {}}},
		Phases:     []outcome.Phase{{Name: "after", Produce: q(7)}},
		Partitions: []outcome.Partition{{TP: kafka.TopicPartition{Topic: "t"}, Unavailable: 1}, {TP: kafka.TopicPartition{Topic: "t", Partition: 1}, Unavailable: 2}},
	}
	for _, x := range []struct {
		m    scenarios.Metric
		want string
	}{
		{scenarios.Metric{Name: "produce.latency.p99"}, "3.000ms in the 500ms from 0.500s, the worst"},
		{scenarios.Metric{Name: "produce.latency.p99", From: kafka.Second}, "2.000ms in the 500ms from 1.000s, the worst"},
		{scenarios.Metric{Name: "produce.latency.p99", Arg: "after"}, "7.000ms over the whole phase"},
		{scenarios.Metric{Name: "unavailable", Arg: "t/*"}, "0.002us of t-1"},
		{scenarios.Metric{Name: "unavailable", Arg: "u/*"}, "0s"},
		{scenarios.Metric{Name: "records.lost"}, "0"},
	} {
		x.m.Op = "<"
		got := evaluate([]scenarios.Metric{x.m}, r)[0]
		if text := strings.TrimSpace(got.Value + " " + got.Where); text != x.want {
			t.Errorf("%s(%s): %q, want %q", x.m.Name, x.m.Arg, text, x.want)
		}
	}
}
