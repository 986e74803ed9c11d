package log

import (
	"errors"
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// EpochEntry says that a leader epoch's first record has the offset Start.
type EpochEntry struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// epochCache is the list of leader epochs of a log (LeaderEpochFileCache, KIP-101,
// cluster 1.8). Invariant: epochs and starts both strictly increase.
type epochCache []EpochEntry

// assign enters that epoch starts at start and reports whether the list changed
// (cluster E-1). Entries that contradict it are dropped from the end.
func (c *epochCache) assign(epoch kafka.LeaderEpoch, start kafka.Offset) bool {
	if epoch < 0 || start < 0 {
		panic("log: assignment of leader epoch " + strconv.Itoa(int(epoch)) +
			" at offset " + strconv.FormatInt(int64(start), 10))
	}
	list := *c
	if n := len(list); n > 0 && list[n-1].Epoch == epoch && list[n-1].Start <= start {
		return false
	}
	n := len(list)
	for n > 0 && (list[n-1].Epoch >= epoch || list[n-1].Start >= start) {
		n--
	}
	*c = append(list[:n], EpochEntry{epoch, start})
	return true
}

// latest is the last entry's epoch, kafka.NoLeaderEpoch if there is none.
func (c epochCache) latest() kafka.LeaderEpoch {
	if len(c) == 0 {
		return kafka.NoLeaderEpoch
	}
	return c[len(c)-1].Epoch
}

// endOffsetFor answers "where did epoch end?" with the largest known epoch <= it
// and that epoch's exclusive end; (-1, -1) is undefined (cluster E-2).
func (c epochCache) endOffsetFor(epoch kafka.LeaderEpoch, leo kafka.Offset) (kafka.LeaderEpoch, kafka.Offset) {
	latest := c.latest()
	switch {
	case epoch < 0 || epoch > latest: // an empty list has latest -1
		return kafka.NoLeaderEpoch, kafka.NoOffset
	case epoch == latest:
		return epoch, leo
	}
	higher := slices.IndexFunc(c, func(e EpochEntry) bool { return e.Epoch > epoch })
	if higher == 0 {
		return epoch, c[0].Start
	}
	return c[higher-1].Epoch, c[higher].Start
}

// forOffset is the epoch of the last entry that starts at or before offset, -1 if
// there is none.
func (c epochCache) forOffset(offset kafka.Offset) kafka.LeaderEpoch {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i].Start <= offset {
			return c[i].Epoch
		}
	}
	return kafka.NoLeaderEpoch
}

// truncateFromEnd drops the entries that start at or after end (cluster E-3).
func (c *epochCache) truncateFromEnd(end kafka.Offset) (changed bool) {
	n := len(*c)
	for n > 0 && (*c)[n-1].Start >= end {
		n--
	}
	changed = n < len(*c)
	*c = (*c)[:n]
	return changed
}

// truncateFromStart drops the entries that start at or before start and lets the
// last of them begin there (cluster E-3, corrected).
func (c *epochCache) truncateFromStart(start kafka.Offset) (changed bool) {
	list := *c
	n := 0
	for n < len(list) && list[n].Start <= start {
		n++
	}
	if n == 0 || n == 1 && list[0].Start == start {
		return false
	}
	list[n-1].Start = start
	*c = append(list[:0], list[n-1:]...)
	return true
}

const epochFile = "leader-epoch-checkpoint"

func (c epochCache) write(p *place) error {
	b := appendCheckpointHead(make([]byte, 0, 16+12*len(c)), len(c))
	for _, e := range c {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(e.Start), 10)
		b = append(b, '\n')
	}
	if p.cfg.Quirks.Has(quirk.EpochFileUnsynced) {
		return overwriteFile(p.fs, p.dir+"/"+epochFile, b)
	}
	return replaceFile(p.fs, p.dir, epochFile, b)
}

// readEpochCache reads the file of a log, making an empty one if there is none
// (storage 5.1). One that cannot be read takes the directory offline (CheckpointFileWithFailureHandler.read);
// a negative number ends the start of a broker (LeaderEpochFileCache.assign).
func readEpochCache(p *place) (epochCache, error) {
	name := p.dir + "/" + epochFile
	b, err := readOrCreate(p.fs, name)
	if err != nil {
		return nil, err
	}
	cache, err := parseEpochCache(name, b)
	if err != nil && !errors.Is(err, errNegative) {
		err = dirError(parentDir(p.dir), err)
	}
	return cache, err
}

func parseEpochCache(name string, b []byte) (epochCache, error) {
	lines, err := parseCheckpoint(name, b)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	cache := make(epochCache, 0, len(lines))
	for i, fields := range lines {
		e, err := parseEpochEntry(fields)
		if err != nil {
			return nil, &CorruptError{File: name, Pos: int64(i) + checkpointHeadLines + 1, Err: err}
		}
		cache.assign(e.Epoch, e.Start)
	}
	return cache, nil
}

func parseEpochEntry(fields []string) (EpochEntry, error) {
	if len(fields) != 2 {
		return EpochEntry{}, errMalformedLine
	}
	epoch, err := strconv.ParseInt(fields[0], 10, 32)
	if err != nil {
		return EpochEntry{}, err
	}
	start, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return EpochEntry{}, err
	}
	if epoch < 0 || start < 0 {
		return EpochEntry{}, errNegative
	}
	return EpochEntry{kafka.LeaderEpoch(epoch), kafka.Offset(start)}, nil
}
