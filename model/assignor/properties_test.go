package assignor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// properties are the 21 property vectors, which describe their input in words.
var properties = map[string]func(*testing.T, string){
	"prop-01": func(t *testing.T, a string) {
		o := round(t, a, []Topic{topic("topic", 1)}, []Member{member("consumer1", "topic"), member("consumer2", "topic")})
		o.complete().noImprovingMove().spreadAtMost(1).wantSizes(0, 1)
	},
	"prop-02": topicBalance,
	"prop-03": func(t *testing.T, a string) {
		topics := []Topic{topic("topic1", 2), topic("topic2", 1), topic("topic3", 2), topic("topic4", 1), topic("topic5", 2)}
		all, some := names(topics), []string{"topic1", "topic3", "topic5"}
		o, _, _ := converged(t, a, topics, []Member{member("consumer1", all...), member("consumer2", some...),
			member("consumer3", some...), member("consumer4", all...)}, 1)
		o.complete().noImprovingMove().spreadAtMost(0)
	},
	"prop-04": addRemoveTopic,
	"prop-05": oneLeavesAStaircase,
	"prop-06": func(t *testing.T, a string) {
		var members []Member
		for i := 1; i <= 10; i++ {
			members = append(members, member(fmt.Sprintf("c%02d", i), "topic"))
		}
		for _, n := range []int{9, 10} {
			round(t, a, []Topic{topic("topic", 20)}, members[:n]).complete().noImprovingMove().spreadAtMost(1)
		}
	},
	"prop-07": func(t *testing.T, a string) {
		topics := staircase("t", 14)
		var members []Member
		for i := 1; i <= 8; i++ {
			members = append(members, member(fmt.Sprint("c", i), names(topics)...))
		}
		o, _, _ := converged(t, a, topics, members, 1)
		o.complete().noImprovingMove().spreadAtMost(1)
		o, _, withheld := converged(t, a, topics, without(members, "c5"), 2)
		o.complete().noImprovingMove().spreadAtMost(1).optimal()
		if withheld {
			t.Error("a partition was withheld")
		}
	},
	"prop-08": threeGenerations,
	"prop-09": func(t *testing.T, a string) {
		checkRapid(t, 3, func(r *rapid.T) {
			var topics []Topic
			for i := range 40 {
				topics = append(topics, topic(fmt.Sprintf("t%02d", i), rapid.Int32Range(1, 10).Draw(r, "partitions")))
			}
			members := subscribers(r, 200, names(topics), 1, 20)
			o, _, _ := converged(r, a, topics, members, 1)
			o.complete().noImprovingMove()
			gone := rapid.Permutation(ids(members)).Draw(r, "gone")[:50]
			o, _, _ = converged(r, a, topics, without(members, gone...), 2)
			o.complete().noImprovingMove().noTwoCycle()
		})
	},
	"prop-10": func(t *testing.T, a string) {
		topics := []Topic{topic("t1", 1), topic("t2", 1), topic("t3", 1), topic("t4", 1)}
		members := []Member{member("c0"), member("c1", "t1"), member("c2", "t2", "t3", "t4")}
		converged(t, a, topics, members, 1)
		members[0].Topics = []string{"t1"}
		o, _, _ := converged(t, a, topics, members, 2)
		o.complete().noImprovingMove().noTwoCycle()
	},
	"prop-11": func(t *testing.T, a string) {
		o, _, _ := converged(t, a, ones("topic", 6), []Member{
			owning(member("consumer1", "topic1", "topic2"), 1, "topic1", 0),
			owning(member("consumer2", "topic1", "topic2", "topic3", "topic4"), 1, "topic2", 0, "topic3", 0),
			owning(member("consumer3", "topic2", "topic3", "topic4", "topic5", "topic6"), 1, "topic4", 0, "topic5", 0, "topic6", 0)}, 2)
		o.complete().noImprovingMove()
	},
	"prop-12": func(t *testing.T, a string) {
		topics := []Topic{topic("topic1", 3)}
		var members []Member
		for i := 1; i <= 4; i++ {
			members = append(members, member(fmt.Sprint("consumer", i), "topic1"))
		}
		o, _, _ := converged(t, a, topics, members, 1)
		o.complete().noImprovingMove().wantSizes(0, 1, 1, 1)
		o, _, _ = converged(t, a, topics, without(members, "consumer1"), 2)
		o.complete().noImprovingMove().wantSizes(1, 1, 1)
		keepsAll(t, o)
	},
	"prop-13": func(t *testing.T, a string) {
		o := round(t, a, []Topic{topic("topic1", 1), topic("topic3", 100)}, []Member{member("consumer", "topic1", "topic2", "topic3")})
		o.complete().wantSizes(101)
	},
	"prop-14": func(t *testing.T, a string) {
		round(t, a, nil, []Member{owning(member("consumer", "topic"), 1, "topic", 0, 1, 2)}).wantSizes(0)
	},
	"prop-15": func(t *testing.T, a string) {
		checkRapid(t, 100, func(r *rapid.T) {
			topics := staircase("t", rapid.IntRange(10, 20).Draw(r, "topics"))
			for i := range topics {
				topics[i].Partitions++
			}
			members := subscribers(r, rapid.IntRange(20, 40).Draw(r, "members"), names(topics), 0, len(topics))
			converged(r, a, topics, members, 1)
			for i := range members {
				members[i].Topics = rapid.Permutation(names(topics)).Draw(r, "topics")[:rapid.IntRange(0, len(topics)).Draw(r, "count")]
			}
			o, _, _ := converged(r, a, topics, members, 2)
			o.complete().noImprovingMove().noTwoCycle()
		})
	},
	"prop-16": func(t *testing.T, a string) {
		topics := []Topic{topic("topic", 3), topic("topic1", 3), topic("topic2", 3), topic("topic3", 3)}
		all := names(topics)
		o, _, withheld := converged(t, a, topics, []Member{member("consumer1", all...),
			owning(member("consumer2", all...), 9, "topic", 0, "topic2", 0, "topic1", 0),
			owning(member("consumer3", all...), 8, "topic3", 2, "topic2", 2, "topic1", 1),
			owning(member("consumer4", all...), 7, "topic3", 1, "topic", 1, 2)}, 10)
		o.complete().noImprovingMove()
		keepsAll(t, o)
		want := []kafka.TopicPartition{{Topic: "topic1", Partition: 2}, {Topic: "topic2", Partition: 1}, {Topic: "topic3", Partition: 0}}
		if !slices.Equal(o.of("consumer1"), want) || withheld {
			t.Errorf("consumer1 has %v; withheld: %v", o.of("consumer1"), withheld)
		}
	},
	"prop-17": comesBackOld,
	"prop-18": func(t *testing.T, a string) {
		topics := []Topic{topic("topic", 4), topic("topic2", 4), topic("topic3", 4)}
		members := []Member{member("consumer1", names(topics)...), member("consumer2", names(topics)...), member("consumer3", names(topics)...)}
		o, _, _ := converged(t, a, topics, members, 1)
		o.complete().noImprovingMove().wantSizes(4, 4, 4)
		alone := members[1:2]
		o, _, _ = converged(t, a, topics, alone, 2)
		o.complete().noImprovingMove().wantSizes(12)
		o, _, _ = converged(t, a, topics, members, 3)
		o.complete().noImprovingMove().wantSizes(4, 4, 4)
	},
	"prop-19": func(t *testing.T, a string) {
		topics := []Topic{topic("topic", 4), topic("topic2", 4), topic("topic3", 4)}
		all := names(topics)
		o := round(t, a, topics, []Member{
			owning(member("consumer1", all...), 1, "topic", 0, 1, 2, "topic2", 2, 3, "topic3", 0),
			owning(member("consumer2", all...), 2, "topic", 0, 1, "topic2", 0, 1, 2, 3),
			owning(member("consumer3", all...), 2, "topic", 2, 3, "topic3", 0, 1, 2, 3)})
		o.complete().noImprovingMove().wantSizes(4, 4, 4)
		for _, m := range o.members[1:] {
			for _, tp := range o.of(m.ID) {
				if !slices.Contains(m.Owned, tp) {
					t.Errorf("%s gets %v, which it did not own", m.ID, tp)
				}
			}
		}
	},
	"prop-20": func(t *testing.T, a string) {
		topics := make([]Topic, 50)
		for i := range topics {
			topics[i] = topic(fmt.Sprintf("t%03d", i), 40)
		}
		var members []Member
		for i := range 200 {
			members = append(members, member(fmt.Sprintf("c%04d", i), names(topics)...))
		}
		o, _, _ := converged(t, a, topics, members, 1)
		o.complete().spreadAtMost(1)
		o, _, _ = converged(t, a, topics, without(members, "c0007"), 2)
		o.complete().spreadAtMost(1).optimal()
	},
	"prop-21": func(t *testing.T, a string) {
		topics := []Topic{{Name: "topic1", Partitions: 4, Racks: [][]string{{"a"}, {"b"}, {"a"}, {"b"}}}}
		c0, c1 := owning(member("c0", "topic1"), 1, "topic1", 0, 1), owning(member("c1", "topic1"), 1, "topic1", 2, 3)
		c0.Rack, c1.Rack = "a", "b"
		o := round(t, a, topics, []Member{c0, c1})
		want := []kafka.TopicPartition{{Topic: "topic1", Partition: 1}, {Topic: "topic1", Partition: 2}}
		if !slices.Equal(o.missing(), want) {
			t.Errorf("withheld %v, want %v", o.missing(), want)
		}
	},
}

