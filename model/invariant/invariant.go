// Package invariant holds the checkers: each watches the facts of a run and says
// where one of Kafka's guarantees (cluster 10, bugs 6b) does not hold.
package invariant

// Info describes an invariant.
type Info struct {
	Name   string // word
	Rules  string // ids: INV-xx, I-x, V-x
	Words  string // the rule in a sentence
	When   string // when it must hold
	Broken string // when Kafka legitimately breaks it
}

// All lists the invariants in the order of reports.
func All() []Info { return nil }

// Names lists their words, in the same order.
func Names() []string { return nil }
