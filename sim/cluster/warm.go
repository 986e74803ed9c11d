package cluster

import (
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// Warm is memory that the runs of one worker use one after the other, so that not
// every run has to make and clear it. Only one run at a time may have it, and none
// after one that panicked. No run depends on what was run before: what is left in it
// is room, not content. The zero value is ready.
type Warm struct {
	codecs record.Scratch
	rooms  record.Rooms
	files  simdisk.Names
	reads  simdisk.Reads
}

// warm takes the options' memory into use.
func (c *Cluster) warm() {
	w := c.opts.Warm
	if w == nil {
		w = new(Warm)
	} else {
		c.reads = &w.reads // a single run would not use it twice
		w.reads.Reuse()
	}
	w.codecs.Checked = new(record.Checked) // of the batches of this run
	w.rooms.Reuse()
	w.codecs.Rooms = &w.rooms
	c.scratch, c.files = &w.codecs, &w.files
}
