package cluster

import (
	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// disk fits a simulated disk to the kernel: flushes by the node's own numbers.
type disk struct {
	*simdisk.Disk
	registry *point.Registry
	flushes  []openFlush
}

type openFlush struct {
	node step.FlushID
	disk simdisk.FlushID
}

func newDisk(d *simdisk.Disk) *disk { return &disk{Disk: d} }

// BeginFlush implements kernel.Disk.
func (d *disk) BeginFlush(now kafka.Nanos, id step.FlushID, files []vfs.File, dirs []string) kafka.Nanos {
	own, due := d.Disk.BeginFlush(files, dirs, now)
	d.flushes = append(d.flushes, openFlush{id, own})
	return due
}

// CompleteFlush implements kernel.Disk.
func (d *disk) CompleteFlush(id step.FlushID) error {
	for i, f := range d.flushes {
		if f.node == id {
			d.flushes = append(d.flushes[:i], d.flushes[i+1:]...)
			return d.Disk.CompleteFlush(f.disk)
		}
	}
	panic("cluster: a flush completes that never began")
}

// Crash takes the crash image; flushes under way are gone.
func (d *disk) Crash(kind simdisk.CrashKind, now kafka.Nanos) {
	d.Disk.Crash(kind, now)
	d.flushes = d.flushes[:0]
}
