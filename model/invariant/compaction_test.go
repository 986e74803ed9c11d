package invariant

import (
	"strings"
	"testing"
)

// lossyStory loses ten acknowledged records after a change of leader; extra is played
// before the broker dies.
func lossyStory(extra string) string {
	return `start
		send of=1/0+10
		append node=1,2,3 of=1/0+10 base=0
		hw node=1 hw=10
		ack of=1/0+10 base=0
		` + extra + `
		kill node=1
		state leader=2 epoch=1 isr=2,3
		lead node=2 epoch=1 leo=10 hw=10
		follow node=3 epoch=1 leo=10 hw=10 leader=2
		end`
}

// TestContentsAreNotJudgedWhereTheCleanerWasAtWork, and everybody is told so; other
// partitions and other invariants go on.
func TestContentsAreNotJudgedWhereTheCleanerWasAtWork(t *testing.T) {
	plain := newScript(t, "").play(lossyStory(""))
	if state := stateOf(plain, "no-acked-loss"); state.State != "violated" {
		t.Fatalf("the story loses nothing: %s", state.State)
	}
	r := newScript(t, "").play(lossyStory("cleaning-began node=1 base=0 offset=10"))
	if len(r.Violations) > 0 || r.Records.Lost > 0 {
		t.Errorf("%d violations, %d lost", len(r.Violations), r.Records.Lost)
	}
	for _, name := range []string{"no-acked-loss", "acks-1-survives", "repeatable-read", "log-matching"} {
		state := stateOf(r, name)
		if state.State != "suspended" || !strings.Contains(state.Note, "orders-0: the log was compacted") {
			t.Errorf("%s: %s, %q", name, state.State, state.Note)
		}
	}
	if state := stateOf(r, "single-leader-per-epoch"); state.State != "held" {
		t.Errorf("single-leader-per-epoch: %s", state.State)
	}
}

// TestContentInvariantsExist: the list names no rule that is not there.
func TestContentInvariantsExist(t *testing.T) {
	n := 0
	for _, name := range Names() {
		if comparesContents(name) {
			n++
		}
	}
	if n != 11 {
		t.Errorf("%d", n)
	}
}
