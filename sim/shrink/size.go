package shrink

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// Size is how large a failing run is.
type Size struct {
	Faults     int // that struck, or that the scenario lists
	Brokers    int
	Partitions int
	Clients    int
	Operations int64 // records that producers were asked to send
	Settings   int   // that are not left at their defaults
	Events     uint64
	Duration   kafka.Nanos
}

func sizeOf(spec *scenarios.Spec, r *outcome.Result, struck int) Size {
	z := Size{Faults: struck, Brokers: spec.Cluster.Brokers, Operations: r.Records.Sent, Events: r.Events, Duration: spec.Duration,
		Settings: len(settingsOf(spec))}
	for i := range spec.Topics {
		z.Partitions += int(spec.Topics[i].Partitions)
	}
	for i := range spec.Producers {
		z.Clients += max(spec.Producers[i].Count, 1)
	}
	for i := range spec.Consumers {
		z.Clients += max(spec.Consumers[i].Count, 1)
	}
	return z
}

// The targets of issue 4: three faults, three brokers, ten operations of clients.
const (
	smallFaults     = 3
	smallBrokers    = 3
	smallOperations = 10
)

// small reports whether the targets are met.
func (z Size) small() bool {
	return z.Faults <= smallFaults && z.Brokers <= smallBrokers && z.Operations <= smallOperations
}

// weight orders sizes: a fault weighs as much as a node or some operations.
func (z Size) weight() int64 {
	return 100*int64(z.Faults+z.Brokers+z.Clients) + 20*int64(z.Partitions+z.Settings) + min(z.Operations, 1000)*10
}
