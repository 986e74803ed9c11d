package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// good is a small scenario that every error test changes in one place.
const good = `apiVersion: simkafka/v1
name: small
protocol: zk-3.9
duration: 30s
cluster:
  brokers: 3
  racks: [a, b, c]
  config:
    min.insync.replicas: 2
  network: {latency: 200us..500us}
topics:
  - {name: orders, partitions: 2, replication: 3}
producers:
  - {name: p, topic: orders, rate: 10/s, size: 1KiB, config: {acks: all}}
consumers:
  - {name: c, topics: [orders]}
events:
  - {at: 10s, kill: leader(orders/0), restart_after: 5s}
  - {when: {event: record-acked, partition: orders/1, records: 100, delay: 0ms..5ms}, power_loss: rack(b)}
expect:
  metrics: [records.lost == 0, "produce.latency.p99 < 1s before 10s"]
`

func load(text string) (*Spec, error) { return Load("x.yaml", []byte(text), nil) }

func mustLoad(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := load(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func TestGoodScenarioLoads(t *testing.T) { mustLoad(t, good) }

// What is printed in full loads to the same scenario.
func TestPrintedScenarioIsTheSame(t *testing.T) {
	texts := []string{good}
	for _, e := range Library() {
		texts = append(texts, e.Text)
	}
	for _, text := range texts {
		s, err := Load("x.yaml", []byte(text), LibrarySource)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		again := mustLoad(t, s.YAML())
		if again.YAML() != s.YAML() || again.Digest() != s.Digest() {
			t.Errorf("%s: printed differently the second time:\n%s\n---\n%s", s.Name, s.YAML(), again.YAML())
		}
	}
}

func TestLibraryNamesAreTheirFiles(t *testing.T) {
	for _, e := range Library() {
		s, err := Load(e.File, []byte(e.Text), LibrarySource)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.Name != e.Name {
			t.Errorf("%s calls itself %s", e.File, s.Name)
		}
		if s.Why == "" || s.Look == "" {
			t.Errorf("%s does not say why it is there and what to look for", e.Name)
		}
	}
}

// Each bad input gives an error at its place, with what is wrong.
func TestBadInputIsAnErrorAtItsPlace(t *testing.T) {
	for _, c := range []struct{ name, old, new, place, message string }{
		{"unknown key", "kill:", "kil:", "18:15", `did you mean "kill"?`},
		{"unknown top key", "topics:\n", "topcis:\n", "11:1", `did you mean "topics"?`},
		{"bare number for a duration", "duration: 30s", "duration: 30", "4:11", "30s or 30ms"},
		{"negative duration", "at: 10s", "at: -10s", "18:10", "negative"},
		{"replication above brokers", "replication: 3", "replication: 4", "12:48", "the cluster has 3"},
		{"selector without a node", "leader(orders/0)", "broker-7", "18:21", "broker-1 to broker-3"},
		{"selector without a topic", "leader(orders/0)", "leader(order/0)", "18:21", `did you mean "orders"?`},
		{"selector without a partition", "leader(orders/0)", "leader(orders/9)", "18:21", "partitions 0 to 1"},
		{"selector without a rack", "rack(b)", "rack(z)", "19:99", "no rack"},
		{"selector misspelt", "leader(orders/0)", "contoller", "18:21", `did you mean "controller"?`},
		{"event after the end", "at: 10s, kill", "at: 40s, kill", "18:10", "faults end at 30s"},
		{"unknown metric", "records.lost ==", "records.last ==", "21:13", `did you mean "records.lost"?`},
		{"metric without unit", "< 1s before", "< 1 before", "21:32", "needs a unit"},
		{"unknown event", "record-acked", "record-akced", "19:20", `did you mean "record-acked"?`},
		{"duplicate key", "name: small\n", "name: small\nname: big\n", "3:1", "twice"},
		{"unknown setting", "min.insync.replicas: 2", "min.insync.replica: 2", "9:5", `did you mean "min.insync.replicas"?`},
		{"a client's setting in the cluster", "min.insync.replicas: 2", "acks: all", "9:5", "acks is a setting of producers, not of brokers: write it in a producer's config"},
		{"a setting of both clients in the cluster", "min.insync.replicas: 2", "metadata.max.age.ms: 2", "9:5", "write it in a producer's config or a consumer's config"},
		{"a topic's setting in the cluster", "min.insync.replicas: 2", "retention.ms: 2", "9:5", "write it in a topic's config, or log.retention.ms here"},
		{"a broker's setting of a client", "acks: all", "num.io.threads: 2", "14:63", "num.io.threads is a setting of brokers, not of producers: write it in cluster.config"},
		{"bad setting", "min.insync.replicas: 2", "min.insync.replicas: 0", "9:26", "least allowed"},
		{"unknown protocol", "zk-3.9", "zk-3.8", "3:11", "zk-3.9"},
		{"rate without unit", "10/s", "10", "14:36", "500/s"},
		{"size without unit", "1KiB", "1024", "14:48", "1KiB"},
		{"value too small", "1KiB", "8B", "14:48", "at least 24B"},
		{"tombstones without keys", "size: 1KiB", "size: 1KiB, tombstones: 5%", "14:66", "tombstones need keys"},
		{"tombstones above all", "size: 1KiB", "size: 1KiB, keys: 3, tombstones: 101%", "14:75", "at most 100%"},
		{"racks for other brokers", "[a, b, c]", "[a, b]", "7:10", "name one for each broker"},
		{"no fault", "kill: leader(orders/0), restart_after: 5s", "restart_after: 5s", "18:5", "names no fault"},
		{"two faults", "kill: leader(orders/0)", "kill: leader(orders/0), stop: broker-1", "18:5", "names 2 faults"},
		{"no trigger", "at: 10s, kill", "kill", "18:5", "exactly once"},
		{"for with kill", "restart_after: 5s", "for: 5s", "18:5", "restart_after, not for"},
		{"unknown topic", "topic: orders,", "topic: odrers,", "14:22", `did you mean "orders"?`},
		{"wrong kind", "racks: [a, b, c]", "racks: a", "7:10", "is a list"},
		{"missing key", "duration: 30s\n", "", "1:1", `lacks the key "duration"`},
		{"older version", "simkafka/v1", "simkafka/v0", "1:13", "reads \"simkafka/v1\""},
		{"range outside chaos", "restart_after: 5s", "restart_after: 5s..9s", "18:54", "in chaos only"},
		{"name of the cluster", "name: p,", "name: broker-1,", "14:12", "belongs to the cluster"},
		{"no text", "racks: [a, b, c]", "racks:", "7:9", "not empty"},
		{"node without event", "kill: leader(orders/0), restart_after: 5s", "kill: $node", "18:5", "use when or on_disk"},
		{"for with a jump", "kill: leader(orders/0), restart_after: 5s", "for: 5s, clock_jump: {node: broker-1, by: 1h}", "18:5", "stays where it jumped"},
		{"topic created again that there is not", "kill: leader(orders/0), restart_after: 5s", "create_topic: odrers", "18:29", `did you mean "orders"?`},
		{"topic created again with settings", "kill: leader(orders/0), restart_after: 5s", "create_topic: {topic: orders}", "18:29", "not a mapping"},
		{"topic created again for a time", "kill: leader(orders/0), restart_after: 5s", "create_topic: orders, for: 5s", "18:5", "happens at once"},
		{"tab", "  brokers: 3", "\tbrokers: 3", "6:1", "a tab in the indentation"},
		{"a character that begins nothing", "brokers: 3", "brokers: @3", "6:12", "character"},
		{"key indented more than its neighbours", "  config:\n", "   config:\n", "6:3", "indented unlike its neighbours"},
		{"colon in a text", "name: small\n", "name: small\nwhy: Does it: lose?\n", "3:13", "quote a text"},
		{"key without a colon", "duration: 30s", "duration 30s", "4:1", `a key has ": " behind it`},
		{"list that is not closed", "racks: [a, b, c]", "racks: [a, b, c", "7:10", "the ] at its end"},
		{"mapping that is not closed", "{latency: 200us..500us}", "{latency: 200us..500us", "10:12", "the } at its end"},
		{"setting beside config", "brokers: 3\n", "brokers: 3\n  min.insync.replicas: 2\n", "7:3",
			"min.insync.replicas is a Kafka setting of brokers and topics, no key of cluster: write it in cluster.config or a topic's config"},
		{"setting beside a producer's config", "topic: orders,", "topic: orders, acks: all,", "14:30", "acks is a Kafka setting of producers, no key of a producer: write it in a producer's config"},
		{"merged keys", "{at: 10s, kill", "{at: 10s, <<: {for: 5s}, kill", "18:15", "keys are not merged (<<)"},
		{"time with a unit for Kafka", "min.insync.replicas: 2", "replica.lag.time.max.ms: 10s", "9:30", `"10s" is not a whole number (unit: ms)`},
		{"size with a unit for Kafka", "min.insync.replicas: 2", "log.segment.bytes: 1MiB", "9:24", `"1MiB" is not a whole number (unit: bytes)`},
		{"what a scenario says in its own words", "min.insync.replicas: 2", "broker.rack: a", "9:5", "broker.rack is not a setting here: write racks in cluster"},
		{"what producers do not have", "acks: all", "enable.idempotence: true", "14:63", "producers are not idempotent yet"},
		{"unknown key of many", "  brokers: 3", "  xxxxxxxxxxxxxxx: 3", "6:3", "; there are brokers, racks"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s: nothing changed", c.name)
		}
		_, err := load(text)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if !strings.Contains(err.Error(), "x.yaml:"+c.place) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: want %s and %q, got\n%v", c.name, c.place, c.message, err)
		}
	}
}

func TestAllErrorsComeAtOnceInOrder(t *testing.T) {
	text := strings.NewReplacer("kill:", "kil:", "duration: 30s", "duration: 30", "records.lost", "records.last").Replace(good)
	_, err := load(text)
	var d *Diagnostics
	if !errors.As(err, &d) || d.Errors() < 3 {
		t.Fatalf("%v", err)
	}
	for i := 1; i < len(d.List); i++ {
		if d.List[i].Line < d.List[i-1].Line {
			t.Errorf("not in order:\n%v", err)
		}
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if len(line) > 160 {
			t.Errorf("long line: %s", line)
		}
	}
}

func TestHostileFilesAreErrors(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for name, text := range map[string]string{
		"empty":      "",
		"comment":    "# nothing\n",
		"null":       "null\n",
		"binary":     "\x00\x01\x02",
		"not utf-8":  "name: \xff\xfe\n",
		"10 MB":      strings.Repeat("# padding\n", 1<<20),
		"alias bomb": bomb,
		"cycle":      "a: &a [*a]\n",
		"list":       "- a\n",
		"two":        good + "---\n" + good,
		"unclosed":   "a: [1, 2\n",
	} {
		_, err := load(text)
		var d *Diagnostics
		if !errors.As(err, &d) || d.Errors() == 0 || d.List[0].Line < 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No key is ignored: one letter changed in any key of any built-in scenario is an
// error (interface U6).
func TestEveryKeyIsChecked(t *testing.T) {
	for _, e := range append(Library(), Entry{Name: "good", Text: good}) {
		var doc yaml.Node
		if err := yaml.Load([]byte(e.Text), &doc); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(e.Text, "\n")
		keys(&doc, func(k *yaml.Node) {
			if k.Value == "" {
				return
			}
			changed := append([]string(nil), lines...)
			l := changed[k.Line-1]
			at := k.Column - 1
			changed[k.Line-1] = l[:at] + "q" + l[at+1:]
			if l[at] == 'q' {
				return
			}
			if _, err := Load(e.File, []byte(strings.Join(changed, "\n")), LibrarySource); err == nil {
				t.Errorf("%s:%d: key %q changed and nobody noticed", e.Name, k.Line, k.Value)
			}
		})
	}
}

func keys(n *yaml.Node, do func(*yaml.Node)) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			do(c)
		}
		keys(c, do)
	}
}

