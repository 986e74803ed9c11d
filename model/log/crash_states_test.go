package log

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// Every state that a power loss can leave: workloads of a few operations run on a simulated
// disk; before each sync, and at the end, every image that the disk may have after a power
// loss is recovered and looked at. What a loss between two syncs leaves is among those of
// the next one, since what came later may be lost, too.

var allCrashStates = flag.String("crash-states", "", "enumerate the crash states of all workloads of up to three `operations` whose disk and first one match this, such as 'ext4 (append|roll)'; . for all")

// syncing calls before each sync.
type syncing struct {
	vfs.FS
	before func()
}

type syncingFile struct {
	vfs.File
	fs *syncing
}

func (s *syncing) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return syncingFile{f, s}, nil
}

func (s *syncing) Create(name string) (vfs.File, error) { return s.wrap(s.FS.Create(name)) }
func (s *syncing) Open(name string) (vfs.File, error)   { return s.wrap(s.FS.Open(name)) }

func (s *syncing) SyncDir(name string) error {
	s.before()
	return s.FS.SyncDir(name)
}

func (f syncingFile) Sync() error {
	f.fs.before()
	return f.File.Sync()
}

// promise is what a log owes its readers at some moment.
type promise struct {
	batches []record.Batch
	// safe: everything below it is synced, and no unsynced truncation has reached it.
	safe  kafka.Offset
	start kafka.Offset // log start
	hw    kafka.Offset // in the checkpoint that was written last
}

type crashImage struct {
	*simdisk.Disk
	torn bool
}

// enumeration is a workload under way.
type enumeration struct {
	*testing.T
	disk    *simdisk.Disk
	cfg     *Config
	manager *Manager
	log     *Log
	cut     kafka.Offset // lowest offset truncated to
	hw      kafka.Offset
	ever    map[string]bool
	seq     int32
	ts      kafka.TimestampMs
	armed   bool
	images  []crashImage // since the last operation ended
	// torn is the segment that a truncation has cut which no flush has synced since, -1 if
	// there is none. Until then a power loss may leave it, as in a broker, with what was
	// cut, or with index entries behind its end, and the segments behind it in their
	// place: they lie below the recovery point, so that no recovery looks.
	torn    kafka.Offset
	checked int             // images that were recovered
	known   map[string]bool // what images holds
	// cleaned: a cleaning may have dropped a synced record in favour of a newer one that is
	// not synced, as in a broker: it asks for the high watermark, not for the disk.
	cleaned bool
	// raised: the log start has moved. If the epoch file tells of it and the checkpoint does
	// not, the first recovery may drop an epoch that the second learns anew, as in a broker.
	raised  bool
	limit   int  // tries a moment
	partial bool // a moment had more
}

func newEnumeration(t *testing.T, p simdisk.Personality, limit int) *enumeration {
	e := &enumeration{T: t, cfg: smallConfig(), ever: map[string]bool{}, known: map[string]bool{}, cut: noSuchOffset, torn: -1, limit: limit}
	e.cfg.Compact, e.cfg.Delete = true, true
	e.cfg.SegmentBytes, e.cfg.SegmentIndexBytes, e.cfg.IndexIntervalBytes = 1200, 48, 100
	e.cfg.RetentionBytes, e.cfg.MinCleanableRatio = 400, 0
	e.disk = simdisk.New(simdisk.Config{Personality: p}, seededDraws(1))
	fs := &syncing{FS: e.disk, before: e.look}
	check(t, fs.MkdirAll("data"))
	check(t, fs.SyncDir(""))
	e.manager = loadManager(t, fs, "data", e.cfg)
	var err error
	e.log, err = e.manager.Create(tp("orders", 0), kafka.TopicID{1}, 1)
	check(t, err)
	// A rolled segment and an active one, all of it synced.
	e.append()
	e.append()
	e.append()
	rollNow(t, e.log, e.ts)
	e.append()
	e.flushRolled()
	e.flush()
	e.checkpoint()
	check(t, fs.SyncDir(testDir))
	check(t, fs.SyncDir("data"))
	e.armed = true
	return e
}

// look collects the images of a power loss now.
func (e *enumeration) look() {
	if !e.armed {
		return
	}
	all := e.disk.EachCrashState(0, e.limit, func(d *simdisk.Disk) bool {
		if id := fmt.Sprint(e.torn >= 0, d.Fingerprint()); !e.known[id] {
			e.known[id] = true
			e.images = append(e.images, crashImage{d, e.torn >= 0})
		}
		return true
	})
	e.partial = e.partial || !all
}

