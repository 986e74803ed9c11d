package inspect

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
)

// epoch compares a batch's leader epoch with the one before and with the checkpoint
// (storage 5.3). No CRC covers it.
func (c *segmentCheck) epoch(b *batch) {
	e, first := b.PartitionLeaderEpoch(), b.BaseOffset()
	if e < 0 {
		return // a broker before 0.11.0 wrote it, or the log is not replicated
	}
	if c.sum.FirstEpoch < 0 {
		c.sum.FirstEpoch = e
	}
	if e < c.lastEpoch {
		c.report(Error, "epoch-order", b.pos, first, fmt.Sprintf("leader epoch %d follows %d", e, c.lastEpoch),
			"not noticed", "nothing here; replicas may be truncated at the wrong place")
	}
	if e != c.badEpoch && c.epochsOK && b.LastOffset() >= c.logStart {
		if known := c.epochOf(max(first, c.logStart)); known != e {
			c.epochMismatch(e, known, first)
		}
	}
	c.lastEpoch = max(c.lastEpoch, e)
	c.sum.LastEpoch = c.lastEpoch
}

// epochOf is the epoch that the checkpoint gives to an offset, -1 if it has none.
func (p *partitionCheck) epochOf(offset kafka.Offset) kafka.LeaderEpoch {
	for i := len(p.epochs) - 1; i >= 0; i-- {
		if p.epochs[i].start <= offset {
			return p.epochs[i].epoch
		}
	}
	return kafka.NoLeaderEpoch
}

func (c *segmentCheck) epochMismatch(e, known kafka.LeaderEpoch, offset kafka.Offset) {
	c.badEpoch = e // once an epoch
	f := &Finding{Severity: Error, Kind: "epoch-mismatch", File: c.path(epochFile), Pos: wholePos, Offset: offset,
		What:    fmt.Sprintf("the batch at offset %d has leader epoch %d, the checkpoint says %d", offset, e, known),
		AtStart: asItIs, Lost: "nothing here; replicas may be truncated at the wrong place"}
	if known < 0 {
		f.What = fmt.Sprintf("the batch at offset %d has leader epoch %d, the checkpoint has none for it", offset, e)
	}
	for _, line := range c.epochs {
		if line.epoch == known {
			f.Pos = line.pos
		}
	}
	if n := len(c.epochs); c.recovered() && (n == 0 || e > c.epochs[n-1].epoch) {
		f.Severity, f.AtStart, f.Lost = Warning, "recovery enters the epoch", nothing
	}
	c.sink.add(f)
}

// checkEpochEnds looks for entries behind the log's end.
func (p *partitionCheck) checkEpochEnds(end kafka.Offset) {
	for _, line := range p.epochs {
		if line.start > end {
			p.sink.add(&Finding{Severity: Warning, Kind: "epoch-range", File: p.path(epochFile), Pos: line.pos, Offset: line.start,
				What: fmt.Sprintf("epoch %d begins at %d, the log ends at %d", line.epoch, line.start, end), AtStart: "the entry is dropped", Lost: nothing})
		}
	}
}
