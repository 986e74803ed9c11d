package cluster

import (
	"fmt"
	"path"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// evaluate checks the metrics that a scenario expects. Their names were checked
// when it was loaded (scenarios.MetricNames).
func evaluate(list []scenarios.Metric, r *outcome.Result) []outcome.MetricResult {
	var out []outcome.MetricResult
	for i := range list {
		m := &list[i]
		v, isTime, where := value(m, r)
		text, held := fmt.Sprint(v), compare(v, m.Op, m.Value)
		switch {
		case v == nothingMeasured:
			text, held, where = "not measured: nothing happened then", false, ""
		case isTime:
			text = readable(kafka.Nanos(v))
		}
		out = append(out, outcome.MetricResult{Source: m.Source, Value: text, Where: where, Held: held, Line: m.Line})
	}
	return out
}

// nothingMeasured is the latency of a phase or time range without one sample. No
// comparison with it holds: an expectation about nothing would otherwise pass.
const nothingMeasured = -1

// readable prints a duration with three digits after the point of a fitting unit.
func readable(d kafka.Nanos) string {
	unit, name := kafka.Microsecond, "us"
	switch {
	case d == 0:
		return "0s"
	case d >= kafka.Second:
		unit, name = kafka.Second, "s"
	case d >= kafka.Millisecond:
		unit, name = kafka.Millisecond, "ms"
	}
	return fmt.Sprintf("%d.%03d%s", d/unit, d%unit*1000/unit, name)
}

func compare(v int64, op string, w int64) bool {
	switch op {
	case "<":
		return v < w
	case "<=":
		return v <= w
	case ">":
		return v > w
	case ">=":
		return v >= w
	}
	return v == w
}

// value also says which partition or stretch of the run a figure is of.
func value(m *scenarios.Metric, r *outcome.Result) (v int64, isTime bool, where string) {
	head, tail, _ := strings.Cut(m.Name, ".")
	switch head {
	case "records":
		return records(tail, r), false, ""
	case "loss":
		return r.Loss.Records, false, ""
	case "group":
		return ofGroup(m, tail, r)
	case "unavailable", "leaderless", "under_replicated", "elections":
		v, where = worst(m, head, r)
		return v, head != "elections", where
	case "produce":
		d, where := latency(m, tail, r, r.Series.Produce, func(p *outcome.Phase) outcome.Quantiles { return p.Produce })
		return int64(d), true, where
	case "e2e":
		d, where := latency(m, tail, r, r.Series.E2E, func(p *outcome.Phase) outcome.Quantiles { return p.E2E })
		return int64(d), true, where
	}
	panic("cluster: metric " + m.Name + " was accepted but is unknown")
}

func records(name string, r *outcome.Result) int64 {
	switch name {
	case "sent":
		return r.Records.Sent
	case "acked":
		return r.Records.Acked
	case "failed":
		return r.Records.Failed
	case "unknown":
		return r.Records.Unknown
	case "delivered":
		return r.Records.Delivered
	case "duplicated":
		return r.Records.Duplicated
	case "lost":
		return r.Records.Lost
	}
	panic("cluster: metric records." + name + " was accepted but is unknown")
}

// worst is the largest figure of the partitions that the argument's glob names.
func worst(m *scenarios.Metric, name string, r *outcome.Result) (most int64, where string) {
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if ok, _ := path.Match(m.Arg, fmt.Sprintf("%s/%d", p.TP.Topic, p.TP.Partition)); m.Arg != "" && !ok {
			continue
		}
		v := int64(p.Elections)
		switch name {
		case "unavailable":
			v = int64(p.Unavailable)
		case "leaderless":
			v = int64(p.Leaderless)
		case "under_replicated":
			v = int64(p.UnderReplicated)
		}
		if v > most {
			most, where = v, "of "+p.TP.String()
		}
	}
	return most, where
}

// latency is a quantile: of a phase if the metric names one in parentheses, else
// the worst bucket of its time range.
func latency(m *scenarios.Metric, tail string, r *outcome.Result, buckets []outcome.Quantiles, of func(*outcome.Phase) outcome.Quantiles) (most kafka.Nanos, where string) {
	name := tail[strings.LastIndexByte(tail, '.')+1:]
	most = nothingMeasured
	take := func(q outcome.Quantiles, at string) {
		if q.Count > 0 && quantile(q, name) > most {
			most, where = quantile(q, name), at
		}
	}
	if m.Arg != "" {
		for i := range r.Phases {
			if r.Phases[i].Name == m.Arg {
				take(of(&r.Phases[i]), "over the whole phase")
			}
		}
		return most, where
	}
	for i, q := range buckets {
		from, to := kafka.Nanos(i)*r.Series.Step, kafka.Nanos(i+1)*r.Series.Step
		if from >= m.From && (m.To == 0 || to <= m.To) {
			take(q, fmt.Sprintf("in the %s from %s, the worst", brief(r.Series.Step), clock(from)))
		}
	}
	return most, where
}

// brief prints the width of a bucket, which is a round number.
func brief(d kafka.Nanos) string {
	if d%kafka.Second == 0 {
		return fmt.Sprintf("%ds", d/kafka.Second)
	}
	return fmt.Sprintf("%dms", d/kafka.Millisecond)
}

// readsSeries reports whether a metric is looked up in the series: a latency that is
// not a phase's, or a group's lag.
func readsSeries(m scenarios.Metric) bool {
	head, _, _ := strings.Cut(m.Name, ".")
	return m.Arg == "" && (head == "produce" || head == "e2e") || m.Name == "group.lag"
}

func quantile(q outcome.Quantiles, name string) kafka.Nanos {
	switch name {
	case "p50":
		return q.P50
	case "p95":
		return q.P95
	case "p99":
		return q.P99
	case "p999":
		return q.P999
	case "max":
		return q.Max
	}
	panic("cluster: quantile " + name + " was accepted but is unknown")
}