func (e *enumeration) promise() promise {
	return promise{batchesOf(e, e.log), min(e.log.RecoveryPoint(), e.cut), e.log.LogStartOffset(), e.hw}
}

func (e *enumeration) append() {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 5, 0, e.seq
	e.seq += 2
	var bd record.Builder
	bd.Reset(o)
	for i := range 2 {
		e.ts++
		bd.Append(e.ts, []byte{'a' + byte(e.seq/2%2), byte(i)}, []byte(strings.Repeat("v", 40)), nil)
	}
	b, err := bd.Build()
	check(e, err)
	e.ever[string(appendLeader(e, e.log, b, 1, e.ts).Batch)] = true
	e.log.SetHighWatermark(e.log.LogEndOffset())
}

func (e *enumeration) roll() { rollNow(e, e.log, e.ts) }

func (e *enumeration) flush() {
	first := e.log.segments[max(0, e.log.floorIndex(e.log.RecoveryPoint()))].base
	synced := e.log.LogEndOffset() > e.log.RecoveryPoint()
	check(e, e.log.Flush(e.log.LogEndOffset(), e.ts))
	if synced && first <= e.torn {
		e.torn = -1
	}
}

// flushRolled is the background flush of a roll, under which nothing else happens.
func (e *enumeration) flushRolled() {
	job, ok := e.log.PendingFlush()
	if !ok {
		return
	}
	for _, f := range job.Files {
		check(e, f.Sync())
	}
	for _, dir := range job.Dirs {
		check(e, e.log.fs.SyncDir(dir))
	}
	check(e, e.log.FlushDone(job, e.ts, nil))
}

func (e *enumeration) checkpoint() {
	check(e, e.manager.WriteRecoveryPoints())
	check(e, e.manager.WriteLogStartOffsets())
	check(e, e.manager.WriteHighWatermarks())
	e.hw = e.log.HighWatermark()
}

// truncate drops the newest records, to inside a batch.
func (e *enumeration) truncate() {
	to := max(0, e.log.LogEndOffset()-3)
	for _, b := range batchesOf(e, e.log) { // the batch that holds it goes whole
		if b.LastOffset() >= to {
			e.cut = min(e.cut, b.BaseOffset())
		}
	}
	e.torn = e.log.segments[e.log.floorIndex(to)].base
	_, err := e.log.TruncateTo(to, e.ts)
	check(e, err)
	check(e, e.manager.WriteRecoveryPoints())
	e.seq = e.log.lastSequenceOf(5)
}

func (e *enumeration) deleteRecords() {
	e.raised = true
	_, code, err := e.log.DeleteRecords(min(e.log.LogStartOffset()+3, e.log.HighWatermark()))
	check(e, err)
	equal(e, "code", code, kafka.None)
}

func (e *enumeration) retain() {
	e.raised = true
	_, err := e.log.DeleteOldSegments(e.ts)
	check(e, err)
}

func (e *enumeration) clean() {
	e.cleaned = true
	cleanNow(e, e.log, e.ts)
	for _, b := range batchesOf(e, e.log) {
		e.ever[string(b)] = true
	}
	check(e, e.manager.WriteCleanerOffsets())
}

func (e *enumeration) removeDeleted() { check(e, RemoveFiles(e.log.fs, e.log.TakeDeleted())) }

type crashOp struct {
	name string
	do   func(*enumeration)
}

func (o crashOp) String() string { return o.name }

var crashOps = []crashOp{
	{"append", (*enumeration).append},
	{"roll", (*enumeration).roll},
	{"flush", (*enumeration).flush},
	{"background flush", (*enumeration).flushRolled},
	{"checkpoint", (*enumeration).checkpoint},
	{"truncate", (*enumeration).truncate},
	{"delete records", (*enumeration).deleteRecords},
	{"retention", (*enumeration).retain},
	{"clean", (*enumeration).clean},
	{"remove deleted", (*enumeration).removeDeleted},
}

// crashCount is how many states were recovered.
type crashCount struct {
	workloads, images, states, partial int
	seen                               map[string]bool
}

