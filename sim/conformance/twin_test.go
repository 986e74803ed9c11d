package conformance

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/sim/simdisk"
)

const (
	twinSeeds  = 8
	twinTopics = 6
	twinLives  = 4
	twinOps    = 40 // of a topic in a life
)

// Kafka's own log classes live the same random histories as ours, operation by
// operation: after each one the log has the same start, end, high watermark, last stable
// offset, recovery point, epoch and number of segments; after each life and now and then
// between the directories are the same, byte for byte (storage 1.8, 2.2 to 2.4, 4, 5, 7,
// 8, 9).
func TestKafkaLivesTheSameHistories(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		var did twinCounts
		for seed := range uint64(twinSeeds) {
			w := newTwin(t, k, seed, filepath.Join(dir, strconv.FormatUint(seed, 10)))
			w.run()
			did.add(w.did)
			if t.Failed() {
				t.Fatalf("seed %d differs", seed)
			}
		}
		t.Logf("Kafka %s: %+v in %d histories", r.version, did, twinSeeds)
		if did.Cleanings < 50 || did.Deleted < 20 || did.Kills < 5 || did.Stops < 5 || did.Compared < 200 {
			t.Error("that is too little")
		}
	})
}

// twin is a history that Kafka lives, too, with what only the two do: background work,
// retention and cleaning.
type twin struct {
	*history
	did twinCounts
	at  kafka.TimestampMs // of cleanings and retention: above all records
}

// twinCounts are what happened.
type twinCounts struct{ Compared, Cleanings, Deleted, Kills, Stops int }

func (c *twinCounts) add(o twinCounts) {
	c.Compared += o.Compared
	c.Cleanings += o.Cleanings
	c.Deleted += o.Deleted
	c.Kills += o.Kills
	c.Stops += o.Stops
}

// withPolicies gives the topics something to clean and to delete.
func withPolicies(topics []goldenTopic, seed uint64) []goldenTopic {
	rnd := rand.New(rand.NewPCG(seed, 3))
	pick := func(values ...string) string { return values[rnd.IntN(len(values))] }
	for i := range topics {
		topics[i].ID = kafka.TopicID{byte(i + 1)}.String()
		s := topics[i].Settings
		s["cleanup.policy"] = pick("compact", "compact", "compact,delete", "delete")
		s["min.cleanable.dirty.ratio"] = pick("0.01", "0.3", "0.5")
		s["delete.retention.ms"] = pick("0", "100", "100000")
		if rnd.IntN(4) == 0 {
			s["min.compaction.lag.ms"] = pick("50", "400")
		}
		if rnd.IntN(4) == 0 {
			s["max.compaction.lag.ms"] = pick("500", "5000")
		}
		s["retention.ms"] = pick("-1", "1000", "86400000")
		if s["cleanup.policy"] != "delete" {
			s["retention.ms"] = "-1" // an emptied segment is as old as its file, by another clock
		}
		s["retention.bytes"] = pick("-1", "-1", "6000")
	}
	return topics
}

func newTwin(t testing.TB, k *kafkaLogs, seed uint64, dir string) *twin {
	t.Helper()
	w := prepareTwin(t, k.r, seed)
	w.kafka = k
	k.configure(dir, w.topics)
	w.begin()
	return w
}

// prepareTwin is a twin that Kafka does not live yet.
func prepareTwin(t testing.TB, r release, seed uint64) *twin {
	t.Helper()
	topics := withPolicies(randomTopics(r, seed, twinTopics), seed)
	w := &twin{history: prepareHistory(t, seed, topics, 8, now())}
	for _, topic := range topics {
		cfg := w.configs(topic.Name)
		cfg.LimitFollowerAppend, cfg.CleanerDropsEnd = true, !r.kraft // until KAFKA-17375; before 4.0
		w.at = max(w.at, w.clock[topic.Name])
	}
	return w
}

