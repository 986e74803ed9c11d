package assignor

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// outcome is an assignment with its input, for checks.
type outcome struct {
	t       tester
	topics  []Topic
	members []Member
	got     []Assignment
	owner   map[kafka.TopicPartition]string
	rounds  []*outcome // one for each round, with what was owned before it; nil for one alone
}

func look(t tester, topics []Topic, members []Member, got []Assignment) *outcome {
	t.Helper()
	o := &outcome{t: t, topics: topics, members: members, got: got, owner: map[kafka.TopicPartition]string{}}
	if len(got) != len(members) || !slices.IsSortedFunc(got, func(a, b Assignment) int { return compareIDs(a.Member, b.Member) }) {
		t.Fatalf("not one assignment for each member, by id: %v", got)
	}
	for _, a := range got {
		if !slices.IsSortedFunc(a.Partitions, kafka.TopicPartition.Compare) {
			t.Errorf("partitions of %s are not sorted: %v", a.Member, a.Partitions)
		}
		for _, tp := range a.Partitions {
			if other, twice := o.owner[tp]; twice { // disjoint
				t.Errorf("%v is assigned to %s and %s", tp, other, a.Member)
			}
			o.owner[tp] = a.Member
			if !o.subscribes(a.Member, tp.Topic) || tp.Partition >= o.count(tp.Topic) {
				t.Errorf("%s gets %v without a subscription, or it does not exist", a.Member, tp)
			}
		}
	}
	return o
}

func compareIDs(a, b string) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

func (o *outcome) member(id string) *Member {
	return &o.members[slices.IndexFunc(o.members, func(m Member) bool { return m.ID == id })]
}

func (o *outcome) subscribes(id, topic string) bool {
	return slices.Contains(o.member(id).Topics, topic)
}

func (o *outcome) count(topic string) int32 {
	for _, t := range o.topics {
		if t.Name == topic {
			return t.Partitions
		}
	}
	return 0
}

func (o *outcome) of(id string) []kafka.TopicPartition {
	return o.got[slices.IndexFunc(o.got, func(a Assignment) bool { return a.Member == id })].Partitions
}

// missing is the partitions with a subscriber but no owner.
func (o *outcome) missing() (out []kafka.TopicPartition) {
	for _, t := range o.topics {
		if !slices.ContainsFunc(o.members, func(m Member) bool { return slices.Contains(m.Topics, t.Name) }) {
			continue
		}
		for p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Name, Partition: p}
			if o.owner[tp] == "" {
				out = append(out, tp)
			}
		}
	}
	return out
}

func (o *outcome) complete() *outcome {
	o.t.Helper()
	if m := o.missing(); len(m) > 0 {
		o.t.Errorf("nobody has %v", m)
	}
	return o
}

// noImprovingMove is ST-6.
func (o *outcome) noImprovingMove() *outcome {
	o.t.Helper()
	for tp, id := range o.owner {
		for _, b := range o.members {
			if o.subscribes(b.ID, tp.Topic) && len(o.of(id)) >= len(o.of(b.ID))+2 {
				o.t.Errorf("%v could move from %s (%d) to %s (%d)", tp, id, len(o.of(id)), b.ID, len(o.of(b.ID)))
				return o
			}
		}
	}
	return o
}

func (o *outcome) spread() int {
	least, most := 1<<30, 0
	for _, a := range o.got {
		least, most = min(least, len(a.Partitions)), max(most, len(a.Partitions))
	}
	return most - least
}

func (o *outcome) spreadAtMost(n int) *outcome {
	o.t.Helper()
	if o.spread() > n {
		o.t.Errorf("shares differ by %d", o.spread())
	}
	return o
}

// sizes in order of members.
func (o *outcome) sizes() (out []int) {
	for _, a := range o.got {
		out = append(out, len(a.Partitions))
	}
	return out
}

func (o *outcome) wantSizes(want ...int) *outcome {
	o.t.Helper()
	got := o.sizes()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		o.t.Errorf("sizes %v, want %v", got, want)
	}
	return o
}

