package client

import "github.com/simkafka/simkafka/model/kafka"

// destination is what the producer remembers of one broker
// (RecordAccumulator.NodeLatencyStats, nodesDrainIndex).
type destination struct {
	spare *produce // the request answered last, for the next one
	id    kafka.NodeID
	ready bool  // has something to send in this run
	next  int32 // order of the queue to drain first (P-3)
	// readyAt is when there last was something to send, drainedAt when it last could be.
	readyAt, drainedAt kafka.Nanos
}

func (a *accumulator) node(now kafka.Nanos, id kafka.NodeID) *destination {
	for i := range a.nodes {
		if a.nodes[i].id == id {
			return &a.nodes[i]
		}
	}
	a.nodes = append(a.nodes, destination{id: id, readyAt: now, drainedAt: now})
	return &a.nodes[len(a.nodes)-1]
}

// unavailable reports whether a broker has been unable to take what is ready for
// longer than partitioner.availability.timeout.ms (P-13; 0 is off).
func (a *accumulator) unavailable(id kafka.NodeID) bool {
	for i := range a.nodes {
		if n := &a.nodes[i]; n.id == id {
			return a.cfg.AvailabilityLimit > 0 && n.readyAt-n.drainedAt > a.cfg.AvailabilityLimit
		}
	}
	return false
}
