package oracle

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/kafka"
)

// load is n partitions in topics of ten for n/10 members (at least 10): nothing is
// owned; one member has left; every member subscribes to half of the topics.
func load(n int, kind string) ([]assignor.Topic, []assignor.Member) {
	topics := make([]assignor.Topic, n/10)
	for i := range topics {
		topics[i] = assignor.Topic{Name: fmt.Sprintf("topic-%04d", i), Partitions: 10}
	}
	members := make([]assignor.Member, max(n/10, 10))
	for i := range members {
		m := &members[i]
		m.ID, m.Generation = fmt.Sprintf("member-%04d", i), assignor.NoGeneration
		for t := range topics {
			if kind != "mixed" || (t*7+i*13)%4 < 2 {
				m.Topics = append(m.Topics, topics[t].Name)
			}
		}
	}
	if kind == "fresh" {
		return topics, members
	}
	a, _ := assignor.ByName("sticky")
	for i, x := range a.Assign(topics, members) {
		members[i].Owned, members[i].Generation = x.Partitions, 1
		members[i].UserData = a.UserData(x.Partitions, 1)
	}
	return topics, members[1:]
}

// franz is the same input for franz-go's balancer.
func franz(tb testing.TB, b kgo.GroupBalancer, topics []assignor.Topic, members []assignor.Member) func() kgo.IntoSyncAssignment {
	tb.Helper()
	counts := make(map[string]int32)
	for _, t := range topics {
		counts[t.Name] = t.Partitions
	}
	var joined []kmsg.JoinGroupResponseMember
	for _, m := range members {
		owned := make(map[string][]int32)
		for _, tp := range m.Owned {
			owned[tp.Topic] = append(owned[tp.Topic], tp.Partition)
		}
		joined = append(joined, kmsg.JoinGroupResponseMember{MemberID: m.ID, ProtocolMetadata: b.JoinGroupMetadata(m.Topics, owned, m.Generation)})
	}
	x, _, err := b.MemberBalancer(joined)
	if err != nil {
		tb.Fatal(err)
	}
	return func() kgo.IntoSyncAssignment {
		plan, err := x.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
		if err != nil {
			tb.Fatal(err)
		}
		return plan
	}
}

// kept counts partitions that stay with their owner, and how far sizes lie apart.
func kept(members []assignor.Member, got map[string][]kafka.TopicPartition) (n, spread int) {
	least, most := 1<<30, 0
	for _, m := range members {
		least, most = min(least, len(got[m.ID])), max(most, len(got[m.ID]))
		for _, tp := range m.Owned {
			if slices.Contains(got[m.ID], tp) {
				n++
			}
		}
	}
	return n, most - least
}

func TestStickyKeepsAsMuchAsFranzGo(t *testing.T) {
	for _, n := range []int{100, 1000} {
		for _, kind := range []string{"fresh", "left"} {
			topics, members := load(n, kind)
			a, _ := assignor.ByName("sticky")
			ours := make(map[string][]kafka.TopicPartition)
			for _, x := range a.Assign(topics, members) {
				ours[x.Member] = x.Partitions
			}
			theirs := make(map[string][]kafka.TopicPartition)
			for _, x := range franz(t, kgo.StickyBalancer(), topics, members)().IntoSyncAssignment() {
				var as kmsg.ConsumerMemberAssignment
				if err := as.ReadFrom(x.MemberAssignment); err != nil {
					t.Fatal(err)
				}
				for _, topic := range as.Topics {
					for _, p := range topic.Partitions {
						theirs[x.MemberID] = append(theirs[x.MemberID], kafka.TopicPartition{Topic: topic.Topic, Partition: p})
					}
				}
			}
			k1, s1 := kept(members, ours)
			k2, s2 := kept(members, theirs)
			if k1 < k2 || s1 > s2 {
				t.Errorf("%d %s: %d stay and sizes differ by %d; with franz-go %d and %d", n, kind, k1, s1, k2, s2)
			}
		}
	}
}

// BenchmarkSticky runs this project's assignor and franz-go's on the same input, one
// after the other.
func BenchmarkSticky(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, kind := range []string{"fresh", "left", "mixed"} {
			topics, members := load(n, kind)
			b.Run(fmt.Sprintf("%d/%s/simkafka", n, kind), func(b *testing.B) {
				a, _ := assignor.ByName("sticky")
				b.ReportAllocs()
				for b.Loop() {
					a.Assign(topics, members)
				}
			})
			b.Run(fmt.Sprintf("%d/%s/franz-go", n, kind), func(b *testing.B) {
				balance := franz(b, kgo.StickyBalancer(), topics, members)
				b.ReportAllocs()
				for b.Loop() {
					balance()
				}
			})
		}
	}
}
