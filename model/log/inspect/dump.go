package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// DumpOptions say what to dump.
type DumpOptions struct {
	FS   vfs.FS
	Path string // a file, or a directory: then every file below it, in order
	// Records decodes the records of each batch.
	Records bool
	// File is told that the dump of a file begins; Entry gets what is in it. Neither
	// argument is kept. An error of theirs ends the dump and comes back.
	File  func(*FileInfo) error
	Entry func(*Entry) error
}

// FileInfo describes a file before its entries.
type FileInfo struct {
	File string       `json:"file"`
	Kind Kind         `json:"kind"`
	Size int64        `json:"size"`
	Base kafka.Offset `json:"base_offset"` // of the name; -1 if it has none
}

// Entry is one thing in a file: exactly one of the pointers is set.
type Entry struct {
	Position int64           `json:"position"`
	Batch    *Batch          `json:"batch,omitempty"`
	Record   *Record         `json:"record,omitempty"`
	Index    *IndexEntry     `json:"index,omitempty"`
	Time     *TimeIndexEntry `json:"time_index,omitempty"`
	Txn      *AbortedTxn     `json:"aborted_transaction,omitempty"`
	Snapshot *Snapshot       `json:"snapshot,omitempty"`
	Producer *Producer       `json:"producer,omitempty"`
	Line     *string         `json:"line,omitempty"`
	// Problem is what cannot be read; the rest of the file, or of the batch, is not
	// dumped.
	Problem *string `json:"problem,omitempty"`
}

// Batch is a batch's header.
type Batch struct {
	BaseOffset           kafka.Offset      `json:"base_offset"`
	LastOffset           kafka.Offset      `json:"last_offset"`
	Count                int32             `json:"count"`
	BaseSequence         int32             `json:"base_sequence"`
	LastSequence         int32             `json:"last_sequence"`
	ProducerID           int64             `json:"producer_id"`
	ProducerEpoch        int16             `json:"producer_epoch"`
	PartitionLeaderEpoch kafka.LeaderEpoch `json:"partition_leader_epoch"`
	IsTransactional      bool              `json:"is_transactional"`
	IsControl            bool              `json:"is_control"`
	// DeleteHorizonMs is null without one.
	DeleteHorizonMs *kafka.TimestampMs `json:"delete_horizon_ms"`
	TimestampType   string             `json:"timestamp_type"`
	BaseTimestamp   kafka.TimestampMs  `json:"base_timestamp"`
	MaxTimestamp    kafka.TimestampMs  `json:"max_timestamp"`
	Size            int64              `json:"size"` // bytes
	Magic           int8               `json:"magic"`
	Codec           string             `json:"codec"`
	CRC             uint32             `json:"crc"`
	// Valid: the CRC fits, and the magic is 2.
	Valid bool `json:"is_valid"`
}

// Record is one record. Null keys and values are nil.
type Record struct {
	Offset    kafka.Offset      `json:"offset"`
	Timestamp kafka.TimestampMs `json:"timestamp"`
	Sequence  int32             `json:"sequence"`
	Key       Data              `json:"key"`
	Value     Data              `json:"value"`
	Headers   []Header          `json:"headers"`
	// Control is the name of a control record, "" for others.
	Control string `json:"control,omitempty"`
}

// Snapshot is the head of a producer snapshot.
type Snapshot struct {
	Version int16  `json:"version"`
	CRC     uint32 `json:"crc"`
	Count   int32  `json:"count"`
}

type dumper struct {
	DumpOptions
	scratch  record.Scratch
	problems int64
}

// Dump hands out what the files hold, and reports how many problems it met.
func Dump(o DumpOptions) (problems int64, err error) {
	d := &dumper{DumpOptions: o}
	info, err := o.FS.Stat(o.Path)
	if err != nil {
		return 0, fmt.Errorf("inspect: %w", err)
	}
	if info.IsDir {
		err = d.dir(o.Path, 0)
	} else {
		err = d.one(o.Path)
	}
	return d.problems, err
}

// maxDepth bounds the directories in each other.
const maxDepth = 8

