package log

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// A producer snapshot, <offset>.snapshot, is the producer state before the record
// at offset (ProducerSnapshot, storage 4.5): i16 version, u32 CRC-32C of what
// follows it, i32 count, and per producer i64 id, i16 epoch, i32 last sequence, i64
// last offset, i32 offset delta, i64 timestamp, i32 coordinator epoch, i64 first
// offset of the open transaction. Of a producer's batches only the newest is there
// (storage trap 22).
const (
	snapshotVersion   = 1
	snapshotCRCPos    = 2
	snapshotCountPos  = 6
	snapshotHeadSize  = 10
	snapshotEntrySize = 46
)

var snapshotCRC = crc32.MakeTable(crc32.Castagnoli)

// encodeSnapshot is the file of t, which may be nil: it has no producers then
// (storage trap 21).
func encodeSnapshot(t *producerTable) []byte {
	var list []*producerEntry
	if t != nil {
		list = t.inMapOrder()
	}
	b := make([]byte, 0, snapshotHeadSize+snapshotEntrySize*len(list))
	b = binary.BigEndian.AppendUint16(b, snapshotVersion)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, e := range list {
		b = e.appendTo(b)
	}
	binary.BigEndian.PutUint32(b[snapshotCRCPos:], crc32.Checksum(b[snapshotCountPos:], snapshotCRC))
	return b
}

func (e *producerEntry) appendTo(b []byte) []byte {
	last := e.last()
	if last == nil {
		last = &producerBatch{lastOffset: kafka.NoOffset, lastSequence: record.NoSequence}
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.id))
	b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(last.lastSequence))
	b = binary.BigEndian.AppendUint64(b, uint64(last.lastOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(last.offsetDelta))
	b = binary.BigEndian.AppendUint64(b, uint64(e.lastTimestamp))
	b = binary.BigEndian.AppendUint32(b, uint32(e.coordinatorEpoch))
	return binary.BigEndian.AppendUint64(b, uint64(e.txnFirst))
}

// inMapOrder lists the producers as Kafka's hash map does, so that the file has the
// broker's bytes: by bucket, in a bucket by age. Readers do not care.
func (t *producerTable) inMapOrder() []*producerEntry {
	list := slices.Clone(t.byID)
	slices.SortFunc(list, func(a, b *producerEntry) int {
		return cmp.Or(cmp.Compare(t.bucket(a.id), t.bucket(b.id)), cmp.Compare(a.inserted, b.inserted))
	})
	return list
}

// bucket is HashMap.hash of a Long, cut to the table's capacity.
func (t *producerTable) bucket(id int64) uint32 {
	h := uint32(uint64(id) ^ uint64(id)>>32)
	return (h ^ h>>16) & uint32(t.capacity-1)
}

// decodeSnapshot reads the producers in the order of the file. The error is a
// *CorruptError.
func decodeSnapshot(file string, b []byte) ([]producerEntry, error) {
	corrupt := &CorruptError{File: file, Err: errSnapshot}
	if len(b) < snapshotHeadSize || binary.BigEndian.Uint16(b) != snapshotVersion ||
		binary.BigEndian.Uint32(b[snapshotCRCPos:]) != crc32.Checksum(b[snapshotCountPos:], snapshotCRC) {
		return nil, corrupt
	}
	count := int32(binary.BigEndian.Uint32(b[snapshotCountPos:]))
	b = b[snapshotHeadSize:]
	if count < 0 || int(count) > len(b)/snapshotEntrySize {
		return nil, corrupt
	}
	list := make([]producerEntry, count)
	for i := range list {
		list[i].parse(b[i*snapshotEntrySize:])
	}
	return list, nil
}

func (e *producerEntry) parse(b []byte) {
	*e = newProducerEntry(int64(binary.BigEndian.Uint64(b)))
	e.epoch = int16(binary.BigEndian.Uint16(b[8:]))
	e.lastTimestamp = kafka.TimestampMs(binary.BigEndian.Uint64(b[26:]))
	e.coordinatorEpoch = int32(binary.BigEndian.Uint32(b[34:]))
	if first := kafka.Offset(binary.BigEndian.Uint64(b[38:])); first >= 0 {
		e.txnFirst = first
	}
	if last := kafka.Offset(binary.BigEndian.Uint64(b[14:])); last >= 0 {
		e.n = 1
		e.batches[0] = producerBatch{
			lastOffset: last, timestamp: e.lastTimestamp,
			lastSequence: int32(binary.BigEndian.Uint32(b[10:])), offsetDelta: int32(binary.BigEndian.Uint32(b[22:])),
		}
	}
}

func (l *Log) snapshotPath(offset kafka.Offset) string {
	return filePath(l.dir, offset, snapshotSuffix)
}

