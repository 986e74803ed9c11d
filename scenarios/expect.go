package scenarios

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/model/kafka"
)

// MetricNames lists the metrics that expect can name; the argument in parentheses
// is a phase, a glob over topic/partition or, of group metrics, a group.
func MetricNames() []string {
	var names []string
	for _, r := range []string{"sent", "acked", "failed", "unknown", "delivered", "duplicated", "lost"} {
		names = append(names, "records."+r)
	}
	names = append(names, "loss.records", "unavailable", "leaderless", "under_replicated", "elections")
	for _, l := range []string{"produce.latency.", "e2e.latency."} {
		for _, q := range []string{"p50", "p95", "p99", "p999", "max"} {
			names = append(names, l+q)
		}
	}
	for _, g := range groupMetrics {
		names = append(names, groupPrefix+g.name)
	}
	return names
}

const groupPrefix = "group."

// groupMetrics are about one consumer group (outcome.Group); ranged ones count what
// begins in a time range.
var groupMetrics = []struct {
	name   string
	isTime bool
	ranged bool
}{
	{"rebalances", false, true}, // completed or not
	{"moved", false, true},      // partitions that changed hands
	{"unowned", true, true},     // the longest time of a partition without an owner
	{"unowned_sum", true, true}, // of all partitions
	{"overlap", true, true},     // the longest time of a partition with two owners
	{"lag", false, true},        // the largest, by committed offsets
	{"processed", false, false},
	{"duplicates", false, false}, // processed once more
	{"skipped", false, false},    // passed over
	{"refused", false, false},    // commits of who is no member any more
	{"regressions", false, false},
	{"expired", false, false},
}

// GroupMetric finds what a group metric is; ok: it is one.
func GroupMetric(name string) (isTime, ranged, ok bool) {
	for _, g := range groupMetrics {
		if name == groupPrefix+g.name {
			return g.isTime, g.ranged, true
		}
	}
	return false, false, false
}

func (l *loader) expect(n *yaml.Node) {
	x := &l.spec.Expect
	verdict := "pass"
	l.either(n, l.word("expect", &verdict, "pass", "loss"), func(v *yaml.Node) {
		l.mapping(v, "expect",
			field{"verdict", l.word("verdict", &verdict, "pass", "loss"), false},
			field{"violated", func(n *yaml.Node) { l.list(n, "violated", l.violated) }, false},
			field{"beyond_budget", l.boolean("beyond_budget", &x.BeyondBudget), false},
			field{"metrics", func(n *yaml.Node) { l.list(n, "metrics", l.metric) }, false},
		)
	})
	x.Loss = verdict == "loss"
}

func (l *loader) violated(n *yaml.Node) {
	l.say(oneWord(invariant.Names()))
	v, ok := l.scalar(n, "an invariant")
	if !ok {
		return
	}
	if known := invariant.Names(); !slices.Contains(known, v) {
		l.errorAt(n, "unknown invariant %q%s", v, suggest(v, known))
	}
	l.spec.Expect.Violated = append(l.spec.Expect.Violated, v)
}

// metric reads NAME[(ARG)] OP VALUE [before T | after T | between T and T].
func (l *loader) metric(n *yaml.Node) {
	l.say(patterned(metricPattern()))
	s, ok := l.scalar(n, "a metric")
	if !ok {
		return
	}
	words := strings.Fields(s)
	if len(words) < 3 {
		l.errorAt(n, "%q is not an expectation; write NAME OP VALUE, such as records.lost == 0", s)
		return
	}
	m := Metric{Source: s, Op: words[1], Line: n.Line}
	m.Name, m.Arg, _ = strings.Cut(strings.TrimSuffix(words[0], ")"), "(")
	switch {
	case !slices.Contains(MetricNames(), m.Name):
		l.errorAt(n, "unknown metric %q%s", m.Name, suggestMetric(m.Name))
		return
	case !slices.Contains([]string{"<", "<=", ">", ">=", "=="}, m.Op):
		l.errorAt(n, "%q is not a comparison; write one of < <= > >= ==", m.Op)
		return
	}
	if !l.metricArg(n, &m) || !l.metricValue(n, &m, words[2]) || !l.metricRange(n, &m, words[3:]) {
		return
	}
	l.spec.Expect.Metrics = append(l.spec.Expect.Metrics, m)
}

// phaseNames are those of sim/measure.
var phaseNames = []string{"before", "during", "calm", "after"}

