package report

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

func ordersOf(ids ...int32) (list []kafka.TopicPartition) {
	for _, p := range ids {
		list = append(list, kafka.TopicPartition{Topic: "orders", Partition: p})
	}
	return list
}

func groupRun() *outcome.Result {
	r := crashRun()
	during := func(from, to kafka.Nanos) outcome.Interval { return outcome.Interval{From: from, To: to} }
	r.Groups = []outcome.Group{{ID: "billing", Processed: 22_800, Duplicates: 91, Refused: 1,
		Members: []outcome.GroupMember{
			{Client: "billing-1", Owned: []outcome.OwnedSpan{{Interval: during(4*s, 30*s), Generation: 1, Partitions: ordersOf(0, 1)},
				{Interval: during(31*s, 60*s), Generation: 2, Partitions: ordersOf(0, 1, 2)}},
				Phases: []outcome.MemberPhase{{Interval: during(s, s+300*ms), Name: outcome.PhaseFind}, {Interval: during(s+300*ms, 4*s), Name: outcome.PhaseJoin}}},
			{Client: "billing-2", Owned: []outcome.OwnedSpan{{Interval: during(4*s, 20*s), Generation: 1, Partitions: ordersOf(2)}}, Away: []outcome.Interval{during(20*s, 60*s)}},
		},
		Rebalances: []outcome.Rebalance{
			{Interval: during(s, 4*s), Coordinator: 2, Generation: 1, Members: 2, Cause: "a member is new: billing-1", Find: 300 * ms, Join: 2700 * ms, Sync: 4 * ms},
			{Interval: during(30*s, 31*s), Coordinator: 2, Generation: 2, Members: 1, Cause: "a member timed out: billing-2", Moved: 1, Unowned: 11 * s, Join: 900 * ms, Sync: 2 * ms},
			{Interval: during(50*s, -1), Coordinator: 3, Generation: -1, Members: 1, Cause: "the leader rejoins"},
		},
		Partitions: []outcome.GroupPartition{
			{TP: ordersOf(0)[0], Owner: "billing-1", Committed: 7600, HW: 7600, Processed: 7600},
			{TP: ordersOf(2)[0], Owner: "billing-1", Committed: 7600, HW: 7600, Processed: 7600, Duplicates: 91, Unowned: []outcome.Interval{during(20*s, 31*s)}},
			{TP: ordersOf(3)[0], Committed: -1, Skipped: 1234},
		}}}
	r.Series.GroupLags = []outcome.GroupLag{{Group: "billing", Points: []outcome.GroupLagPoint{{At: 10 * s, Committed: 500}, {At: 31 * s, Committed: 900, Unprocessed: 400}}}}
	return r
}

func TestGroupSummaryGolden(t *testing.T) {
	golden(t, "summary-groups.txt", func(w io.Writer) error {
		return WriteSummary(w, groupRun(), SummaryOptions{Style: Style{Width: 80}})
	})
	var b strings.Builder
	if err := WriteSummary(&b, groupRun(), SummaryOptions{Style: Style{Width: 80}}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if displayWidth(line) > 80 {
			t.Errorf("%d columns: %s", displayWidth(line), line)
		}
	}
}

// TestGroupStateHasKafkasColumns: the layout of ConsumerGroupCommand.
func TestGroupStateHasKafkasColumns(t *testing.T) {
	state := []outcome.GroupState{{ID: "billing", State: "Stable", Rows: []outcome.GroupRow{
		{TP: ordersOf(0)[0], Committed: 730, LogEnd: 835, MemberID: "billing-1-25dad04919153768b09b03c0049ac0f2", Host: "/billing-1", Client: "billing-1"},
		{TP: ordersOf(1)[0], Committed: -1, LogEnd: 12},
		{Committed: -1, LogEnd: -1, MemberID: "idle-25dad04919153768b09b03c0049ac0f2", Host: "/idle", Client: "idle"},
	}}, {ID: "gone", State: "Empty", Rows: []outcome.GroupRow{{TP: ordersOf(0)[0], Committed: 1, LogEnd: 835}}}}
	golden(t, "groups.txt", func(w io.Writer) error { return WriteGroups(w, state, 12*s+500*ms) })
}

func TestPartitionSetsAreShort(t *testing.T) {
	list := append(ordersOf(0, 1, 2, 5, 7, 8), kafka.TopicPartition{Topic: "sales", Partition: 3})
	if got := partitionSet(list); got != "orders 0-2,5,7,8; sales 3" {
		t.Error(got)
	}
	if got := partitionSet(nil); got != "" {
		t.Error(got)
	}
}

// TestNoChartOfGroupsPanics: nothing, disorder, what never ended, long names.
func TestNoChartOfGroupsPanics(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) kafka.Nanos {
		return kafka.Nanos(rapid.OneOf(rapid.SampledFrom([]int64{-1, 0, 1 << 62, -1 << 62}), rapid.Int64Range(0, int64(100*s))).Draw(t, "t"))
	})
	window := rapid.Custom(func(t *rapid.T) outcome.Interval {
		return outcome.Interval{From: moment.Draw(t, "from"), To: moment.Draw(t, "to")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := &outcome.Result{Scenario: "x", End: moment.Draw(t, "end")}
		for range rapid.IntRange(0, 2).Draw(t, "groups") {
			g := outcome.Group{ID: "g"}
			for range rapid.IntRange(0, 3).Draw(t, "members") {
				m := outcome.GroupMember{Client: rapid.SampledFrom([]string{"", "c", strings.Repeat("long", 30)}).Draw(t, "client"), Away: rapid.SliceOfN(window, 0, 2).Draw(t, "away")}
				for range rapid.IntRange(0, 3).Draw(t, "owned") {
					m.Owned = append(m.Owned, outcome.OwnedSpan{Interval: window.Draw(t, "w"), Partitions: ordersOf(rapid.SliceOfN(rapid.Int32Range(0, 9), 0, 4).Draw(t, "p")...)})
					m.Phases = append(m.Phases, outcome.MemberPhase{Interval: window.Draw(t, "w"), Name: outcome.PhaseJoin})
				}
				g.Members = append(g.Members, m)
				g.Rebalances = append(g.Rebalances, outcome.Rebalance{Interval: window.Draw(t, "w"), Generation: rapid.Int32Range(-1, 5).Draw(t, "generation")})
			}
			r.Groups = append(r.Groups, g)
			r.Series.GroupLags = append(r.Series.GroupLags, outcome.GroupLag{Group: "g", Points: []outcome.GroupLagPoint{{At: moment.Draw(t, "at"), Committed: rapid.Int64().Draw(t, "lag")}}})
		}
		for _, c := range groupCharts(r) {
			if err := c.WriteSVG(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
	})
}
