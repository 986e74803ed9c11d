package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Digest is the SHA-256 of the canonical text: what was asked for, whatever the
// file's comments and layout.
func (s *Spec) Digest() string {
	sum := sha256.Sum256([]byte(s.YAML()))
	return hex.EncodeToString(sum[:])
}

// YAML prints the scenario in full, so that loading the text gives the same run.
// Settings of a server.properties appear as settings.
func (s *Spec) YAML() string {
	p := &printer{}
	p.line(0, "apiVersion: %s", APIVersion)
	p.line(0, "name: %s", s.Name)
	p.text("why", s.Why)
	p.text("look", s.Look)
	p.line(0, "protocol: %s", s.Protocol)
	if !s.Quirks.Empty() {
		p.line(0, "quirks: [%s]", s.Quirks)
	}
	p.line(0, "duration: %s", faults.Duration(s.Duration))
	p.dur(0, "heal", s.Heal)
	p.dur(0, "settle", s.Settle)
	p.cluster(&s.Cluster)
	p.hardware(s.Hardware)
	p.line(0, "topics:")
	for i := range s.Topics {
		p.topic(&s.Topics[i])
	}
	if len(s.Producers) > 0 {
		p.line(0, "producers:")
	}
	for i := range s.Producers {
		p.producer(&s.Producers[i])
	}
	if len(s.Consumers) > 0 {
		p.line(0, "consumers:")
	}
	for i := range s.Consumers {
		p.consumer(&s.Consumers[i])
	}
	if len(s.Events) > 0 {
		p.line(0, "events:")
	}
	for i := range s.Events {
		p.line(1, "- {%s}", eventText(&s.Events[i]))
	}
	p.chaos(s.Chaos)
	p.expect(&s.Expect)
	return p.b.String()
}

type printer struct{ b strings.Builder }

func (p *printer) line(depth int, format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) dur(depth int, key string, d kafka.Nanos) {
	if d > 0 {
		p.line(depth, "%s: %s", key, faults.Duration(d))
	}
}

func (p *printer) text(key, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	p.line(0, "%s: |", key)
	for _, l := range strings.Split(text, "\n") {
		p.line(1, "%s", l)
	}
}

// quote keeps a value a string for YAML.
func quote(s string) string { return strconv.Quote(s) }

func (p *printer) settings(depth int, key string, list []Setting) {
	if len(list) == 0 {
		return
	}
	p.line(depth, "%s:", key)
	last := make(map[string]int, len(list))
	for i, s := range list {
		last[s.Key] = i
	}
	for i, s := range list {
		if last[s.Key] == i { // a later one wins
			p.line(depth+1, "%s: %s", s.Key, quote(s.Value))
		}
	}
}

func (p *printer) cluster(c *Cluster) {
	p.line(0, "cluster:")
	p.line(1, "brokers: %d", c.Brokers)
	if len(c.Racks) > 0 {
		p.line(1, "racks: [%s]", strings.Join(c.Racks, ", "))
	}
	if c.Endpoints > 0 || len(c.ZooKeeper) > 0 {
		p.line(1, "zookeeper:")
		p.line(2, "endpoints: %d", max(c.Endpoints, 1))
		p.settings(2, "config", c.ZooKeeper)
	}
	p.settings(1, "config", c.Config)
	if len(c.PerBroker) > 0 {
		p.line(1, "per_broker:")
		for _, b := range c.PerBroker {
			p.settings(2, kafka.BrokerHost(b.Node), b.Settings)
		}
	}
	p.network(&c.Network)
	p.disk(&c.Disk)
	p.dur(1, "service_time", c.ServiceTime)
}

func (p *printer) network(n *Network) {
	if *n == (Network{}) {
		return
	}
	p.line(1, "network:")
	if n.Latency.Kind != "" {
		p.line(2, "latency: %s", n.Latency)
	}
	if n.Bandwidth > 0 {
		p.line(2, "bandwidth: %dbit/s", n.Bandwidth*8)
	}
}

