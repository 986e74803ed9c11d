package cluster

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Disk is a broker's disk, for those who look at what a run left; its data directory
// is "data". It is nil if there is no such broker.
func (c *Cluster) Disk(broker kafka.NodeID) vfs.FS {
	for _, b := range c.brokers {
		if b.node == broker {
			return b.disk.Disk
		}
	}
	return nil
}
