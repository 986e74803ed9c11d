package assignor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/kafka"
)

// shares is an assignment as the vectors have it: member, topic, partitions.
type shares map[string]map[string][]int32

type vector struct {
	ID       string           `yaml:"id"`
	Assignor string           `yaml:"assignor"`
	Topics   map[string]int32 `yaml:"topics"`
	Members  []struct {
		ID         string             `yaml:"id"`
		Topics     []string           `yaml:"topics"`
		InstanceID string             `yaml:"instance_id"`
		Rack       string             `yaml:"rack"`
		Owned      map[string][]int32 `yaml:"owned"`
		Generation *int32             `yaml:"generation"`
	} `yaml:"members"`
	Racks            map[string][][]string `yaml:"replica_racks"`
	Expect           shares                `yaml:"expect"`
	Path             string                `yaml:"path"`
	JavaVisitOrder   []string              `yaml:"java_visit_order"`
	Withheld         map[string]string     `yaml:"withheld_this_round"`
	Rounds           int                   `yaml:"rounds_until_no_revocation"`
	Final            shares                `yaml:"final_after_convergence"`
	TopicOrder       []string              `yaml:"topic_order"`
	SubscriptionType string                `yaml:"subscription_type"`
	RackMismatches   *int                  `yaml:"rack_mismatches"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/assignor_vectors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `yaml:"vectors"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Vectors
}

func (v *vector) topics() []Topic {
	var out []Topic
	for name, n := range v.Topics {
		out = append(out, Topic{Name: name, Partitions: n, Racks: v.Racks[name]})
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	if v.TopicOrder != nil {
		slices.SortStableFunc(out, func(a, b Topic) int {
			return slices.Index(v.TopicOrder, a.Name) - slices.Index(v.TopicOrder, b.Name)
		})
	}
	return out
}

func (v *vector) members() []Member {
	var out []Member
	for _, m := range v.Members {
		x := Member{ID: m.ID, InstanceID: m.InstanceID, Topics: m.Topics, Rack: m.Rack, Generation: NoGeneration, Owned: flat(m.Owned)}
		if m.Generation != nil {
			x.Generation = *m.Generation
		}
		out = append(out, x)
	}
	return out
}

func flat(owned map[string][]int32) []kafka.TopicPartition {
	var out []kafka.TopicPartition
	for topic, parts := range owned {
		for _, p := range parts {
			out = append(out, kafka.TopicPartition{Topic: topic, Partition: p})
		}
	}
	slices.SortFunc(out, kafka.TopicPartition.Compare)
	return out
}

// visit is Kafka's visit order as numbers of members by id; nil is that order.
func (v *vector) visit(members []Member) []int32 {
	var out []int32
	sorted := byID(members)
	for _, id := range v.JavaVisitOrder {
		out = append(out, int32(slices.IndexFunc(sorted, func(m Member) bool { return m.ID == id })))
	}
	return out
}

func (v *vector) assign(t *testing.T, topics []Topic, members []Member) []Assignment {
	if a, ok := ByName(v.Assignor); ok {
		members = withUserDataOf(a, members)
	}
	switch v.Assignor {
	case "sticky":
		return stickily(topics, members, v.visit(members), flaws{}).result()
	case "cooperative-sticky":
		x := cooperatively(topics, members, v.visit(members), flaws{})
		x.withhold()
		return x.result()
	case "server-range":
		got, err := Range(topics, members)
		if err != nil {
			t.Fatal(err)
		}
		return got
	case "uniform":
		u := newUniform(topics, members)
		if v.SubscriptionType == "homogeneous" {
			u.fillQuotas()
		} else {
			u.balanceTopics()
		}
		return u.result()
	}
	a, ok := ByName(v.Assignor)
	if !ok {
		t.Fatalf("no assignor %q", v.Assignor)
	}
	return a.Assign(topics, members)
}

// differs compares partitions as sets; "" = equal.
func differs(got []Assignment, want shares) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d members, want %d", len(got), len(want))
	}
	var out strings.Builder
	for _, a := range got {
		if w := flat(want[a.Member]); !slices.Equal(a.Partitions, w) {
			fmt.Fprintf(&out, "%s has %v, want %v; ", a.Member, a.Partitions, w)
		}
	}
	return out.String()
}

func TestKafkasOwnAssignmentsAreReproduced(t *testing.T) {
	all := vectors(t)
	if len(all) != 122 {
		t.Fatalf("%d vectors, want 122", len(all))
	}
	for _, v := range all {
		t.Run(v.ID, func(t *testing.T) {
			topics, members := v.topics(), v.members()
			got := v.assign(t, topics, members)
			if d := differs(got, v.Expect); d != "" {
				t.Error(d)
			}
			if v.Path != "" && (v.Path == "constrained") != newGroup(topics, members).uniform {
				t.Errorf("the path is not %s", v.Path)
			}
			if v.RackMismatches != nil && mismatches(v.topics(), members, got) != *v.RackMismatches {
				t.Errorf("%d partitions off their member's rack, want %d", mismatches(v.topics(), members, got), *v.RackMismatches)
			}
		})
	}
}

func mismatches(topics []Topic, members []Member, got []Assignment) (n int) {
	for i, a := range got {
		for _, tp := range a.Partitions {
			at := slices.IndexFunc(topics, func(x Topic) bool { return x.Name == tp.Topic })
			if !rackMatches(members[i].Rack, topics[at].Racks, int(tp.Partition)) {
				n++
			}
		}
	}
	return n
}

func TestKafkasCooperativeRoundsAreReproduced(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Assignor != "cooperative-sticky" {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			topics, members := v.topics(), v.members()
			for at, want := range v.Withheld {
				tp, _ := kafka.ParseTopicPartition(at)
				x := cooperatively(topics, withUserDataOf(cooperativeSticky{}, members), v.visit(members), flaws{})
				p := x.number(x.index[tp.Topic], tp.Partition)
				before := x.owner[p]
				x.withhold()
				if before < 0 || x.members[before].ID != want || x.owner[p] >= 0 {
					t.Errorf("%s is not withheld from %s", at, want)
				}
			}
			if v.Rounds == 0 {
				return
			}
			rounds := 0
			for again := true; again; rounds++ {
				got := v.assign(t, topics, members)
				again = follow(members, got, int32(100+rounds))
				if !again && differs(got, v.Final) != "" {
					t.Error(differs(got, v.Final))
				}
			}
			if rounds != v.Rounds {
				t.Errorf("%d rounds, want %d", rounds, v.Rounds)
			}
		})
	}
}

// follow lets members own what they were assigned; true: somebody had to revoke.
func follow(members []Member, got []Assignment, generation int32) (again bool) {
	for _, a := range got {
		m := &members[slices.IndexFunc(members, func(m Member) bool { return m.ID == a.Member })]
		for _, tp := range m.Owned {
			again = again || !slices.Contains(a.Partitions, tp)
		}
		m.Owned, m.Generation = a.Partitions, generation
	}
	return again
}