func TestServerPropertiesApplyOrAreListed(t *testing.T) {
	text := strings.Replace(good, "  brokers: 3\n", "  brokers: 3\n  server_properties: server.properties\n", 1)
	open := func(string) ([]byte, error) {
		return []byte("broker.id=0\nnum.io.threads=4\nlog.dirs=/tmp/kafka-logs\nmin.insync.replicas=1\n"), nil
	}
	s, err := Load("x.yaml", []byte(text), open)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.NotModelled) != 1 || s.NotModelled[0].Key != "broker.id" {
		t.Errorf("not modelled: %v", s.NotModelled)
	}
	if got := fmt.Sprint(s.Cluster.Config); got != "[{num.io.threads 4} {log.dirs /tmp/kafka-logs} {min.insync.replicas 1} {min.insync.replicas 2}]" {
		t.Errorf("config: %s; the scenario's own setting must come last", got)
	}
}

func TestValuesHaveUnits(t *testing.T) {
	for s, want := range map[string]int64{"1.5s": 1_500_000_000, "1m30s": 90_000_000_000, "250us": 250_000, "0": 0, "0.001ms": 1000} {
		if d, err := ParseDuration(s, false); err != nil || int64(d) != want {
			t.Errorf("%s: %d %v", s, d, err)
		}
	}
	for _, s := range []string{"", "1", "1 s", "s", "1x", "1.2.3s", "99999999999h", "0.5ns", "-1s"} {
		if d, err := ParseDuration(s, false); err == nil {
			t.Errorf("%q: %d", s, d)
		}
	}
	if v, err := ParseSize("1.5KiB"); err == nil || v != 0 {
		t.Errorf("1.5KiB is not a whole number of bytes by tenths: %d", v)
	}
	if v, err := ParseRate("33.333/s"); err != nil || v != 33_333 {
		t.Errorf("rate %d %v", v, err)
	}
	if v, err := ParsePercent("2.5%"); err != nil || v != 25_000 {
		t.Errorf("percent %d %v", v, err)
	}
	if v, err := ParseBandwidth("1Gbit/s"); err != nil || v != 125_000_000 {
		t.Errorf("bandwidth %d %v", v, err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(good)
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := load(text); err == nil {
			if _, err := load(s.YAML()); err != nil {
				t.Fatalf("loads, but not when printed: %v\n%s", err, s.YAML())
			}
		}
	})
}

