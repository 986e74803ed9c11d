package report

import (
	"os"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/explain"
)

// An explanation is a screen: 40 lines of 80 columns, whatever failed. With
// SIMKAFKA_SHRINK=bugs all historical bugs are looked at.
func TestExplanationsFitAScreen(t *testing.T) {
	ids := []quirk.ID{quirk.TruncateToHW, quirk.OldControllerObeyed, quirk.HWBelowMinISR, quirk.RepeatedISRRefused}
	if os.Getenv("SIMKAFKA_SHRINK") != "" {
		ids = nil
		for _, b := range quirk.All() {
			ids = append(ids, b.ID)
		}
	}
	for _, id := range ids {
		b := id.Bug()
		e, ok := scenarios.BugScenario(b)
		if !ok {
			t.Fatalf("%s has no scenario", b.Key)
		}
		spec, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
		if err != nil {
			t.Fatal(err)
		}
		s, err := explain.Explain(spec, 1, explain.Options{Invariant: b.Invariant})
		if err != nil {
			t.Errorf("%s: %v", b.Key, err)
			continue
		}
		var w strings.Builder
		if err := WriteExplanation(&w, s, Style{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(w.String(), "\n"), "\n")
		if len(lines) > maxExplanation || len(lines) < 5 {
			t.Errorf("%s: %d lines", b.Key, len(lines))
		}
		for _, l := range lines {
			if displayWidth(l) > defaultWidth {
				t.Errorf("%s: %d columns: %s", b.Key, displayWidth(l), l)
			}
		}
		if !strings.HasPrefix(lines[0], b.Invariant) || !strings.Contains(w.String(), "  the bug K") || !strings.Contains(w.String(), " fault ") {
			t.Errorf("%s: neither its bug nor a fault is named\n%s", b.Key, w.String())
		}
		t.Logf("%s\n%s", b.Key, w.String())
	}
}

// The longest causes and the widest facts keep their bounds.
func TestExplanationsAreBounded(t *testing.T) {
	s := &explain.Story{Hidden: 7}
	s.Target.Invariant, s.Target.What = "no-acked-loss", strings.Repeat("many words that go on ", 40)
	for range 9 {
		s.Causes = append(s.Causes, explain.Cause{Quirk: strings.Repeat("KAFKA", 30), Needed: true}, explain.Cause{Quirk: "other"})
	}
	for i := range explain.DefaultLines {
		l := explain.Link{LEO: 1 << 40, HW: 1 << 40}
		l.Event.Kind, l.Event.Actor, l.Event.Seq, l.Event.Text = 6, "a-client-with-a-long-name", 1<<40, strings.Repeat("broker-1 ", 20)
		for j := range i {
			l.After = append(l.After, j)
		}
		s.Chain = append(s.Chain, l)
	}
	var w strings.Builder
	if err := WriteExplanation(&w, s, Style{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(w.String(), "\n"), "\n")
	if len(lines) > maxExplanation {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if displayWidth(l) > defaultWidth {
			t.Errorf("%d columns: %s", displayWidth(l), l)
		}
	}
}
