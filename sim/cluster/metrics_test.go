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
