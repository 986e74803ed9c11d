package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// Worlds of groups have every kind of fault at a round, long waits in JoinGroup and slow
// applications, and where a member may wait for 5 minutes nothing makes it do so.
func TestWorldsOfGroupsDrawRoundsAndLongWaits(t *testing.T) {
	found := map[string]int{}
	g, _ := GeneratorByName("small-groups")
	for seed := range uint64(150) {
		s, err := g.Draw(seed)
		if err != nil {
			t.Fatal(err)
		}
		text := s.YAML()
		for name, word := range map[string]string{"lost JoinGroup": "api: JoinGroup, kind: request, count: 1", "late SyncGroup": "api: SyncGroup, kind: request, count: 1",
			"jump past retention": "clock_jump: {node: coordinator(", "returning lead": `event: leader-elected, partition: __consumer_offsets/*, text: "preferred"`} {
			if strings.Contains(text, word) {
				found[name]++
			}
		}
		for i := range s.Consumers {
			c := &s.Consumers[i]
			poll := c.time("max.poll.interval.ms")
			if poll < 0 || c.Group == "" {
				t.Fatalf("seed %d: a consumer without a group", seed)
			}
			if c.Processing >= 5*kafka.Millisecond {
				found["slow application"]++
				if n := c.time("max.poll.records") / kafka.Millisecond; n*c.Processing > poll/2 {
					t.Errorf("seed %d: %d records of %s each in a max.poll.interval.ms of %s", seed, n, c.Processing, poll)
				}
			}
			if poll > kafka.Minute {
				found["long poll"]++
				if slices.ContainsFunc(s.Events, func(p faults.Planned) bool { return mayFallSilent(p.Fault) }) {
					t.Errorf("seed %d: a JoinGroup may stay without an answer for longer than the world settles", seed)
				}
			} else if c.time("session.timeout.ms") > poll {
				found["session above the rebalance timeout"]++
			}
		}
	}
	t.Log(found)
	if len(found) < 7 {
		t.Errorf("drawn in 150 worlds: %v", found)
	}
}

// Each plan at a group is drawn, with members to whom it matters: a static member's session
// outlasts the round that it misses, and who dies as it joins is known by its session alone.
func TestPlansAtGroupsCastTheirMembers(t *testing.T) {
	drawn := map[string]bool{}
	g, _ := GeneratorByName("small-groups-lineage")
	for seed := range uint64(120) {
		s, err := g.Draw(seed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range groupPlans {
			if name := groupPlans[i].name; strings.Contains(s.Why, name) {
				drawn[name] = true
				checkCast(t, s, name)
			}
		}
	}
	for i := range groupPlans {
		if name := groupPlans[i].name; !drawn[name] {
			t.Errorf("120 worlds did not draw %s", name)
		}
	}
}

func checkCast(t *testing.T, s *Spec, plan string) {
	t.Helper()
	among := func(f func(c *Consumer) bool) bool {
		return slices.ContainsFunc(s.Consumers, func(c Consumer) bool { return f(&c) })
	}
	switch plan {
	case "static-behind", "joins-late", "restarts-unassigned":
		if !among(func(c *Consumer) bool {
			return isStatic(c) && c.time("session.timeout.ms") >= 3*c.time("max.poll.interval.ms")
		}) {
			t.Errorf("%s: %s without a static member that stays one for long", s.Name, plan)
		}
	case "dies-new":
		if !among(func(c *Consumer) bool { return c.time("max.poll.interval.ms") > kafka.Minute && !isStatic(c) }) &&
			!slices.ContainsFunc(s.Events, func(p faults.Planned) bool { return mayFallSilent(p.Fault) }) {
			t.Errorf("%s: nobody waits long", s.Name)
		}
	case "assigned-and-busy":
		if !among(func(c *Consumer) bool {
			n := c.time("max.poll.records") / kafka.Millisecond
			return n == 1 || n*c.Processing > 0 && n*c.Processing <= c.time("max.poll.interval.ms")/2
		}) {
			t.Errorf("%s: nobody is busy, and in time", s.Name)
		}
	}
}