// retained counts what members keep of what they owned, and the optimum of ST-4 for
// claims that do not meet.
func (o *outcome) retained() (kept, best int) {
	p := len(o.owner) + len(o.missing())
	q, e := p/len(o.members), p%len(o.members)
	above := 0
	for _, m := range o.members {
		valid := 0
		for _, tp := range m.Owned {
			if o.subscribes(m.ID, tp.Topic) && tp.Partition < o.count(tp.Topic) {
				valid++
				if o.owner[tp] == m.ID {
					kept++
				}
			}
		}
		best += min(valid, q)
		if valid > q {
			above++
		}
	}
	return kept, best + min(e, above)
}

func (o *outcome) optimal() *outcome {
	o.t.Helper()
	if kept, best := o.retained(); kept != best {
		o.t.Errorf("%d partitions stay where they were, %d could", kept, best)
	}
	return o
}

// noTwoCycle: in no round two members exchange partitions of one topic. Over several
// rounds they may: Kafka's isSticky looks at the movements of one assignment.
func (o *outcome) noTwoCycle() *outcome {
	o.t.Helper()
	for _, r := range o.rounds {
		r.oneWay()
	}
	if o.rounds == nil {
		o.oneWay()
	}
	return o
}

func (o *outcome) oneWay() {
	o.t.Helper()
	moved := map[string]bool{}
	for _, m := range o.members {
		for _, tp := range m.Owned {
			to := o.owner[tp]
			if to == "" || to == m.ID || !o.subscribes(m.ID, tp.Topic) {
				continue
			}
			if moved[fmt.Sprint(tp.Topic, " ", to, ">", m.ID)] {
				o.t.Errorf("%s and %s exchange partitions of %s", m.ID, to, tp.Topic)
			}
			moved[fmt.Sprint(tp.Topic, " ", m.ID, ">", to)] = true
		}
	}
}

// round runs one assignment.
func round(t tester, name string, topics []Topic, members []Member) *outcome {
	t.Helper()
	a, _ := ByName(name)
	return look(t, topics, members, a.Assign(topics, withUserDataOf(a, members)))
}

// withUserDataOf gives members the user data that this assignor made on them.
func withUserDataOf(a Assignor, members []Member) []Member {
	out := slices.Clone(members)
	for i := range out {
		out[i].UserData = a.UserData(out[i].Owned, out[i].Generation)
	}
	return out
}

// converged runs rounds until nobody revokes: one round of sticky, some of
// cooperative-sticky. The outcome's members own what they did at the beginning; the
// argument's own the result.
func converged(t tester, name string, topics []Topic, members []Member, generation int32) (last *outcome, rounds int, withheld bool) {
	t.Helper()
	return convergedWithin(4, t, name, topics, members, generation)
}

func convergedWithin(most int, t tester, name string, topics []Topic, members []Member, generation int32) (last *outcome, rounds int, withheld bool) {
	t.Helper()
	before := slices.Clone(members)
	var each []*outcome
	for again := true; again; {
		if rounds++; rounds > most {
			t.Fatalf("no end after %d rounds", most)
		}
		now := slices.Clone(members)
		last = round(t, name, topics, members)
		one := *last
		one.members = now
		each = append(each, &one)
		again = follow(members, last.got, generation) && name == "cooperative-sticky"
		withheld = withheld || len(last.missing()) > 0
	}
	last.members, last.rounds = before, each
	return last, rounds, withheld
}

func topic(name string, partitions int32) Topic { return Topic{Name: name, Partitions: partitions} }

func member(id string, topics ...string) Member {
	return Member{ID: id, Topics: topics, Generation: NoGeneration}
}

// owning is a member with claims.
func owning(m Member, generation int32, topicAndPartitions ...any) Member {
	name := ""
	for _, x := range topicAndPartitions {
		switch x := x.(type) {
		case string:
			name = x
		case int:
			m.Owned = append(m.Owned, kafka.TopicPartition{Topic: name, Partition: int32(x)})
		}
	}
	m.Generation = generation
	return m
}

func without(members []Member, ids ...string) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return slices.Contains(ids, m.ID) })
}