// run enumerates the states of the last operation of a workload; those before are the
// states of a shorter one.
func (c *crashCount) run(t *testing.T, p simdisk.Personality, ops []crashOp, limit int) {
	defer func() {
		if t.Failed() {
			t.Logf("after %v", ops)
		}
	}()
	e := newEnumeration(t, p, limit)
	e.armed = false
	for _, op := range ops[:len(ops)-1] {
		op.do(e)
	}
	e.armed = true
	before := e.promise()
	ops[len(ops)-1].do(e)
	e.look()
	after := e.promise()
	c.workloads++
	if e.partial {
		c.partial++
	}
	owed := promise{before.batches, min(before.safe, after.safe), max(before.start, after.start), 0}
	digest := fmt.Sprintf("%d %d %d|", p, owed.safe, owed.start)
	for _, image := range e.images {
		c.images++
		if id := digest + image.Fingerprint(); !c.seen[id] {
			c.seen[id] = true
			c.states++
			e.recover(image, &owed)
		}
	}
}

// recover looks at what a start makes of one image.
func (e *enumeration) recover(image crashImage, owed *promise) {
	load := func() *Log {
		image.Crash(simdisk.Kill, 0)
		l := loadManager(e, image.Disk, "data", e.cfg).Get(tp("orders", 0))
		if l == nil {
			e.Fatalf("the partition is gone")
		}
		return l
	}
	l := load()
	got := batchesOf(e, l)
	e.keeps(l, got, owed)
	if !image.torn && !e.overlaps(got) {
		e.indexesAgree(l, got)
	}
	state := logState(e, l)
	again := load()
	equal(e, "state after a second recovery", logState(e, again), state)
	if !slices.Equal(l.epochs, again.epochs) && !e.raised {
		e.Fatalf("epochs %v, after a second recovery %v", l.epochs, again.epochs)
	}
	if e.checked++; e.checked%8 > 0 {
		return
	}
	appendLeader(e, again, keyedBatch(e, record.ClientOptions(), e.ts+10, "next=1"), 9, 1)
	equal(e, "end", again.LogEndOffset(), l.LogEndOffset()+1)
	check(e, again.Close(true, 1))
}

// keeps: what was synced is there, of each key the newest record at least; nothing that
// was never written is.
func (e *enumeration) keeps(l *Log, got []record.Batch, owed *promise) {
	for _, b := range got {
		if !e.ever[string(b)] {
			e.Fatalf("a batch at %d was never written", b.BaseOffset())
		}
	}
	have := map[kafka.Offset]bool{}
	for _, b := range got {
		records, err := b.Records(nil)
		check(e, err)
		for i := range records {
			have[records[i].Offset] = true
		}
	}
	newest := map[string]kafka.Offset{}
	for _, b := range owed.batches {
		records, err := b.Records(nil)
		check(e, err)
		for i := range records {
			o, key := records[i].Offset, string(records[i].Key)
			switch {
			case o >= owed.safe && e.cleaned:
				delete(newest, key)
			case o < owed.safe && o >= owed.start:
				newest[key] = o
			}
		}
	}
	for key, o := range newest {
		if !have[o] {
			e.Fatalf("the newest synced record of %q, at %d, is not there", key, o)
		}
	}
	// A truncation that leaves an empty segment, as in a compacted log, leaves no end either.
	if l.LogEndOffset() < owed.safe && e.cut == noSuchOffset {
		e.Fatalf("the log ends at %d, synced was %d", l.LogEndOffset(), owed.safe)
	}
	if hw := l.HighWatermark(); hw < l.LogStartOffset() || hw > l.LogEndOffset() {
		e.Fatalf("high watermark %d outside of %d to %d", hw, l.LogStartOffset(), l.LogEndOffset())
	}
}

// overlaps tells that segments which a truncation has deleted are there again behind what
// was appended since: their renames were lost, as no sync of the directory is asked for.
func (e *enumeration) overlaps(got []record.Batch) bool {
	for i := 1; i < len(got); i++ {
		if got[i].BaseOffset() < got[i-1].NextOffset() {
			if e.cut == noSuchOffset {
				e.Fatalf("batches at %d overlap", got[i].BaseOffset())
			}
			return true
		}
	}
	return false
}

