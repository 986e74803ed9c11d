package main

import (
	"slices"
	"strings"
	"testing"
)

// A flag that can stand alone takes its value behind a blank as well, and no scenario for it.
func TestOptionalValuesMayStandBehindABlank(t *testing.T) {
	for args, want := range map[string]string{
		"sweep --gen swarm --shrink 0s":       "sweep --gen swarm --shrink=0s",
		"sweep --shrink 30s w1":               "sweep --shrink=30s w1",
		"sweep --shrink 30":                   "sweep --shrink=30",
		"sweep --shrink w1":                   "sweep --shrink w1",
		"sweep --shrink --gen swarm":          "sweep --shrink --gen swarm",
		"sweep w1 --shrink":                   "sweep w1 --shrink",
		"sweep --shrink=5s 30s":               "sweep --shrink=5s 30s",
		"sweep --seeds 30":                    "sweep --seeds 30",
		"run leader-crash --json false":       "run leader-crash --json=false",
		"run --quiet leader-crash":            "run --quiet leader-crash",
		"run leader-crash -- --json false":    "run leader-crash -- --json false",
		"rnu --shrink 30s":                    "rnu --shrink 30s",
		"--color never sweep --shrink 30s w1": "--color never sweep --shrink=30s w1",
	} {
		if got := joinOptional(newRoot(&app{}), strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %s", args, strings.Join(got, " "))
		}
	}
}
