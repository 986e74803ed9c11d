package assignor

import (
	"fmt"
	"testing"
)

// load is n partitions in topics of ten for n/10 members (at least 10): with nothing
// owned, after one of them left, and with every member subscribed to half the topics.
func load(n int, kind string) ([]Topic, []Member) {
	topics := make([]Topic, n/10)
	for i := range topics {
		topics[i] = topic(fmt.Sprintf("topic-%04d", i), 10)
	}
	members := make([]Member, max(n/10, 10))
	for i := range members {
		members[i] = member(fmt.Sprintf("member-%04d", i), names(topics)...)
		if kind == "mixed" {
			half := members[i].Topics
			members[i].Topics = nil
			for t := range half {
				if (t*7+i*13)%4 < 2 {
					members[i].Topics = append(members[i].Topics, half[t])
				}
			}
		}
	}
	return topics, members
}

func BenchmarkAssign(b *testing.B) {
	for _, name := range Names() {
		for _, n := range []int{100, 1000, 10000} {
			for _, kind := range []string{"fresh", "left", "mixed"} {
				b.Run(fmt.Sprintf("%s/%d/%s", name, n, kind), func(b *testing.B) {
					topics, members := load(n, kind)
					a, _ := ByName(name)
					if kind != "fresh" {
						follow(members, a.Assign(topics, members), 1)
						members = withUserDataOf(a, members[1:])
					}
					b.ReportAllocs()
					for b.Loop() {
						a.Assign(topics, members)
					}
				})
			}
		}
	}
}

func BenchmarkServer(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, kind := range []string{"fresh", "left", "mixed"} {
			b.Run(fmt.Sprintf("uniform/%d/%s", n, kind), func(b *testing.B) {
				topics, members := load(n, kind)
				if kind != "fresh" {
					got, err := Uniform(topics, members)
					if err != nil {
						b.Fatal(err)
					}
					follow(members, got, 1)
					members = members[1:]
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Uniform(topics, members); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
