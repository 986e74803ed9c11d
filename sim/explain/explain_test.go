package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
)

func bug(t *testing.T, id quirk.ID) *scenarios.Spec {
	t.Helper()
	e, ok := scenarios.BugScenario(id.Bug())
	if !ok {
		t.Fatalf("%s has no scenario", id.Bug().Key)
	}
	s, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// words is a link in a form that tests can look for.
func words(l *Link) string {
	e := &l.Event
	return fmt.Sprintf("%s %s leader=%d isr=%v %s", e.Actor, e.Kind, e.Leader, e.ISR, e.Text)
}

// The chain of each bug has the facts by which the bug is known, in this order, and they
// hang together: each follows from others, down to the faults.
func TestTheChainNamesTheTrueCause(t *testing.T) {
	for _, c := range []struct {
		id     quirk.ID
		facts  []string // each is in a link, in order
		needed []string // the faults
	}{
		{quirk.TruncateToHW, []string{"stop: broker-3", "broker-3 shutdown-answered", "became-follower leader=1", "broker-2 truncated"}, []string{"stop: broker-3"}},
		{quirk.ReadToLogEnd, []string{"cut: {from: broker-1", "broker-1 batch-appended", "c record-delivered"}, []string{"cut: "}},
		{quirk.EmptyISR, []string{"kill: broker-1", "broker-1 node-crashed", "zookeeper session-expired", "partition-changed leader=-1 isr=[]"}, []string{"kill: broker-1"}},
		{quirk.TruncateByNextEpoch, []string{"fault-started", "node-crashed", "leader-elected", "became-leader"}, nil},
		{quirk.HWBelowMinISR, []string{"fault-started", "isr-proposed", "high-watermark"}, nil},
	} {
		key := c.id.Bug().Key
		s, err := Explain(bug(t, c.id), 1, Options{})
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		rest := c.facts
		var told []string
		for i := range s.Chain {
			l := &s.Chain[i]
			told = append(told, words(l))
			if len(rest) > 0 && strings.Contains(words(l), rest[0]) {
				rest = rest[1:]
			}
			if len(l.After) == 0 && l.Event.Kind != event.FaultStarted && s.Chain[0].Event.Kind == event.FaultStarted {
				t.Errorf("%s: nothing led to %s", key, words(l))
			}
		}
		if len(rest) > 0 {
			t.Errorf("%s: the chain lacks %q\n%s", key, rest, strings.Join(told, "\n"))
		}
		checkCauses(t, key, s.Causes, c.needed)
	}
}

func checkCauses(t *testing.T, key string, causes []Cause, needed []string) {
	t.Helper()
	var got []string
	quirky := false
	for _, c := range causes {
		switch {
		case c.Quirk != "":
			quirky = quirky || c.Needed && c.Quirk == key
		case c.Needed:
			got = append(got, c.Fault.Fault.String())
		}
	}
	if !quirky {
		t.Errorf("%s: the bug itself is no needed cause: %+v", key, causes)
	}
	for _, n := range needed {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, n) }) {
			t.Errorf("%s: %s is not among the needed faults %q", key, n, got)
		}
	}
}

// Links point back in time only, and within the chain.
func TestLinksPointBack(t *testing.T) {
	for _, id := range []quirk.ID{quirk.TruncateToHW, quirk.OldControllerObeyed, quirk.EpochFileUnsynced} {
		s, err := Explain(bug(t, id), 2, Options{NoCauses: true, Lines: 15})
		if err != nil {
			t.Errorf("%s: %v", id.Bug().Key, err)
			continue
		}
		if len(s.Chain) == 0 || len(s.Chain) > 15 {
			t.Errorf("%s: %d links", id.Bug().Key, len(s.Chain))
		}
		for i := range s.Chain {
			for _, j := range s.Chain[i].After {
				if j >= i || s.Chain[j].Event.Time > s.Chain[i].Event.Time {
					t.Errorf("%s: link %d follows from %d", id.Bug().Key, i, j)
				}
			}
		}
	}
}

// The offset that a violation is about stands in its words.
func TestFocusFindsTheRecord(t *testing.T) {
	acked := []fact{{Event: event.Event{Kind: event.RecordAcked, Producer: 2, First: 30, Count: 5, Base: 100, Last: 104}}}
	for what, want := range map[string]int64{
		"broker-2 is in the in-sync set (epoch 3), but its log agrees with what was committed only up to offset 39 of 40": 39,
		"broker-1 gave c the offsets 17 to 19 at 3s, but the high watermark there never passed 17":                        17,
		"3 records of producer 2, from number 32 on, were acknowledged with acks=all and are not in the log: gone":        102,
		"the log of broker-2, a member of the set, goes with it only up to 12":                                            12,
		"there is no controller": -1,
	} {
		if got := focus(what, acked); int64(got) != want {
			t.Errorf("%q: %d, want %d", what, got, want)
		}
	}
}

// A chain with too little room keeps what the story turns on.
func TestPickKeepsTheTurns(t *testing.T) {
	rank := []int{rankRepeated, rankTurn, rankNone, rankChange, rankTurn, rankChange, rankRecord}
	got, hidden := pick(rank, 4, 0)
	if fmt.Sprint(got) != "[1 4 5 6]" || hidden != 2 {
		t.Errorf("%v, %d hidden", got, hidden)
	}
}

// What a consumer gets follows from what the broker that serves it went through, down to its
// election, and from where the consumer stood (KAFKA-7747).
func TestADeliveryFollowsFromTheBrokerAndThePosition(t *testing.T) {
	s, err := Explain(bug(t, quirk.PositionUnchecked), 1, Options{NoCauses: true})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.Chain, func(l Link) bool {
		return l.Event.Kind == event.RecordDelivered && l.Event.Node == 2 && l.Event.Base <= s.Offset && s.Offset <= l.Event.Last
	})
	if at < 0 {
		t.Fatal("the chain lacks the wrong delivery")
	}
	came := make(map[int]bool)
	for from := []int{at}; len(from) > 0; from = from[1:] {
		for _, j := range s.Chain[from[0]].After {
			if !came[j] {
				came[j] = true
				from = append(from, j)
			}
		}
	}
	for what, is := range map[string]func(e *event.Event) bool{
		"the unclean election":  func(e *event.Event) bool { return e.Kind == event.LeaderElected && e.Leader == 2 && e.Flag },
		"the end of the leader": func(e *event.Event) bool { return e.Kind == event.NodeCrashed && e.Actor == "broker-1" },
		"where the consumer stood": func(e *event.Event) bool {
			return e.Kind == event.RecordDelivered && e.Node == 1 && e.Last == s.Offset-1
		},
	} {
		found := false
		for j := range came {
			found = found || is(&s.Chain[j].Event)
		}
		if !found {
			t.Errorf("the delivery does not follow from %s", what)
		}
	}
}