func TestKafkasPropertiesHold(t *testing.T) {
	data, err := os.ReadFile("testdata/assignor_vectors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n  - id: prop-"); n != len(properties) {
		t.Fatalf("%d property vectors, %d tests", n, len(properties))
	}
	for id, check := range properties {
		for _, a := range []string{"sticky", "cooperative-sticky"} {
			if a == "cooperative-sticky" && slices.Contains([]string{"prop-17", "prop-18", "prop-19"}, id) ||
				a == "sticky" && id == "prop-21" {
				continue // the vector is of the other one
			}
			t.Run(id+"/"+a, func(t *testing.T) { check(t, a) })
		}
	}
}

func topicBalance(t *testing.T, a string) {
	topics := []Topic{topic("topic1", 12), topic("topic2", 12)}
	var members []Member
	for i := 1; i <= 4; i++ {
		members = append(members, member(fmt.Sprint("consumer", i), "topic1", "topic2"))
	}
	for step, s := range []struct{ from, to, each int }{{0, 1, 12}, {0, 2, 6}, {0, 4, 3}, {2, 4, 6}} {
		o, _, _ := converged(t, a, topics, members[s.from:s.to], int32(step+1))
		o.complete().noImprovingMove().spreadAtMost(1).optimal()
		for _, m := range o.got {
			n := 0
			for _, tp := range m.Partitions {
				if tp.Topic == "topic1" {
					n++
				}
			}
			if n != s.each || len(m.Partitions) != 2*s.each {
				t.Errorf("step %d: %s has %d of topic1 among %d, want %d", step+1, m.Member, n, len(m.Partitions), s.each)
			}
		}
	}
}

