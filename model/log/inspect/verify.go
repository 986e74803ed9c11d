package inspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// Options say what to look at and whom to tell.
type Options struct {
	// FS holds Dir; it is only read.
	FS vfs.FS
	// Dir is a data directory ("" for the root of FS) or, with Partition, that of one
	// partition.
	Dir string
	// Partition: Dir is a partition's directory; checkpoints and the marker of a clean
	// stop are looked for in its parent.
	Partition bool
	// Deep decodes every record.
	Deep bool
	// Finding gets what is found, in the order of the files. Not kept.
	Finding func(*Finding)
	// Done gets each partition when it was checked to its end. Not kept.
	Done func(*Partition)
}

// Partition sums up one partition. Offsets are kafka.NoOffset where nothing is known.
type Partition struct {
	Name     string `json:"partition"`
	Dir      string `json:"dir"`
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"` // of .log files
	Batches  int64  `json:"batches"`
	Records  int64  `json:"records"` // as the headers count them

	LogStartOffset kafka.Offset      `json:"log_start_offset"`
	LogEndOffset   kafka.Offset      `json:"log_end_offset"` // after the last batch that can be framed
	HighWatermark  kafka.Offset      `json:"high_watermark"` // of the checkpoint
	RecoveryPoint  kafka.Offset      `json:"recovery_point"` // of the checkpoint
	FirstEpoch     kafka.LeaderEpoch `json:"first_leader_epoch"`
	LastEpoch      kafka.LeaderEpoch `json:"last_leader_epoch"`

	Producers   int   `json:"producers"`
	OpenTxns    int   `json:"open_transactions"`
	AbortedTxns int64 `json:"aborted_transactions"`

	// What compaction has left.
	Gaps         int64 `json:"gaps"`          // places where offsets are missing
	EmptyBatches int64 `json:"empty_batches"` // headers without records
	Horizons     int64 `json:"delete_horizon_batches"`
	Tombstones   int64 `json:"tombstones"` // with Options.Deep

	Errors   int64 `json:"errors"`
	Warnings int64 `json:"warnings"`
	Infos    int64 `json:"infos"`
}

// Summary sums up a run of Verify.
type Summary struct {
	// Known: the directory is a broker's, by its checkpoints or its partitions.
	Known bool `json:"-"`
	// Checkpoints: the data directory's own files are there. Without them the findings
	// are those of a start after an unclean stop that knows nothing.
	Checkpoints bool `json:"checkpoints"`
	// Clean: the marker of a clean stop is there.
	Clean      bool  `json:"clean"`
	Partitions int   `json:"partitions"`
	Errors     int64 `json:"errors"`
	Warnings   int64 `json:"warnings"`
	Infos      int64 `json:"infos"`
}

// verifier is one run of Verify.
type verifier struct {
	Options
	sink    sink
	home    home
	scratch record.Scratch
	done    int
	failed  error // the first of a partition
}

// Verify looks at every file of a data directory, or of one partition. An error is the
// file system's; what is wrong in the files are findings. A partition that cannot be read
// is both: the others are checked nevertheless.
func Verify(o Options) (Summary, error) {
	v := &verifier{Options: o}
	v.sink.emit = func(f *Finding) {
		if o.Finding != nil {
			o.Finding(f)
		}
	}
	err := v.run()
	v.sink.flush()
	return Summary{
		Known: v.home.known || v.done > 0, Checkpoints: v.home.known,
		Clean: v.home.clean, Partitions: v.done,
		Errors: v.sink.errors, Warnings: v.sink.warnings, Infos: v.sink.infos,
	}, err
}

