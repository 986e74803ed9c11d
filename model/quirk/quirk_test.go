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
