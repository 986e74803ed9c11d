package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// CleanParams says how a log is cleaned.
type CleanParams struct {
	Range CleanRange
	Now   kafka.TimestampMs
	// MapBytes bounds the keys of one cleaning, as log.cleaner.dedupe.buffer.size over
	// the number of cleaner threads does. LoadFactor is how much of it may be filled, in
	// millionths (log.cleaner.io.buffer.load.factor); 0 is Kafka's default of 0.9.
	MapBytes   int64
	LoadFactor int64
	// ReadBytes is what one step reads: log.cleaner.io.buffer.size over the threads
	// and 2. A larger batch is read alone.
	ReadBytes int
	// Seed is that of the hash of keys.
	Seed uint64
}

// CleanStats is what a cleaning has done so far.
type CleanStats struct {
	BytesMapped  int64 // read for the offset map
	BytesRead    int64 // of the segments that were copied
	BytesWritten int64
	Keys         int // in the offset map
	Segments     int // that were replaced
	Into         int // segments that replaced them
}

// Bytes are all that was read or written.
func (s CleanStats) Bytes() int64 { return s.BytesMapped + s.BytesRead + s.BytesWritten }

// ErrCleaningAborted ends a cleaning whose log was truncated, or lost segments that
// were to be cleaned (LogCleaningAbortedException). The log is as it was.
var ErrCleaningAborted = errors.New("log: the cleaning was aborted")

// Cleaning is one cleaning of a log under way (Cleaner.doClean). It goes on by Step,
// between which the log may be used as ever. Segments are replaced group by group,
// each within one step.
type Cleaning struct {
	log  *Log
	p    CleanParams
	pass func(*Cleaning) (busy bool, err error) // nil when all is done
	cuts uint32                                 // Log.cuts at the beginning

	offsets offsetMap
	filter  cleanFilter
	stats   CleanStats
	end     kafka.Offset // the checkpoint to be

	read   []*segment // the segments that the pass goes over
	next   int        // in read
	pos    int64      // in that segment, -1 if it was not begun
	groups [][]*segment
	into   *segment // that read is copied into; its files are .cleaned

	keys []keyAt // of the batch at hand
	// Memory of one read and of what stays of it, where the file system keeps neither.
	copies      bool
	readBuffer  []byte
	writeBuffer []byte
}

// BeginCleaning begins to clean what p.Range says, which CleanRange has said just
// before. Only one cleaning of a log is under way at a time.
func (l *Log) BeginCleaning(p CleanParams) *Cleaning {
	c := &Cleaning{
		log: l, p: p, pass: (*Cleaning).buildMap, cuts: l.cuts, pos: -1,
		offsets: newOffsetMap(p.MapBytes, p.LoadFactor, p.Seed), end: p.Range.FirstDirty,
	}
	c.filter = cleanFilter{
		offsets: &c.offsets, producers: &l.producers, upper: p.Range.Uncleanable, dropEnd: l.cfg.CleanerDropsEnd,
		now: p.Now, horizon: p.Now + kafka.TimestampMs(l.cfg.DeleteRetentionMs),
		byRecordTime: l.cfg.Quirks.Has(quirk.TombstonesByRecordTime),
	}
	_, c.copies = l.active().file.(vfs.Copier)
	c.filter.it.UseScratch(l.cfg.Scratch)
	c.filter.bd.UseScratch(l.cfg.Scratch)
	c.read = l.between(p.Range.FirstDirty, p.Range.Uncleanable)
	c.filter.txns.add(l.abortedBetween(p.Range.FirstDirty, p.Range.Uncleanable))
	return c
}

// between lists the segments from the one that holds from on that begin below to.
func (l *Log) between(from, to kafka.Offset) []*segment {
	i := max(0, l.floorIndex(from))
	n := i
	for n < len(l.segments)-1 && l.segments[n].base < to {
		n++
	}
	return append([]*segment(nil), l.segments[i:n]...)
}

// Stats is what was done so far.
func (c *Cleaning) Stats() CleanStats { return c.stats }

// Step does at most one bounded piece of work: one read, or the replacement of one
// group of segments. After the last one the log's CleanedTo has moved. After an error
// the cleaning is over and its files are gone, as far as the disk allows: with
// ErrCleaningAborted or a *CorruptError, of a batch that cannot be read, the log is
// usable; any other error has taken it offline.
func (c *Cleaning) Step() (done bool, err error) {
	if err := c.log.usable(); err != nil {
		return false, err
	}
	if c.cuts != c.log.cuts {
		return false, errors.Join(ErrCleaningAborted, c.Abandon())
	}
	for c.pass != nil {
		busy, err := c.pass(c)
		if err == nil && busy {
			return false, nil
		}
		if err != nil {
			return false, c.fail(err)
		}
	}
	return true, nil
}