func (v *verifier) run() error {
	if v.Partition {
		parent, name := split(v.Dir)
		quiet := verifier{Options: v.Options} // the parent's files are not what was asked for
		quiet.sink.emit = func(*Finding) {}
		if err := quiet.loadHome(parent); err != nil {
			return err
		}
		v.home = quiet.home
		_, tp := classify(name)
		v.partition(v.Dir, tp)
		return v.failed
	}
	if err := v.loadHome(v.Dir); err != nil {
		return err
	}
	names, err := v.FS.List(v.Dir)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	v.checkHome(names)
	for _, name := range names {
		path := join(v.Dir, name)
		info, err := v.FS.Stat(path)
		if errors.Is(err, vfs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
		if info.IsDir {
			err = v.directory(name, path)
		} else {
			err = v.homeFile(name, path)
		}
		if err != nil {
			return err
		}
	}
	return v.failed
}

func split(path string) (parent, name string) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return "", path
}

// directory is one directory of a data directory.
func (v *verifier) directory(name, path string) error {
	kind, tp := classify(name)
	f := &Finding{Severity: Warning, File: path, Pos: wholePos, Offset: kafka.NoOffset, Lost: nothing}
	switch kind {
	case partitionDir:
		v.partition(path, tp)
		return nil
	case skippedDir:
		return nil
	case deleteDir:
		f.Kind, f.What = "dir-delete", "the partition was deleted; its files wait for file.delete.delay.ms"
		f.AtStart, f.Lost = "queued for deletion once more", "the partition, as was asked for"
	case strayDir:
		f.Kind, f.What = "dir-stray", "the partition was not the broker's any more when it started"
		f.AtStart = "left alone; remove it by hand"
	case futureDir:
		f.Kind, f.What = "dir-future", "a copy that was to take the place of a log in another directory"
		f.AtStart = "loaded, and the copying goes on"
	case badDir:
		f.Severity, f.Kind, f.What = Error, "dir-name", "the name is not that of a partition's directory"
		f.AtStart, f.Lost = "the broker does not start", "nothing, once it is moved away"
	}
	v.sink.add(f)
	return nil
}

// home is what a data directory says of its partitions.
type home struct {
	dir                                    string
	known                                  bool // there is a data directory
	clean                                  bool
	recovery, start, high, cleaner         []offsetLine // sorted by partition, one a partition
	hasRecovery, hasStart, hasHigh, hasCln bool
}

