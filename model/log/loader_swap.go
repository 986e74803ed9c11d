package log

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Steps 1 to 3 of storage 7.2: what an interrupted deletion, cleaning or split has
// left behind.

// eachFile calls f for the files of the directory until one keeps it busy; it is
// not busy when none is left.
func (l *Loader) eachFile(f func(l *Loader, name string) (busy bool, err error)) (busy bool, err error) {
	for l.next < len(l.names) {
		name := l.names[l.next]
		l.next++
		if name == "" {
			continue
		}
		if busy, err := f(l, name); busy || err != nil {
			return busy, err
		}
	}
	l.next = 0
	return false, nil
}

// forget takes the file that eachFile is at out of the list.
func (l *Loader) forget() { l.names[l.next-1] = "" }

func (l *Loader) remove(name string) (busy bool, err error) {
	l.forget()
	return true, removeFile(l.log.fs, l.path(name))
}

// removeDeleted removes .deleted files and looks for the others.
func (l *Loader) removeDeleted() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		offset, ok := offsetOf(name)
		switch {
		case strings.HasSuffix(name, deletedSuffix) && !strings.HasSuffix(name, raftDeletedSuffix):
			return l.remove(name)
		case ok && strings.HasSuffix(name, cleanedSuffix):
			l.minCleaned = min(l.minCleaned, offset)
		case ok && strings.HasSuffix(name, swapSuffix):
			l.swapped = true
		}
		return false, nil
	})
	if !busy && err == nil {
		l.pass = (*Loader).removeInvalidSwaps
		if !l.swapped {
			l.pass = (*Loader).removeCleaned
		}
	}
	return busy, err
}

// removeInvalidSwaps removes .swap files at or after the first .cleaned one: their
// operation had not come to its end (storage trap 42).
func (l *Loader) removeInvalidSwaps() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		if offset, ok := offsetOf(name); ok && strings.HasSuffix(name, swapSuffix) && offset >= l.minCleaned {
			return l.remove(name)
		}
		return false, nil
	})
	if !busy && err == nil {
		l.pass = (*Loader).removeCleaned
	}
	return busy, err
}

func (l *Loader) removeCleaned() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		if strings.HasSuffix(name, cleanedSuffix) {
			return l.remove(name)
		}
		return false, nil
	})
	if !busy && err == nil {
		l.pass = (*Loader).measureSwaps
		if !l.swapped {
			l.sortNames()
			l.pass = (*Loader).loadSegments
		}
	}
	return busy, err
}

// measureSwaps finds the range of offsets that the .swap logs cover.
func (l *Loader) measureSwaps() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		plain, isSwap := strings.CutSuffix(name, swapSuffix)
		base, ok := offsetOf(name)
		if !isSwap || !ok || !isLogFile(plain) {
			return false, nil
		}
		next, err := l.swapEnd(base)
		l.swapMin, l.swapMax = min(l.swapMin, base), max(l.swapMax, next)
		return true, err
	})
	if !busy && err == nil {
		l.pass = (*Loader).removeCovered
	}
	return busy, err
}

// swapEnd is the offset after the last batch of a .swap log.
func (l *Loader) swapEnd(base kafka.Offset) (kafka.Offset, error) {
	p := &l.log.place
	f, err := p.fs.Open(markedPath(p.dir, base, logSuffix, swapSuffix))
	if err != nil {
		return 0, fmt.Errorf("log: open swap file: %w", err)
	}
	s := &segment{base: base, file: f, size: f.Size()}
	s.offsets.loaded = true // its index is named .swap too; without it the scan is longer
	next, err := s.nextOffset(p)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return next, err
}

// removeCovered removes the files, of whatever kind, that the .swap logs replace
// (storage trap 41).
func (l *Loader) removeCovered() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		offset, ok := offsetOf(name)
		if ok && !strings.HasSuffix(name, swapSuffix) && offset >= l.swapMin && offset < l.swapMax {
			return l.remove(name)
		}
		return false, nil
	})
	if !busy && err == nil {
		l.pass = (*Loader).completeSwaps
	}
	return busy, err
}

// completeSwaps gives the .swap files their plain names.
func (l *Loader) completeSwaps() (busy bool, err error) {
	busy, err = l.eachFile(func(l *Loader, name string) (bool, error) {
		plain, isSwap := strings.CutSuffix(name, swapSuffix)
		if !isSwap {
			return false, nil
		}
		l.names[l.next-1] = plain
		_, err := renameFile(l.log.fs, l.path(name), l.path(plain))
		return true, err
	})
	if !busy && err == nil {
		l.sortNames()
		l.pass = (*Loader).loadSegments
	}
	return busy, err
}

// sortNames orders the files that are left, for the loading of segments, lists the
// producer snapshots among them and finds where recovery is to begin.
func (l *Loader) sortNames() {
	l.names = slices.DeleteFunc(l.names, func(name string) bool { return name == "" })
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	for _, name := range l.names {
		offset, ok := offsetOf(name)
		switch {
		case ok && isSnapshotFile(name):
			l.log.snapshots = append(l.log.snapshots, offset)
		case ok && isLogFile(name) && offset <= l.p.RecoveryPoint:
			l.unflushed = offset
		}
	}
}
