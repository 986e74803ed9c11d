package log

import "github.com/simkafka/simkafka/model/quirk"

// finish is storage 7.2 steps 6 to 9: the ends of the log.
func (l *Loader) finish() (busy bool, err error) {
	if l.scanning {
		_, _, err := l.recoverOn()
		return true, err
	}
	if stale, err := l.hasStaleIndex(); stale || err != nil {
		return true, err
	}
	if err := l.findEnd(); err != nil {
		return false, err
	}
	log := l.log
	log.leo = l.leo
	log.recoveryPoint = min(l.p.RecoveryPoint, l.leo)
	if l.p.Clean {
		log.recoveryPoint = l.leo
	}
	if err := log.active().activate(&log.place); err != nil {
		return false, err
	}
	log.logStart = max(l.p.LogStart, log.segments[0].base)
	log.recoveryPoint = max(log.recoveryPoint, log.logStart)
	log.hw = log.logStart
	log.lastFlush = l.p.Now
	changed := log.epochs.truncateFromEnd(log.leo)
	changed = log.epochs.truncateFromStart(l.p.LogStart) || changed
	if changed {
		if err := log.epochs.write(&log.place); err != nil {
			return false, err
		}
	}
	if err := log.removeStraySnapshots(); err != nil {
		return false, err
	}
	l.build, err = log.beginRebuild(&log.producers, log.segments, log.logStart, log.leo, l.p.Clean, l.p.Now)
	l.pass = (*Loader).buildProducers
	return false, err
}

// buildProducers is step 10.
func (l *Loader) buildProducers() (busy bool, err error) {
	done, err := l.build.step(l.log)
	if err != nil || !done {
		return true, err
	}
	l.build = rebuild{}
	l.pass = nil
	return false, nil
}

// findEnd reads the end of the log from its last segment. A log that ends before
// its start is emptied; one without segments gets its first.
func (l *Loader) findEnd() error {
	log := l.log
	if n := len(log.segments); n > 0 {
		end, err := log.segments[n-1].nextOffset(&log.place)
		if err != nil {
			return err
		}
		if l.leo = end; end >= l.p.LogStart {
			return nil
		}
		if err := log.deleteSegments(0, n); err != nil {
			return err
		}
		log.epochs = log.epochs[:0]
		if err := log.epochs.write(&log.place); err != nil {
			return err
		}
		if err := log.forgetProducers(l.p.LogStart); err != nil {
			return err
		}
	}
	s, err := createSegment(&log.place, l.p.LogStart, l.p.Now, l.p.Jitter)
	if err != nil {
		return err
	}
	l.leo = l.p.LogStart
	log.segments = append(log.segments, s)
	return nil
}

// activate gives the last segment's indexes their greatest length. An empty one
// lets go of their handles, since it may stay empty for long.
func (s *segment) activate(p *place) error {
	if err := s.loadIndexes(p); err != nil {
		return err
	}
	if err := s.growIndexes(p); err != nil {
		return err
	}
	if s.size == 0 {
		return s.closeIndexes()
	}
	return nil
}

// hasStaleIndex looks, after a clean stop, for an index of the last segment that
// kept its greatest length, because a power failure lost the length that the stop
// had given it, and begins to recover the segment (KAFKA-20979, storage trap 57).
func (l *Loader) hasStaleIndex() (bool, error) {
	n := len(l.log.segments)
	if !l.p.Clean || n == 0 || l.checked || l.log.cfg.Quirks.Has(quirk.StaleIndexTrusted) {
		return false, nil
	}
	l.checked = true
	s := l.log.segments[n-1]
	if err := s.loadIndexes(&l.log.place); err != nil {
		return false, err
	}
	if !s.offsets.isStale() && !s.times.isStale() {
		return false, nil
	}
	return true, l.beginScan(s, l.log.segments)
}

// isStale tells entries that were never written: no entry has position 0.
func (x *offsetIndex) isStale() bool {
	n := x.count()
	return n > 0 && x.entries.key(n-1, positionColumn()) == 0
}

func (x *timeIndex) isStale() bool {
	n := x.count()
	return n > 1 && x.entry(0, n-1).timestamp <= x.entry(0, n-2).timestamp
}
