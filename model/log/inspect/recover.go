package inspect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/overlay"
)

// RecoverOptions say which start to try.
type RecoverOptions struct {
	// FS holds Dir; it is only read.
	FS vfs.FS
	// Dir is a data directory ("" for the root of FS) or, with Partition, that of one
	// partition.
	Dir       string
	Partition bool
	// Now is the wall clock of the start: producers expire by it.
	Now kafka.TimestampMs
	// Done gets each partition. Not kept.
	Done func(*Recovery)
}

// Recovery is what a start would do to one partition.
type Recovery struct {
	Partition string `json:"partition"`
	Dir       string `json:"dir"`
	// Clean: no recovery is due, as the stop was clean.
	Clean         bool         `json:"clean"`
	RecoveryPoint kafka.Offset `json:"recovery_point"` // the start's, from the checkpoint
	// Scanned are the segments that are read whole to make their indexes anew.
	Scanned []string `json:"scanned"`
	Cut     []Cut    `json:"cut"`
	// Deleted are segments behind a cut, with their files.
	Deleted []string `json:"deleted"`
	// Removed are leftovers, orphans and superseded files.
	Removed []string    `json:"removed"`
	Renamed [][2]string `json:"renamed"`
	Changed []string    `json:"changed"` // files with other content or length
	Created []string    `json:"created"`

	LogStartOffset kafka.Offset      `json:"log_start_offset"`
	LogEndOffset   kafka.Offset      `json:"log_end_offset"`
	LeaderEpoch    kafka.LeaderEpoch `json:"leader_epoch"`
	HighWatermark  kafka.Offset      `json:"high_watermark"`

	// What is lost: whole batches behind a cut. Damaged is what was lost before.
	LostBytes   int64        `json:"lost_bytes"` // of all kinds
	LostBatches int64        `json:"lost_batches"`
	LostRecords int64        `json:"lost_records"`
	LostFrom    kafka.Offset `json:"lost_from"` // -1 if nothing is
	LostTo      kafka.Offset `json:"lost_to"`   // inclusive
	Damaged     int64        `json:"damaged_batches"`

	// Error is why the start fails; the broker takes the data directory offline then.
	Error string `json:"error,omitempty"`
}

// Cut is a .log that ends earlier than before.
type Cut struct {
	File string `json:"file"`
	From int64  `json:"from"` // bytes before
	To   int64  `json:"to"`   // bytes after
}

// memory bounds in bytes what a partition's start may write; maxTable the files that the
// loader reads at once.
const (
	memory   = 512 << 20
	maxTable = 256 << 20
)

var errTooLarge = errors.New("the file is larger than any that a broker writes")

// Recover tries the start of every partition, those that were being moved here included. An error is the file system's.
func Recover(o RecoverOptions) error {
	v := &verifier{Options: Options{FS: o.FS, Dir: o.Dir}}
	v.sink.emit = func(*Finding) {}
	if o.Partition {
		parent, name := split(o.Dir)
		if err := v.loadHome(parent); err != nil {
			return err
		}
		_, tp := classify(name)
		return v.recover(&o, o.Dir, name, tp)
	}
	if err := v.loadHome(o.Dir); err != nil {
		return err
	}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	for _, name := range names {
		kind, tp := classify(name)
		if info, err := o.FS.Stat(join(o.Dir, name)); err != nil || !info.IsDir || kind != partitionDir && kind != futureDir && kind != badDir {
			continue
		}
		if kind == badDir {
			o.Done(&Recovery{Partition: name, Dir: join(o.Dir, name), LostFrom: kafka.NoOffset, LostTo: kafka.NoOffset,
				Error: "the name is not that of a partition's directory"})
			continue
		}
		if err := v.recover(&o, join(o.Dir, name), name, tp); err != nil {
			return err
		}
	}
	return nil
}

// trial is the start of one partition on an overlay.
type trial struct {
	*Recovery
	base    vfs.FS
	top     *overlay.FS
	tracker *overlay.Tracker
	cfg     log.Config
	params  log.OpenParams
}

func (v *verifier) recover(o *RecoverOptions, dir, name string, tp kafka.TopicPartition) error {
	recovery, _ := lookup(v.home.recovery, tp)
	start, _ := lookup(v.home.start, tp)
	high, _ := lookup(v.home.high, tp)
	t := &trial{
		Recovery: &Recovery{
			Partition: name, Dir: dir, LostFrom: kafka.NoOffset, LostTo: kafka.NoOffset,
			LogStartOffset: kafka.NoOffset, LogEndOffset: kafka.NoOffset, LeaderEpoch: kafka.NoLeaderEpoch, HighWatermark: kafka.NoOffset,
			Clean: v.home.clean && tp.Topic != metadataTopic, RecoveryPoint: max(0, recovery.offset),
		},
		base: o.FS, cfg: log.DefaultConfig(),
	}
	t.params = log.OpenParams{RecoveryPoint: t.RecoveryPoint, LogStart: max(0, start.offset), Clean: t.Clean, Now: o.Now}
	if err := t.run(max(0, high.offset)); err != nil {
		return err
	}
	o.Done(t.Recovery)
	return nil
}

