package inspect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// partitionCheck walks one partition, segment after segment.
type partitionCheck struct {
	*verifier
	dir   string
	names []string
	bases []kafka.Offset // of .log files, ascending
	sum   Partition

	clean         bool         // a start does not recover
	recoveryPoint kafka.Offset // 0 if unknown
	logStart      kafka.Offset // of the checkpoint; 0 if unknown
	unflushed     kafka.Offset // base from which on an unclean start recovers

	epochs    []epochLine
	epochsOK  bool
	snapshots []kafka.Offset // ascending
	nextSnap  int            // the first that the walk has not come to

	lastOffset kafka.Offset // of the last batch, inclusive; -1 before it
	lastEpoch  kafka.LeaderEpoch
	badEpoch   kafka.LeaderEpoch // the last that was complained about
	producers  producers
	ended      bool // a finding told where a recovery ends the log
	walked     bool // all batches were seen
}

// partition checks one. A file that cannot be read ends its check, not that of the
// others; the first error comes back at the end.
func (v *verifier) partition(dir string, tp kafka.TopicPartition) {
	err := v.checkPartition(dir, tp)
	if err == nil {
		return
	}
	v.sink.add(&Finding{Severity: Error, Kind: "io", File: dir, Pos: wholePos, Offset: kafka.NoOffset, What: err.Error(),
		AtStart: "if the broker cannot read it either, the data directory goes offline", Lost: "unknown; the rest of the partition was not checked"})
	if v.failed == nil {
		v.failed = err
	}
}

func (v *verifier) checkPartition(dir string, tp kafka.TopicPartition) error {
	_, name := split(dir)
	p := &partitionCheck{
		verifier: v, dir: dir, lastOffset: -1, lastEpoch: kafka.NoLeaderEpoch, badEpoch: kafka.NoLeaderEpoch,
		clean: v.home.clean && tp.Topic != metadataTopic,
		sum: Partition{
			Name: name, Dir: dir, FirstEpoch: kafka.NoLeaderEpoch, LastEpoch: kafka.NoLeaderEpoch,
		},
	}
	v.sink.partition = &p.sum
	defer func() { v.sink.partition = nil }()
	recovery, _ := lookup(v.home.recovery, tp)
	start, _ := lookup(v.home.start, tp)
	high, _ := lookup(v.home.high, tp)
	p.sum.RecoveryPoint, p.sum.HighWatermark = recovery.offset, high.offset
	p.recoveryPoint, p.logStart = max(0, recovery.offset), max(0, start.offset)
	if err := p.list(); err != nil {
		return err
	}
	if err := p.walk(); err != nil {
		return err
	}
	p.finish(tp)
	v.done++
	if v.Done != nil {
		v.Done(&p.sum)
	}
	return nil
}

func (p *partitionCheck) path(name string) string { return join(p.dir, name) }

func (p *partitionCheck) has(base kafka.Offset, kind Kind) bool {
	_, found := slices.BinarySearch(p.names, fileName(base, kind))
	return found
}

