package quirk

import (
	"slices"
	"strings"
	"testing"
)

// Every row is complete, stands at its switch, and its key finds it again.
func TestEveryRowIsComplete(t *testing.T) {
	for i, b := range All() {
		if b.ID != ID(i) {
			t.Errorf("row %d is of switch %d", i, b.ID)
		}
		if b.Key == "" || b.Rule == "" || b.Title == "" || b.Mechanism == "" || b.Versions == "" || b.Switch == "" || b.Invariant == "" {
			t.Errorf("%s: %+v", b.Key, b)
		}
		if id, ok := Parse(strings.ToLower(b.Key)); !ok || id != b.ID {
			t.Errorf("%s is found as %d", b.Key, id)
		}
		if b.Masked == (len(b.With) == 0) {
			t.Errorf("%s: masked %v, with %v", b.Key, b.Masked, b.With)
		}
	}
	keys := Keys()
	slices.Sort(keys)
	if len(slices.Compact(keys)) != int(NumIDs) {
		t.Error("two bugs have one key")
	}
	if _, ok := Parse("KAFKA-0"); ok {
		t.Error("a key that no bug has is found")
	}
}

// A set has what it was made of, and nothing else.
func TestASetHasItsMembers(t *testing.T) {
	if !(Set{}).Empty() || Of(0).Empty() {
		t.Error("emptiness")
	}
	for id := range NumIDs {
		s := Of(id)
		if got := s.IDs(); !slices.Equal(got, []ID{id}) || s.String() != table[id].Key {
			t.Errorf("a set of %d has %v, prints %q", id, got, s)
		}
	}
	pair := table[NoMinISRBeforeAck]
	if got := pair.On(); got != Of(NoMinISRBeforeAck, HWBelowMinISR) {
		t.Errorf("the pair is %s", got)
	}
}

// A mutation is found by its key, printed by it, and in no list of bugs.
func TestMutationsAreNoBugs(t *testing.T) {
	for i, m := range Mutations() {
		if m.ID != firstMutation+ID(i) || m.Key == "" || m.Words == "" || m.Switch == "" || (m.Invariant == "") == (m.Why == "") || len(m.With) > 0 && m.Invariant == "" {
			t.Errorf("row %d: %+v", i, m)
		}
		if id, ok := ParseSwitch(m.Key); !ok || id != m.ID {
			t.Errorf("%s is found as %d", m.Key, id)
		}
		if _, ok := Parse(m.Key); ok || slices.Contains(Keys(), m.Key) {
			t.Errorf("%s is a bug", m.Key)
		}
		if s := Of(m.ID); s.String() != m.Key || s.Empty() {
			t.Errorf("the set of %s prints %q", m.Key, s)
		}
	}
	if NumIDs > firstMutation || endMutations > 128 {
		t.Error("a set has no room for all")
	}
}
