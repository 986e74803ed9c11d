package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// describe fills the part of a line that says what went wrong.
func (l *Line) describe(r *outcome.Result, spec *scenarios.Spec) {
	if !l.failed() {
		return
	}
	first := l.violations(r, spec)
	at := r.End
	switch {
	case r.Verdict == outcome.Violated && first != nil:
		l.What, at = first.What, first.At
		l.Signature = first.Invariant + ": " + Pattern(first.What)
	case len(r.Why) > 0:
		l.What = r.Why[0]
		l.Signature = string(r.Verdict) + ": " + Pattern(r.Why[0])
	default:
		l.Signature = string(r.Verdict)
	}
	l.Faults = faultWords(r.Faults, at)
}

// violations names the invariants that fail without the scenario asking for it and
// returns the first violation.
func (l *Line) violations(r *outcome.Result, spec *scenarios.Spec) (first *outcome.Violation) {
	for i := range r.Violations {
		v := &r.Violations[i]
		if slices.Contains(spec.Expect.Violated, v.Invariant) {
			continue
		}
		if first == nil {
			first = v
		}
		if !slices.Contains(l.Violated, v.Invariant) {
			l.Violated = append(l.Violated, v.Invariant)
		}
	}
	return first
}

// faultWords are the kinds of the faults that began by then, sorted.
func faultWords(faults []outcome.Fault, by kafka.Nanos) []string {
	var words []string
	for i := range faults {
		if faults[i].From > by {
			continue
		}
		word, _, _ := strings.Cut(faults[i].Text, ":")
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

// Pattern is a text with every number, and every list of numbers, made one sign: the
// texts of one rule's one complaint have one pattern. With the invariant it is the
// signature of a failure. The kinds of faults stay out of it: in drawn worlds they
// differ from seed to seed, and one bug would be a hundred findings; a finding lists
// those that all its failures have in common.
func Pattern(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if !digit(text[i]) {
			b.WriteByte(text[i])
			i++
			continue
		}
		for i < len(text) && digit(text[i]) {
			i++
			if next := skipComma(text, i); next < len(text) && digit(text[next]) {
				i = next
			}
		}
		b.WriteByte('#')
	}
	return b.String()
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// skipComma steps over what separates the numbers of a list, or the digits of one
// number.
func skipComma(text string, i int) int {
	for i < len(text) && (text[i] == ',' || text[i] == '.' || text[i] == ' ') {
		i++
	}
	return i
}

// differ says how two runs of one seed differ, "" if they do not.
func differ(a, b *outcome.Result) string {
	if a.Fingerprint == b.Fingerprint && a.Verdict == b.Verdict && a.Events == b.Events && a.End == b.End && slices.Equal(a.Why, b.Why) {
		return ""
	}
	from, to := uint64(0), min(a.Events, b.Events)
	for i := range min(len(a.Checkpoints), len(b.Checkpoints)) {
		if a.Checkpoints[i] != b.Checkpoints[i] {
			to = a.Checkpoints[i].Event
			break
		}
		from = a.Checkpoints[i].Event
	}
	return fmt.Sprintf("two runs of one seed differ between events %d and %d: fingerprints %s and %s, verdicts %s and %s",
		from, to, a.Fingerprint, b.Fingerprint, a.Verdict, b.Verdict)
}
