package report

import (
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/sim/explain"
)

// Ids of members are told by their client's name and as many digits as tell two lives apart.
func TestMembersAreNamedInShort(t *testing.T) {
	const hex = "0123456789abcdef0123456789abcdef"
	for id, want := range map[string]string{"billing-2-" + hex: "billing-2-0123", "a-" + hex: "a-0123", hex: hex, "": "", "x-" + hex[1:]: "x-" + hex[1:]} {
		if got := shortMember(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
	if got := shortMembers("assigns t-0 to a-" + hex + ", and to (b-" + hex + ")"); got != "assigns t-0 to a-0123, and to (b-0123)" {
		t.Error(got)
	}
}

// A fact that stands for several says so.
func TestWhatStandsForSeveralSaysSo(t *testing.T) {
	l := explain.Link{Event: event.Event{Kind: event.SyncAnswered, Generation: 3, Member: "m"}, More: 2}
	if got := groupPhrases[event.SyncAnswered](&l); got != "gives 3 members their part, generation 3" {
		t.Error(got)
	}
	l = explain.Link{Event: event.Event{Kind: event.MemberRemoved, Member: "m", Text: event.GoneSession}, Heard: 19_285_000_000}
	if got := groupPhrases[event.MemberRemoved](&l); got != "removes m: session timeout, last heard at 19.285s" {
		t.Error(got)
	}
}
