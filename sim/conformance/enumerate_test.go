package conformance

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// Kafka's own loader on a sample of the enumerated crash states: every state that a power
// loss may leave in the middle of a workload of up to three operations is listed, and of
// each workload some are loaded by Kafka and by us (TestEveryCrashStateRecovers in
// model/log recovers all of ours). After the load and after a clean stop the offsets and
// all files must be the same; so must what a fetch at each offset gets, and the offset
// found for each timestamp.
func TestKafkaRecoversEnumeratedCrashStates(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		var done enumerated
		known := make(map[string]bool)
		for i, ops := range crashWorkloads() {
			personality := simdisk.Personality(i % 2)
			if personality == simdisk.PosixMinimum && slices.ContainsFunc(ops, func(o crashOp) bool { return o.name == "clean" }) {
				personality = simdisk.Ext4Ordered // that one may lose what is swapped in (package log)
			}
			l := newCrashLife(t, r, personality)
			l.run(ops)
			done.Workloads++
			done.Images += len(l.images)
			for _, image := range l.sample(imagesOfWorkload, known) {
				c := crashState{k: k, topic: l.topic, configs: l.configs, dir: filepath.Join(dir, fmt.Sprint(done.Recovered+done.Refused)), times: l.ts}
				if c.recover(t, image) {
					done.Recovered++
				} else {
					done.Refused++
				}
				done.Untimed += c.untimed
				if t.Failed() {
					t.Fatalf("%v, after %v", personality, ops)
				}
			}
		}
		t.Logf("Kafka %s: %+v", r.version, done)
		if done.Recovered < 300 {
			t.Error("that is too little")
		}
	})
}

// enumerated counts. Refused: Kafka does not start, and must not. Untimed: the
// timestamps were not looked up, since indexes are stale in Kafka.
type enumerated struct{ Workloads, Images, Recovered, Refused, Untimed int }

const (
	imagesOfWorkload = 2
	triesOfMoment    = 256 // images of one moment
)

type crashOp struct {
	name string
	do   func(*crashLife)
}

func (o crashOp) String() string { return o.name }

var crashSteps = []crashOp{
	{"append", (*crashLife).append},
	{"transaction", (*crashLife).transact},
	{"roll", (*crashLife).roll},
	{"flush", (*crashLife).flush},
	{"background flush", (*crashLife).flushRolled},
	{"checkpoint", (*crashLife).checkpoint},
	{"truncate", (*crashLife).truncate},
	{"delete records", (*crashLife).deleteRecords},
	{"retention", (*crashLife).retain},
	{"clean", (*crashLife).clean},
	{"remove deleted", (*crashLife).removeDeleted},
}

// crashWorkloads are all of one and two operations and some of three.
func crashWorkloads() (out [][]crashOp) {
	n := len(crashSteps)
	for i, a := range crashSteps {
		out = append(out, []crashOp{a})
		for j, b := range crashSteps {
			out = append(out, []crashOp{a, b}, []crashOp{a, b, crashSteps[(3*i+5*j)%n]})
		}
	}
	return out
}

// crashLife is the life of one log on a simulated disk.
type crashLife struct {
	*testing.T
	topic   goldenTopic
	configs func(string) *log.Config
	disk    *simdisk.Disk
	manager *log.Manager
	log     *log.Log
	builder record.Builder
	ts      kafka.TimestampMs
	armed   bool
	images  map[string]*simdisk.Disk // by fingerprint
}

// newCrashLife has a rolled segment and an active one, all of it synced.
func newCrashLife(t *testing.T, r release, p simdisk.Personality) *crashLife {
	l := &crashLife{T: t, images: make(map[string]*simdisk.Disk)}
	l.topic = goldenTopic{Name: "orders", ID: kafka.TopicID{1}.String(), Settings: map[string]string{
		r.segmentBytes: "700", "segment.index.bytes": "48", "index.interval.bytes": "100",
		"cleanup.policy": "compact,delete", "retention.bytes": "400", "retention.ms": "-1", "min.cleanable.dirty.ratio": "0",
	}}
	l.configs = (&manifest{Topics: []goldenTopic{l.topic}}).configs(t)
	cfg := l.configs(l.topic.Name)
	cfg.LimitFollowerAppend, cfg.CleanerDropsEnd = true, !r.kraft
	l.disk = simdisk.New(simdisk.Config{Personality: p}, func(string, uint64) uint64 { return 1 })
	fs := &syncing{FS: l.disk, before: l.look}
	check(t, fs.MkdirAll("data"))
	check(t, fs.SyncDir(""))
	l.manager = load(t, fs, "data", l.configs, 0)
	var err error
	l.log, err = l.manager.Create(tp(l.topic.Name), kafka.TopicID{1}, 0)
	check(t, err)
	l.roll()
	l.append()
	l.flushRolled()
	l.flush()
	l.removeDeleted()
	l.checkpoint()
	check(t, fs.SyncDir("data/orders-0"))
	check(t, fs.SyncDir("data"))
	return l
}