func (c *Cleaning) fail(err error) error {
	if errors.Is(err, ErrCleaningAborted) {
		return errors.Join(err, c.Abandon())
	}
	err = c.log.failRead(err)
	if c.log.failure == nil {
		return errors.Join(err, c.Abandon())
	}
	c.pass = nil // the next load removes the files
	if c.into != nil {
		err = errors.Join(err, c.into.close())
		c.into = nil
	}
	return err
}

// Abandon ends a cleaning before its end and removes what it has not swapped in.
func (c *Cleaning) Abandon() error {
	c.pass = nil
	if c.into == nil {
		return nil
	}
	s := c.into
	c.into = nil
	return c.log.fail(errors.Join(s.close(), c.log.removeCleanedFiles(s.base)))
}

// buildMap reads the dirty records (buildOffsetMapForSegment, storage 9.2).
func (c *Cleaning) buildMap() (busy bool, err error) {
	if c.next == len(c.read) {
		return false, c.plan()
	}
	s := c.read[c.next]
	if c.pos < 0 {
		if err := s.offsets.load(&c.log.place, s.base); err != nil {
			return false, err
		}
		c.pos = s.offsets.lookup(s.base, c.p.Range.FirstDirty)
	}
	chunk, err := c.chunk(s)
	if err != nil {
		return false, err
	}
	if len(chunk) == 0 {
		c.next, c.pos = c.next+1, -1
		// Offsets that are missing at the end are accounted for too.
		c.offsets.latest = c.p.Range.Uncleanable - 1
		if c.next < len(c.read) {
			c.offsets.latest = c.read[c.next].base - 1
		}
		return false, nil
	}
	c.stats.BytesMapped += int64(len(chunk))
	for rest := chunk; len(rest) > 0; {
		b := nextOf(&rest)
		full, err := c.enter(b)
		if err != nil {
			return false, c.corrupt(s, err)
		}
		if full {
			return true, c.plan()
		}
	}
	c.pos += int64(len(chunk))
	return true, nil
}

// enter puts the keys of b into the map; full tells that it takes no more.
func (c *Cleaning) enter(b record.Batch) (full bool, err error) {
	discard, err := c.filter.txns.canDiscard(b)
	if err != nil {
		return false, err
	}
	if !b.IsControl() && !discard {
		it := &c.filter.it
		c.keys = c.keys[:0]
		for it.Reset(b); it.Next(); {
			if r := it.Record(); r.Key != nil && r.Offset >= c.p.Range.FirstDirty {
				c.keys = append(c.keys, keyAt{c.offsets.hash(r.Key), r.Offset})
			}
		}
		c.offsets.touch(c.keys)
		for i := range c.keys {
			if !c.offsets.put(c.keys[i].key, c.keys[i].offset) {
				return true, nil
			}
		}
		if it.Err() != nil {
			return false, it.Err()
		}
	}
	if b.LastOffset() >= c.p.Range.FirstDirty {
		c.offsets.latest = b.LastOffset()
	}
	return false, nil
}

// chunk is what comes at pos in s: the whole batches of one read, checked; nothing at
// the segment's end.
func (c *Cleaning) chunk(s *segment) ([]byte, error) {
	left := s.size - c.pos
	if left <= 0 {
		return nil, nil
	}
	buf, err := c.readAt(s, int(min(left, int64(max(c.p.ReadBytes, record.HeaderSize)))))
	if err != nil {
		return nil, fmt.Errorf("log: clean %s: %w", s.file.Name(), err)
	}
	if size, err := record.PeekSize(buf); err == nil && size > len(buf) && int64(size) <= left {
		if buf, err = c.readAt(s, size); err != nil {
			return nil, fmt.Errorf("log: clean %s: %w", s.file.Name(), err)
		}
	}
	n := 0
	for n < len(buf) {
		b, _, err := record.Next(buf[n:])
		if errors.Is(err, record.ErrIncomplete) {
			break
		}
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			c.pos += int64(n)
			return nil, c.corrupt(s, err)
		}
		n += len(b)
	}
	if n == 0 {
		return nil, c.corrupt(s, errShortFile)
	}
	return buf[:n:n], nil
}

// readAt reads n bytes at pos of s. They stay until the next read.
func (c *Cleaning) readAt(s *segment, n int) ([]byte, error) {
	f, copies := s.file.(vfs.Copier)
	if !copies || !c.copies {
		return s.file.ReadAt(c.pos, n)
	}
	if cap(c.readBuffer) < n {
		c.readBuffer = make([]byte, n)
	}
	n, err := f.ReadInto(c.pos, c.readBuffer[:n])
	return c.readBuffer[:n], err
}

// corrupt is the error of a batch at pos or behind it that cannot be read.
func (c *Cleaning) corrupt(s *segment, err error) error {
	return &CorruptError{File: filePath(c.log.dir, s.base, logSuffix), Pos: max(0, c.pos), Err: err}
}

