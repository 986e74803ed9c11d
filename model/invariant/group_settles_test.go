package invariant

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// TestGroupBoundCoversTheWorkedExamples: groups 6.5 works three members with Kafka's
// defaults out, of which one dies, or closes; the bound is above both, and grows with each
// of its terms.
func TestGroupBoundCoversTheWorkedExamples(t *testing.T) {
	ms := kafka.Millisecond
	g := Group{Session: 45 * kafka.Second, Rebalance: 300 * kafka.Second, Heartbeat: 3 * kafka.Second, Request: 30 * kafka.Second, Delay: 3 * kafka.Second}
	s := Setup{}
	for name, worked := range map[string]kafka.Nanos{"killed": 48_200 * ms, "closed": 3_200 * ms, "nine seconds for three to come": 9 * kafka.Second} {
		if x := s.Settles(&g); x < worked {
			t.Errorf("%s: the bound %s is below %s", name, x, worked)
		}
	}
	x := s.Settles(&g)
	for name, more := range map[string]Group{
		"session":   {Session: 46 * kafka.Second, Rebalance: g.Rebalance, Heartbeat: g.Heartbeat, Request: g.Request, Delay: g.Delay},
		"heartbeat": {Session: g.Session, Rebalance: g.Rebalance, Heartbeat: 4 * kafka.Second, Request: g.Request, Delay: g.Delay},
		"poll":      {Session: g.Session, Rebalance: g.Rebalance, Heartbeat: g.Heartbeat, Request: g.Request, Delay: g.Delay, Poll: kafka.Second},
		"rounds":    {Session: g.Session, Rebalance: g.Rebalance, Heartbeat: g.Heartbeat, Request: g.Request, Delay: g.Delay, Rounds: 1},
	} {
		if s.Settles(&more) <= x {
			t.Errorf("the bound does not grow with %s", name)
		}
	}
	if detected := (Setup{Detection: 18 * kafka.Second}); detected.Settles(&g) != x+18*kafka.Second {
		t.Error("the bound does not wait until a broker is replaced")
	}
}