// run collects the images of the last operation; those before have their own workloads.
func (l *crashLife) run(ops []crashOp) {
	for _, op := range ops[:len(ops)-1] {
		op.do(l)
	}
	l.armed = true
	ops[len(ops)-1].do(l)
	l.look()
}

func (l *crashLife) look() {
	if !l.armed {
		return
	}
	l.disk.EachCrashState(0, triesOfMoment, func(d *simdisk.Disk) bool {
		l.images[d.Fingerprint()] = d
		return true
	})
}

// sample is n of the images that are not known yet, the same in each run.
func (l *crashLife) sample(n int, known map[string]bool) (out []*simdisk.Disk) {
	type drawn struct {
		at uint64
		id string
	}
	var all []drawn
	for id := range l.images {
		if known[id] {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(id))
		all = append(all, drawn{h.Sum64(), id})
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Compare(a.at, b.at) })
	for _, d := range all[:min(n, len(all))] {
		known[d.id] = true
		image := l.images[d.id]
		image.Crash(simdisk.Kill, 0)
		out = append(out, image)
	}
	return out
}

func (l *crashLife) put(o record.BatchOptions) {
	l.builder.Reset(o)
	for i := range 2 {
		l.ts++
		l.builder.Append(l.ts, fmt.Appendf(nil, "%c%d", 'a'+l.ts/2%2, i), []byte(strings.Repeat("v", 40)), nil)
	}
	b, err := l.builder.Build()
	check(l, err)
	l.send(b, log.Client)
}

func (l *crashLife) send(b record.Batch, from log.Origin) {
	_, verdict, err := l.log.Append(b, &log.LeaderAppend{Epoch: 1, Now: l.ts, Origin: from})
	check(l, err)
	if verdict.Code != kafka.None {
		l.Fatal(verdict.Message)
	}
	l.log.SetHighWatermark(l.log.LogEndOffset())
}

func (l *crashLife) append() { l.put(nextOf(l.log, 5)) }

// transact writes an aborted transaction.
func (l *crashLife) transact() {
	o := nextOf(l.log, 6)
	o.Transactional = true
	l.put(o)
	b, err := record.MarkerBatch(record.Marker{ProducerID: 6}, 0, kafka.NoLeaderEpoch, l.ts)
	check(l, err)
	l.send(b, log.Coordinator)
}

// roll appends until there is one more segment.
func (l *crashLife) roll() {
	for n := len(l.log.Segments()); len(l.log.Segments()) == n; {
		l.append()
	}
}

func (l *crashLife) flush() { check(l, l.log.Flush(l.log.LogEndOffset(), l.ts)) }

func (l *crashLife) flushRolled() {
	job, ok := l.log.PendingFlush()
	if !ok {
		return
	}
	for _, f := range job.Files {
		check(l, f.Sync())
	}
	for _, dir := range job.Dirs {
		l.look()
		check(l, l.disk.SyncDir(dir))
	}
	check(l, l.log.FlushDone(job, l.ts, nil))
}

func (l *crashLife) checkpoint() {
	check(l, l.manager.WriteRecoveryPoints())
	check(l, l.manager.WriteLogStartOffsets())
	check(l, l.manager.WriteHighWatermarks())
}

// truncate drops the newest records, to inside a batch.
func (l *crashLife) truncate() {
	_, err := l.log.TruncateTo(max(0, l.log.LogEndOffset()-3), l.ts)
	check(l, err)
	check(l, l.manager.WriteRecoveryPoints())
}

func (l *crashLife) deleteRecords() {
	_, code, err := l.log.DeleteRecords(min(l.log.LogStartOffset()+3, l.log.HighWatermark()))
	check(l, err)
	if code != kafka.None {
		l.Fatal(code)
	}
}

func (l *crashLife) retain() {
	_, err := l.log.DeleteOldSegments(l.ts)
	check(l, err)
}

func (l *crashLife) clean() {
	part, err := l.log.CleanRange(l.ts)
	check(l, err)
	c := l.log.BeginCleaning(log.CleanParams{Range: part, Now: l.ts, MapBytes: cleanMapBytes, ReadBytes: cleanReadBytes, Seed: 1})
	for done := false; !done; {
		done, err = c.Step()
		check(l, err)
	}
	check(l, l.manager.WriteCleanerOffsets())
}

func (l *crashLife) removeDeleted() { check(l, log.RemoveFiles(l.disk, l.log.TakeDeleted())) }

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
