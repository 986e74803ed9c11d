package replica

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Env is what the partitions of one broker share. It is filled once, before the
// first partition is made.
type Env struct {
	Node    kafka.NodeID
	Config  *config.Broker
	Cluster Cluster
	ISR     ISRChannel
	Watcher Watcher
}

// Cluster is what a partition asks the broker's metadata cache.
type Cluster interface {
	// IsAlive reports whether the cache lists the broker as alive (L-6, ZooKeeper
	// mode).
	IsAlive(node kafka.NodeID) bool
	// Controller is where the controller listens, as far as the cache knows.
	Controller() (step.Addr, bool)
	// BrokerEpoch is that of this broker's current registration, -1 without one.
	BrokerEpoch() kafka.BrokerEpoch
}

// Moved says what changed on a partition; a set of bits.
type Moved uint8

// What a parked request may wait for.
const (
	// MovedLEO: the published log end offset grew: look at parked fetches.
	MovedLEO Moved = 1 << iota
	// MovedHW: the high watermark moved: look at parked produces and fetches.
	MovedHW
	// MovedISR: an ISR change was committed or given back: look at parked produces.
	MovedISR
	// MovedRole: leader, epoch or hosting changed, or the log was truncated: look at
	// everything.
	MovedRole
)

// Watcher hears what parked requests may wait for. The broker notes the partition
// down and looks at its purgatories when the current handler is through, in the
// same step; it does not call back into the partition from here.
type Watcher interface {
	Moved(in *step.Input, out *step.Effects, p *Partition, what Moved)
	// Rolled: an append began a new segment; the log has a background flush to do
	// (log.Log.PendingFlush).
	Rolled(in *step.Input, out *step.Effects, p *Partition)
	// Truncated: the log got shorter. The recovery points are to be written before
	// this returns (T-5); its error is that of the writing.
	Truncated(in *step.Input, out *step.Effects, p *Partition) error
	// LogFailed: a disk error other than vfs.ErrCrashed hit the partition's log on a
	// fetcher's lane: its log directory is offline.
	LogFailed(in *step.Input, out *step.Effects, p *Partition, err error)
}

// ISRChannel carries ISR changes to whoever commits them: AlterPartitionManager
// or ZkAlterPartitionManager. It answers with Partition.HandleISR.
type ISRChannel interface {
	Submit(in *step.Input, out *step.Effects, c ISRChange)
}
