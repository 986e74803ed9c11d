package assignor

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// dealt is AB-1 word for word: one pointer that goes round all members, a partition at a
// time.
func dealt(topics []Topic, members []Member) map[string][]kafka.TopicPartition {
	topics, members = slices.Clone(topics), slices.Clone(members)
	slices.SortFunc(topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(members, func(a, b Member) int {
		switch {
		case a.InstanceID == "" && b.InstanceID == "":
			return cmp.Compare(a.ID, b.ID)
		case a.InstanceID == "":
			return 1
		case b.InstanceID == "":
			return -1
		}
		return cmp.Compare(a.InstanceID, b.InstanceID)
	})
	got, at := map[string][]kafka.TopicPartition{}, 0
	for _, t := range topics {
		if !slices.ContainsFunc(members, func(m Member) bool { return slices.Contains(m.Topics, t.Name) }) {
			continue
		}
		for p := range t.Partitions {
			for !slices.Contains(members[at].Topics, t.Name) {
				at = (at + 1) % len(members)
			}
			id := members[at].ID
			got[id] = append(got[id], kafka.TopicPartition{Topic: t.Name, Partition: p})
			at = (at + 1) % len(members)
		}
	}
	return got
}

func byMember(list []Assignment) map[string][]kafka.TopicPartition {
	got := map[string][]kafka.TopicPartition{}
	for _, a := range list {
		if len(a.Partitions) > 0 {
			got[a.Member] = a.Partitions
		}
	}
	return got
}

func TestAB1RoundRobinIsOnePointerGoingRound(t *testing.T) {
	for _, uniform := range []bool{false, true} {
		checkRapid(t, 300, func(r *rapid.T) {
			topics, members := world(r, uniform)
			if len(members) > 1 && rapid.Bool().Draw(r, "twice") { // a topic may be named twice
				members[1].Topics = append(members[1].Topics, members[1].Topics...)
			}
			if got, want := byMember((roundRobin{}).Assign(topics, members)), dealt(topics, members); !reflect.DeepEqual(got, want) {
				r.Fatalf("%v, not %v", got, want)
			}
		})
	}
}

// The second example of RoundRobinAssignor's own documentation.
func TestAB1RoundRobinPassesWhoDoesNotSubscribe(t *testing.T) {
	topics := []Topic{topic("t0", 1), topic("t1", 2), topic("t2", 3)}
	members := []Member{member("C0", "t0"), member("C1", "t0", "t1"), member("C2", "t0", "t1", "t2")}
	want := map[string][]kafka.TopicPartition{
		"C0": {{Topic: "t0", Partition: 0}},
		"C1": {{Topic: "t1", Partition: 0}},
		"C2": {{Topic: "t1", Partition: 1}, {Topic: "t2", Partition: 0}, {Topic: "t2", Partition: 1}, {Topic: "t2", Partition: 2}},
	}
	if got := byMember((roundRobin{}).Assign(topics, members)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// Two members with the same subscription: after each topic of b's own the pointer stands at
// c, so that a gets nothing after its first partition, however many there are.
func TestAB1RoundRobinIsUnboundedForOtherSubscriptions(t *testing.T) {
	const n = 50
	a, b, c := member("a"), member("b"), member("c")
	var topics []Topic
	for i := range n {
		common, own := topic(fmt.Sprintf("t%02d-common", i), 1), topic(fmt.Sprintf("t%02d-own", i), 1)
		topics = append(topics, common, own)
		a.Topics, c.Topics = append(a.Topics, common.Name), append(c.Topics, common.Name)
		b.Topics = append(b.Topics, common.Name, own.Name)
	}
	got := byMember((roundRobin{}).Assign(topics, []Member{a, b, c}))
	if len(got["a"]) != 1 || len(got["b"]) != n || len(got["c"]) != n-1 {
		t.Errorf("a gets %d, b %d, c %d", len(got["a"]), len(got["b"]), len(got["c"]))
	}
}