// in puts a consumer entry into the good scenario.
func in(entry string) string {
	return strings.Replace(good, "{name: c, topics: [orders]}", entry, 1)
}

func TestConsumersMayHaveAGroup(t *testing.T) {
	s := mustLoad(t, in("{name: c, count: 2, topics: [orders], group: g, processing: 5ms, commit: sync, config: {max.poll.records: 10}}"))
	c := s.Consumers[0]
	if c.Group != "g" || c.Processing != 5_000_000 || c.Commit != "sync" || len(s.Warnings) > 0 {
		t.Errorf("%+v, warnings %v", c, s.Warnings)
	}
	again := mustLoad(t, s.YAML())
	if fmt.Sprintf("%+v", again.Consumers) != fmt.Sprintf("%+v", s.Consumers) {
		t.Errorf("printed %+v, loaded %+v", s.Consumers, again.Consumers)
	}
}

func TestAConsumerMayWatchTheEndOffsets(t *testing.T) {
	s := mustLoad(t, in("{name: c, topics: [orders], end_offsets: 200ms}"))
	if s.Consumers[0].EndOffsets != 200_000_000 {
		t.Errorf("%+v", s.Consumers[0])
	}
	if again := mustLoad(t, s.YAML()); again.Consumers[0].EndOffsets != s.Consumers[0].EndOffsets {
		t.Errorf("printed %+v, loaded %+v", s.Consumers, again.Consumers)
	}
}

