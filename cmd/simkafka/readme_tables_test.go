package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
)

// generators make the parts of README that the code knows.
var generators = map[string]func() string{
	"scenarios":  readmeScenarios,
	"faults":     readmeFaults,
	"fault-ids":  readmeFaultIDs,
	"generators": readmeGenerators,
	"bugs":       readmeBugs,
	"bench":      readmeBench,
	"kinds":      readmeKinds,
	"failpoints": readmeFailpoints,
	"metrics":    readmeMetrics,
	"invariants": readmeInvariants,
	"delivery":   readmeDelivery,
	"profiles":   readmeProfiles,
	"settings":   readmeSettings,
	"result":     readmeResult,
	"trace":      func() string { return "```text\n" + strings.TrimRight(report.TraceHelp, "\n") + "\n```" },
}

// markdown is a table; a bar inside a cell is escaped.
func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	row := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	row(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		row(r)
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

func codes(words []string) string { return "`" + strings.Join(words, "` `") + "`" }

func readmeScenarios() string {
	var rows [][]string
	for _, e := range scenarios.Library() {
		s, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
		if err != nil {
			panic(err)
		}
		rows = append(rows, []string{code(e.Name), s.Protocol, firstSentence(s.Why)})
	}
	return markdown([]string{"built-in scenario", "profile", "what it shows"}, rows)
}

func readmeFaults() string {
	var rows [][]string
	for _, k := range faults.Table {
		rows = append(rows, []string{code(k.Word), k.Summary, code(k.Example)})
	}
	return markdown([]string{"fault", "what it does", "for example"}, rows)
}

// effectsData is read before a test goes to another directory.
var effectsData, errEffectsData = os.ReadFile("testdata/effects.json")

// readmeFaultIDs has what the reference sweep that was committed saw.
func readmeFaultIDs() string {
	var seen effectsJSON
	if errEffectsData != nil {
		panic(errEffectsData)
	}
	if err := json.Unmarshal(effectsData, &seen); err != nil {
		panic(err)
	}
	var rows [][]string
	for _, r := range faults.Rows {
		counts := ""
		if n := seen.Of(r.ID); n != nil {
			counts = fmt.Sprintf("%d / %d", n.Fired, n.Changed)
		}
		rows = append(rows, []string{r.ID, r.Name, r.How, counts, r.Why})
	}
	return fmt.Sprintf("Reference sweep: %d worlds of %s in turn, root seed %d.\n\n", seen.Worlds, strings.ReplaceAll(seen.Generators, ",", ", "), seen.Root) +
		markdown([]string{"id", "fault", "scenario words", "fired / mattered", "remark"}, rows)
}

func readmeGenerators() string {
	var rows [][]string
	for _, g := range scenarios.Generators {
		rows = append(rows, []string{code(g.Name), g.Summary})
	}
	return markdown([]string{"generator", "what it draws"}, rows)
}

func readmeBugs() string {
	var rows [][]string
	for _, b := range quirk.All() {
		with := ""
		if b.Masked {
			with = " (with " + quirk.Of(b.With...).String() + ")"
		}
		rows = append(rows, []string{b.Key, b.Versions, b.Title + with, code(b.Invariant)})
	}
	return markdown([]string{"bug", "versions", "what goes wrong", "fails"}, rows)
}

// benchData is read before a test goes to another directory.
var benchData, errBenchData = os.ReadFile("testdata/bench.jsonl")

// readmeBench is the measurement that was committed.
func readmeBench() string {
	if errBenchData != nil {
		panic(errBenchData)
	}
	head, finds, _, err := parseBench(benchData)
	if err != nil {
		panic(err)
	}
	s := summarize(head, finds)
	return markdown([]string{"bug", "found", "worlds p50", "p90", "CPU s p50", "p90", "first to fail"}, s.rows())
}

func readmeKinds() string { return codes(event.Kinds()) }

func readmeFailpoints() string {
	var rows [][]string
	for _, s := range point.Sites() {
		rows = append(rows, []string{code(s.String()), s.Description(), codes(s.Values())})
	}
	return markdown([]string{"site", "where", "values of `return`"}, rows)
}

// metricWords says what each family of metrics is.
var metricWords = []struct{ prefix, value, words string }{
	{"records.sent", "number", "records that producers were asked to send"},
	{"records.acked", "number", "acknowledged"},
	{"records.failed", "number", "reported as failed to the application, those with unknown outcome among them"},
	{"records.unknown", "number", "failed, but possibly in the log"},
	{"records.delivered", "number", "handed to consumers' applications"},
	{"records.duplicated", "number", "extra copies in the logs at the end"},
	{"records.lost", "number", "acknowledged, and not in the logs at the end: expected loss, too (what no setting allows is `no-acked-loss`, which is always checked)"},
	{"loss.records", "number", "of these, allowed by the configuration (expected loss)"},
	{"unavailable", "duration", "a partition took no records, in sum"},
	{"leaderless", "duration", "a partition had no running leader in office, in sum"},
	{"under_replicated", "duration", "a partition's ISR was not full, in sum"},
	{"elections", "number", "leader elections of a partition after the first"},
	{"produce.latency.", "duration", "send call to acknowledgement"},
	{"e2e.latency.", "duration", "send call to delivery at a consumer"},
	{"group.rebalances", "number", "times that the coordinator asked the group to join again"},
	{"group.moved", "number", "partitions that went to another client"},
	{"group.unowned", "duration", "a partition had no running owner after its first one: the longest such time, or the sum of all"},
	{"group.overlap", "duration", "a partition had several owners, the longest time"},
	{"group.lag", "number", "the largest sum of high watermark minus committed offset"},
	{"group.processed", "number", "records that the group's applications are done with, each once"},
	{"group.duplicates", "number", "processed once more"},
	{"group.skipped", "number", "not processed, though the group has committed beyond them or passed over them"},
	{"group.refused", "number", "commits refused to a client that was no member any more"},
	{"group.regressions", "number", "commits below the one before"},
	{"group.expired", "number", "committed offsets that `offsets.retention.minutes` took"},
}

func readmeMetrics() string {
	var rows [][]string
	left := scenarios.MetricNames()
	for _, w := range metricWords {
		var names []string
		for len(left) > 0 && strings.HasPrefix(left[0], w.prefix) {
			names, left = append(names, left[0]), left[1:]
		}
		if len(names) == 0 {
			return "no metric " + w.prefix
		}
		rows = append(rows, []string{codes(names), w.value, w.words})
	}
	if len(left) > 0 {
		return fmt.Sprint("metrics without words: ", left)
	}
	return markdown([]string{"metric", "value", "what it is"}, rows)
}

// deliveryTable is found before a test changes its directory.
var deliveryTable, errDeliveryTable = os.ReadFile("../../sim/cluster/testdata/delivery.md")

// readmeDelivery is what sim/cluster measures, to the record.
func readmeDelivery() string {
	if errDeliveryTable != nil {
		panic(errDeliveryTable)
	}
	return string(deliveryTable)
}

func readmeInvariants() string {
	var rows [][]string
	for _, i := range invariant.All() {
		rows = append(rows, []string{code(i.Name), i.Words})
	}
	return markdown([]string{"invariant", "what must hold"}, rows)
}

func readmeProfiles() string {
	head := []string{"profile"}
	var profiles []*config.Profile
	for _, name := range config.ProfileNames() {
		p, _ := config.ProfileByName(name)
		profiles, head = append(profiles, p), append(head, code(name))
	}
	var rows [][]string
	row := func(name string, value func(p *config.Profile) string) {
		r := []string{name}
		for _, p := range profiles {
			r = append(r, value(p))
		}
		rows = append(rows, r)
	}
	flag := func(name string, value func(p *config.Profile) bool) {
		row(name, func(p *config.Profile) string { return map[bool]string{true: "yes", false: ""}[value(p)] })
	}
	row("followers cut their logs", func(p *config.Profile) string {
		return [...]string{"to the high watermark", "by leader epoch (KIP-101)", "by leader epoch (KIP-279)", "while fetching (KIP-595)"}[p.Truncation]
	})
	row("records without a key", func(p *config.Profile) string {
		return [...]string{"round robin", "sticky (KIP-480)", "uniform sticky (KIP-794)"}[p.Partitioner]
	})
	flag("leader epoch in Fetch and ListOffsets (KIP-320)", func(p *config.Profile) bool { return p.Fencing320 })
	flag("a follower joins the ISR from the start of the leader's epoch on, not from the high watermark (KAFKA-7128)", func(p *config.Profile) bool { return p.EpochStartGate })
	flag("broker epochs (KIP-380)", func(p *config.Profile) bool { return p.BrokerEpoch })
	flag("AlterPartition instead of ISR writes to ZooKeeper (KIP-497)", func(p *config.Profile) bool { return p.AlterPartition })
	flag("leader recovery state (KIP-704)", func(p *config.Profile) bool { return p.RecoveryState })
	flag("high watermark waits for min.insync.replicas (KAFKA-15583)", func(p *config.Profile) bool { return p.HWMinISRGate })
	flag("a follower's append is indexed batch by batch, as the leader's is (KAFKA-806)", func(p *config.Profile) bool { return p.IndexPerBatch })
	flag("automatic preferred elections go on during a reassignment (KAFKA-10149)", func(p *config.Profile) bool { return p.AutoRebalanceIgnoresReassignment })
	flag("the failure of one log directory ends the broker (before KIP-112)", func(p *config.Profile) bool { return p.HaltOnDirFailure })
	flag("`__consumer_offsets` has fewer replicas where fewer brokers are alive (before KIP-115)", func(p *config.Profile) bool { return p.OffsetsFactorOfAlive })
	flag("static members (KIP-345)", func(p *config.Profile) bool { return p.StaticMembers })
	flag("committed offsets expire once their group is empty, not each by its time (KIP-211)", func(p *config.Profile) bool { return p.ExpireIdleGroups })
	flag("a member sends heartbeats from the answer to JoinGroup on, also behind a SyncGroup that failed, not from that to SyncGroup (KAFKA-10134)", func(p *config.Profile) bool { return p.BeatsFromJoin })
	flag("a group's leader asks for metadata in each generation in which others subscribe to topics that it does not", func(p *config.Profile) bool { return p.LeaderAsksAnew })
	flag("assignors but round robin take the partitions that the metadata have, not as many numbers from 0 on (KIP-881)", func(p *config.Profile) bool { return p.AssignsKnown })
	flag("a broker that starts is not told of topics that are being deleted", func(p *config.Profile) bool { return p.DoomedUntold })
	versions := func(name string, value func(v *config.APIVersions) int16) {
		row(name, func(p *config.Profile) string {
			if v := value(&p.Versions); v >= 0 {
				return fmt.Sprint("v", v)
			}
			return ""
		})
	}
	versions("Produce", func(v *config.APIVersions) int16 { return v.Produce })
	versions("Fetch", func(v *config.APIVersions) int16 { return v.Fetch })
	versions("ListOffsets", func(v *config.APIVersions) int16 { return v.ListOffsets })
	versions("Metadata", func(v *config.APIVersions) int16 { return v.Metadata })
	versions("OffsetForLeaderEpoch", func(v *config.APIVersions) int16 { return v.OffsetForLeaderEpoch })
	versions("LeaderAndIsr", func(v *config.APIVersions) int16 { return v.LeaderAndISR })
	versions("StopReplica", func(v *config.APIVersions) int16 { return v.StopReplica })
	versions("UpdateMetadata", func(v *config.APIVersions) int16 { return v.UpdateMetadata })
	versions("ControlledShutdown", func(v *config.APIVersions) int16 { return v.ControlledShutdown })
	versions("AlterPartition", func(v *config.APIVersions) int16 { return v.AlterPartition })
	return markdown(head, rows)
}

func readmeSettings() string {
	var b strings.Builder
	for _, s := range scopes {
		var rows [][]string
		for _, k := range s.keys() {
			unit, value := k.Unit, k.Default
			for _, o := range k.Older {
				value += fmt.Sprintf(" (before %s: %s)", o.Before, o.Default)
			}
			if scenarios.NoEffect(k.Name) != "" {
				value += "; no effect"
			}
			rows = append(rows, []string{code(k.Name), unit, value})
		}
		fmt.Fprintf(&b, "<details><summary>%s: <code>%s</code></summary>\n\n%s</details>\n\n", s.name,
			strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s.about), markdown([]string{"setting", "unit or values", "default"}, rows))
	}
	return b.String()
}

// reportDoc holds the format of result.json. It is read before a test leaves its folder.
var reportDoc = func() string { p, _ := filepath.Abs("../../report/doc.go"); return p }()

// readmeResult is the format as package report documents it.
func readmeResult() string {
	text, err := os.ReadFile(reportDoc)
	if err != nil {
		panic(err)
	}
	const from, to = "never null.\n//\n", "\n//\n// Several runs"
	_, after, ok := strings.Cut(string(text), from)
	part, _, end := strings.Cut(after, to)
	if !ok || !end {
		return "the format is not where it was in " + reportDoc
	}
	var lines []string
	for _, l := range strings.Split(part, "\n") {
		lines = append(lines, strings.TrimPrefix(l, "//\t"))
	}
	return "```text\n" + strings.Join(lines, "\n") + "\n```"
}
