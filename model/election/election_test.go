package election

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

func ids(n ...kafka.NodeID) []kafka.NodeID { return n }

func TestElectChoosesAsInZ25(t *testing.T) {
	tests := []struct {
		name     string
		strategy Strategy
		in       Input
		want     Outcome
	}{
		{"offline takes assignment order, not ISR order", Offline,
			Input{Assignment: ids(1, 2, 3), ISR: ids(3, 2), Online: ids(2, 3)},
			Outcome{Leader: 2, ISR: ids(3, 2), Ok: true}},
		{"offline restricts the ISR to live replicas", Offline,
			Input{Assignment: ids(1, 2, 3), ISR: ids(1, 2, 3), Online: ids(2, 3)},
			Outcome{Leader: 2, ISR: ids(2, 3), Ok: true}},
		{"offline does not elect outside the ISR", Offline,
			Input{Assignment: ids(1, 2, 3), ISR: ids(1), Online: ids(2, 3)}, nobody()},
		{"offline unclean makes the leader the whole ISR", Offline,
			Input{Assignment: ids(1, 3, 2), ISR: ids(1), Online: ids(2, 3), UncleanAllowed: true},
			Outcome{Leader: 3, ISR: ids(3), Unclean: true, Ok: true}},
		{"offline stays clean where it can", Offline,
			Input{Assignment: ids(1, 2, 3), ISR: ids(3), Online: ids(2, 3), UncleanAllowed: true},
			Outcome{Leader: 3, ISR: ids(3), Ok: true}},
		{"offline: a broker in controlled shutdown is not live (corrected)", Offline,
			Input{Assignment: ids(1, 2, 3), ISR: ids(1, 2, 3), Online: ids(1, 2, 3), ShuttingDown: ids(1)},
			Outcome{Leader: 2, ISR: ids(2, 3), Ok: true}},
		{"offline unclean: not even then", Offline,
			Input{Assignment: ids(1, 2), ISR: ids(1), Online: ids(1), ShuttingDown: ids(1), UncleanAllowed: true}, nobody()},
		{"reassign keeps the ISR", Reassign,
			Input{Assignment: ids(4, 5, 6), ISR: ids(1, 2, 3, 5, 6), Online: ids(1, 2, 3, 4, 5, 6)},
			Outcome{Leader: 5, ISR: ids(1, 2, 3, 5, 6), Ok: true}},
		{"reassign is never unclean", Reassign,
			Input{Assignment: ids(4), ISR: ids(1), Online: ids(4), UncleanAllowed: true}, nobody()},
		{"preferred keeps the ISR", Preferred,
			Input{Assignment: ids(1, 2, 3), ISR: ids(3, 1), Online: ids(1)},
			Outcome{Leader: 1, ISR: ids(3, 1), Ok: true}},
		{"preferred is the first replica or nobody", Preferred,
			Input{Assignment: ids(1, 2, 3), ISR: ids(2, 3), Online: ids(1, 2, 3)}, nobody()},
		{"preferred not to a leaving broker (corrected)", Preferred,
			Input{Assignment: ids(1, 2), ISR: ids(1, 2), Online: ids(1, 2), ShuttingDown: ids(1)}, nobody()},
		{"shutdown leaves and drops the leaving", ControlledShutdown,
			Input{Assignment: ids(1, 2, 3), ISR: ids(1, 2, 3), Online: ids(1, 2, 3), ShuttingDown: ids(1)},
			Outcome{Leader: 2, ISR: ids(2, 3), Ok: true}},
		{"shutdown keeps dead members of the ISR", ControlledShutdown,
			Input{Assignment: ids(1, 2, 3), ISR: ids(1, 2, 3), Online: ids(1, 3), ShuttingDown: ids(1)},
			Outcome{Leader: 3, ISR: ids(2, 3), Ok: true}},
		{"shutdown of the last in-sync replica finds nobody", ControlledShutdown,
			Input{Assignment: ids(1, 2), ISR: ids(1), Online: ids(1, 2), ShuttingDown: ids(1), UncleanAllowed: true}, nobody()},
	}
	for _, tt := range tests {
		if got := Elect(tt.strategy, tt.in); !equal(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func equal(a, b Outcome) bool {
	return a.Leader == b.Leader && a.Unclean == b.Unclean && a.Ok == b.Ok && slices.Equal(a.ISR, b.ISR)
}

// drawInput has repeated ids in no set, as in Kafka.
func drawInput(t *rapid.T) Input {
	subset := func(name string) []kafka.NodeID {
		perm := rapid.Permutation(ids(1, 2, 3, 4, 5)).Draw(t, name)
		return perm[:rapid.IntRange(0, 5).Draw(t, name+" size")]
	}
	return Input{Assignment: subset("assignment"), ISR: subset("isr"), Online: subset("online"),
		ShuttingDown: subset("shutting down"), UncleanAllowed: rapid.Bool().Draw(t, "unclean")}
}

// twinMayLead says, for one replica at a time, whether the table of Z-25 lets it
// lead, with the corrected notion of live spelled out per strategy.
func twinMayLead(s Strategy, in Input, i int) bool {
	r := in.Assignment[i]
	online, leaving := slices.Contains(in.Online, r), slices.Contains(in.ShuttingDown, r)
	inISR := slices.Contains(in.ISR, r)
	switch s {
	case Offline, Reassign:
		return online && !leaving && inISR
	case Preferred:
		return i == 0 && online && !leaving && inISR
	default: // leaving ones are live, but must not lead
		liveOrLeaving := online
		return liveOrLeaving && inISR && !leaving
	}
}

func twin(s Strategy, in Input) Outcome {
	for i, r := range in.Assignment {
		if twinMayLead(s, in, i) {
			isr := slices.Clone(in.ISR)
			switch s {
			case Offline:
				isr = slices.DeleteFunc(isr, func(m kafka.NodeID) bool {
					return !slices.Contains(in.Online, m) || slices.Contains(in.ShuttingDown, m)
				})
			case ControlledShutdown:
				isr = slices.DeleteFunc(isr, func(m kafka.NodeID) bool { return slices.Contains(in.ShuttingDown, m) })
			}
			return Outcome{Leader: r, ISR: isr, Ok: true}
		}
	}
	if s == Offline && in.UncleanAllowed {
		for _, r := range in.Assignment {
			if slices.Contains(in.Online, r) && !slices.Contains(in.ShuttingDown, r) {
				return Outcome{Leader: r, ISR: ids(r), Unclean: true, Ok: true}
			}
		}
	}
	return nobody()
}

func TestElectAgreesWithItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		for s := Offline; s < numStrategies; s++ {
			before := slices.Clone(in.ISR)
			if got, want := Elect(s, in), twin(s, in); !equal(got, want) {
				t.Fatalf("%v of %+v: got %+v, want %+v", s, in, got, want)
			}
			if !slices.Equal(before, in.ISR) {
				t.Fatalf("%v changed its input", s)
			}
		}
	})
}

