package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// Schema names the format of result.json; see the package comment.
const Schema = "simkafka.result/v1"

// WriteJSON prints the result as one JSON document. Equal results give equal bytes.
func WriteJSON(w io.Writer, r *outcome.Result) error {
	b, err := encode(document(r))
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// RunsSchema names the document that holds several results.
const RunsSchema = "simkafka.results/v1"

// WriteJSONAll prints several results as one JSON document.
func WriteJSONAll(w io.Writer, results []*outcome.Result) error {
	runs := struct {
		Results []jsonResult `json:"results"`
		Schema  string       `json:"schema"`
	}{make([]jsonResult, 0, len(results)), RunsSchema}
	for _, r := range results {
		runs.Results = append(runs.Results, document(r))
	}
	b, err := encode(runs)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// The fields of each type stand in the order of their keys: a test demands that
// the keys of every object are sorted.
type (
	jsonResult struct {
		ChaosEnd     kafka.Nanos       `json:"chaos_end_ns"`
		Checkpoints  []jsonCheckpoint  `json:"checkpoints"`
		End          kafka.Nanos       `json:"end_ns"`
		Engine       int               `json:"engine"`
		Events       uint64            `json:"events"`
		Expectations []jsonExpectation `json:"expectations"`
		ExpectedLoss jsonLoss          `json:"expected_loss"`
		Faults       []jsonFault       `json:"faults"`
		Fingerprint  string            `json:"fingerprint"`
		Groups       []jsonGroup       `json:"groups"`
		Invariants   []jsonInvariant   `json:"invariants"`
		Metrics      jsonMetrics       `json:"metrics"`
		NotModelled  []string          `json:"not_modelled"`
		Partitions   []jsonPartition   `json:"partitions"`
		Phases       []jsonPhase       `json:"phases"`
		Probes       []jsonCount       `json:"probes"`
		Protocol     string            `json:"protocol"`
		Quirks       []string          `json:"quirks,omitempty"`
		Records      jsonRecords       `json:"records"`
		Scenario     string            `json:"scenario"`
		ScenarioSHA  string            `json:"scenario_sha256"`
		Schema       string            `json:"schema"`
		Seed         uint64            `json:"seed"`
		Settled      *kafka.Nanos      `json:"settled_ns"`
		Verdict      outcome.Verdict   `json:"verdict"`
		Violations   []jsonViolation   `json:"violations"`
		Warnings     []string          `json:"warnings"`
		Why          []string          `json:"why"`
	}
	jsonCheckpoint struct {
		Event uint64 `json:"event"`
		Hash  string `json:"hash"`
	}
	jsonLoss struct {
		Count   int64        `json:"count"`
		Reasons []jsonReason `json:"reasons"`
	}
	jsonReason struct {
		Count   int64  `json:"count"`
		Example string `json:"example"`
		Text    string `json:"text"`
	}
	jsonExpectation struct {
		Line   int    `json:"line"`
		Metric string `json:"metric"`
		State  string `json:"state"`
		Value  string `json:"value"`
		Where  string `json:"where"`
	}
	jsonFault struct {
		From  kafka.Nanos `json:"from_ns"`
		Hit   string      `json:"hit"`
		Index int         `json:"index"`
		Text  string      `json:"text"`
		To    kafka.Nanos `json:"to_ns"`
	}
	jsonInvariant struct {
		Checked uint64 `json:"checked"`
		Name    string `json:"name"`
		Note    string `json:"note"`
		Rules   string `json:"rules"`
		State   string `json:"state"`
		Words   string `json:"words"`
	}
	jsonMetrics struct {
		Elections       int64       `json:"elections"`
		E2EP99          kafka.Nanos `json:"end_to_end_latency_p99_max_ns"`
		Leaderless      kafka.Nanos `json:"leaderless_max_ns"`
		Outages         int64       `json:"outages"`
		ProduceP99      kafka.Nanos `json:"produce_latency_p99_max_ns"`
		Unavailable     kafka.Nanos `json:"unavailable_max_ns"`
		Unclean         int64       `json:"unclean_elections"`
		UnderReplicated kafka.Nanos `json:"under_replicated_max_ns"`
	}
	jsonInterval struct {
		From kafka.Nanos `json:"from_ns"`
		To   kafka.Nanos `json:"to_ns"`
	}
	jsonPartition struct {
		Elections       int               `json:"elections"`
		HW              kafka.Offset      `json:"high_watermark"`
		ISR             []kafka.NodeID    `json:"isr"`
		Leader          kafka.NodeID      `json:"leader"`
		LeaderEpoch     kafka.LeaderEpoch `json:"leader_epoch"`
		Leaderless      kafka.Nanos       `json:"leaderless_ns"`
		LEO             kafka.Offset      `json:"log_end_offset"`
		LogStart        kafka.Offset      `json:"log_start_offset"`
		Outages         []jsonInterval    `json:"outages"`
		Partition       string            `json:"partition"`
		Replicas        []kafka.NodeID    `json:"replicas"`
		Unavailable     kafka.Nanos       `json:"unavailable_ns"`
		Unclean         int               `json:"unclean_elections"`
		UnderReplicated kafka.Nanos       `json:"under_replicated_ns"`
	}
	jsonPhase struct {
		AckedBytes   int64         `json:"acked_bytes"`
		AckedRecords int64         `json:"acked_records"`
		E2E          jsonQuantiles `json:"end_to_end_latency"`
		From         kafka.Nanos   `json:"from_ns"`
		Name         string        `json:"name"`
		Produce      jsonQuantiles `json:"produce_latency"`
		To           kafka.Nanos   `json:"to_ns"`
	}
	jsonQuantiles struct {
		Count int64       `json:"count"`
		Max   kafka.Nanos `json:"max_ns"`
		P50   kafka.Nanos `json:"p50_ns"`
		P95   kafka.Nanos `json:"p95_ns"`
		P999  kafka.Nanos `json:"p999_ns"`
		P99   kafka.Nanos `json:"p99_ns"`
	}
	jsonCount struct {
		Count int64  `json:"count"`
		Name  string `json:"name"`
	}
	jsonRecords struct {
		Acked          int64 `json:"acked"`
		Delivered      int64 `json:"delivered"`
		Duplicated     int64 `json:"duplicated"`
		Expired        int64 `json:"expired"`
		Failed         int64 `json:"failed"`
		Lost           int64 `json:"lost"`
		Sent           int64 `json:"sent"`
		Unknown        int64 `json:"unknown_outcome"`
		UnknownPresent int64 `json:"unknown_outcome_present"`
	}
	jsonViolation struct {
		At        kafka.Nanos `json:"at_ns"`
		Events    []jsonEvent `json:"events"`
		Facts     []string    `json:"facts"`
		Invariant string      `json:"invariant"`
		Partition string      `json:"partition"`
		What      string      `json:"what"`
	}
	jsonEvent struct {
		Kind string      `json:"kind"`
		Node string      `json:"node"`
		Seq  uint64      `json:"seq"`
		Text string      `json:"text"`
		Time kafka.Nanos `json:"vt_ns"`
	}
)

func document(r *outcome.Result) jsonResult {
	d := jsonResult{
		ChaosEnd: r.Chaos, Checkpoints: []jsonCheckpoint{}, End: r.End, Engine: r.Engine, Events: r.Events,
		ExpectedLoss: jsonLoss{Count: r.Loss.Records, Reasons: []jsonReason{}}, Expectations: []jsonExpectation{},
		Faults: []jsonFault{}, Fingerprint: r.Fingerprint, Invariants: []jsonInvariant{}, Metrics: metrics(r),
		NotModelled: list(r.NotModelled), Partitions: []jsonPartition{}, Phases: []jsonPhase{}, Probes: []jsonCount{},
		Protocol: r.Protocol, Quirks: r.Quirks, Records: recordsOf(&r.Records), Scenario: r.Scenario, ScenarioSHA: r.ScenarioSHA,
		Schema: Schema, Seed: r.Seed, Verdict: r.Verdict, Violations: []jsonViolation{}, Warnings: list(r.Warnings), Why: list(r.Why),
	}
	if r.Settled >= 0 {
		d.Settled = &r.Settled
	}
	for _, c := range r.Checkpoints {
		d.Checkpoints = append(d.Checkpoints, jsonCheckpoint(c))
	}
	for _, x := range r.Loss.Reasons {
		d.ExpectedLoss.Reasons = append(d.ExpectedLoss.Reasons, jsonReason{x.Records, x.Example, x.Text})
	}
	for _, m := range r.Metrics {
		d.Expectations = append(d.Expectations, jsonExpectation{m.Line, m.Source, either(m.Held, "held", "violated"), m.Value, m.Where})
	}
	for _, f := range r.Faults {
		d.Faults = append(d.Faults, jsonFault{f.From, f.Hit, f.Index, f.Text, f.To})
	}
	for _, i := range r.Invariants {
		d.Invariants = append(d.Invariants, jsonInvariant{i.Checked, i.Name, i.Note, i.Rules, i.State, i.Words})
	}
	for _, c := range r.Probes {
		d.Probes = append(d.Probes, jsonCount{c.N, c.Name})
	}
	d.addGroups(r)
	d.addPartitions(r)
	d.addPhases(r)
	d.addViolations(r)
	return d
}

func (d *jsonResult) addPartitions(r *outcome.Result) {
	for i := range r.Partitions {
		p := &r.Partitions[i]
		outages := make([]jsonInterval, 0, len(p.Outages))
		for _, o := range p.Outages {
			outages = append(outages, jsonInterval(o))
		}
		d.Partitions = append(d.Partitions, jsonPartition{
			Elections: p.Elections, HW: p.HW, ISR: list(p.ISR), Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Leaderless: p.Leaderless,
			LEO: p.LEO, LogStart: p.LogStart, Outages: outages, Partition: p.TP.String(), Replicas: list(p.Replicas),
			Unavailable: p.Unavailable, Unclean: p.Unclean, UnderReplicated: p.UnderReplicated,
		})
	}
}

func (d *jsonResult) addPhases(r *outcome.Result) {
	for i := range r.Phases {
		p := &r.Phases[i]
		d.Phases = append(d.Phases, jsonPhase{AckedBytes: p.Bytes, AckedRecords: p.Acked, E2E: quantiles(p.E2E), From: p.From,
			Name: p.Name, Produce: quantiles(p.Produce), To: p.To})
	}
}

func (d *jsonResult) addViolations(r *outcome.Result) {
	for i := range r.Violations {
		v := &r.Violations[i]
		j := jsonViolation{At: v.At, Events: make([]jsonEvent, 0, len(v.Recent)), Facts: list(v.Facts), Invariant: v.Invariant, What: v.What}
		if v.TP.Topic != "" {
			j.Partition = v.TP.String()
		}
		for k := range v.Recent {
			j.Events = append(j.Events, eventObject(&v.Recent[k]))
		}
		d.Violations = append(d.Violations, j)
	}
}

func eventObject(e *event.Event) jsonEvent {
	return jsonEvent{Kind: e.Kind.String(), Node: e.Actor, Seq: e.Seq, Text: sentence(e), Time: e.Time}
}

func quantiles(q outcome.Quantiles) jsonQuantiles {
	return jsonQuantiles{Count: q.Count, Max: q.Max, P50: q.P50, P95: q.P95, P999: q.P999, P99: q.P99}
}

func recordsOf(c *outcome.Records) jsonRecords {
	return jsonRecords{Acked: c.Acked, Delivered: c.Delivered, Duplicated: c.Duplicated, Expired: c.Expired, Failed: c.Failed, Lost: c.Lost, Sent: c.Sent,
		Unknown: c.Unknown, UnknownPresent: c.UnknownPresent}
}

// metrics are the figures that runs are compared by: the worst partition and the
// worst phase.
func metrics(r *outcome.Result) jsonMetrics {
	var m jsonMetrics
	for i := range r.Partitions {
		p := &r.Partitions[i]
		m.Elections += int64(p.Elections)
		m.Unclean += int64(p.Unclean)
		m.Outages += int64(len(p.Outages))
		m.Leaderless = max(m.Leaderless, p.Leaderless)
		m.Unavailable = max(m.Unavailable, p.Unavailable)
		m.UnderReplicated = max(m.UnderReplicated, p.UnderReplicated)
	}
	for i := range r.Phases {
		m.ProduceP99 = max(m.ProduceP99, r.Phases[i].Produce.P99)
		m.E2EP99 = max(m.E2EP99, r.Phases[i].E2E.P99)
	}
	return m
}

// list makes an empty array of nothing, never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
