package log

import (
	"errors"
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/vfs"
)

// OpenParams is what a start knows of a log before it reads it.
type OpenParams struct {
	RecoveryPoint kafka.Offset // from the checkpoint; 0 if unknown
	LogStart      kafka.Offset // from the checkpoint; 0 if unknown
	Clean         bool         // the directory had the clean-shutdown marker
	Now           kafka.TimestampMs
	Jitter        Jitter // kept; may be nil
}

// Loader brings a log from its directory into memory in bounded steps (LogLoader,
// storage 7.2). The steps have the order of Kafka's, so that a crash in between
// leaves what a broker would leave.
type Loader struct {
	log     *Log
	p       OpenParams
	pass    func(*Loader) (busy bool, err error) // nil when all is done
	names   []string                             // files of the directory, sorted; "" for one that is gone
	next    int                                  // in names, of the pass that goes over them
	swapped bool                                 // .swap files were found

	// unflushed is the base of the segment that holds the recovery point, from which
	// on a log that was not closed cleanly is recovered.
	unflushed        kafka.Offset
	minCleaned       kafka.Offset // smallest offset of a .cleaned file
	swapMin, swapMax kafka.Offset // offsets that .swap files cover, swapMax exclusive

	scan      recovery // of one segment, if scanning
	scanning  bool
	build     rebuild // of a producer state, if building
	building  bool
	producers producerState // of the segment that is recovered
	checked   bool          // the indexes of a clean log
	recovered int           // index of the next segment to recover
	scanned   kafka.Offset  // exclusive end of the segment that was recovered last
	splits    int           // segments that were split
	leo       kafka.Offset
}

const noSuchOffset = kafka.Offset(1<<63 - 1)

// Open begins to load the log in dir, which is made if it is not there. Steps do
// the work.
func Open(fs vfs.FS, dir string, cfg *Config, p OpenParams) (*Loader, error) {
	l := newLoader(place{fs, dir, cfg}, p)
	if err := fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("log: make directory %s: %w", dir, err)
	}
	return &l, nil
}

func newLoader(at place, p OpenParams) Loader {
	return Loader{
		log:        &Log{place: at, jitter: p.Jitter},
		p:          p,
		pass:       (*Loader).list,
		minCleaned: noSuchOffset,
		swapMin:    noSuchOffset,
	}
}

// OpenNow loads a log at once.
func OpenNow(fs vfs.FS, dir string, cfg *Config, p OpenParams) (*Log, error) {
	l, err := Open(fs, dir, cfg, p)
	if err != nil {
		return nil, err
	}
	for {
		if done, err := l.Step(); err != nil || done {
			return l.Log(), err
		}
	}
}