// takeSnapshot writes the state st, if batches have come since the last snapshot.
// With sync the file, not its name, is durable on return; else its handle waits for
// the next background flush.
func (l *Log) takeSnapshot(st *producerState, sync bool) error {
	if st.mapEnd <= st.lastSnapshot {
		return nil
	}
	f, err := l.openSnapshot(st.mapEnd)
	if err != nil {
		return fmt.Errorf("log: create producer snapshot: %w", err)
	}
	if err := f.WriteAt(0, encodeSnapshot(st.table)); err != nil {
		return fmt.Errorf("log: write producer snapshot: %w", err)
	}
	if i, found := slices.BinarySearch(l.snapshots, st.mapEnd); !found {
		l.snapshots = slices.Insert(l.snapshots, i, st.mapEnd)
	}
	st.lastSnapshot = st.mapEnd
	if !sync {
		l.unsynced = append(l.unsynced, f)
		return nil
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("log: sync producer snapshot: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("log: close producer snapshot: %w", err)
	}
	return nil
}

// openSnapshot opens the file as it is, if there is one: what it holds beyond the
// new content stays, and spoils it (storage trap 58).
func (l *Log) openSnapshot(offset kafka.Offset) (vfs.File, error) {
	name := l.snapshotPath(offset)
	if _, known := slices.BinarySearch(l.snapshots, offset); known {
		f, err := l.fs.Open(name)
		if !errors.Is(err, vfs.ErrNotExist) {
			return f, err
		}
	}
	return l.fs.Create(name)
}

// loadSnapshot brings st to the newest snapshot that can be read. Others, newer, are
// removed. Without any st is empty, and stands at start.
func (l *Log) loadSnapshot(st *producerState, start kafka.Offset, now kafka.TimestampMs) error {
	for len(l.snapshots) > 0 {
		offset := l.snapshots[len(l.snapshots)-1]
		list, err := l.readSnapshot(offset)
		if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
			if err := l.removeSnapshot(len(l.snapshots) - 1); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		st.enter(list, now, l.cfg.ProducerExpirationMs)
		st.lastSnapshot, st.mapEnd = offset, offset
		return nil
	}
	st.lastSnapshot, st.mapEnd = start, start
	return nil
}

func (l *Log) readSnapshot(offset kafka.Offset) ([]producerEntry, error) {
	name := l.snapshotPath(offset)
	b, err := readFile(l.fs, name)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot(name, b)
}

// enter takes over the producers of a snapshot that have not expired, and their
// open transactions.
func (s *producerState) enter(list []producerEntry, now kafka.TimestampMs, limit int64) {
	for i := range list {
		e := &list[i]
		if e.expired(now, limit) {
			continue
		}
		t := s.ensure()
		t.put(e)
		if e.txnFirst != kafka.NoOffset {
			t.ongoing = putTxn(t.ongoing, txn{first: e.txnFirst, producer: e.id})
		}
	}
}

// removeSnapshot removes the snapshot with index i of the list.
func (l *Log) removeSnapshot(i int) error {
	offset := l.snapshots[i]
	l.snapshots = slices.Delete(l.snapshots, i, i+1)
	return removeFile(l.fs, l.snapshotPath(offset))
}

// removeSnapshots removes those for which gone is true.
func (l *Log) removeSnapshots(gone func(kafka.Offset) bool) error {
	for i := 0; i < len(l.snapshots); {
		if !gone(l.snapshots[i]) {
			i++
			continue
		}
		if err := l.removeSnapshot(i); err != nil {
			return err
		}
	}
	return nil
}

// markSnapshotDeleted renames the snapshot of a segment that is deleted with it.
func (l *Log) markSnapshotDeleted(base kafka.Offset) error {
	i, found := slices.BinarySearch(l.snapshots, base)
	if !found {
		return nil
	}
	l.snapshots = slices.Delete(l.snapshots, i, i+1)
	name := l.snapshotPath(base)
	there, err := renameFile(l.fs, name, name+deletedSuffix)
	if there {
		l.deleted = append(l.deleted, name+deletedSuffix)
	}
	return err
}

// removeStraySnapshots removes the snapshots that belong to no segment, except for
// the newest of them if it is not older than the last segment: that is the one of
// the last close (storage 4.5).
func (l *Log) removeStraySnapshots() error {
	last := l.active().base
	newest := kafka.NoOffset
	for _, o := range l.snapshots {
		if !l.isBase(o) && o >= last {
			newest = o
		}
	}
	return l.removeSnapshots(func(o kafka.Offset) bool { return !l.isBase(o) && o != newest })
}

func (l *Log) isBase(o kafka.Offset) bool {
	i := l.floorIndex(o)
	return i >= 0 && l.segments[i].base == o
}
