// Package outcome is what a run yields: verdict, violations, losses, metrics and
// timeline, as plain data without behaviour. Times are virtual nanoseconds since
// the start of the run; every list has one defined order, so that equal runs give
// equal bytes.
package outcome

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Verdict is a word, never a boolean (interface D16).
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Violated     Verdict = "violated"
	Inconclusive Verdict = "inconclusive" // a limit was hit before the run could settle
	Error        Verdict = "error"        // simulator fault
)

// Result is a finished run.
type Result struct {
	Scenario    string
	ScenarioSHA string // SHA-256 of the canonical scenario text, hex
	Protocol    string
	Quirks      []string // historical bugs that were put back
	Seed        uint64
	Engine      int // version of the engine's determinism: any change of a golden run bumps it
	Verdict     Verdict
	Why         []string // one line for each reason that the verdict is not pass

	Fingerprint string // 128 bits, hex
	Checkpoints []Checkpoint
	Events      uint64      // steps dispatched
	Chaos       kafka.Nanos // end of the chaos phase
	Settled     kafka.Nanos // when the cluster had converged; -1 = it did not
	End         kafka.Nanos

	Invariants  []InvariantState
	Violations  []Violation
	Loss        Loss
	Records     Records
	Partitions  []Partition
	Groups      []Group // by id
	Faults      []Fault
	Phases      []Phase
	Timeline    []event.Event // the facts that the timeline shows, in order
	Series      Series
	Probes      []Count
	Metrics     []MetricResult
	Warnings    []string
	NotModelled []string // keys of a server.properties that are not honoured
}

// Checkpoint is the fingerprint after an event, so that two runs can be compared.
type Checkpoint struct {
	Event uint64
	Hash  string
}

// InvariantState says how an invariant fared.
type InvariantState struct {
	Name    string // word
	Rules   string // INV and I ids
	Words   string // the rule in a sentence
	State   string // held, violated, suspended, not-exercised
	Checked uint64 // how many times its condition was evaluated
	Note    string // why suspended
}

// Violation is a short story.
type Violation struct {
	Invariant string
	At        kafka.Nanos
	What      string   // the two conflicting facts, one sentence
	Facts     []string // lines: what is known about the record or partition
	Recent    []event.Event
	TP        kafka.TopicPartition
}

// Loss is what the configuration allowed to be lost.
type Loss struct {
	Records int64
	Reasons []Reason
}

// Reason is why some records could be lost.
type Reason struct {
	Text    string
	Records int64
	Example string // one record, when acknowledged, where, and how it went
}

// Records counts records over all producers and consumers.
type Records struct {
	Sent, Acked, Failed, Unknown int64 // Unknown: failed with unknown outcome
	Delivered                    int64
	Duplicated                   int64 // extra copies in the final logs
	Lost                         int64 // acknowledged, not in the final logs
	Expired                      int64 // acknowledged, deleted by retention or DeleteRecords since
	UnknownPresent               int64 // unknown outcome, found in the final logs
}

// OutageThreshold is how long records must wait unacknowledged to count as an outage.
const OutageThreshold = 500 * kafka.Millisecond

// Partition is the story of one partition.
type Partition struct {
	TP          kafka.TopicPartition
	Replicas    []kafka.NodeID
	Leader      kafka.NodeID
	LeaderEpoch kafka.LeaderEpoch
	ISR         []kafka.NodeID
	LogStart    kafka.Offset
	LEO, HW     kafka.Offset
	Elections   int
	Unclean     int
	// Outages are the stretches in which records waited for longer than
	// OutageThreshold without one acknowledgement; Unavailable is their sum.
	Outages     []Interval
	Unavailable kafka.Nanos
	// Leaderless is the time without a living leader that had taken office.
	Leaderless      kafka.Nanos
	UnderReplicated kafka.Nanos
}

// Interval is [From, To).
type Interval struct{ From, To kafka.Nanos }

// Fault is a window of the timeline.
type Fault struct {
	Index int
	Text  string
	Hit   string
	Interval
}

// Phase is a stretch of the run with its own latency figures: before the first
// fault, during (until the last fault ended and the cluster was whole again), after.
type Phase struct {
	Name string
	Interval
	Produce Quantiles // send call to acknowledgement
	E2E     Quantiles // send call to delivery at a consumer
	Acked   int64
	Bytes   int64
}

// Quantiles of a latency.
type Quantiles struct {
	Count               int64
	P50, P95, P99, P999 kafka.Nanos
	Max                 kafka.Nanos
}

// Count is a named number.
type Count struct {
	Name string
	N    int64
}

// MetricResult is one checked expectation.
type MetricResult struct {
	Source string
	Value  string
	Where  string // which stretch of the run, phase or partition the value is of; "" = the run
	Held   bool
	Line   int
}

// Series are the plots' data.
type Series struct {
	Step    kafka.Nanos // width of a bucket
	Produce []Quantiles // by bucket
	E2E     []Quantiles
	Acked   []int64 // records by bucket
	Bytes   []int64
	Failed  []int64
	Strips  []Strip // by partition
	Lags    []Lag   // by partition and follower
	// GroupLags are by group.
	GroupLags []GroupLag
}

// Strip is the leader and ISR history of a partition.
type Strip struct {
	TP    kafka.TopicPartition
	Spans []Span
	// Vacant are the stretches in which nobody was in office: no leader was named, or
	// the one named was down, stood still, or had not taken office (yet, or again since
	// its process began). In order.
	Vacant []Interval
}

// Span is a stretch with one leader and ISR.
type Span struct {
	Interval
	Leader      kafka.NodeID
	LeaderEpoch kafka.LeaderEpoch
	ISR         []kafka.NodeID
}

// Lag is how far a replica's end and high watermark trail the leader's end.
type Lag struct {
	TP     kafka.TopicPartition
	Node   kafka.NodeID
	Points []LagPoint
}

// LagPoint is a sample.
type LagPoint struct {
	At      kafka.Nanos
	LEO, HW kafka.Offset
}