func (p *printer) disk(d *Disk) {
	if *d == (Disk{}) {
		return
	}
	p.line(1, "disk:")
	p.dur(2, "append", d.Append)
	p.dur(2, "fsync", d.Fsync)
	if d.Bandwidth > 0 {
		p.line(2, "bandwidth: %dbit/s", d.Bandwidth*8)
	}
	if d.Capacity > 0 {
		p.line(2, "capacity: %dB", d.Capacity)
	}
	p.dur(2, "writeback", d.Writeback)
	if d.Filesystem != "" {
		p.line(2, "filesystem: %s", d.Filesystem)
	}
}

// String is the form that ParseDist reads.
func (d Dist) String() string {
	switch d.Kind {
	case "uniform":
		return fmt.Sprintf("%s..%s", faults.Duration(d.A), faults.Duration(d.B))
	case "exponential":
		return "exponential " + faults.Duration(d.A)
	case "lognormal":
		return fmt.Sprintf("lognormal %s p99 %s", faults.Duration(d.A), faults.Duration(d.B))
	}
	return faults.Duration(d.A)
}

func (p *printer) topic(t *Topic) {
	p.line(1, "- name: %s", t.Name)
	if t.Assignment == nil {
		p.line(2, "partitions: %d", t.Partitions)
		p.line(2, "replication: %d", t.Replication)
	} else {
		rows := make([]string, len(t.Assignment))
		for i, ids := range t.Assignment {
			rows[i] = strings.ReplaceAll(fmt.Sprint(ids), " ", ", ")
		}
		p.line(2, "assignment: [%s]", strings.Join(rows, ", "))
	}
	p.settings(2, "config", t.Config)
}

func (p *printer) producer(x *Producer) {
	p.line(1, "- name: %s", x.Name)
	p.line(2, "count: %d", max(x.Count, 1))
	p.line(2, "topic: %s", x.Topic)
	if x.Partition >= 0 {
		p.line(2, "partition: %d", x.Partition)
	}
	p.line(2, "rate: %s/s", faults.Decimal(x.RatePerMil, 1000))
	p.line(2, "arrival: %s", x.Arrival)
	p.line(2, "size: %dB", x.Size)
	if x.Keys > 0 {
		p.line(2, "keys: %d", x.Keys)
	}
	if x.Tombstones > 0 {
		p.line(2, "tombstones: %s%%", faults.Decimal(x.Tombstones, 10_000))
	}
	if x.Records > 0 {
		p.line(2, "records: %d", x.Records)
	}
	p.dur(2, "start", x.Start)
	p.dur(2, "stop", x.Stop)
	p.settings(2, "config", x.Config)
}

func (p *printer) consumer(x *Consumer) {
	p.line(1, "- name: %s", x.Name)
	p.line(2, "count: %d", max(x.Count, 1))
	p.line(2, "topics: [%s]", strings.Join(x.Topics, ", "))
	p.dur(2, "start", x.Start)
	p.dur(2, "end_offsets", x.EndOffsets)
	if x.Group != "" {
		p.line(2, "group: %s", x.Group)
		p.dur(2, "processing", x.Processing)
		p.dur(2, "revoke", x.Revoke)
		if x.Commit != "" {
			p.line(2, "commit: %s", x.Commit)
		}
		if x.OnStop != "" {
			p.line(2, "on_stop: %s", x.OnStop)
		}
	}
	p.settings(2, "config", x.Config)
}

// eventText is the inside of an event's braces.
func eventText(e *faults.Planned) string {
	return triggerText(&e.Trigger) + faultText(e, e.For, e.RestartAfter)
}

// FaultName is the fault with its trigger but without its durations: what its
// draws are keyed by, so that they outlive its neighbours' removal and its own
// shortening. Equal entries of one scenario have equal names.
func FaultName(e *faults.Planned) string { return triggerText(&e.Trigger) + e.Fault.String() }

