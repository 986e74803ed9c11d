package placement

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

// cluster reads "1,2,3" or "a{1,2} b{3}".
func cluster(s string) []Broker {
	var out []Broker
	for _, group := range strings.Fields(s) {
		rack, list, ok := strings.Cut(strings.TrimSuffix(group, "}"), "{")
		if !ok {
			rack, list = "", rack
		}
		for _, id := range strings.Split(list, ",") {
			n, err := strconv.Atoi(id)
			if err != nil {
				panic(err)
			}
			out = append(out, Broker{kafka.NodeID(n), rack})
		}
	}
	return out
}

// lists prints as the worked examples do: p0 [3,1,2] p1 [...]
func lists(first int32, got [][]kafka.NodeID) string {
	var sb strings.Builder
	for i, r := range got {
		fmt.Fprintf(&sb, "p%d %s ", int(first)+i, strings.ReplaceAll(fmt.Sprint(r), " ", ","))
	}
	return strings.TrimSpace(sb.String())
}

func TestAssignToBrokersGivesTheWorkedExamples51And52(t *testing.T) {
	tests := []struct {
		name, cluster    string
		rf, start, shift int
		first            int32
		want             string
	}{
		{"1", "1,2,3,4", 3, 2, 1, 0, "p0 [3,1,2] p1 [4,2,3] p2 [1,3,4] p3 [2,4,1] p4 [3,2,4] p5 [4,3,1] p6 [1,4,2] p7 [2,1,3] p8 [3,4,1]"},
		{"1 adding", "1,2,3,4", 3, 2, 2, 9, "p9 [4,3,1] p10 [1,4,2] p11 [2,1,3]"},
		{"1b", "0,1,2,3,4", 3, 0, 0, 0, "p0 [0,1,2] p1 [1,2,3] p2 [2,3,4] p3 [3,4,0] p4 [4,0,1] p5 [0,2,3] p6 [1,3,4] p7 [2,4,0] p8 [3,0,1] p9 [4,1,2]"},
		{"2", "a{1,2} b{3,4} c{5,6}", 3, 0, 0, 0, "p0 [1,3,5] p1 [3,5,2] p2 [5,2,4] p3 [2,4,6] p4 [4,6,1] p5 [6,1,3] p6 [1,4,6] p7 [3,6,1]"},
		{"2b", "a{1,2,3} b{4} c{5}", 3, 1, 1, 0, "p0 [4,1,5] p1 [5,4,2] p2 [2,5,4] p3 [3,4,5] p4 [1,4,5] p5 [4,3,5]"},
		{"2b shift 0", "a{1,2,3} b{4} c{5}", 3, 1, 0, 0, "p0 [4,5,2] p1 [5,2,4] p2 [2,4,5] p3 [3,4,5] p4 [1,4,5] p5 [4,1,5]"},
	}
	for _, tt := range tests {
		brokers := cluster(tt.cluster)
		slices.Reverse(brokers) // order must not matter
		n := int32(strings.Count(tt.want, "p"))
		got, err := AssignToBrokers(brokers, n, tt.rf, tt.start, tt.shift, tt.first)
		if err != nil || lists(tt.first, got) != tt.want {
			t.Errorf("example %s: %v\ngot  %s\nwant %s", tt.name, err, lists(tt.first, got), tt.want)
		}
	}
}

func TestFixedStartIsTheFirstBrokerNotBeforeTheLeader(t *testing.T) {
	brokers := cluster("9,2,5")
	for leader, want := range []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 0} {
		if got := FixedStart(brokers, kafka.NodeID(leader)); got != want {
			t.Errorf("leader %d: got %d, want %d", leader, got, want)
		}
	}
}

func TestAssignToBrokersRejects(t *testing.T) {
	for _, rf := range []int{0, -1, 3} {
		if _, err := AssignToBrokers(cluster("1,2"), 1, rf, 0, 0, 0); !errors.Is(err, ErrReplicationFactor) {
			t.Errorf("rf %d: %v", rf, err)
		}
	}
	if _, err := AssignToBrokers(cluster("a{1} 2"), 1, 1, 0, 0, 0); !errors.Is(err, ErrRacks) {
		t.Errorf("mixed racks: %v", err)
	}
	if got, err := AssignToBrokers(cluster("7"), 3, 1, 0, 0, 0); err != nil || lists(0, got) != "p0 [7] p1 [7] p2 [7]" {
		t.Errorf("one broker: %v %v", got, err)
	}
}