// list reads the directory and the small files in it.
func (p *partitionCheck) list() (err error) {
	if p.names, err = p.FS.List(p.dir); err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	for _, name := range p.names {
		offset, _ := offsetOf(name)
		switch KindOf(name) {
		case LogKind:
			p.bases = append(p.bases, offset)
			if offset <= p.recoveryPoint {
				p.unflushed = offset
			}
		case SnapshotKind:
			p.snapshots = append(p.snapshots, offset)
		}
	}
	if len(p.bases) > 0 {
		p.unflushed = max(p.unflushed, p.bases[0])
	}
	for _, name := range p.names {
		if err := p.smallFile(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *partitionCheck) smallFile(name string) error {
	path := p.path(name)
	switch kind := KindOf(name); kind {
	case EpochKind:
		return p.readEpochs(path)
	case IndexKind, TimeIndexKind, TxnIndexKind:
		if base, _ := offsetOf(name); !p.has(base, LogKind) {
			p.sink.add(&Finding{Severity: Warning, Kind: "orphan-index", File: path, Pos: wholePos, Offset: base,
				What: "an index without its .log", AtStart: "deleted", Lost: nothing})
		}
	case CheckpointKind:
		return p.raftSnapshot(path)
	case TextKind:
		if name != metadataFile {
			return nil
		}
		b, _, err := readText(p.FS, path)
		if err != nil {
			return err
		}
		if _, err := parseMetadata(b); err != nil {
			p.sink.add(p.textFinding("partition-metadata", path, err, loadFails(err), nothing))
		}
	case LeftoverKind:
		p.leftover(name, path)
	case UnknownKind:
		p.sink.add(&Finding{Severity: Info, Kind: "unknown-file", File: path, Pos: wholePos, Offset: kafka.NoOffset,
			What: "not a file of a log", AtStart: "ignored", Lost: nothing})
	}
	return nil
}

// loadFails is what a start does with a text of a partition that cannot be read (LogManager.loadLogs).
func loadFails(err error) string {
	var bad *textError
	if errors.As(err, &bad) && bad.fatal {
		return "loading the partition fails, and the broker does not start"
	}
	return "loading the partition fails: the data directory goes offline"
}

func (p *partitionCheck) readEpochs(path string) error {
	b, ok, err := readText(p.FS, path)
	if err != nil {
		return err
	}
	if !ok {
		p.tooLarge(path)
		return nil
	}
	if p.epochs, err = parseEpochs(b); err != nil {
		p.epochs = nil
		p.sink.add(p.textFinding("epoch-checkpoint", path, err, loadFails(err), nothing))
		return nil
	}
	p.epochsOK = true
	for i := 1; i < len(p.epochs); i++ {
		if a, b := p.epochs[i-1], p.epochs[i]; b.epoch <= a.epoch || b.start <= a.start {
			p.sink.add(&Finding{Severity: Error, Kind: "epoch-checkpoint", File: path, Pos: b.pos, Offset: b.start,
				What:    fmt.Sprintf("epoch %d at %d follows epoch %d at %d", b.epoch, b.start, a.epoch, a.start),
				AtStart: "entries that contradict a later one are dropped", Lost: "nothing here; replicas may be truncated at the wrong place"})
		}
	}
	return nil
}

// leftover tells what a start does with the files of an interrupted deletion or
// replacement (storage 7.2 steps 1 to 3).
func (p *partitionCheck) leftover(name, path string) {
	suffix := leftover(name)
	atStart := "deleted"
	switch {
	case strings.HasSuffix(name, ".checkpoint.deleted"), suffix == ".part":
		atStart = "deleted by the KRaft log, not by the log's loader"
	case suffix == ".tmp":
		atStart = "ignored, and written over later"
	case suffix == ".swap":
		atStart = "takes the place of the segments whose offsets it covers"
		offset, _ := offsetOf(name)
		for _, other := range p.names {
			if o, ok := offsetOf(other); ok && strings.HasSuffix(other, ".cleaned") && o <= offset {
				atStart = "deleted, since " + other + " shows that the replacement had not come to its end"
				break
			}
		}
	}
	p.leftoverFile(path, suffix, atStart)
}

func (p *partitionCheck) walk() error {
	for i := range p.bases {
		if err := p.segment(i); err != nil {
			return err
		}
		if i == 0 {
			p.sum.LogStartOffset = p.bases[0]
		}
	}
	p.walked = true
	return p.passSnapshots(math.MaxInt64)
}

// end is the log's end as far as its last batch can be framed.
func (p *partitionCheck) end() kafka.Offset {
	n := len(p.bases)
	switch {
	case n == 0:
		return p.logStart
	case p.lastOffset+1 < p.bases[n-1]:
		return p.bases[n-1]
	}
	return p.lastOffset + 1
}

// finish compares what the walk has seen with the checkpoints.
func (p *partitionCheck) finish(tp kafka.TopicPartition) {
	end := p.end()
	s := &p.sum
	s.Segments, s.LogEndOffset = len(p.bases), end
	s.LogStartOffset = max(s.LogStartOffset, p.logStart)
	s.Producers, s.OpenTxns = p.producers.count(), p.producers.open()
	p.openTransactions()
	p.checkEnds(tp, end)
	p.checkEpochEnds(end)
	p.checkMissing(end)
	p.compaction()
}

func (p *partitionCheck) checkEnds(tp kafka.TopicPartition, end kafka.Offset) {
	h := &p.home
	for _, x := range [...]struct {
		name, what string
		list       []offsetLine
		severity   Severity
		at, lost   string
	}{
		{recoveryFile, "recovery point", h.recovery, Warning, "lowered to the log's end", "what was synced beyond it, if it was there"},
		{startFile, "log start", h.start, Error, "all segments are deleted, the log begins anew at its checkpointed start", "every record of the partition on this broker"},
		{highFile, "high watermark", h.high, Warning, "lowered to the log's end", "committed records, if they were there"},
		{cleanerFile, "first dirty offset", h.cleaner, Warning, "the cleaner begins at the log's start", nothing},
	} {
		if e, found := lookup(x.list, tp); found && e.offset > end {
			p.sink.add(&Finding{Severity: x.severity, Kind: "checkpoint-range", File: join(h.dir, x.name), Pos: e.pos, Offset: e.offset,
				What: fmt.Sprintf("%s: the %s %d is behind the log's end %d", tp, x.what, e.offset, end), AtStart: x.at, Lost: x.lost})
		}
	}
	if e, found := lookup(h.recovery, tp); found && p.clean && e.offset < end {
		p.sink.add(&Finding{Severity: Warning, Kind: "checkpoint-recovery", File: join(h.dir, recoveryFile), Pos: e.pos, Offset: e.offset,
			What:    fmt.Sprintf("%s: the stop was clean, yet the recovery point %d is not the log's end %d", tp, e.offset, end),
			AtStart: "the marker is believed: nothing is recovered", Lost: nothing})
	}
}

// compaction tells what the cleaner, or a truncation inside a batch, has left.
func (p *partitionCheck) compaction() {
	s := &p.sum
	if s.Gaps+s.EmptyBatches+s.Horizons+s.Tombstones == 0 {
		return
	}
	what := fmt.Sprintf("offsets are missing in %d places, %d batches are empty, %d have a delete horizon", s.Gaps, s.EmptyBatches, s.Horizons)
	if p.Deep {
		what += fmt.Sprintf(", %d records are tombstones", s.Tombstones)
	}
	p.sink.add(&Finding{Severity: Info, Kind: "compaction", File: p.dir, Pos: wholePos, Offset: kafka.NoOffset, What: what})
}

// checkMissing looks for files that should be there.
func (p *partitionCheck) checkMissing(end kafka.Offset) {
	if p.clean && len(p.snapshots) == 0 && p.sum.Producers > 0 {
		p.sink.add(&Finding{Severity: Error, Kind: "snapshot-missing", File: p.dir, Pos: wholePos, Offset: end,
			What:    fmt.Sprintf("there is no producer snapshot, yet %d producers have written", p.sum.Producers),
			AtStart: "after a clean stop a log without snapshots is taken for one without producers",
			Lost:    "the producers' sequences and open transactions: duplicates get in"})
	}
	if len(p.bases) == 0 {
		p.sink.add(&Finding{Severity: Warning, Kind: "no-segment", File: p.dir, Pos: wholePos, Offset: p.logStart,
			What: "there is no .log", AtStart: fmt.Sprintf("an empty segment is made at %d", p.logStart), Lost: nothing})
	}
	if epochs, err := vfs.Exists(p.FS, p.path(epochFile)); err == nil && !epochs && p.sum.FirstEpoch >= 0 {
		at, lost := "an empty one is made", "the leader epochs, which decide where replicas are truncated"
		if !p.clean && p.unflushed <= p.bases[0] {
			lost = "nothing: recovery learns the epochs from the batches"
		}
		p.sink.add(&Finding{Severity: Error, Kind: "epoch-missing", File: p.path(epochFile), Pos: wholePos, Offset: p.bases[0],
			What: "the file is missing", AtStart: at, Lost: lost})
	}
}

var errShort = errors.New("the file is shorter than it was")