func (d *dumper) dir(path string, depth int) error {
	names, err := d.FS.List(path)
	if err != nil || depth > maxDepth {
		return err
	}
	for _, name := range names {
		info, err := d.FS.Stat(join(path, name))
		switch {
		case errors.Is(err, vfs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("inspect: %w", err)
		case info.IsDir:
			err = d.dir(join(path, name), depth+1)
		default:
			err = d.one(join(path, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) one(path string) (err error) {
	_, name := split(path)
	for _, suffix := range [...]string{".deleted", ".cleaned", ".swap"} {
		if n := len(name) - len(suffix); n > 0 && name[n:] == suffix {
			name = name[:n] // they hold what they were, or will be
		}
	}
	w, err := openWindow(d.FS, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	info := FileInfo{File: path, Kind: KindOf(name), Size: w.size, Base: kafka.NoOffset}
	base, ok := offsetOf(name)
	if ok {
		info.Base = base
	}
	if err := d.File(&info); err != nil {
		return err
	}
	switch info.Kind {
	case LogKind, CheckpointKind:
		return d.batches(w)
	case IndexKind:
		return d.table(w, 0, indexWidth, func(e *Entry, b []byte) { x := indexEntry(base, b); e.Index = &x })
	case TimeIndexKind:
		return d.table(w, 0, timeIndexWidth, func(e *Entry, b []byte) { x := timeIndexEntry(base, b); e.Time = &x })
	case TxnIndexKind:
		return d.table(w, 0, txnIndexWidth, func(e *Entry, b []byte) { x := abortedTxn(b); e.Txn = &x })
	case SnapshotKind:
		return d.snapshot(w)
	case EpochKind, OffsetsKind, TextKind, MarkerKind:
		return d.text(w)
	}
	return nil
}

func (d *dumper) problem(pos int64, format string, args ...any) error {
	d.problems++
	text := fmt.Sprintf(format, args...)
	return d.Entry(&Entry{Position: pos, Problem: &text})
}

func (d *dumper) batches(w *window) error {
	s := &scanner{w: w, limit: wholeBatch}
	if d.Records {
		s.limit = maxWhole
	}
	for {
		b, ok, err := s.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := d.batch(&b); err != nil {
			return err
		}
	}
	if t := s.tail; t.size > 0 {
		if t.zeros {
			return d.problem(t.pos, "%d zeros are no batch", t.size)
		}
		return d.problem(t.pos, "%d bytes are no batch: %s", t.size, t.why)
	}
	return nil
}

func (d *dumper) batch(b *batch) error {
	x := Batch{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Count: b.Count(),
		BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(),
		IsTransactional: b.IsTransactional(), IsControl: b.IsControl(),
		TimestampType: b.TimestampType().String(), BaseTimestamp: b.BaseTimestamp(), MaxTimestamp: b.MaxTimestamp(),
		Size: b.size, Magic: b.Magic(), Codec: b.Codec().String(), CRC: b.CRC(), Valid: b.crcOK,
	}
	if horizon, ok := b.DeleteHorizon(); ok {
		x.DeleteHorizonMs = &horizon
	}
	if err := d.Entry(&Entry{Position: b.pos, Batch: &x}); err != nil {
		return err
	}
	if !b.crcOK {
		return d.problem(b.pos, "%s", crcText(b))
	}
	if !d.Records {
		return nil
	}
	if !b.whole {
		return d.problem(b.pos, "a batch of %d bytes is not decoded here", b.size)
	}
	return d.records(b)
}

func (d *dumper) records(b *batch) error {
	var it record.Iterator
	it.UseScratch(&d.scratch)
	for it.Reset(b.Batch); it.Next(); {
		r := it.Record()
		x := Record{Offset: r.Offset, Timestamp: r.Timestamp, Sequence: r.Sequence, Key: r.Key, Value: r.Value, Headers: make([]Header, 0, len(r.Headers))}
		for _, h := range r.Headers {
			x.Headers = append(x.Headers, Header{h.Key, h.Value})
		}
		if b.IsControl() {
			x.Control = "UNKNOWN"
			if t, err := record.ParseControl(r.Key); err == nil {
				x.Control = t.String()
			}
		}
		if err := d.Entry(&Entry{Position: b.pos, Record: &x}); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return d.problem(b.pos, "%v", err)
	}
	return nil
}

// table hands out entries of fixed width. What an index has behind its last entry, up to
// the length of an active segment's, are zeros: they are counted.
func (d *dumper) table(w *window, from int64, width int, fill func(*Entry, []byte)) error {
	t := table{w: w, pos: from, width: width}
	checked := int64(0) // up to here zeros are followed by something else
	for {
		b, pos, err := t.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if from == 0 && pos >= checked && !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			zeros, end, err := w.zerosFrom(pos)
			if checked = end; err != nil || zeros {
				text := fmt.Sprintf("%d zeros: the length of an active segment's index", w.size-pos)
				return errors.Join(err, d.Entry(&Entry{Position: pos, Line: &text}))
			}
		}
		e := Entry{Position: pos}
		fill(&e, b)
		if err := d.Entry(&e); err != nil {
			return err
		}
	}
	if rest := t.fragment(); rest > 0 {
		return d.problem(t.pos, "%d bytes are less than an entry", rest)
	}
	return nil
}

func (d *dumper) snapshot(w *window) error {
	head, err := w.at(0, snapshotHead)
	if err != nil {
		return err
	}
	if len(head) < snapshotHead {
		return d.problem(0, "%d bytes are too few for a snapshot", len(head))
	}
	x := Snapshot{i16(head, 0), uint32(i32(head, 2)), i32(head, 6)}
	if err := d.Entry(&Entry{Snapshot: &x}); err != nil {
		return err
	}
	crc, err := (&scanner{w: w}).crcOf(6, w.size)
	if err != nil {
		return err
	}
	if crc != x.CRC {
		if err := d.problem(2, "the CRC is %08x, the bytes give %08x", x.CRC, crc); err != nil {
			return err
		}
	}
	return d.table(w, snapshotHead, snapshotWidth, func(e *Entry, b []byte) { p := producer(b); e.Producer = &p })
}

// maxLine in bytes is the longest line that is handed out whole.
const maxLine = 64 << 10

func (d *dumper) text(w *window) error {
	lines := bufio.NewScanner(&reader{w: w})
	lines.Buffer(nil, maxLine)
	pos := int64(0)
	for lines.Scan() {
		text := lines.Text()
		if err := d.Entry(&Entry{Position: pos, Line: &text}); err != nil {
			return err
		}
		pos += int64(len(lines.Bytes())) + 1
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return d.problem(pos, "a line is longer than %d bytes", maxLine)
	}
	return lines.Err()
}

// reader is a window as an io.Reader.
type reader struct {
	w   *window
	pos int64
}

func (r *reader) Read(p []byte) (int, error) {
	b, err := r.w.at(r.pos, min(len(p), windowSize))
	if err == nil && len(b) == 0 {
		err = io.EOF
	}
	r.pos += int64(len(b))
	return copy(p, b), err
}