// What lint lets through must run.
func TestClientSettingsAreCheckedAgainstEachOther(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{in("{name: c, topics: [orders], group: g, config: {session.timeout.ms: 100}}"), "heartbeat.interval.ms=(default): must be below session.timeout.ms, which is 100"},
		{in("{name: c, topics: [orders], group: g, config: {session.timeout.ms: 9000, heartbeat.interval.ms: 9000}}"), "heartbeat.interval.ms=9000: must be below"},
		{strings.Replace(good, "acks: all", "acks: all, delivery.timeout.ms: 1000", 1), "delivery.timeout.ms=1000"},
	} {
		_, err := load(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "error: ") != 1 {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// One mistake hides no other.
func TestClientsAreCheckedBesideOtherMistakes(t *testing.T) {
	text := in("{name: c, topics: [orders], group: g, config: {session.timeout.ms: 100}}\n  - {name: d, topics: [nothing], group: g, config: {session.timeout.ms: 200}}")
	_, err := load(text)
	for _, want := range []string{"which is 100", "which is 200", "no topic \"nothing\""} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err = load(in("{name: c, topics: [orders], group: g, config: {session.timeout.ms: 100, heartbeat.interval.ms: soon}}"))
	if err == nil || strings.Count(err.Error(), "error: ") != 1 {
		t.Errorf("a setting that cannot be read, and what follows from it: %v", err)
	}
}

func TestASessionThatNoCoordinatorTakesIsAWarning(t *testing.T) {
	for session, warnings := range map[string]int{"5000": 1, "6000": 0, "1800000": 0, "1800001": 1} {
		s := mustLoad(t, in("{name: c, topics: [orders], group: g, config: {session.timeout.ms: "+session+"}}"))
		if len(s.Warnings) != warnings || warnings > 0 && !strings.Contains(s.Warnings[0], "no coordinator lets the consumer in") {
			t.Errorf("%s: %v", session, s.Warnings)
		}
	}
}

func TestGroupsWithoutCoordinatorsAreAWarning(t *testing.T) {
	entry := "{name: c, topics: [orders], group: g}"
	few := strings.Replace(in(entry), "min.insync.replicas: 2", "offsets.topic.replication.factor: 4", 1)
	for text, warnings := range map[string]int{
		in(entry): 0, few: 1, strings.Replace(few, "zk-3.9", "zk-0.10", 1): 0, strings.Replace(few, entry, "{name: c, topics: [orders]}", 1): 0,
	} {
		s := mustLoad(t, text)
		if len(s.Warnings) != warnings || warnings > 0 && !strings.Contains(s.Warnings[0], "no group gets a coordinator") {
			t.Errorf("%v in %s", s.Warnings, text)
		}
	}
}

func TestAnAssignorYoungerThanTheClientsIsAWarning(t *testing.T) {
	for what, warnings := range map[string]int{"zk-0.10 sticky": 1, "zk-0.11 sticky": 0, "zk-2.0 cooperative-sticky": 1, "zk-2.6 cooperative-sticky": 0, "zk-2.0 range,cooperative-sticky": 1} {
		protocol, strategy, _ := strings.Cut(what, " ")
		s := mustLoad(t, strings.Replace(in("{name: c, topics: [orders], group: g, config: {partition.assignment.strategy: \""+strategy+"\"}}"), "zk-3.9", protocol, 1))
		if len(s.Warnings) != warnings || warnings > 0 && !strings.Contains(s.Warnings[0], "have no "+strategy[strings.LastIndex(strategy, ",")+1:]+" assignor") {
			t.Errorf("%s: %v", what, s.Warnings)
		}
	}
}

func TestWhatOnlyMembersDoNeedsAGroup(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: c, topics: [orders], processing: 5ms}":                                            "give the consumer a group",
		"{name: c, topics: [orders], group: g, end_offsets: 1s}":                                  "asks for no end offsets",
		"{name: c, topics: [orders], commit: sync}":                                               "give the consumer a group",
		"{name: c, topics: [orders], group: g, commit: sometimes}":                                "it is one of auto, sync, async, before",
		"{name: c, topics: [orders], group: g, commit: sync, config: {enable.auto.commit: true}}": "enable.auto.commit off",
		"{name: c, topics: [orders], group: g, config: {partition.assignment.strategy: rang}}":    "is not one of range",
	} {
		if _, err := load(in(entry)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	s := mustLoad(t, in("{name: c, topics: [orders], config: {session.timeout.ms: 7000}}"))
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "no effect without a group") {
		t.Errorf("warnings %v", s.Warnings)
	}
}
