package invariant

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestEveryInvariantFailsAndHoldsOnItsExamples plays testdata/NAME.events: each
// has runs on which the invariant must fail and near misses on which everything
// must hold. A run "fails" or "holds", or is "excused" with a reason.
func TestEveryInvariantFailsAndHoldsOnItsExamples(t *testing.T) {
	killed := map[string]string{}
	for _, info := range All() {
		t.Run(info.Name, func(t *testing.T) {
			seen := map[string]int{}
			datadriven.RunTest(t, filepath.Join("testdata", info.Name+".events"), func(t *testing.T, d *datadriven.TestData) string {
				r := newScript(t, setupOf(d)).play(d.Input)
				state := stateOf(r, info.Name)
				seen[d.Cmd]++
				if d.HasArg("mutation") {
					var name string
					d.ScanArgs(t, "mutation", &name)
					killed[name] = info.Name
				}
				switch d.Cmd {
				case "fails":
					if state.State != "violated" {
						t.Errorf("%s: it must fail, and is %s", d.Pos, state.State)
					}
				case "holds":
					if state.State != "held" || len(r.Violations) > 0 {
						t.Errorf("%s: everything must hold:\n%s", d.Pos, printResult(r, info.Name))
					}
				case "excused":
					if state.State != "suspended" {
						t.Errorf("%s: it must be suspended, and is %s", d.Pos, state.State)
					}
				default:
					t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
				}
				return printResult(r, info.Name)
			})
			if t.Failed() {
				return
			}
			if seen["fails"] == 0 || seen["holds"] == 0 {
				t.Errorf("needs an example that fails and a near miss that holds: %v", seen)
			}
		})
	}
	for _, m := range mutations {
		if killed[m.name] != m.by {
			t.Errorf("mutation %s is to be killed by %s; it is by %q", m.name, m.by, killed[m.name])
		}
	}
}

// mutations are those of cluster 10.6 that events can show, with the invariant that
// kills them. The others need actors that do not exist yet: the window of five
// batches, markers with an older coordinator epoch, the bound of read_committed,
// votes and fetches of KRaft.
var mutations = []struct{ name, by string }{
	{"hw-as-maximum", "high-watermark-safe"},
	{"hw-as-median", "high-watermark-safe"},
	{"hw-ignores-pending-expand", "high-watermark-safe"},
	{"shrink-counts-at-once", "high-watermark-safe"},
	{"no-min-isr-check-after-append", "acked-by-min-isr"},
	{"join-without-epoch-start-gate", "electable-replicas-complete"},
	{"join-without-eligibility", "electable-replicas-complete"},
	{"accept-equal-leader-epoch", "epochs-grow"},
	{"accept-lower-leader-epoch", "epochs-grow"},
	{"fetch-without-epoch", "log-matching"},
	{"truncate-to-hw", "electable-replicas-complete"},
	{"epoch-cache-uncut", "converges-after-heal"},
	{"unconditional-controller-write", "control-fenced"},
	{"alter-partition-from-stale-broker-epoch", "electable-replicas-complete"},
	{"isr-not-reset-by-unclean-election", "metadata-valid"},
	{"consumer-bound-leo", "repeatable-read"},
}

func setupOf(d *datadriven.TestData) string {
	var words []string
	for _, a := range d.CmdArgs {
		words = append(words, a.Key+"="+strings.Join(a.Vals, ","))
	}
	return strings.Join(words, " ")
}

// A list of causes is divided where no parenthesis is open.
func TestEachCauseStandsForItself(t *testing.T) {
	for _, x := range All() {
		for _, c := range x.Causes() {
			if c == "" || strings.Count(c, "(") != strings.Count(c, ")") {
				t.Errorf("%s: %q is no cause of its own", x.Name, c)
			}
		}
	}
}

func TestEveryInvariantIsDescribed(t *testing.T) {
	infos := All()
	if len(infos) > maxInvariants {
		t.Fatalf("%d invariants; a partition has room for %d", len(infos), maxInvariants)
	}
	seen := map[string]bool{}
	for i, x := range infos {
		if x.Name == "" || x.Rules == "" || x.Words == "" || x.When == "" || x.Broken == "" || seen[x.Name] || Names()[i] != x.Name {
			t.Errorf("%+v", x)
		}
		seen[x.Name] = true
	}
}
