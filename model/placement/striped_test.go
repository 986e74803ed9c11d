package placement

import (
	"errors"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

func usable(cl string, fenced ...kafka.NodeID) []UsableBroker {
	var out []UsableBroker
	for _, b := range cluster(cl) {
		out = append(out, UsableBroker{b, slices.Contains(fenced, b.ID)})
	}
	slices.Reverse(out)
	return out
}

func place(t *testing.T, s *Striped, n, rf int) [][]kafka.NodeID {
	t.Helper()
	var out [][]kafka.NodeID
	for range n {
		r, err := s.Place(rf)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func zero(int) int { return 0 }

func TestStripedGivesTheWorkedExamples53(t *testing.T) {
	tests := []struct {
		name    string
		brokers []UsableBroker
		n, rf   int
		want    string
	}{
		{"3", usable("A{1,2} B{3,4} C{5,6}"), 6, 3, "p0 [1,3,5] p1 [4,6,2] p2 [5,1,3] p3 [2,4,6] p4 [3,5,1] p5 [6,2,4]"},
		{"3b", usable("0,1,2,3", 3), 3, 4, "p0 [0,1,2,3] p1 [1,2,0,3] p2 [2,0,1,3]"},
		{"3b, RF 3", usable("0,1,2,3", 3), 3, 3, "p0 [0,1,2] p1 [1,2,0] p2 [2,0,1]"},
		{"3c", usable("0,1,2,3"), 4, 3, "p0 [0,1,2] p1 [1,2,3] p2 [2,3,0] p3 [3,0,1]"},
	}
	for _, tt := range tests {
		if got := lists(0, place(t, NewStriped(tt.brokers, zero), tt.n, tt.rf)); got != tt.want {
			t.Errorf("example %s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestStripedShufflesAfterAsManyPlacementsAsUnfencedBrokers(t *testing.T) {
	calls := 0
	s := NewStriped(usable("0,1,2,3", 3), func(n int) int { calls++; return 0 })
	place(t, s, 3, 2)
	before := calls
	place(t, s, 1, 2)
	if before == calls {
		t.Error("the fourth placement did not shuffle")
	}
	one := NewStriped(usable("0"), func(n int) int { calls++; return 0 })
	before = calls
	place(t, one, 5, 1)
	if before != calls {
		t.Error("a single broker was shuffled")
	}
}

func TestStripedRejects(t *testing.T) {
	for _, rf := range []int{0, 3} {
		if _, err := NewStriped(usable("1,2"), zero).Place(rf); !errors.Is(err, ErrReplicationFactor) {
			t.Errorf("rf %d: %v", rf, err)
		}
	}
	if _, err := NewStriped(usable("1,2", 1, 2), zero).Place(1); !errors.Is(err, ErrAllFenced) {
		t.Errorf("all fenced: %v", err)
	}
}

func TestStripedSpreadsReplicasAndSparesFencedBrokers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := drawCluster(t, rapid.Bool().Draw(t, "racked"))
		var us []UsableBroker
		unfenced := 0
		for _, b := range brokers {
			u := UsableBroker{b, rapid.Bool().Draw(t, "fenced")}
			if !u.Fenced {
				unfenced++
			}
			us = append(us, u)
		}
		if unfenced == 0 {
			us[0].Fenced, unfenced = false, 1
		}
		s := NewStriped(us, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") })
		rf := rapid.IntRange(1, len(us)).Draw(t, "rf")
		for range 20 {
			r, err := s.Place(rf)
			if err != nil {
				t.Fatal(err)
			}
			if len(r) != rf || !distinct(r) {
				t.Fatalf("%v", r)
			}
			fenced := func(id kafka.NodeID) bool {
				return slices.ContainsFunc(us, func(u UsableBroker) bool { return u.ID == id && u.Fenced })
			}
			if fenced(r[0]) {
				t.Fatalf("%v: leader is fenced", r)
			}
			if racks := countRacks(brokers, allIDs(brokers)); racks == 1 && rf <= unfenced && slices.ContainsFunc(r, fenced) {
				t.Fatalf("%v uses a fenced broker without need", r)
			}
			if racks := countRacks(brokers, allIDs(brokers)); countRacks(brokers, r) < min(rf, racks) {
				t.Fatalf("%v crowds a rack", r)
			}
		}
	})
}