func addRemoveTopic(t *testing.T, a string) {
	members := []Member{member("consumer1"), member("consumer2")}
	topics := []Topic{topic("topic", 3), topic("topic2", 3)}
	step := func(generation int32, subscribed []Topic, sizes ...int) *outcome {
		for i := range members {
			members[i].Topics = names(subscribed)
		}
		o, _, withheld := converged(t, a, subscribed, members, generation)
		if withheld {
			t.Errorf("step %d withholds", generation)
		}
		return o.complete().noImprovingMove().wantSizes(sizes...)
	}
	step(1, topics[:1], 1, 2)
	keepsAll(t, step(2, topics, 3, 3))
	last := step(3, topics[1:], 1, 2)
	for _, m := range last.members {
		for _, tp := range last.of(m.ID) {
			if !slices.Contains(m.Owned, tp) {
				t.Errorf("%s gets %v, which it did not own", m.ID, tp)
			}
		}
	}
}

func oneLeavesAStaircase(t *testing.T, a string) {
	topics := staircase("t", 19)
	var members []Member
	for i := 1; i <= 19; i++ {
		members = append(members, member(fmt.Sprintf("c%02d", i), names(topics[:i])...))
	}
	o, _, _ := converged(t, a, topics, members, 1)
	o.complete().noImprovingMove()
	o, _, _ = converged(t, a, topics, members, 2)
	keepsAll(t, o.complete().noImprovingMove()) // idempotent
	o, _, _ = converged(t, a, topics, without(members, "c10"), 3)
	o.complete().noImprovingMove().noTwoCycle()
}

