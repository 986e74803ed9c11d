package scenarios

import (
	"strings"
	"testing"
)

// An expectation about a group names one of the scenario, and a time range only where
// something is counted in it.
func TestGroupMetricsAreCheckedWhenLoaded(t *testing.T) {
	grouped := strings.Replace(good, "topics: [orders]}", "topics: [orders], group: billing}", 1)
	with := func(metric string) string { return strings.Replace(grouped, "records.lost == 0", metric, 1) }
	for _, m := range []string{"group.rebalances(billing) == 2 after 20s", "group.unowned(billing) < 3s between 5s and 20s", "group.skipped(billing) == 0"} {
		mustLoad(t, with(`"`+m+`"`))
	}
	for metric, want := range map[string]string{
		"group.rebalances == 2":                 "names a group of this scenario",
		"group.rebalances(biling) == 2":         `there is no group "biling"; did you mean "billing"?`,
		"group.rebalanced(billing) == 2":        `did you mean "group.rebalances"?`,
		"group.skipped(billing) == 0 after 20s": "it takes no time range",
		"group.unowned(billing) < 3":            "group.unowned",
		"group.lag(billing) < 3s":               "group.lag is a count",
		"group.lag(billing) < 3 after 40s":      "goes beyond the end of the run",
	} {
		if _, err := load(with(`"` + metric + `"`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", metric, err, want)
		}
	}
}