// suggestMetric also completes a name's last part, such as p99.
func suggestMetric(name string) string {
	if near := suggest(name, MetricNames()); near != "" {
		return near
	}
	for _, k := range MetricNames() {
		if strings.HasSuffix(k, "."+name) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	return "; README lists them"
}

func isLatency(name string) bool { return strings.Contains(name, ".latency.") }

func (l *loader) metricArg(n *yaml.Node, m *Metric) bool {
	if _, _, ok := GroupMetric(m.Name); ok {
		arg := m.Arg
		l.later = append(l.later, func() { l.groupNamed(n, arg) })
		return true
	}
	switch {
	case m.Arg == "":
	case isLatency(m.Name):
		if !slices.Contains(phaseNames, m.Arg) {
			l.errorAt(n, "%s(%s): the argument is a phase: %s", m.Name, m.Arg, strings.Join(phaseNames, ", "))
			return false
		}
	case strings.Contains(m.Name, "."):
		l.errorAt(n, "%s takes no argument", m.Name)
		return false
	default:
		if _, err := path.Match(m.Arg, ""); err != nil || !strings.Contains(m.Arg, "/") {
			l.errorAt(n, "%s(%s): the argument is a partition such as orders/0 or orders/*", m.Name, m.Arg)
			return false
		}
		arg := m.Arg
		l.later = append(l.later, func() { l.someMatch(n, arg) })
	}
	return true
}

func (l *loader) groupNamed(n *yaml.Node, id string) {
	if l.doubt.clients && id != "" {
		return
	}
	var ids []string
	for _, c := range l.spec.Consumers {
		if c.Group == id && id != "" {
			return
		}
		ids = append(ids, c.Group)
	}
	l.errorAt(n, "a group metric names a group of this scenario, as in group.rebalances(billing); there is no group %q%s", id, suggest(id, ids))
}

func (l *loader) someMatch(n *yaml.Node, glob string) {
	for i := range l.spec.Topics {
		t := &l.spec.Topics[i]
		for p := range l.spec.MostPartitions(t) {
			if ok, _ := path.Match(glob, t.Name+"/"+strconv.Itoa(int(p))); ok {
				return
			}
		}
	}
	if l.topicsKnown() && !l.doubt.grown && len(l.doubt.shapes) == 0 {
		l.errorAt(n, "%q matches no partition of this scenario", glob)
	}
}

func (l *loader) metricValue(n *yaml.Node, m *Metric, s string) bool {
	head, _, _ := strings.Cut(m.Name, ".")
	isTime, _, ofGroup := GroupMetric(m.Name)
	if head == "records" || head == "loss" || head == "elections" || ofGroup && !isTime {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			l.errorAt(n, "%s is a count; %q is not a whole number", m.Name, s)
			return false
		}
		m.Value = v
		return true
	}
	d, err := ParseDuration(s, false)
	if err != nil {
		l.errorAt(n, "%s: %v", m.Name, err)
		return false
	}
	m.Value = int64(d)
	return true
}

func (l *loader) metricRange(n *yaml.Node, m *Metric, words []string) bool {
	if len(words) == 0 {
		return true
	}
	_, ranged, ofGroup := GroupMetric(m.Name)
	if ofGroup && !ranged {
		l.errorAt(n, "%s is of the whole run: it takes no time range", m.Name)
		return false
	}
	if !ofGroup && (!isLatency(m.Name) || m.Arg != "") {
		l.errorAt(n, "only a latency without a phase takes a time range")
		return false
	}
	var err error
	switch {
	case len(words) == 2 && words[0] == "before":
		m.To, err = ParseDuration(words[1], false)
	case len(words) == 2 && words[0] == "after":
		m.From, err = ParseDuration(words[1], false)
	case len(words) == 4 && words[0] == "between" && words[2] == "and":
		if m.From, err = ParseDuration(words[1], false); err == nil {
			m.To, err = ParseDuration(words[3], false)
		}
	default:
		l.errorAt(n, "%q is not a time range; write before 20s, after 20s or between 10s and 20s", strings.Join(words, " "))
		return false
	}
	if err != nil {
		l.errorAt(n, "%v", err)
		return false
	}
	from, to := m.From, m.To
	l.later = append(l.later, func() { l.rangeExists(n, from, to) })
	return true
}

// rangeExists reports a time range in which nothing can be measured.
func (l *loader) rangeExists(n *yaml.Node, from, to kafka.Nanos) {
	s := l.spec
	switch end := s.Duration; {
	case end == 0:
	case from >= end || to > end:
		l.errorAt(n, "the time range goes beyond the end of the run, %s", short(end))
	case to != 0 && to <= from:
		l.errorAt(n, "the time range ends at %s, not after its beginning at %s", short(to), short(from))
	case to != 0 && to <= s.WorkloadStart():
		l.errorAt(n, "the time range ends at %s; the workload begins at %s", short(to), short(s.WorkloadStart()))
	}
}