// run fails only for errors below; what the loader cannot load is an answer.
func (t *trial) run(high kafka.Offset) (err error) {
	if t.top, err = overlay.New(t.base, t.Dir, memory); err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if err := t.measure(); err != nil {
		t.Error = err.Error()
		return nil
	}
	t.tracker = t.top.Track(t.Dir)
	l, err := log.OpenNow(t.top, t.Dir, &t.cfg, t.params)
	if err != nil {
		t.Error = err.Error()
	} else {
		t.LogStartOffset, t.LogEndOffset, t.LeaderEpoch = l.LogStartOffset(), l.LogEndOffset(), l.LastEpoch()
		t.HighWatermark = min(max(high, t.LogStartOffset), t.LogEndOffset)
		if err := l.Close(false, t.params.Now); err != nil {
			return err
		}
	}
	return t.compare()
}

// measure refuses what the loader would read into memory at once, and makes room for
// indexes larger than the default.
func (t *trial) measure() error {
	names, err := t.top.List(t.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := t.top.Stat(join(t.Dir, name))
		if err != nil {
			return err
		}
		kind, limit := KindOf(strings.TrimSuffix(name, ".swap")), int64(math.MaxInt64)
		switch kind {
		case LogKind:
			limit = math.MaxInt32 // a batch may be all of it
		case IndexKind, TimeIndexKind:
			limit = maxTable
			t.cfg.SegmentIndexBytes = max(t.cfg.SegmentIndexBytes, int32(min(info.Size, maxTable)))
		case TxnIndexKind, SnapshotKind:
			limit = maxTable
		case EpochKind, TextKind:
			limit = maxText
		}
		if info.Size > limit {
			return fmt.Errorf("%s: %d bytes: %w", name, info.Size, errTooLarge)
		}
	}
	return nil
}

// compare tells what has become of each file.
func (t *trial) compare() error {
	var lost []lostPart
	known := make(map[string]bool)
	t.tracker.Each(func(path string, now overlay.State) {
		if now.Path != "" {
			known[now.Path] = true
		}
		if part := t.file(path, now); part != nil {
			lost = append(lost, *part)
		}
	})
	names, err := t.top.List(t.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if path := join(t.Dir, name); !known[path] {
			t.Created = append(t.Created, name)
		}
	}
	t.replaced()
	t.scannedWithoutIndex(names)
	t.Changed = slices.DeleteFunc(t.Changed, func(name string) bool { return slices.Contains(t.Deleted, name) })
	slices.SortFunc(lost, func(a, b lostPart) int { return strings.Compare(a.path, b.path) })
	for _, part := range lost {
		if err := t.count(part); err != nil {
			return err
		}
	}
	return nil
}

// scannedWithoutIndex adds the segments that had no offset index.
func (t *trial) scannedWithoutIndex(names []string) {
	for _, name := range t.Created {
		if base, _ := offsetOf(name); KindOf(name) == IndexKind {
			if _, found := slices.BinarySearch(names, fileName(base, LogKind)); found && !slices.Contains(t.Created, fileName(base, LogKind)) {
				t.Scanned = append(t.Scanned, fileName(base, LogKind))
			}
		}
	}
	slices.Sort(t.Scanned)
}

// replaced: a file that gave way to another of its name is changed, not removed and
// made.
func (t *trial) replaced() {
	both := func(name string) bool { return slices.Contains(t.Created, name) && slices.Contains(t.Removed, name) }
	for _, name := range t.Created {
		if both(name) {
			t.Changed = append(t.Changed, name)
		}
	}
	isChanged := func(name string) bool { return slices.Contains(t.Changed, name) }
	t.Created = slices.DeleteFunc(t.Created, isChanged)
	t.Removed = slices.DeleteFunc(t.Removed, isChanged)
	slices.Sort(t.Changed)
}

// lostPart is what is gone of a .log: the bytes from pos on.
type lostPart struct {
	path string
	pos  int64
}

func (t *trial) file(path string, now overlay.State) *lostPart {
	_, name := split(path)
	info, err := t.base.Stat(path)
	if err != nil {
		info.Size = now.Size
	}
	kind := KindOf(name)
	if kind == IndexKind && now.Shrunk {
		base, _ := offsetOf(name)
		t.Scanned = append(t.Scanned, fileName(base, LogKind))
	}
	_, nowName := split(now.Path)
	switch {
	case now.Path == "":
		t.Removed = append(t.Removed, name)
		return nil
	case nowName == name+".deleted":
		t.Deleted = append(t.Deleted, name)
		if kind == LogKind {
			return &lostPart{path, 0}
		}
		return nil
	case nowName != name:
		t.Renamed = append(t.Renamed, [2]string{name, nowName})
	case now.Size != info.Size || now.Changed:
		t.Changed = append(t.Changed, name)
	}
	if kind == LogKind && now.Size < info.Size {
		t.Cut = append(t.Cut, Cut{name, info.Size, now.Size})
		return &lostPart{path, now.Size}
	}
	return nil
}

// count adds up the batches in a lost part.
func (t *trial) count(part lostPart) error {
	s, err := openScanner(t.base, part.path, 0)
	if err != nil {
		return err
	}
	s.pos = part.pos
	t.LostBytes += s.w.size - part.pos
	for {
		b, ok, err := s.next()
		if err != nil {
			return errors.Join(err, s.w.close())
		}
		if !ok {
			return s.w.close()
		}
		if !b.crcOK {
			t.Damaged++
			continue
		}
		t.LostBatches++
		t.LostRecords += int64(max(0, b.Count()))
		if t.LostFrom < 0 || b.BaseOffset() < t.LostFrom {
			t.LostFrom = b.BaseOffset()
		}
		t.LostTo = max(t.LostTo, b.LastOffset())
	}
}
