package sweep

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// Schema names the format of a sweep's file: one JSON object a line, first a Header,
// then a Line for each run in the order of k, at the end a Footer.
const Schema = "simkafka.sweep/v1"

// Header is the first line of a file.
type Header struct {
	Schema string `json:"schema"`
	ID     string `json:"sweep_id"`
	Name   string `json:"name"`
	Source string `json:"source_sha256"`
	Root   uint64 `json:"root_seed"`
	Count  uint64 `json:"count"` // 0: as many as the time allowed
	Engine int    `json:"engine"`
	Shard  int    `json:"shard,omitempty"` // from 1; 0 = merged
	Shards int    `json:"shards,omitempty"`
	Replay string `json:"replay"` // the command that repeats a run, without its seed
}

// Line is one finished run.
type Line struct {
	K           uint64          `json:"k"`
	Seed        uint64          `json:"seed"`
	Verdict     outcome.Verdict `json:"verdict"`
	Fingerprint string          `json:"fingerprint"`
	Events      uint64          `json:"events"`
	End         kafka.Nanos     `json:"end_ns"` // virtual
	// Runs is 2 where the run was repeated and compared.
	Runs int `json:"runs"`
	// Loss is the number of acknowledged records that the configuration allowed to lose.
	Loss   int64            `json:"expected_loss,omitempty"`
	Probes map[string]int64 `json:"probes,omitempty"` // rare states reached

	// The others are there if the verdict is not pass.
	Signature string   `json:"signature,omitempty"`
	Violated  []string `json:"violated,omitempty"` // invariants, without those that the scenario wants violated
	What      string   `json:"what,omitempty"`
	Faults    []string `json:"faults,omitempty"` // in words, those that began before the failure
}

// Footer is the last line.
type Footer struct {
	Done  uint64 `json:"done"`
	State string `json:"state"`
	// Timing is about the machine, not about the runs; merging drops it.
	Timing *Timing `json:"timing,omitempty"`
}

// The states of a file.
const (
	Complete    = "complete"    // every run of the shard, or all that the time allowed where there is no count
	OutOfTime   = "out-of-time" // the time ended before the count was reached
	Interrupted = "interrupted"
	Partial     = "partial" // merged from files that do not cover the sweep
)

// Timing is what a sweep took.
type Timing struct {
	Wall int64 `json:"wall_ns"` // of the last part, if it was resumed
	Jobs int   `json:"jobs"`
}

func (l *Line) failed() bool { return l.Verdict != outcome.Pass }
