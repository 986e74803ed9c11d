package assignor

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// Where metadata have partitions 0, 2 and 5 of a topic, those are shared out as 0, 1 and 2 would be
// (since 3.5, AbstractPartitionAssignor.assign), and round robin shares 0, 1 and 2 out (RoundRobinAssignor.allPartitionsSorted).
func TestPartitionsAreSharedOutUnderTheirNumbers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := rapid.SampledFrom([]Assignor{rangeAssignor{}, roundRobin{}, sticky{}, cooperativeSticky{}}).Draw(r, "assignor")
		numbers := rapid.SliceOfNDistinct(rapid.Int32Range(0, 12), 1, 8, rapid.ID).Draw(r, "numbers")
		slices.Sort(numbers)
		plain := topic("t", int32(len(numbers)))
		numbered := plain
		numbered.Numbers = numbers
		rename := func(tps []kafka.TopicPartition) (out []kafka.TopicPartition) {
			for _, tp := range tps {
				if _, deals := a.(roundRobin); !deals {
					tp.Partition = numbers[tp.Partition]
				}
				out = append(out, tp)
			}
			return out
		}
		var members, renamed []Member
		for i := range rapid.IntRange(1, 4).Draw(r, "members") {
			m, generation := member(string(rune('a'+i)), "t"), rapid.Int32Range(1, 2).Draw(r, "generation")
			for p := range int32(len(numbers)) {
				if rapid.IntRange(0, 2).Draw(r, "owns") == 0 {
					m.Owned = append(m.Owned, kafka.TopicPartition{Topic: "t", Partition: p})
				}
			}
			m.Generation, m.UserData = generation, a.UserData(m.Owned, generation)
			members = append(members, m)
			m.Owned = append(rename(m.Owned), kafka.TopicPartition{Topic: "t", Partition: 99}) // which metadata do not have
			m.UserData = a.UserData(m.Owned, generation)
			renamed = append(renamed, m)
		}
		want, got := a.Assign([]Topic{plain}, members), a.Assign([]Topic{numbered}, renamed)
		for i := range want {
			if !slices.Equal(rename(want[i].Partitions), got[i].Partitions) {
				r.Fatalf("%s, %v: %s gets %v, and %v of the first numbers", a.Name(), numbers, want[i].Member, got[i].Partitions, want[i].Partitions)
			}
		}
	})
}