// indexesAgree compares every lookup with a scan.
func (e *enumeration) indexesAgree(l *Log, got []record.Batch) {
	for _, s := range l.segments {
		check(e, s.loadIndexes(&l.place))
		for i := range s.offsets.count() {
			pos := s.offsets.entries.key(i, positionColumn())
			h, _, err := s.header(pos)
			check(e, err)
			if h == nil || int64(h.LastOffset()-s.base) != s.offsets.entries.key(i, offsetColumn()) {
				e.Fatalf("segment %d: index entry %d points to no such batch", s.base, i)
			}
		}
	}
	for o := l.LogStartOffset(); o < l.LogEndOffset(); o++ {
		i := slices.IndexFunc(got, func(b record.Batch) bool { return b.LastOffset() >= o })
		read, err := l.Read(o, 1, l.LogEndOffset(), true)
		check(e, err)
		switch {
		case i < 0 && len(read.Records) > 0, i >= 0 && string(read.Records) != string(got[i]):
			e.Fatalf("a read at %d finds another batch than a scan", o)
		}
	}
	if len(l.segments) > 1 && l.segments[1].base <= l.LogStartOffset() {
		return // a lookup by time ends in the first segment as new, whatever the log start
	}
	var all []record.Record
	newest := kafka.NoTimestamp
	for _, b := range got {
		records, err := b.Records(nil)
		check(e, err)
		all = append(all, records...)
		newest = max(newest, b.MaxTimestamp())
	}
	for ts := kafka.TimestampMs(1); ts <= newest; ts++ {
		want := noOffset().Offset
		i := slices.IndexFunc(all, func(r record.Record) bool { return r.Timestamp >= ts && r.Offset >= l.LogStartOffset() })
		if i >= 0 {
			want = all[i].Offset
		}
		found, err := l.OffsetForTimestamp(ts, l.LogEndOffset())
		check(e, err)
		equal(e, fmt.Sprint("offset for timestamp ", ts), found.Offset, want)
	}
}

// logState is all that a log knows but its epochs.
func logState(t testingT, l *Log) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), l.RecoveryPoint(), l.cleanedTo, l.cleaned)
	for _, p := range l.Producers() {
		fmt.Fprintf(&b, "%+v\n", p)
	}
	for _, s := range l.segments {
		check(t, s.loadIndexes(&l.place))
		fmt.Fprintf(&b, "%d %d %x %x\n", s.base, s.size, []byte(s.offsets.entries), []byte(s.times.entries))
	}
	for _, batch := range batchesOf(t, l) {
		b.WriteString(string(batch))
	}
	return b.String()
}

// opsOf are the operations of the workloads on a disk. Without an order of renames a power
// loss while a segment is swapped in may lose it, as in a broker (package comment).
func opsOf(p simdisk.Personality) []crashOp {
	if p == simdisk.PosixMinimum {
		return slices.DeleteFunc(slices.Clone(crashOps), func(o crashOp) bool { return o.name == "clean" })
	}
	return crashOps
}

// crashTries bounds the images of one moment.
const crashTries = 1 << 16

func (c *crashCount) log(t *testing.T, what string) {
	t.Logf("%s: %d workloads, %d images, %d different states, %d workloads had more", what, c.workloads, c.images, c.states, c.partial)
}

var personalities = []struct {
	name string
	simdisk.Personality
}{{"ext4", simdisk.Ext4Ordered}, {"posix", simdisk.PosixMinimum}}

// TestEveryCrashStateRecovers enumerates workloads of one operation, and some of two; with
// -crash-states all of up to three. Without an order of renames the states are so many
// that of workloads of three only those with fewer than crashTries are complete.
func TestEveryCrashStateRecovers(t *testing.T) {
	if *allCrashStates != "" {
		everyWorkload(t, regexp.MustCompile(*allCrashStates))
		return
	}
	for _, p := range personalities {
		c := &crashCount{seen: map[string]bool{}}
		ops := opsOf(p.Personality)
		for i, a := range ops {
			c.run(t, p.Personality, []crashOp{a}, crashTries)
			for j, b := range ops {
				if p.Personality == simdisk.Ext4Ordered && (i+3*j)%11 == 0 {
					c.run(t, p.Personality, []crashOp{a, b}, crashTries)
				}
			}
		}
		c.log(t, p.name)
	}
}

func everyWorkload(t *testing.T, which *regexp.Regexp) {
	for _, p := range personalities {
		ops := opsOf(p.Personality)
		for _, a := range ops {
			if !which.MatchString(p.name + " " + a.name) {
				continue
			}
			c := &crashCount{seen: map[string]bool{}}
			c.run(t, p.Personality, []crashOp{a}, crashTries)
			for _, b := range ops {
				c.run(t, p.Personality, []crashOp{a, b}, crashTries)
				for _, last := range ops {
					c.run(t, p.Personality, []crashOp{a, b, last}, crashTries)
				}
			}
			c.log(t, p.name+", first "+a.name)
			if c.partial > 0 && p.Personality == simdisk.Ext4Ordered {
				t.Errorf("%d workloads have moments with more than %d states", c.partial, crashTries)
			}
		}
	}
}
