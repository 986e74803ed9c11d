package shrink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/sweep"
)

// Target is the failure that every candidate must show again.
type Target struct {
	Invariant string // "" where a metric of the scenario failed
	// Kind is the violation's text without numbers and names of clients, behind what it
	// is about: a partition or the cluster. It keeps the search from sliding to another
	// failure of the same invariant.
	Kind   string
	Metric string // the assertion that did not hold, as the scenario has it

	What string // of the first run
	At   kafka.Nanos
	TP   kafka.TopicPartition
}

// NotFailing says that there is no failure to be shrunk or explained.
type NotFailing struct{ Why string }

func (e *NotFailing) Error() string { return e.Why }

// Find chooses what to shrink to: the first violation of the invariant, if one is named;
// else the first that decided the verdict, then what the scenario itself wants to be
// violated, then a metric that failed. The error is *NotFailing.
func Find(spec *scenarios.Spec, r *outcome.Result, invariant string) (Target, error) {
	if invariant != "" {
		for i := range r.Violations {
			if r.Violations[i].Invariant == invariant {
				return of(&r.Violations[i], spec), nil
			}
		}
		return Target{}, &NotFailing{fmt.Sprintf("the run does not violate %s%s", invariant, instead(r))}
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		if slices.ContainsFunc(r.Why, func(why string) bool { return strings.HasPrefix(why, v.Invariant+" is violated at ") }) {
			return of(v, spec), nil
		}
	}
	for _, name := range spec.Expect.Violated {
		for i := range r.Violations {
			if r.Violations[i].Invariant == name {
				return of(&r.Violations[i], spec), nil
			}
		}
	}
	for _, m := range r.Metrics {
		if !m.Held {
			return Target{Metric: m.Source, What: fmt.Sprintf("expected %s: it is %s", m.Source, strings.TrimSpace(m.Value+" "+m.Where)), At: r.End}, nil
		}
	}
	if len(r.Violations) > 0 {
		return of(&r.Violations[0], spec), nil
	}
	if len(r.Why) > 0 {
		return Target{}, &NotFailing{fmt.Sprintf("the run violates no invariant and no metric; it is %s: %s", r.Verdict, r.Why[0])}
	}
	return Target{}, &NotFailing{"the run does not fail: there is nothing to look for"}
}

func instead(r *outcome.Result) string {
	var names []string
	for i := range r.Violations {
		if n := r.Violations[i].Invariant; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if names == nil {
		return ""
	}
	return "; it violates " + strings.Join(names, ", ")
}

func of(v *outcome.Violation, spec *scenarios.Spec) Target {
	return Target{Invariant: v.Invariant, Kind: kind(v, spec), What: v.What, At: v.At, TP: v.TP}
}

// String names the target for people.
func (t Target) String() string {
	if t.Invariant == "" {
		return t.Metric
	}
	return t.Invariant
}

// among finds the same failure among violations.
func (t *Target) among(list []outcome.Violation, spec *scenarios.Spec) *outcome.Violation {
	for i := range list {
		if t.Invariant != "" && list[i].Invariant == t.Invariant && kind(&list[i], spec) == t.Kind {
			return &list[i]
		}
	}
	return nil
}

// in reports whether a run shows the failure, and when.
func (t *Target) in(r *outcome.Result, spec *scenarios.Spec) (now Target, same bool) {
	if t.Invariant != "" {
		v := t.among(r.Violations, spec)
		if v == nil {
			return Target{}, false
		}
		return of(v, spec), true
	}
	for _, m := range r.Metrics {
		if m.Source == t.Metric && !m.Held {
			return Target{Metric: m.Source, What: fmt.Sprintf("expected %s: it is %s", m.Source, strings.TrimSpace(m.Value+" "+m.Where)), At: r.End}, true
		}
	}
	return Target{}, false
}

// In reports whether a run shows the failure.
func (t *Target) In(r *outcome.Result, spec *scenarios.Spec) bool {
	_, same := t.in(r, spec)
	return same
}

// kind is a violation without what shrinking may change: numbers and members of groups
// of clients.
func kind(v *outcome.Violation, spec *scenarios.Spec) string {
	object := "cluster: "
	if v.TP.Topic != "" {
		object = "partition: "
	}
	words := strings.Fields(v.What)
	for i, w := range words {
		if bare := strings.Trim(w, ",:;()"); isClient(bare, spec) {
			words[i] = strings.Replace(w, bare, "client", 1)
		}
	}
	return object + sweep.Pattern(strings.Join(words, " "))
}

func isClient(word string, spec *scenarios.Spec) bool {
	same := func(name string) bool {
		rest, ok := strings.CutPrefix(word, name)
		return ok && (rest == "" || rest[0] == '-' && strings.Trim(rest[1:], "0123456789") == "")
	}
	return slices.ContainsFunc(spec.Producers, func(p scenarios.Producer) bool { return same(p.Name) }) ||
		slices.ContainsFunc(spec.Consumers, func(c scenarios.Consumer) bool { return same(c.Name) })
}
