package invariant

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/record"
)

// Topic is what the checkers must know about a topic's configuration.
type Topic struct {
	Name    string
	MinISR  int  // min.insync.replicas
	Unclean bool // unclean.leader.election.enable
}

// Setup is what the checkers must know before the run.
type Setup struct {
	Profile *config.Profile
	Brokers int
	Topics  []Topic
}

// Suite is all checkers of one run.
type Suite struct{ setup Setup }

// NewSuite makes the checkers of a run.
func NewSuite(s Setup) *Suite { return &Suite{setup: s} }

// Observe takes one noted fact; e is only lent.
func (s *Suite) Observe(e *event.Event) {}

// ReadBack takes a batch of the final read.
func (s *Suite) ReadBack(tp kafka.TopicPartition, b record.Batch, node kafka.NodeID) {}

// Finish ends the run.
func (s *Suite) Finish(complete bool, open []string) {}

// Fill writes what was found into the result.
func (s *Suite) Fill(r *outcome.Result) {}
