package invariant

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/outcome"
)

// TestViolationTellsAStory: two conflicting facts, what is known of the partition,
// and the last events of the partition and the cluster in order.
func TestViolationTellsAStory(t *testing.T) {
	x := newScript(t, "")
	for i := range 50 { // another partition, much noise
		x.line("send p=1 of=2/" + itoa(i) + "+1")
	}
	r := x.play(`
start
append node=1,2,3 base=0 count=10
hw node=1 hw=10
kill node=3
boot node=3
replica-loaded node=3 leo=0 flag
`)
	if len(r.Violations) != 1 {
		t.Fatalf("%d violations", len(r.Violations))
	}
	v := r.Violations[0]
	if v.Invariant != "electable-replicas-complete" || v.TP.String() != "orders-0" || v.At == 0 || v.What == "" {
		t.Errorf("%+v", v)
	}
	facts := strings.Join(v.Facts, "\n")
	for _, want := range []string{"leader broker-1, epoch 0, in-sync [1 2 3]", "committed up to offset 10", "broker-3", "only up to 0"} {
		if !strings.Contains(facts, want) {
			t.Errorf("facts do not say %q:\n%s", want, facts)
		}
	}
	var kinds []event.Kind
	for i, e := range v.Recent {
		kinds = append(kinds, e.Kind)
		if i > 0 && e.Time < v.Recent[i-1].Time {
			t.Errorf("%s comes after its time", e.Kind)
		}
	}
	last := []event.Kind{event.HighWatermark, event.NodeCrashed, event.NodeBooted, event.ReplicaLoaded}
	if n := len(kinds); n < 8 || !slices.Equal(kinds[n-4:], last) || slices.Contains(kinds, event.BatchSent) {
		t.Errorf("recent events: %v", kinds)
	}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// TestAnInvariantDoesNotTellTheSameStoryForEver: stories are bounded, the state
// counts all.
func TestAnInvariantDoesNotTellTheSameStoryForEver(t *testing.T) {
	x := newScript(t, "")
	x.line("start")
	x.line("append node=1,2,3 base=0 count=10")
	for range 100 {
		x.line("hw node=1 hw=11 leo=10")
	}
	r := &outcome.Result{}
	x.s.Finish(false, nil)
	x.s.Fill(r)
	if n := len(r.Violations); n != perPartition {
		t.Errorf("%d stories", n)
	}
	if s := stateOf(r, "offset-sanity"); s.State != "violated" || s.Note != "(100 violations in all)" {
		t.Errorf("%+v", s)
	}
}

// TestRunThatIsStoppedEarlyJudgesNeitherLivenessNorTheFinalRead.
func TestRunThatIsStoppedEarlyJudgesNeitherLivenessNorTheFinalRead(t *testing.T) {
	r := newScript(t, "").play(`
start
send of=1/0+10
append node=1,2,3 of=1/0+10 base=0
hw node=1 hw=10
ack of=1/0+10 base=0
end stopped open="broker-2 is down"
`)
	if len(r.Violations) > 0 || r.Records.Lost > 0 || stateOf(r, "converges-after-heal").State != "not-exercised" {
		t.Errorf("%+v, lost %d", r.Violations, r.Records.Lost)
	}
}

// TestReadingAgainFromTheStartCountsOnce.
func TestReadingAgainFromTheStartCountsOnce(t *testing.T) {
	r := newScript(t, "").play(`
start
send of=1/0+10
append node=1,2,3 of=1/0+10 base=0
append node=1,2,3 of=1/0+10 base=10
hw node=1 hw=20
ack of=1/0+10 base=0
read of=1/0+10 base=0 node=1
read of=1/0+10 base=10 node=1
read of=1/0+10 base=0 node=1
read of=1/0+10 base=10 node=1
`)
	if len(r.Violations) > 0 || r.Records.Duplicated != 10 || r.Records.Lost != 0 {
		t.Errorf("%+v, %+v", r.Violations, r.Records)
	}
}