// loadHome reads the checkpoints, as far as they are there.
func (v *verifier) loadHome(dir string) (err error) {
	h := &v.home
	h.dir = dir
	if h.clean, err = vfs.Exists(v.FS, join(dir, cleanFile)); err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	for _, x := range [...]struct {
		name string
		list *[]offsetLine
		has  *bool
		at   string // what a start does with one that cannot be read
		lost string
	}{
		{recoveryFile, &h.recovery, &h.hasRecovery, "taken for empty: after an unclean stop every segment is recovered", nothing},
		{startFile, &h.start, &h.hasStart, "taken for empty: logs begin at their first segment", "nothing; deleted records come back"},
		{highFile, &h.high, &h.hasHigh, "the data directory goes offline", "nothing, once the file is removed: high watermarks begin at the log start"},
		{cleanerFile, &h.cleaner, &h.hasCln, "the cleaner fails and the data directory goes offline", "nothing, once the file is removed: compaction begins anew"},
	} {
		path := join(dir, x.name)
		b, ok, err := readText(v.FS, path)
		if errors.Is(err, vfs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		*x.has = true
		if !ok {
			v.tooLarge(path)
			continue
		}
		list, err := parseOffsets(b)
		if err != nil {
			v.sink.add(v.textFinding("checkpoint", path, err, x.at, x.lost))
			continue
		}
		*x.list = sorted(list)
	}
	h.known = h.clean || h.hasRecovery || h.hasStart || h.hasHigh
	return nil
}

func (v *verifier) textFinding(kind, path string, err error, atStart, lost string) *Finding {
	f := &Finding{Severity: Error, Kind: kind, File: path, Pos: wholePos, Offset: kafka.NoOffset, What: err.Error(), AtStart: atStart, Lost: lost}
	if e := (*textError)(nil); errors.As(err, &e) {
		f.Pos, f.What = e.pos, e.why
	}
	return f
}

func (v *verifier) tooLarge(path string) {
	v.sink.add(&Finding{Severity: Error, Kind: "size", File: path, Pos: wholePos, Offset: kafka.NoOffset,
		What: "the file is larger than any that a broker writes; it was not read", AtStart: "the broker may run out of memory", Lost: nothing})
}

// sorted orders by partition; of several lines for one the last counts.
func sorted(list []offsetLine) []offsetLine {
	slices.SortStableFunc(list, func(a, b offsetLine) int { return a.tp.Compare(b.tp) })
	out := list[:0]
	for _, e := range list {
		if n := len(out); n > 0 && out[n-1].tp == e.tp {
			out[n-1] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

func lookup(list []offsetLine, tp kafka.TopicPartition) (offsetLine, bool) {
	i, found := slices.BinarySearchFunc(list, tp, func(e offsetLine, tp kafka.TopicPartition) int { return e.tp.Compare(tp) })
	if !found {
		return offsetLine{offset: kafka.NoOffset}, false
	}
	return list[i], true
}

// checkHome looks for lines of partitions that are not there.
func (v *verifier) checkHome(names []string) {
	h := &v.home
	for _, x := range [...]struct {
		name string
		list []offsetLine
	}{{recoveryFile, h.recovery}, {startFile, h.start}, {highFile, h.high}, {cleanerFile, h.cleaner}} {
		for _, e := range x.list {
			if _, found := slices.BinarySearch(names, e.tp.String()); found {
				continue
			}
			v.sink.add(&Finding{Severity: Warning, Kind: "checkpoint-partition", File: join(h.dir, x.name), Pos: e.pos, Offset: e.offset,
				What: fmt.Sprintf("%s has no directory here", e.tp), AtStart: "the line is ignored", Lost: nothing})
		}
	}
}

// homeFile is one file of a data directory.
func (v *verifier) homeFile(name, path string) error {
	switch {
	case name == propertyFile:
		b, ok, err := readText(v.FS, path)
		if err != nil {
			return err
		}
		if err := checkProperties(b); ok && err != nil {
			v.sink.add(v.textFinding("meta-properties", path, err, "the broker refuses to start", nothing))
		}
	case KindOf(name) == CheckpointKind:
		return v.raftSnapshot(path)
	case leftover(name) == ".tmp":
		v.leftoverFile(path, ".tmp", "ignored, and written over later")
	}
	return nil
}

func (v *verifier) leftoverFile(path, suffix, atStart string) {
	v.sink.add(&Finding{Severity: Warning, Kind: "leftover", File: path, Pos: wholePos, Offset: kafka.NoOffset,
		What: "left behind by what was interrupted (" + suffix + ")", AtStart: atStart, Lost: nothing})
}

// raftSnapshot looks at the batches of a KRaft snapshot.
func (v *verifier) raftSnapshot(path string) error {
	s, err := openScanner(v.FS, path, wholeBatch)
	if err != nil {
		return err
	}
	for {
		b, ok, err := s.next()
		if err != nil {
			return errors.Join(err, s.w.close())
		}
		if !ok {
			break
		}
		if !b.crcOK {
			v.sink.add(&Finding{Severity: Error, Kind: "crc", File: path, Pos: b.pos, Offset: b.BaseOffset(), What: crcText(&b),
				AtStart: "loading the snapshot fails", Lost: "the metadata in it, unless another controller has it"})
		}
	}
	if s.tail.size > 0 {
		v.sink.add(&Finding{Severity: Error, Kind: "tail", File: path, Pos: s.tail.pos, Offset: kafka.NoOffset, What: s.tail.why,
			AtStart: "loading the snapshot fails", Lost: "the metadata in it, unless another controller has it"})
	}
	return s.w.close()
}

func crcText(b *batch) string {
	if b.Magic() != record.Magic {
		return fmt.Sprintf("the batch has magic %d", b.Magic())
	}
	return fmt.Sprintf("the batch has CRC %08x, its bytes give %08x", b.CRC(), b.computed)
}
