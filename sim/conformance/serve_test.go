package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"github.com/simkafka/simkafka/sim/osfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// A real broker starts on what simkafka wrote: on the disks of random histories that
// ended in a power failure, and of a simulated cluster. It must recover what we recover,
// serve every record, append, and stop with the bytes that we have after the same
// appends; and we must read what it leaves.
func TestKafkaServesAndExtendsOurLogs(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		s := &serving{t: t, r: r, c: newRealBroker(t, r, quietSettings...), stage: vfstest.NewMem(), epochs: make(map[string]int32), refused: make(map[string]vfs.FS)}
		s.run()
	})
}

// serving is one such meeting.
type serving struct {
	t      *testing.T
	r      release
	c      *realBroker
	topics []goldenTopic
	stage  *vfstest.Mem // what simkafka leaves

	dir     string // of ours, on a real disk
	ours    *log.Manager
	configs func(string) *log.Config
	epochs  map[string]int32  // of Kafka as leader
	refused map[string]vfs.FS // topics on which Kafka does not start, and their disks
}

func now() kafka.TimestampMs { return kafka.TimestampMs(time.Now().UnixMilli()) }

const (
	seeds          = 3
	topicsPerSeed  = 12
	lives          = 3
	opsPerTopic    = 14
	raisedEpoch    = 1000 // above all epochs that simkafka wrote
	epochAfterStop = 2    // a KRaft controller's next epoch of a topic whose broker came back
)

func (s *serving) run() {
	s.createTopics()
	s.stageHistories()
	if !s.r.kraft { // its epochs are higher than what a KRaft controller gives
		s.stageCluster()
	}
	s.giveToKafka()
	s.recoverOurs()
	s.c.start()
	s.compareRecovered()
	seen := s.extend()
	s.c.stop()
	s.compareExtended(seen)
	s.refuse()
}

// createTopics makes them on the real broker, which then stops.
func (s *serving) createTopics() {
	for seed := range uint64(seeds) {
		for _, topic := range randomTopics(s.r, seed, topicsPerSeed) {
			topic.Name += string(rune('a' + seed))
			s.topics = append(s.topics, topic)
		}
	}
	if !s.r.kraft {
		s.topics = append(s.topics, simulatedTopics(s.r)...)
	}
	s.configs = (&manifest{Topics: s.topics}).configs(s.t)
	s.c.start()
	for i := range s.topics {
		s.topics[i].ID = s.c.create(s.topics[i])
	}
	s.c.stop()
	var names []string
	for _, topic := range s.topics {
		names = append(names, topic.Name)
	}
	s.c.raiseEpochs(raisedEpoch, names)
}

func (s *serving) stageHistories() {
	check(s.t, s.stage.MkdirAll("data"))
	maxEpoch := kafka.LeaderEpoch(epochAfterStop - 1)
	if !s.r.kraft {
		maxEpoch = 8
	}
	for seed := range uint64(seeds) {
		topics := s.topics[seed*topicsPerSeed:][:topicsPerSeed]
		h := newHistory(s.t, seed, topics, maxEpoch, now())
		h.run(lives, opsPerTopic, simdisk.PowerLoss)
		for _, topic := range topics {
			if stopsKafka(s.t, h.disk, "data/"+topic.Name+"-0") {
				s.refused[topic.Name] = h.disk
			} else {
				s.take(h.disk, []goldenTopic{topic})
			}
		}
	}
	s.topics = slices.DeleteFunc(s.topics, func(topic goldenTopic) bool { return s.refused[topic.Name] != nil })
}

// refuse gives the rest to Kafka, each to a start of its own, which fails.
func (s *serving) refuse() {
	marker := filepath.Join(s.c.data(), ".kafka_cleanshutdown")
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		dir := filepath.Join(s.c.data(), name+"-0")
		check(s.t, os.RemoveAll(dir))
		copyOut(s.t, s.refused[name], "data/"+name+"-0", dir)
		check(s.t, os.RemoveAll(marker))
		if s.c.tryStart() || !strings.Contains(s.c.broker.tail(), "CorruptRecordException") {
			s.t.Errorf("Kafka starts on %s", name)
		}
		s.c.kill()
		check(s.t, os.RemoveAll(dir))
	}
	s.t.Logf("Kafka %s does not start on %d other logs of ours", s.r.version, len(s.refused))
}