// plan groups the segments to copy: all that begin below the end of what the map
// accounts for, the clean part too.
func (c *Cleaning) plan() (err error) {
	c.stats.Keys = c.offsets.n
	c.pass = (*Cleaning).beginGroup
	if c.offsets.latest < 0 {
		c.pass = nil // nothing is dirty
		return nil
	}
	c.end = c.offsets.latest + 1
	c.filter.txns = cleanedTxns{}
	c.groups, err = c.log.groupSegments(c.log.between(0, c.end), c.p.Range.Uncleanable)
	return err
}

// beginGroup makes the segment that the next group is copied into.
func (c *Cleaning) beginGroup() (busy bool, err error) {
	if len(c.groups) == 0 {
		c.pass = nil
		c.log.cleanedTo, c.log.cleaned = c.end, true
		return false, nil
	}
	c.read, c.next, c.pos = c.groups[0], 0, -1
	c.into, err = c.log.createCleaned(c.read[0].base, c.p.Now)
	c.pass = (*Cleaning).copyGroup
	return true, err
}

// copyGroup copies what stays of one read (cleanInto).
func (c *Cleaning) copyGroup() (busy bool, err error) {
	if c.next == len(c.read) {
		c.pass = (*Cleaning).finishGroup
		return true, c.log.finishCleaned(c.into)
	}
	s := c.read[c.next]
	if c.pos < 0 {
		c.pos = 0
		upper, err := c.log.endOf(s)
		if err != nil {
			return false, err
		}
		c.filter.txns.add(c.log.abortedBetween(s.base, upper))
	}
	chunk, err := c.chunk(s)
	if err != nil {
		return false, err
	}
	if len(chunk) == 0 {
		c.next, c.pos = c.next+1, -1
		return false, nil
	}
	kept, err := c.retain(s, chunk)
	if err != nil {
		return false, err
	}
	c.pos += int64(len(chunk))
	c.stats.BytesRead += int64(len(chunk))
	c.stats.BytesWritten += int64(len(kept))
	if err := c.noteKept(); err != nil {
		return false, err
	}
	return true, c.write(kept)
}

// retain is what stays of a chunk: the chunk itself, if all does.
func (c *Cleaning) retain(s *segment, chunk []byte) ([]byte, error) {
	var kept []byte
	whole := 0 // bytes of the chunk's beginning that stay as they are, while kept is nil
	for rest := chunk; len(rest) > 0; {
		b := nextOf(&rest)
		out, err := c.filter.filter(b)
		if err != nil {
			return nil, c.corrupt(s, err)
		}
		if kept == nil && len(out) == len(b) && &out[0] == &b[0] {
			whole += len(b)
			continue
		}
		if kept == nil {
			kept = append(c.room(len(chunk)), chunk[:whole]...)
		}
		kept = append(kept, out...)
	}
	if kept == nil {
		return chunk, nil
	}
	if c.copies {
		c.writeBuffer = kept
	}
	return kept, nil
}

// room is empty memory for n bytes and more.
func (c *Cleaning) room(n int) []byte {
	if c.copies && cap(c.writeBuffer) >= n {
		return c.writeBuffer[:0]
	}
	return make([]byte, 0, n)
}

// write appends what stayed of a chunk.
func (c *Cleaning) write(kept []byte) error {
	if len(kept) == 0 {
		return nil
	}
	a := span{buf: kept}
	for rest := kept; len(rest) > 0; {
		b := nextOf(&rest)
		if a.Batches++; a.Batches == 1 || b.MaxTimestamp() > a.MaxTimestamp {
			a.MaxTimestamp, a.OffsetOfMaxTimestamp = b.MaxTimestamp(), b.LastOffset()
		}
		a.LastOffset, a.LastEpoch = b.LastOffset(), b.PartitionLeaderEpoch()
	}
	a.Size, a.FirstOffset = len(kept), a.buf.BaseOffset()
	return c.into.append(&c.log.place, &a)
}

// noteKept enters the aborted transactions that still have batches.
func (c *Cleaning) noteKept() error {
	for _, a := range c.filter.txns.kept {
		if err := c.log.noteCleanedTxn(c.into, a); err != nil {
			return err
		}
	}
	c.filter.txns.kept = c.filter.txns.kept[:0]
	return nil
}

// finishGroup puts the new segment into the place of the old ones.
func (c *Cleaning) finishGroup() (busy bool, err error) {
	if !c.log.has(c.read) {
		return false, ErrCleaningAborted
	}
	s := c.into
	c.into = nil
	if err := c.log.copyModTime(s, c.read[len(c.read)-1]); err != nil {
		return false, errors.Join(err, s.close())
	}
	if err := c.log.swapIn(s, c.read); err != nil {
		return false, err
	}
	c.stats.Segments += len(c.read)
	c.stats.Into++
	c.groups = c.groups[1:]
	c.pass = (*Cleaning).beginGroup
	return true, nil
}
