package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/shrink"
)

// groupWords is a link of a group's story in a form that tests can look for.
func groupWords(l *Link) string {
	e := &l.Event
	return fmt.Sprintf("%s %s %s gen=%d %s %s", e.Actor, e.Kind, e.State, e.Generation, e.Detail, e.Text)
}

// The story of a violation about a group follows the group: who joined and who was removed,
// why it rebalanced, who owned the partition and what was committed, and the faults behind.
func TestTheStoryOfAGroupFollowsTheGroup(t *testing.T) {
	for _, c := range []struct {
		key    string
		group  string
		facts  []string // each is in a link, in order
		needed []string
	}{
		{"KAFKA-2942", "g", []string{"CompletingRebalance gen=1", "Stable gen=1", "c partition-assigned", "c record-processed", "c commit-sent"}, nil},
		{"KAFKA-9140", "g", []string{"fault-started", "member-joined", "group-changed PreparingRebalance", "slow member-changed", "member-removed", "group-changed PreparingRebalance", "Stable gen=5"},
			[]string{"link: "}},
		{"KAFKA-10793", "g", []string{"Stable gen=1", "fault-started", "c-2 coordinator-sought", "session timeout", "group-changed PreparingRebalance",
			"Stable gen=2", "c-1 partition-assigned"}, []string{"lose: ", "reset: "}},
		{"KAFKA-14024", "g", []string{"Stable gen=1", "group-changed PreparingRebalance", "rebalance timeout", "Stable gen=2", "rebalance timeout", "Stable gen="}, nil},
	} {
		id, ok := quirk.Parse(c.key)
		if !ok {
			t.Fatalf("there is no bug %s", c.key)
		}
		s, err := Explain(bug(t, id), 1, Options{NoCauses: c.needed == nil})
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if s.Group != c.group || s.Offset != -1 {
			t.Errorf("%s: about the group %q, offset %d", c.key, s.Group, s.Offset)
		}
		rest := c.facts
		var told []string
		for i := range s.Chain {
			l := &s.Chain[i]
			told = append(told, groupWords(l))
			if len(rest) > 0 && strings.Contains(groupWords(l), rest[0]) {
				rest = rest[1:]
			}
			if l.Event.Group != "" && l.Event.Group != c.group {
				t.Errorf("%s: a fact of the group %s", c.key, l.Event.Group)
			}
		}
		if len(rest) > 0 {
			t.Errorf("%s: the chain lacks %q\n%s", c.key, rest, strings.Join(told, "\n"))
		}
		if c.needed != nil {
			checkCauses(t, c.key, s.Causes, c.needed)
		}
	}
}

// The group stands in the words of the violation, or is that of the consumer it names.
func TestTheGroupIsTheOneThatIsNamed(t *testing.T) {
	spec := &scenarios.Spec{Consumers: []scenarios.Consumer{{Name: "plain", Count: 1}, {Name: "pay", Count: 2, Group: "billing"}}}
	for want, targets := range map[string][]shrink.Target{
		"g0": {{What: "group g0: c1 takes t-2 at 3s in generation 2; c2 owns it"}, {What: "still open at the end: t-2 has 0 owners in group g0"},
			{What: "still open at the end: consumer c-1 of group g0 wants to rejoin"}, {Metric: "group.unowned(g0) < 3s", What: "expected group.unowned(g0) < 3s: it is 4s"}},
		"billing": {{What: "still open at the end: consumer pay-2 is at 3 of t-0, whose high watermark is 7"}},
		"":        {{What: "still open at the end: consumer plain is at 3 of t-0, whose high watermark is 7"}, {What: "2 active controllers"}},
	} {
		for _, x := range targets {
			if got := groupOf(&x, spec); got != want {
				t.Errorf("%s%s: %q, want %q", x.What, x.Metric, got, want)
			}
		}
	}
}

// What goes round and round is told from its beginning.
func TestALongStoryKeepsItsBeginning(t *testing.T) {
	rank := make([]int, 30)
	for i := range rank {
		rank[i] = rankTurn
	}
	got, hidden := pick(rank, 6, earlyShare)
	if fmt.Sprint(got) != "[0 1 26 27 28 29]" || hidden != 24 {
		t.Errorf("%v, %d hidden", got, hidden)
	}
}