func (w *twin) run() {
	for range twinLives {
		for range twinOps * len(w.topics) {
			w.stepBoth(w.topics[w.rand.IntN(len(w.topics))].Name)
			if w.rand.IntN(30) == 0 {
				w.compare(true)
			}
		}
		w.background()
		w.compare(false)
		if w.rand.IntN(2) == 0 {
			w.did.Stops++
			stopClean(w.t, w.manager, 0)
			w.kafka.do(0, "stop")
		} else {
			w.did.Kills++
			w.disk.Crash(simdisk.Kill, 0)
			w.kafka.do(0, "kill")
		}
		w.compare(false)
		w.load()
		w.compare(true)
		w.background()
		w.compare(false)
	}
	w.kafka.do(0, "kill")
}

func (w *twin) compare(behind bool) {
	w.t.Helper()
	w.kafka.sameFiles(w.disk, behind)
	w.did.Compared++
}

func (w *twin) stepBoth(topic string) {
	l := w.manager.Get(tp(topic))
	switch n := w.rand.IntN(100); {
	case n < 5:
		w.background()
	case n < 10:
		w.setHighWatermark(topic, l, l.LogEndOffset())
		w.retention(topic, l)
	case n < 15:
		w.setHighWatermark(topic, l, l.LogEndOffset())
		w.clean()
	default:
		w.step(topic)
		if n < 18 { // the epoch file is Kafka's at the latest then
			w.background()
		}
	}
}

// later is a time after all records.
func (w *twin) later() kafka.TimestampMs {
	for _, at := range w.clock {
		w.at = max(w.at, at)
	}
	w.at += kafka.TimestampMs(w.rand.IntN(200))
	return w.at
}

func (w *twin) retention(topic string, l *log.Log) {
	at := w.later()
	done, err := l.DeleteOldSegments(at)
	check(w.t, err)
	w.did.Deleted += len(done.Deleted)
	w.kafka.change(at, "retention", topic)
}

// The cleaners have room for some keys and read little at once.
const (
	cleanMapBytes  = 24 * 12
	cleanReadBytes = 1024
	cleanPasses    = 4
)

// clean cleans the dirtiest log, and the next, until none is due.
func (w *twin) clean() {
	w.t.Helper()
	for range 1 + w.rand.IntN(cleanPasses) {
		at := w.later()
		cleaned := w.cleanOurs(at)
		if w.kafka == nil {
			continue
		}
		if theirs := w.kafka.do(at, "clean", cleanMapBytes, cleanReadBytes); theirs != cleaned {
			w.t.Fatalf("%s: cleaned is %s, Kafka says %s\nafter\n%s", w.kafka.r.version, cleaned, theirs, w.kafka.story())
		}
		if cleaned == "nothing" {
			return
		}
		w.did.Cleanings++
		w.compare(true)
	}
}

// cleanOurs does what the cleaner thread of model/broker does in many steps.
func (w *twin) cleanOurs(at kafka.TimestampMs) string {
	var best *log.Replica
	var dirtiest log.CleanRange
	all := w.manager.Replicas()
	for i := range all {
		r := &all[i]
		if !r.Log.Config().Compact {
			continue
		}
		part, err := r.Log.CleanRange(at)
		check(w.t, err)
		if r.Log.ResetCleanedTo(&part) {
			check(w.t, w.manager.WriteCleanerOffsets())
		}
		if part.Due(r.Log.Config()) && (best == nil || part.Dirtier(&dirtiest)) {
			best, dirtiest = r, part
		}
	}
	if best == nil {
		return "nothing"
	}
	c := best.Log.BeginCleaning(log.CleanParams{Range: dirtiest, Now: at, MapBytes: cleanMapBytes, ReadBytes: cleanReadBytes, Seed: 1})
	for done := false; !done; {
		var err error
		done, err = c.Step()
		check(w.t, err)
	}
	check(w.t, w.manager.WriteCleanerOffsets())
	end, _ := best.Log.CleanedTo()
	return fmt.Sprint(best.TP.Topic, " ", end)
}