func TestElectedLeaderIsInItsISR(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		for s := Offline; s < numStrategies; s++ {
			o := Elect(s, in)
			if o.Ok && (!slices.Contains(o.ISR, o.Leader) || !slices.Contains(in.Assignment, o.Leader)) {
				t.Fatalf("%v of %+v: leader outside: %+v", s, in, o)
			}
			if o.Ok && o.Unclean == slices.Contains(in.ISR, o.Leader) {
				t.Fatalf("%v of %+v: unclean is wrong: %+v", s, in, o)
			}
		}
	})
}

func TestRemoveFromISRNeverEmptiesIt(t *testing.T) {
	tests := []struct {
		r, leader  kafka.NodeID
		isr        []kafka.NodeID
		wantLeader kafka.NodeID
		wantISR    []kafka.NodeID
		changed    bool
	}{
		{2, 1, ids(1, 2, 3), 1, ids(1, 3), true},
		{1, 1, ids(1, 2, 3), kafka.NoNode, ids(2, 3), true},
		{1, 1, ids(1), kafka.NoNode, ids(1), true},
		{1, kafka.NoNode, ids(1), kafka.NoNode, ids(1), true},
		{3, 1, ids(1, 2), 1, ids(1, 2), false},
	}
	for _, tt := range tests {
		l, isr, ch := RemoveFromISR(tt.r, tt.leader, tt.isr)
		if l != tt.wantLeader || !slices.Equal(isr, tt.wantISR) || ch != tt.changed {
			t.Errorf("remove %d from %v led by %d: got %d %v %v", tt.r, tt.isr, tt.leader, l, isr, ch)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		if len(in.ISR) == 0 {
			return
		}
		r := kafka.NodeID(rapid.IntRange(1, 5).Draw(t, "r"))
		leader := in.ISR[0]
		l, isr, _ := RemoveFromISR(r, leader, in.ISR)
		want := slices.DeleteFunc(slices.Clone(in.ISR), func(m kafka.NodeID) bool { return m == r })
		if len(want) == 0 {
			want = in.ISR
		}
		if !slices.Equal(isr, want) || (l == kafka.NoNode) != (r == leader) {
			t.Fatalf("remove %d from %v: %d %v", r, in.ISR, l, isr)
		}
	})
}

func TestInitialLeaderIsTheFirstLiveReplicaZ22(t *testing.T) {
	if l, isr, ok := Initial(ids(3, 1, 2), ids(1, 2)); l != 1 || !slices.Equal(isr, ids(1, 2)) || !ok {
		t.Errorf("got %d %v %v", l, isr, ok)
	}
	if l, isr, ok := Initial(ids(3, 1), ids(2)); l != kafka.NoNode || isr != nil || ok {
		t.Errorf("nobody is live: got %d %v %v", l, isr, ok)
	}
}