// Step does at most one bounded piece of work: one file, or recoveryStep bytes of
// a scan. After an error the loader is of no use.
func (l *Loader) Step() (done bool, err error) {
	for l.pass != nil {
		if busy, err := l.pass(l); busy || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Log is the loaded log; nil before the last step.
func (l *Loader) Log() *Log {
	if l.pass != nil {
		return nil
	}
	return l.log
}

// list reads the directory and the epoch file.
func (l *Loader) list() (busy bool, err error) {
	names, err := l.log.fs.List(l.log.dir)
	if err != nil {
		return false, fmt.Errorf("log: list %s: %w", l.log.dir, err)
	}
	l.names = names
	l.pass = (*Loader).removeDeleted
	if l.log.epochs, err = readEpochCache(&l.log.place); err != nil {
		return false, err
	}
	return true, nil
}

// loadFile is one file of storage 7.2 step 4: an index without its log goes, a log
// becomes a segment.
func (l *Loader) loadFile(name string) (busy bool, err error) {
	base, ok := offsetOf(name)
	switch {
	case !ok:
		return false, nil
	case isIndexFile(name):
		if l.has(base, logSuffix) {
			return false, nil
		}
		return true, removeFile(l.log.fs, l.path(name))
	case !isLogFile(name):
		return false, nil
	}
	return true, l.loadSegment(base)
}

func (l *Loader) has(base kafka.Offset, suffix string) bool {
	_, found := slices.BinarySearch(l.names, fileName(base, suffix))
	return found
}

func (l *Loader) path(name string) string { return l.log.dir + "/" + name }

// loadSegments is step 4. A segment without an offset index is recovered before
// the next file is looked at.
func (l *Loader) loadSegments() (busy bool, err error) {
	if l.scanning {
		_, _, err := l.recoverOn()
		return true, l.putOff(err)
	}
	busy, err = l.eachFile((*Loader).loadFile)
	if busy || err != nil {
		return busy, err
	}
	l.names = nil
	l.pass = (*Loader).recoverLog
	l.recovered = len(l.log.segments)
	if !l.p.Clean && len(l.log.segments) > 0 && !l.log.cfg.Quirks.Has(quirk.NoRecovery) {
		l.recovered = max(0, l.log.floorIndex(l.p.RecoveryPoint))
	}
	return false, nil
}

func (l *Loader) loadSegment(base kafka.Offset) error {
	p := &l.log.place
	s, err := openSegment(p, base, l.p.Now, l.p.Jitter)
	if err != nil {
		return err
	}
	l.log.segments = append(l.log.segments, s)
	if !l.has(base, timeIndexSuffix) {
		if err := s.emptyTimeIndex(p); err != nil {
			return err
		}
	}
	sane, err := l.loadTxnIndex(s)
	if err != nil || sane && l.has(base, indexSuffix) {
		return err
	}
	// Of the segments before it all are loaded, of those after it none. What is cut
	// here takes no later segment with it, and recoverLog finds nothing to cut.
	return l.putOff(l.beginScan(s, l.log.segments[:len(l.log.segments)-1]))
}

// putOff leaves a segment to recoverLog whose producers cannot be known yet, since a
// torn segment comes before it. Kafka does not start then.
func (l *Loader) putOff(err error) error {
	corrupt := (*CorruptError)(nil)
	if !l.building || l.p.Clean || l.scan.seg.base < l.unflushed || !errors.As(err, &corrupt) {
		return err
	}
	l.scan, l.scanning = recovery{}, false
	l.build, l.building = rebuild{}, false
	return nil
}

// loadTxnIndex reads the transaction index of a segment, if it has one.
func (l *Loader) loadTxnIndex(s *segment) (sane bool, err error) {
	if !l.has(s.base, txnIndexSuffix) {
		return true, nil
	}
	if s.txns, err = openTxnIndex(&l.log.place, s.base); err != nil {
		return false, err
	}
	return s.txns.isSane(s.base), nil
}

// emptyTimeIndex makes a time index that was missing, of length 0.
func (s *segment) emptyTimeIndex(p *place) error {
	if err := s.times.open(p, s.base); err != nil {
		return err
	}
	s.times.clear()
	return s.times.resize(0)
}

// beginScan begins to recover a segment: first the producers as they were at its
// beginning (LogLoader.recoverSegment). segments are those known of the log.
func (l *Loader) beginScan(s *segment, segments []*segment) (err error) {
	l.producers = producerState{}
	l.build, err = l.log.beginRebuild(&l.producers, segments, l.p.LogStart, s.base, false, l.p.Now)
	l.scan = recovery{seg: s}
	l.scanning, l.building = err == nil, err == nil
	return err
}

// recoverOn goes on with the scan. An index that cannot be built ends the segment
// at its beginning (storage 7.2 step 5).
func (l *Loader) recoverOn() (done bool, cut int64, err error) {
	if l.building {
		return false, 0, l.buildOn()
	}
	done, cut, err = l.scan.step(&l.log.place, &l.log.epochs)
	switch {
	case errors.Is(err, errOffsetOverflow):
		return false, 0, l.split()
	case isInvalidOffset(err):
		s := l.scan.seg
		done = true
		cut, err = s.truncateTo(&l.log.place, s.base, l.p.Now)
	case done:
		l.scanned = max(l.scan.seg.base, l.scan.producers.mapEnd)
		// The next segment begins with it.
		err = l.log.takeSnapshot(&l.scan.producers, true)
	}
	if done || err != nil {
		l.scan, l.scanning = recovery{}, false
	}
	return done, cut, err
}

// buildOn goes on with the producers of the segment to recover, then empties its
// indexes.
func (l *Loader) buildOn() error {
	done, err := l.build.step(l.log)
	if err != nil || !done {
		return err
	}
	l.building = false
	l.build = rebuild{}
	l.scan, err = beginRecovery(&l.log.place, l.scan.seg, l.producers)
	l.producers = producerState{}
	return err
}

// recoverLog is step 5: the segments from the recovery point on, one after the
// other, until one of them had to be cut; the rest is deleted then.
func (l *Loader) recoverLog() (busy bool, err error) {
	log := l.log
	if l.recovered >= len(log.segments) {
		l.pass = (*Loader).finish
		return false, nil
	}
	if !l.scanning {
		return true, l.beginScan(log.segments[l.recovered], log.segments)
	}
	done, cut, err := l.recoverOn()
	if err != nil || !done {
		return true, err
	}
	l.recovered++
	if cut > 0 {
		return true, log.deleteSegments(l.recovered, len(log.segments))
	}
	l.noteHole()
	return true, nil
}

// noteHole remembers the offsets that are missing between a segment in which nothing was
// torn and the next one. A power loss may take all that a segment had not synced and leave
// the next one; like Kafka's, recovery goes on over that. In a compacted log a cleaner may
// have taken them: the log does not know.
func (l *Loader) noteHole() {
	log := l.log
	if l.recovered == len(log.segments) {
		return
	}
	next := log.segments[l.recovered].base
	if l.scanned >= next {
		return
	}
	if n := len(log.holes); n > 0 && log.holes[n-1].To == l.scanned {
		log.holes[n-1].To = next // the segment between is empty
		return
	}
	log.holes = append(log.holes, Hole{l.scanned, next})
}
