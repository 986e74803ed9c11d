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
	sound kafka.Offset // base of the segment that is torn; the indexes below it are right
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
	// torn is the segment that a truncation has cut which no flush has synced since,
	// noSuchOffset if there is none. Until then a power loss may leave it, as in a broker, with what was
	// cut, or with index entries behind its end, and the segments behind it in their
	// place: they lie below the recovery point, so that no recovery looks.
	torn        kafka.Offset
	personality simdisk.Personality
	checked     int             // images that were recovered
	known       map[string]bool // what images holds
	// cleaned: a cleaning may have dropped a synced record in favour of a newer one that is
	// not synced, as in a broker: it asks for the high watermark, not for the disk.
	cleaned bool
	// unordered: the disk does not keep the order of renames, and segments were deleted.
	// One that comes back may lack its time index, and as in a broker has an empty one then.
	unordered bool
	// raised: the log start has moved. If the epoch file tells of it and the checkpoint does
	// not, the first recovery may drop an epoch that the second learns anew, as in a broker.
	raised  bool
	limit   int  // tries a moment
	partial bool // a moment had more
}

func newEnumeration(t *testing.T, p simdisk.Personality, limit int) *enumeration {
	e := &enumeration{T: t, cfg: smallConfig(), ever: map[string]bool{}, known: map[string]bool{}, cut: noSuchOffset, torn: noSuchOffset, limit: limit, personality: p}
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
		if id := fmt.Sprint(e.torn, d.Fingerprint()); !e.known[id] {
			e.known[id] = true
			e.images = append(e.images, crashImage{d, e.torn})
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
		e.torn = noSuchOffset
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
	e.torn = min(e.torn, e.log.segments[e.log.floorIndex(to)].base)
	_, err := e.log.TruncateTo(to, e.ts)
	check(e, err)
	check(e, e.manager.WriteRecoveryPoints())
	e.seq = e.log.lastSequenceOf(5)
	e.noteDeletion()
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
	e.noteDeletion()
}

func (e *enumeration) noteDeletion() {
	e.unordered = e.unordered || e.personality == simdisk.PosixMinimum && len(e.log.deleted) > 0
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
// that of each moment only the first posixTries are taken then.
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

const posixTries = 2000

func everyWorkload(t *testing.T, which *regexp.Regexp) {
	for _, p := range personalities {
		tries := crashTries
		if p.Personality == simdisk.PosixMinimum {
			tries = posixTries
		}
		ops := opsOf(p.Personality)
		for _, a := range ops {
			if !which.MatchString(p.name + " " + a.name) {
				continue
			}
			c := &crashCount{seen: map[string]bool{}}
			c.run(t, p.Personality, []crashOp{a}, tries)
			for _, b := range ops {
				c.run(t, p.Personality, []crashOp{a, b}, tries)
				for _, last := range ops {
					c.run(t, p.Personality, []crashOp{a, b, last}, tries)
				}
			}
			c.log(t, p.name+", first "+a.name)
			if c.partial > 0 && p.Personality == simdisk.Ext4Ordered {
				t.Errorf("%d workloads have moments with more than %d states", c.partial, crashTries)
			}
		}
	}
}