func threeGenerations(t *testing.T, a string) {
	topics := []Topic{topic("topic", 6), topic("topic1", 1)}
	for _, g := range [][]int32{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}} {
		o, _, _ := converged(t, a, topics, []Member{
			owning(member("consumer1", "topic"), g[0], "topic", 0, 2),
			owning(member("consumer2", "topic"), g[1], "topic", 1, 2, 3),
			owning(member("consumer3", "topic"), g[2], "topic", 2, 4, 5),
			owning(member("consumer4", "topic1"), 2, "topic1", 0)}, 4)
		for _, n := range o.sizes() {
			if n < 1 || n > 2 {
				t.Errorf("generations %v: sizes %v", g, o.sizes())
			}
		}
	}
}

// comesBackOld is prop-17, with equal and with different subscriptions.
func comesBackOld(t *testing.T, a string) {
	topics := []Topic{topic("topic", 6), topic("topic2", 6)}
	for _, uniform := range []bool{true, false} {
		members := []Member{member("consumer1", names(topics)...), member("consumer2", names(topics)...), member("consumer3", names(topics)...)}
		if !uniform {
			members[1].Topics = []string{"topic"}
		}
		o, _, _ := converged(t, a, topics, members, 1)
		o.complete().noImprovingMove().wantSizes(4, 4, 4)
		o, _, _ = converged(t, a, topics, members[:2], 2)
		o.complete().noImprovingMove().wantSizes(6, 6)
		for _, m := range o.members {
			if uniform || m.ID == "consumer2" {
				for _, tp := range m.Owned {
					if o.owner[tp] != m.ID {
						t.Errorf("%s loses %v", m.ID, tp)
					}
				}
			}
		}
		o, _, _ = converged(t, a, topics, members[1:], 3)
		o.complete().noImprovingMove().wantSizes(6, 6)
	}
}

// keepsAll: every member still has what it owned.
func keepsAll(t *testing.T, o *outcome) {
	t.Helper()
	for _, m := range o.members {
		for _, tp := range m.Owned {
			if o.owner[tp] != m.ID && o.subscribes(m.ID, tp.Topic) {
				t.Errorf("%s loses %v", m.ID, tp)
			}
		}
	}
}

func names(topics []Topic) (out []string) {
	for _, t := range topics {
		out = append(out, t.Name)
	}
	return out
}

func ids(members []Member) (out []string) {
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}

// staircase is topics of 1, 2, 3 … partitions.
func staircase(prefix string, n int) (out []Topic) {
	for i := 1; i <= n; i++ {
		out = append(out, topic(fmt.Sprintf("%s%02d", prefix, i), int32(i)))
	}
	return out
}

// ones is topics of one partition.
func ones(prefix string, n int) (out []Topic) {
	for i := 1; i <= n; i++ {
		out = append(out, topic(fmt.Sprint(prefix, i), 1))
	}
	return out
}