func triggerText(t *faults.Trigger) string {
	switch {
	case t.On != nil:
		return "when: {" + onText(t.On) + "}, "
	case t.Disk != nil:
		d := t.Disk
		s := fmt.Sprintf("on_disk: {node: %s, op: %s", d.Node, d.Op)
		if d.Match != "" {
			s += ", file: " + quote(d.Match)
		}
		s += fmt.Sprintf(", nth: %d", max(d.Nth, 1))
		if d.After > 0 {
			s += ", after: " + faults.Duration(d.After)
		}
		if d.Since != event.None {
			s += ", since: " + d.Since.String()
		}
		return s + "}, "
	case t.Every > 0:
		s := "every: " + faults.Duration(t.Every)
		if t.From > 0 {
			s += ", from: " + faults.Duration(t.From)
		}
		if t.Times > 0 {
			s += fmt.Sprintf(", times: %d", t.Times)
		}
		return s + ", "
	}
	return "at: " + faults.Duration(max(t.At, 0)) + ", "
}

func onText(t *faults.EventTrigger) string {
	s := "event: " + t.Kind.String()
	if t.TP.Topic != "" {
		part := "*"
		if t.TP.Partition >= 0 {
			part = fmt.Sprint(t.TP.Partition)
		}
		s += fmt.Sprintf(", partition: %s/%s", t.TP.Topic, part)
	}
	if t.Actor != nil {
		s += ", node: " + t.Actor.String()
	}
	if t.Text != "" {
		s += ", text: " + quote(t.Text)
	}
	if t.Group != "" {
		s += ", group: " + t.Group
	}
	if t.State != "" {
		s += ", state: " + t.State
	}
	if t.Acks != "" {
		s += ", acks: " + quote(t.Acks)
	}
	if t.ISR > 0 {
		s += fmt.Sprintf(", isr: %d", t.ISR)
	}
	if t.Records > 0 {
		s += fmt.Sprintf(", records: %d", t.Records)
	} else {
		s += fmt.Sprintf(", nth: %d", max(t.Nth, 1))
	}
	if t.After > 0 {
		s += ", after: " + faults.Duration(t.After)
	}
	if t.DelayMax > 0 {
		s += fmt.Sprintf(", delay: %s..%s", faults.Duration(t.DelayMin), faults.Duration(t.DelayMax))
	}
	return s
}

func faultText(e *faults.Planned, forMax, restartMax kafka.Nanos) string {
	var s string
	spread := func(lo, hi kafka.Nanos) string {
		if hi > lo {
			return faults.Duration(lo) + ".." + faults.Duration(hi)
		}
		return faults.Duration(lo)
	}
	if e.For > 0 {
		s += "for: " + spread(e.For, forMax) + ", "
	}
	if e.RestartAfter > 0 {
		s += "restart_after: " + spread(e.RestartAfter, restartMax) + ", "
	}
	return s + e.Fault.String()
}

func (p *printer) chaos(c *Chaos) {
	if c == nil {
		return
	}
	p.line(0, "chaos:")
	p.line(1, "from: %s", faults.Duration(c.From))
	p.line(1, "to: %s", faults.Duration(c.To))
	p.line(1, "count: %d..%d", c.Min, c.Max)
	p.line(1, "of:")
	for i := range c.Of {
		x := &c.Of[i]
		p.line(2, "- {%s}", faultText(&x.Planned, x.ForMax, x.RestartAfterMax))
	}
}

func (p *printer) expect(x *Expect) {
	if !x.Loss && !x.BeyondBudget && len(x.Violated)+len(x.Metrics) == 0 {
		return
	}
	p.line(0, "expect:")
	if x.Loss {
		p.line(1, "verdict: loss")
	}
	if len(x.Violated) > 0 {
		p.line(1, "violated: [%s]", strings.Join(x.Violated, ", "))
	}
	if x.BeyondBudget {
		p.line(1, "beyond_budget: true")
	}
	if len(x.Metrics) > 0 {
		p.line(1, "metrics:")
	}
	for _, m := range x.Metrics {
		p.line(2, "- %s", quote(m.Source))
	}
}
