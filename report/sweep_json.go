package report

import (
	"io"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/sweep"
)

// SweepSchema names the document that sums a sweep up.
const SweepSchema = "simkafka.sweep-summary/v1"

// The fields of each type stand in the order of their keys, as in result.json.
type (
	jsonSweep struct {
		Duplicates []jsonRange     `json:"duplicate_k"`
		Engine     int             `json:"engine"`
		Events     uint64          `json:"events"`
		Findings   []jsonFinding   `json:"findings"`
		Missing    []jsonRange     `json:"missing_k"`
		Absent     []jsonRange     `json:"missing_shards"`
		Name       string          `json:"name"`
		Probes     []jsonProbe     `json:"probes"`
		Root       uint64          `json:"root_seed"`
		Saturation []jsonPoint     `json:"saturation"`
		Schema     string          `json:"schema"`
		Seeds      jsonSeeds       `json:"seeds"`
		SourceSHA  string          `json:"source_sha256"`
		State      string          `json:"state"`
		ID         string          `json:"sweep_id"`
		Unfinished []jsonRange     `json:"unfinished_shards"`
		Verdict    outcome.Verdict `json:"verdict"`
		Virtual    kafka.Nanos     `json:"virtual_ns"`
	}
	jsonRange struct {
		From uint64 `json:"from"`
		To   uint64 `json:"to"`
	}
	jsonFinding struct {
		Change    string          `json:"change"`
		Always    []string        `json:"faults_in_each"`
		First     uint64          `json:"first_k"`
		Seeds     uint64          `json:"seeds"`
		Shortest  jsonSeed        `json:"shortest"`
		Signature string          `json:"signature"`
		Verdict   outcome.Verdict `json:"verdict"`
	}
	jsonSeed struct {
		Faults []string `json:"faults"`
		K      uint64   `json:"k"`
		Replay string   `json:"replay"`
		Seed   uint64   `json:"seed"`
		What   string   `json:"what"`
	}
	jsonProbe struct {
		Hits  int64  `json:"hits"`
		Name  string `json:"name"`
		Seeds uint64 `json:"seeds"`
	}
	jsonPoint struct {
		Findings uint64 `json:"findings"`
		Seeds    uint64 `json:"seeds"`
	}
	jsonSeeds struct {
		Errors       uint64 `json:"errors"`
		ExpectedLoss uint64 `json:"expected_loss"`
		Inconclusive uint64 `json:"inconclusive"`
		Passed       uint64 `json:"passed"`
		Run          uint64 `json:"run"`
		Twice        uint64 `json:"run_twice"`
		Violated     uint64 `json:"violated"`
	}
)

// WriteSweepJSON prints a sweep as one JSON document, its findings compared with a
// baseline if there is one. Equal sweeps give equal bytes.
func WriteSweepJSON(w io.Writer, m, baseline *sweep.Merged) error {
	h, t := &m.Header, m.Totals()
	d := jsonSweep{Duplicates: rangesOf(m.Duplicates), Engine: h.Engine, Events: t.Events, Findings: []jsonFinding{}, Missing: rangesOf(m.Missing),
		Absent: rangesOf(m.Absent), Name: h.Name, Probes: []jsonProbe{}, Root: h.Root, Saturation: []jsonPoint{}, Schema: SweepSchema,
		Seeds:     jsonSeeds{t.Errors, t.LossRuns, t.Inconclusive, t.Passed, t.Runs, t.Repeated, t.Violated},
		SourceSHA: h.Source, State: m.State, ID: h.ID, Unfinished: rangesOf(m.Unfinished), Verdict: SweepVerdict(m), Virtual: t.Virtual}
	for _, f := range m.Findings(baseline) {
		l := &f.Shortest
		d.Findings = append(d.Findings, jsonFinding{string(f.Change), list(f.Always), f.First, f.Runs,
			jsonSeed{list(l.Faults), l.K, SweepReplay(h, l.Seed), l.Seed, l.What}, f.Signature, f.Verdict})
	}
	for _, p := range t.Probes {
		d.Probes = append(d.Probes, jsonProbe{p.Hits, p.Name, p.Runs})
	}
	for _, p := range m.Saturation() {
		d.Saturation = append(d.Saturation, jsonPoint{p.Findings, p.Runs})
	}
	b, err := encode(d)
	if err != nil {
		return err
	}
	return put(w, string(b))
}

func rangesOf(in []sweep.Range) []jsonRange {
	out := make([]jsonRange, 0, len(in))
	for _, r := range in {
		out = append(out, jsonRange(r))
	}
	return out
}