// stopsKafka tells a log on which a broker does not start after a power failure: a
// segment has no offset index, and in one that Kafka reads before for its producers, from
// the newest snapshot on, zeros stand where a batch should begin. Kafka would cut them
// later (package log, "Where it differs").
func stopsKafka(t testing.TB, fs vfs.FS, dir string) bool {
	t.Helper()
	names, err := fs.List(dir)
	check(t, err)
	torn := "" // the last segment with zeros
	snapshot := ""
	for _, name := range names { // a base's .index, .log, .snapshot
		base, suffix, _ := strings.Cut(name, ".")
		switch suffix {
		case "snapshot":
			if b := read(t, fs, dir+"/"+name); validSnapshot(b) {
				snapshot = base
			}
		case "log":
			own := base + ".snapshot"
			covered := torn == "" || snapshot > torn || slices.Contains(names, own) && validSnapshot(read(t, fs, dir+"/"+own))
			if !covered && !slices.Contains(names, base+".index") {
				return true
			}
			if hasZeros(read(t, fs, dir+"/"+name)) {
				torn = base
			}
		}
	}
	return false
}

// hasZeros tells that a log file has a batch without a length.
func hasZeros(b []byte) bool {
	for len(b) > 0 {
		_, rest, err := record.Next(b)
		if corrupt := (*record.CorruptError)(nil); errors.As(err, &corrupt) {
			return true
		}
		if err != nil {
			return false
		}
		b = rest
	}
	return false
}

// stageCluster takes the replicas of a simulated cluster, each from another broker.
func (s *serving) stageCluster() {
	c, _ := troubled(s.t, 1)
	for i, topic := range simulatedTopics(s.r) {
		for _, name := range []kafka.NodeID{kafka.NodeID(i%3 + 1), kafka.NodeID((i+1)%3 + 1)} {
			disk := c.Disk(name)
			there, err := vfs.Exists(disk, "data/"+topic.Name+"-0")
			check(s.t, err)
			if there {
				s.take(disk, []goldenTopic{topic})
				break
			}
		}
		id := s.topics[len(s.topics)-len(simulatedTopics(s.r))+i].ID
		check(s.t, log.WriteTopicID(s.stage, "data/"+topic.Name+"-0", topicID(s.t, id)))
	}
}

// take copies the topics' directories and their lines of the checkpoints to the stage.
func (s *serving) take(disk vfs.FS, topics []goldenTopic) {
	for _, topic := range topics {
		copyTree(s.t, disk, "data/"+topic.Name+"-0", s.stage, "data/"+topic.Name+"-0")
	}
	for _, name := range []string{log.HighWatermarkCheckpoint, log.RecoveryPointCheckpoint, log.LogStartOffsetCheckpoint} {
		all, err := log.ReadOffsetCheckpoint(s.stage, "data", name)
		check(s.t, err)
		entries, err := log.ReadOffsetCheckpoint(disk, "data", name)
		check(s.t, err)
		for _, e := range entries {
			for _, topic := range topics {
				if e.TP == tp(topic.Name) {
					all = append(all, e)
				}
			}
		}
		check(s.t, log.WriteOffsetCheckpoint(s.stage, "data", name, all))
	}
}

// giveToKafka puts the stage into the place of what the broker had.
func (s *serving) giveToKafka() {
	for _, topic := range s.topics {
		check(s.t, os.RemoveAll(filepath.Join(s.c.data(), topic.Name+"-0")))
	}
	check(s.t, os.Remove(filepath.Join(s.c.data(), ".kafka_cleanshutdown")))
	copyOut(s.t, s.stage, "data", s.c.data())
	if !s.r.kraft { // version 0 is ours to write
		fs := osfs.New(s.c.dir)
		p, _, err := log.ReadMetaProperties(fs, "data")
		check(s.t, err)
		check(s.t, log.WriteMetaProperties(fs, "data", p, "Tue Nov 14 22:13:20 UTC 2023"))
	}
}

// recoverOurs loads the stage with our own code, on a real disk.
func (s *serving) recoverOurs() {
	s.dir = s.t.TempDir()
	copyOut(s.t, s.stage, "data", filepath.Join(s.dir, "data"))
	s.ours = load(s.t, osfs.New(s.dir), "data", s.configs, now())
}

// compareRecovered compares where the logs start and end and what is in them.
func (s *serving) compareRecovered() {
	records := 0
	for _, topic := range s.topics {
		l := s.ours.Get(tp(topic.Name))
		kafkas := s.c.driver.offsets(topic.Name)
		check(s.t, l.AssignEpoch(kafka.LeaderEpoch(kafkas.Epoch), l.LogEndOffset()))
		sameEnds(s.t, topic, l, kafkas)
		s.epochs[topic.Name] = kafkas.Epoch
		last := l.LogStartOffset()
		check(s.t, l.Batches(last, func(b record.Batch) bool { last = b.NextOffset(); return true }))
		want := s.c.records(topic.Name, last)
		sameRecords(s.t, topic.Name, consumed(s.t, topic.Name, l, 1<<20), want)
		s.compareTimes(topic.Name, l, want)
		records += len(want)
	}
	s.t.Logf("Kafka %s recovered and served %d logs with %d records of ours", s.r.version, len(s.topics), records)
}

