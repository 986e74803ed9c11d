package log

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// WriteRecoveryPoints writes recovery-point-offset-checkpoint: every 60 s, and at
// once after a truncation (storage 2.4). It flushes nothing (cluster L-34,
// corrected).
func (m *Manager) WriteRecoveryPoints() error {
	for i := range m.replicas {
		if m.replicas[i].Log.cleanedCut {
			if err := m.WriteCleanerOffsets(); err != nil {
				return err
			}
		}
	}
	return m.writeCheckpoint(RecoveryPointCheckpoint, func(l *Log) (kafka.Offset, bool) {
		return l.recoveryPoint, true
	})
}

// WriteLogStartOffsets writes log-start-offset-checkpoint, which has only the logs
// that begin inside their first segment.
func (m *Manager) WriteLogStartOffsets() error {
	return m.writeCheckpoint(LogStartOffsetCheckpoint, func(l *Log) (kafka.Offset, bool) {
		return l.logStart, l.logStart > l.segments[0].base
	})
}

// WriteHighWatermarks writes replication-offset-checkpoint: every 5 s and at a
// clean stop (cluster L-10). While logs are still loading it does nothing, since it
// would forget theirs.
func (m *Manager) WriteHighWatermarks() error {
	if m.load != nil {
		return nil
	}
	return m.writeCheckpoint(HighWatermarkCheckpoint, func(l *Log) (kafka.Offset, bool) {
		return l.hw, true
	})
}

// WriteCleanerOffsets writes cleaner-offset-checkpoint, which has only the logs that
// were cleaned: after each cleaning, and by the others here after a truncation or a
// deletion (storage 5.2). While logs are still loading it keeps the lines of theirs.
func (m *Manager) WriteCleanerOffsets() error {
	var entries []OffsetEntry
	for i := range m.replicas {
		r := &m.replicas[i]
		r.Log.cleanedCut = false
		if r.Log.cleaned {
			entries = append(entries, OffsetEntry{r.TP, r.Log.cleanedTo})
		}
	}
	if m.load != nil {
		for _, e := range m.load.cleaned {
			if slices.ContainsFunc(m.load.partitions, func(d partitionDir) bool { return d.tp == e.TP && !d.future }) {
				entries = append(entries, e)
			}
		}
	}
	return WriteOffsetCheckpoint(m.fs, m.dir, CleanerOffsetCheckpoint, entries)
}

// writeCheckpoint writes a line for each log that has a value, future ones behind the
// others: no partition has both in one directory.
func (m *Manager) writeCheckpoint(name string, value func(*Log) (kafka.Offset, bool)) error {
	count := 0
	for _, list := range [...][]Replica{m.replicas, m.futures} {
		for i := range list {
			if _, ok := value(list[i].Log); ok {
				count++
			}
		}
	}
	b := appendCheckpointHead(m.scratch[:0], count)
	for _, list := range [...][]Replica{m.replicas, m.futures} {
		for i := range list {
			if offset, ok := value(list[i].Log); ok {
				b = appendCheckpointLine(b, list[i].TP, offset)
			}
		}
	}
	m.scratch = b
	return replaceFile(m.fs, m.dir, name, slices.Clone(b)) // which the file keeps
}

// StopStep does a bounded piece of a clean stop (storage 7.1): one log is flushed
// and closed a call; after the last one the checkpoints are written, then the
// marker, which names the broker's epoch. Logs that have failed are only closed,
// and then there is no marker; nor is there one if logs were still loading, unless
// the start had found one. High watermarks are written before by the caller.
func (m *Manager) StopStep(broker kafka.BrokerEpoch, now kafka.TimestampMs) (done bool, err error) {
	if n := len(m.replicas); m.stopped < n+len(m.futures) {
		list, i := m.replicas, m.stopped
		if i >= n {
			list, i = m.futures, i-n
		}
		m.stopped++
		return false, list[i].Log.Close(list[i].Log.failure == nil, now)
	}
	if err := m.WriteRecoveryPoints(); err != nil {
		return false, err
	}
	if err := m.WriteLogStartOffsets(); err != nil {
		return false, err
	}
	if m.mayMarkClean() {
		if err := writeCleanShutdown(m.fs, m.dir, broker); err != nil {
			return false, err
		}
	}
	m.ended = true
	return true, m.unlock()
}

func (m *Manager) mayMarkClean() bool {
	for i := range m.replicas {
		if m.replicas[i].Log.failure != nil {
			return false
		}
	}
	return m.clean || m.load == nil
}
