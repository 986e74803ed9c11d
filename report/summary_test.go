package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/name.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s differs; rewrite with -update and review. Now:\n%s", file, b.String())
	}
}

func summary(t *testing.T, r *outcome.Result, o SummaryOptions) string {
	t.Helper()
	var b strings.Builder
	if err := WriteSummary(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummaryGolden(t *testing.T) {
	for name, r := range map[string]*outcome.Result{"pass": crashRun(), "expected-loss": lossRun(), "violated": violatedRun(), "busy": busyRun()} {
		golden(t, "summary-"+name+".txt", func(w io.Writer) error {
			return WriteSummary(w, r, SummaryOptions{Replay: fmt.Sprintf("simkafka run %s --seed %d", r.Scenario, r.Seed), Out: "out/" + r.Scenario + "-1"})
		})
	}
}

func TestTimelineGolden(t *testing.T) {
	golden(t, "timeline.txt", func(w io.Writer) error { return WriteTimeline(w, crashRun()) })
}

func TestSummaryFitsEightyColumns(t *testing.T) {
	for _, r := range []*outcome.Result{crashRun(), lossRun(), violatedRun(), busyRun()} {
		for _, line := range strings.Split(summary(t, r, SummaryOptions{Replay: "simkafka run x --seed 1"}), "\n") {
			if displayWidth(line) > 80 {
				t.Errorf("%s: %d columns: %q", r.Scenario, displayWidth(line), line)
			}
		}
	}
}

// Lines behind the first have an indent of their own, narrower or wider than what stands before
// the first: each is as long as there is room.
func TestParagraphsUseTheirWidth(t *testing.T) {
	for _, before := range []string{"  ", "  312 records: "} {
		var b strings.Builder
		p := &printer{w: &b, style: Style{Width: 40}}
		p.wrapped(before, "      ", strings.Repeat("x ", 200))
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for i, l := range lines {
			if displayWidth(l) > 40 || displayWidth(l) < 39 && i < len(lines)-1 {
				t.Errorf("%d columns: %q", displayWidth(l), l)
			}
		}
	}
}

// A fetcher that was fenced, as in any restart of a leader, goes on in the next epoch.
func TestAFencedFetcherHasNotFailedForGood(t *testing.T) {
	got := phrase(&event.Event{Kind: event.FetcherFailed, LeaderEpoch: 2, Text: "fenced by the leader"})
	if want := "gives up fetching in epoch 2: fenced by the leader"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStoriesFitOneScreen: at most 40 lines at 100 columns, however much there is
// to tell (interface U14).
func TestStoriesFitOneScreen(t *testing.T) {
	r := violatedRun()
	v := r.Violations[0]
	for i := range 30 {
		v.Facts = append(v.Facts, strings.Repeat(fmt.Sprintf("fact %d ", i), 20))
	}
	v.What = strings.Repeat("what happened ", 60)
	r.Violations = []outcome.Violation{v, v, v, v, v}
	text := summary(t, r, SummaryOptions{Style: Style{Width: 100}, Replay: "simkafka run x --seed 1"})
	from := strings.Index(text, "\n  invariant ")
	to := strings.Index(text, "\nfaults\n")
	if lines := strings.Count(text[from:to], "\n"); lines > storyLines {
		t.Errorf("%d lines:\n%s", lines, text[from:to])
	}
	for _, want := range []string{"simkafka run x --seed 1 --until 41.207s", "more violation"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
}

func TestReplayOfAFinalViolationRunsToTheEnd(t *testing.T) {
	r := violatedRun()
	r.Violations[0].At = r.End
	text := summary(t, r, SummaryOptions{Replay: "simkafka run x --seed 1"})
	if strings.Contains(text, "--until") {
		t.Errorf("a violation found at the end was given a time to stop at:\n%s", text)
	}
}

// TestTimelineIsShort: a run of any length is told in maxLines lines, and what is
// left out is counted.
func TestTimelineIsShort(t *testing.T) {
	r := crashRun()
	for i := range 3000 {
		at := kafka.Nanos(i) * 7 * ms
		e := event.Event{Time: at, Actor: kafka.BrokerHost(kafka.NodeID(i%5 + 1)), Kind: event.Kind(1 + i%int(event.NumKinds-1)),
			TP: kafka.TopicPartition{Topic: "orders", Partition: int32(i % 40)}, Text: fmt.Sprint("t", i)}
		r.Timeline = append(r.Timeline, e)
	}
	lines, hidden := condense(r)
	if len(lines) > maxLines || hidden == 0 {
		t.Errorf("%d lines, %d hidden", len(lines), hidden)
	}
}

func TestEqualFactsShareALine(t *testing.T) {
	r := &outcome.Result{}
	for i := range 12 {
		r.Timeline = append(r.Timeline, event.Event{Time: s, Actor: "broker-2", Kind: event.LeaderElected, Leader: 3,
			TP: kafka.TopicPartition{Topic: "orders", Partition: int32(i)}})
	}
	lines, hidden := condense(r)
	if len(lines) != 1 || hidden != 0 {
		t.Fatalf("%d lines, %d hidden", len(lines), hidden)
	}
	if _, what := lines[0].text(); what != "elects broker-3 (orders-0, orders-1, orders-2 and 9 more)" {
		t.Errorf("it says %q", what)
	}
}

// TestEveryKindOfFactHasWords: no fact is printed by its bare kind.
func TestEveryKindOfFactHasWords(t *testing.T) {
	for k := event.Kind(1); k < event.NumKinds; k++ {
		if phrases[k] == nil {
			t.Errorf("%s has no phrase", k)
			continue
		}
		if e := (event.Event{Kind: k, Text: "why"}); phrase(&e) == k.String() {
			t.Errorf("%s is its own phrase", k)
		}
	}
}

func TestColoursOnlyWhenAllowed(t *testing.T) {
	if text := summary(t, violatedRun(), SummaryOptions{}); strings.Contains(text, "\x1b") {
		t.Error("colours without being asked for")
	}
	if text := summary(t, violatedRun(), SummaryOptions{Style: Style{Color: true}}); !strings.Contains(text, "\x1b[1;31mFAIL\x1b[0m") {
		t.Error("no colour although asked for")
	}
}

func TestEmptyResultHasASummary(t *testing.T) {
	if text := summary(t, &outcome.Result{Verdict: outcome.Inconclusive, Settled: -1}, SummaryOptions{}); !strings.HasPrefix(text, "INCONCLUSIVE") {
		t.Errorf("got %q", text)
	}
}

// However much happens, the short timeline has the topics that come and go; those that the
// scenario begins with go without saying.
func TestTimelineTellsOfTopicsThatComeAndGo(t *testing.T) {
	topic := kafka.TopicPartition{Topic: "orders"}
	r := &outcome.Result{Timeline: []event.Event{
		{Time: s, Kind: event.TopicCreated, Actor: "zookeeper", TP: topic, Count: 1},
		{Time: 20 * s, Kind: event.AssignmentChanged, Actor: "zookeeper", TP: kafka.TopicPartition{Topic: "orders", Partition: 1}, Replicas: []kafka.NodeID{1}},
		{Time: 20 * s, Kind: event.AssignmentChanged, Actor: "zookeeper", TP: kafka.TopicPartition{Topic: "orders", Partition: 2}, Replicas: []kafka.NodeID{1}},
		{Time: 30 * s, Kind: event.TopicDeletionAsked, Actor: "zookeeper", TP: topic},
		{Time: 31 * s, Kind: event.TopicDeleted, Actor: "zookeeper", TP: topic},
		{Time: 32 * s, Kind: event.TopicCreated, Actor: "zookeeper", TP: topic, Count: 3},
	}}
	for i := range kafka.Nanos(2 * maxLines) { // much else
		r.Timeline = append(r.Timeline, event.Event{Time: 40*s + i*2*s, Kind: event.Truncated, Actor: "broker-1", Node: 1, TP: topic})
	}
	lines, _ := condense(r)
	var got []string
	for i := range lines {
		_, what := lines[i].text()
		got = append(got, what)
	}
	want := []string{"partition added (orders-1, orders-2)", "topic orders is deleted", "topic orders is created, 3 partitions"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