// compareTimes asks both logs what ListOffsets answers (storage 3.5): for the newest
// record, and for times before, in, between and after the records. That makes Kafka look
// up greatest timestamps, which shows in its time indexes when it closes them.
func (s *serving) compareTimes(topic string, l *log.Log, records []goldenRecord) {
	s.t.Helper()
	if len(records) == 0 {
		return
	}
	newest, err := l.MaxTimestampOffset(l.LogEndOffset())
	check(s.t, err)
	ours, words := []log.TimestampOffset{newest}, []string{"times", topic, "max"}
	first, middle, last := records[0].Timestamp, records[len(records)/2].Timestamp, records[len(records)-1].Timestamp
	for _, ts := range []int64{first - 1000, first, middle - 1, middle, middle + 1, last, int64(newest.Timestamp), int64(newest.Timestamp) + 1} {
		found, err := l.OffsetForTimestamp(kafka.TimestampMs(ts), l.LogEndOffset())
		check(s.t, err)
		ours, words = append(ours, found), append(words, strconv.FormatInt(ts, 10))
	}
	var text strings.Builder
	for _, o := range ours {
		fmt.Fprintf(&text, "%d %d %d ", o.Timestamp, o.Offset, o.Epoch)
	}
	if got, want := strings.TrimSpace(text.String()), strings.TrimSpace(s.c.driver.do(words...).words); got != want {
		s.t.Errorf("%s: %v\nours  %s\nKafka %s", topic, words[2:], got, want)
	}
}

// extend has real producers append to every log and returns what consumers then see.
func (s *serving) extend() map[string][]goldenRecord {
	w := &workload{d: s.c.driver}
	for _, codec := range []string{"none", "gzip", "zstd"} {
		w.d.do("producer", codec, "compression.type="+codec)
	}
	out := make(map[string][]goldenRecord)
	for i, topic := range s.topics {
		for j, codec := range []string{"none", "gzip", "zstd", "none", "none", "none"}[:2+i%5] {
			ts := int64(1_000_000 + 400*j)
			w.batch(codec, topic.Name, rec(ts, "appended", w.value(90), "by", "Kafka"), rec(ts-100, null, w.value(60)))
		}
		out[topic.Name] = s.c.records(topic.Name, math.MaxInt64)
	}
	return out
}

// compareExtended appends to ours what Kafka has appended; then the files must be the
// same, and we must read all that Kafka's consumers saw.
func (s *serving) compareExtended(want map[string][]goldenRecord) {
	left := vfstest.NewMem()
	copyIn(s.t, s.c.data(), left, "data")
	theirs := load(s.t, left, "data", s.configs, now())
	if !theirs.CleanStart() {
		s.t.Error("Kafka's clean stop is not seen")
	}
	for _, topic := range s.topics {
		l := s.ours.Get(tp(topic.Name))
		var kafkas []record.Batch
		check(s.t, theirs.Get(tp(topic.Name)).Batches(0, func(b record.Batch) bool {
			kafkas = append(kafkas, b)
			return true
		}))
		for _, b := range kafkas {
			if int32(b.PartitionLeaderEpoch()) == s.epochs[topic.Name] {
				_, err := l.AppendAsFollower(bytes.Clone(b), 0)
				check(s.t, err)
			}
		}
		check(s.t, log.RemoveFiles(osfs.New(s.dir), l.TakeDeleted()))
	}
	stopClean(s.t, s.ours, 0)
	for _, topic := range s.topics {
		dir := topic.Name + "-0"
		sameFiles(s.t, osfs.New(s.dir), "data/"+dir, filepath.Join(s.c.data(), dir))
		l := theirs.Get(tp(topic.Name))
		got := consumed(s.t, topic.Name, l, 1<<20)
		sameRecords(s.t, "after Kafka, "+topic.Name, got, want[topic.Name])
		if n := len(want[topic.Name]); n < 2 || !strings.Contains(*want[topic.Name][n-2].Key, "617070656e646564") {
			s.t.Errorf("%s: the records that Kafka appended are not the last", topic.Name)
		}
	}
}

// Kafka's DumpLogSegments accepts what random histories leave that end in a kill, a
// recovery and a clean stop. After a power failure an index that nobody recovers may
// be stale, in Kafka as well (storage trap 57).
func TestKafkaDumpsOurLogs(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		topics := randomTopics(r, 7, 30)
		for i := range topics {
			topics[i].ID = kafka.TopicID{byte(i + 1)}.String()
		}
		h := newHistory(t, 7, topics, 5, now())
		h.run(lives, opsPerTopic, simdisk.Kill)
		h.load()
		stopClean(t, h.manager, 0)
		dir := t.TempDir()
		copyOut(t, h.disk, "data", dir)
		seen := mustDump(t, r, dir)
		t.Logf("Kafka %s: %+v", r.version, seen)
		if seen.Aborted < 10 || seen.Producers < 100 {
			t.Error("that is too little")
		}
	})
}