// drawCluster makes up to 4 racks of up to 4 brokers, or up to 8 brokers without.
func drawCluster(t *rapid.T, racked bool) []Broker {
	n := rapid.IntRange(1, 8).Draw(t, "brokers")
	var out []Broker
	for i := range n {
		b := Broker{ID: kafka.NodeID(i * 3)}
		if racked {
			b.Rack = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "rack")
		}
		out = append(out, b)
	}
	return rapid.Permutation(out).Draw(t, "order")
}

func rackOf(brokers []Broker, id kafka.NodeID) string {
	for _, b := range brokers {
		if b.ID == id {
			return b.Rack
		}
	}
	panic("not a broker")
}

func countRacks(brokers []Broker, replicas []kafka.NodeID) int {
	seen := map[string]bool{}
	for _, r := range replicas {
		seen[rackOf(brokers, r)] = true
	}
	return len(seen)
}

func allIDs(brokers []Broker) []kafka.NodeID {
	var out []kafka.NodeID
	for _, b := range brokers {
		out = append(out, b.ID)
	}
	return out
}

func distinct(replicas []kafka.NodeID) bool {
	s := slices.Sorted(slices.Values(replicas))
	return len(slices.Compact(s)) == len(replicas)
}

func TestReplicasAreDistinctAndSpreadOverRacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racked := rapid.Bool().Draw(t, "racked")
		brokers := drawCluster(t, racked)
		rf := rapid.IntRange(1, len(brokers)).Draw(t, "rf")
		start := rapid.IntRange(0, len(brokers)-1).Draw(t, "start")
		shift := rapid.IntRange(0, len(brokers)-1).Draw(t, "shift")
		got, err := AssignToBrokers(brokers, 20, rf, start, shift, 0)
		if err != nil {
			t.Fatal(err)
		}
		racks := countRacks(brokers, allIDs(brokers))
		leads := map[kafka.NodeID]int{}
		for _, r := range got {
			if len(r) != rf || !distinct(r) || countRacks(brokers, r) < min(rf, racks) {
				t.Fatalf("%v: rf %d", r, rf)
			}
			leads[r[0]]++
		}
		for _, id := range allIDs(brokers) {
			if want := 20 / len(brokers); leads[id] < want || leads[id] > want+1 {
				t.Fatalf("broker %d leads %d of 20 among %d brokers", id, leads[id], len(brokers))
			}
		}
	})
}

// TestRackUnawareAgreesWithItsTwin: the twin of 5.1 turns the ring of the other brokers by the shift.
func TestRackUnawareAgreesWithItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := drawCluster(t, false)
		n := len(brokers)
		rf := rapid.IntRange(1, n).Draw(t, "rf")
		s, h := rapid.IntRange(0, n-1).Draw(t, "s"), rapid.IntRange(0, n-1).Draw(t, "h")
		first := rapid.IntRange(0, 30).Draw(t, "first")
		got, err := AssignToBrokers(brokers, 12, rf, s, h, int32(first))
		if err != nil {
			t.Fatal(err)
		}
		ids := slices.Sorted(slices.Values(allIDs(brokers)))
		for i, replicas := range got {
			p := first + i
			// The ring of the other brokers, clockwise from the leader, turned by the
			// shift: h plus one for each multiple of n in [first, p], except 0.
			turn := h + p/n - max(first-1, 0)/n
			f := (p + s) % n
			ring := append(slices.Clone(ids[f+1:]), ids[:f]...)
			want := []kafka.NodeID{ids[f]}
			for j := range rf - 1 {
				want = append(want, ring[(turn+j)%len(ring)])
			}
			if !slices.Equal(replicas, want) {
				t.Fatalf("p%d: got %v, want %v", p, replicas, want)
			}
		}
	})
}
