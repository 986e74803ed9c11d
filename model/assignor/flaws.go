package assignor

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// flaws are Kafka's old mistakes with claims; none by default.
type flaws struct {
	// trusting: a claim counts whatever its generation, so that two members may keep one
	// partition (KAFKA-7026, KAFKA-12984).
	trusting bool
	// newestOnly: only members of the newest generation claim anything (KAFKA-14639).
	newestOnly bool
	// raw: what a member of a group with different subscriptions says to own it may keep at
	// once, whatever the generation (CS-C).
	raw bool
}

// WithBugs is the assignor with those of the bugs that are its own.
func WithBugs(a Assignor, on quirk.Set) Assignor {
	switch a.(type) {
	case sticky:
		return sticky{flaws{trusting: on.Has(quirk.StickyTrustsAll)}}
	case cooperativeSticky:
		return cooperativeSticky{flaws{trusting: on.Has(quirk.CooperativeTrustsAll), newestOnly: on.Has(quirk.NewestClaimsOnly), raw: on.Has(quirk.RawClaims)}}
	}
	return a
}

// double is a partition that a member keeps beside the owner.
type double struct{ partition, member int32 }

// dropOlder takes the claims of older generations away (newestOnly).
func (t *target) dropOlder() {
	for p := range t.claimed {
		if t.claimed[p] >= 0 && t.since[p] < t.generation {
			t.claimed[p] = unclaimed
		}
	}
}

// keepDoubles leaves partitions also with those whose claims have lost (trusting). Kafka
// counts them in their shares; here they come on top.
func (t *target) keepDoubles() {
	for _, c := range t.claims {
		if t.claimed[c.partition] != c.member && t.owner[c.partition] != c.member && t.wants(c.member, t.topicOf(c.partition)) {
			t.doubles = append(t.doubles, double{c.partition, c.member})
		}
	}
}

// withDoubles adds the doubles to an assignment.
func (t *target) withDoubles(out []Assignment) []Assignment {
	for _, d := range t.doubles {
		topic := t.topicOf(d.partition)
		x := &out[d.member]
		x.Partitions = append(slices.Clip(x.Partitions), kafka.TopicPartition{Topic: t.topics[topic].Name, Partition: t.partition(topic, d.partition)})
		slices.SortFunc(x.Partitions, kafka.TopicPartition.Compare)
	}
	return out
}

// withholdRaw is CS-A over what members say to own: a partition stays with who claims
// it, and else goes to nobody while anybody claims it.
func (t *target) withholdRaw() {
	says := make([]bool, t.partitions()) // the owner
	some := make([]bool, t.partitions())
	for _, c := range t.claims {
		some[c.partition] = true
		if t.owner[c.partition] == c.member {
			says[c.partition] = true
		}
	}
	for p := range t.owner {
		if some[p] && !says[p] {
			t.owner[p] = -1
		}
	}
}
