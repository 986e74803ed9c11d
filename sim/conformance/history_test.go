package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// history is a random life of several logs on one simulated disk, drawn from a seed:
// appends of all codecs by leaders and followers, idempotent producers, transactions,
// epochs, truncations, raised log starts, checkpoints, clean restarts, kills, and at
// the end a crash.
type history struct {
	t       testing.TB
	rand    *rand.Rand
	disk    *simdisk.Disk
	manager *log.Manager
	topics  []goldenTopic
	configs func(string) *log.Config
	// maxEpoch bounds the leader epochs: whoever reads the logs afterwards has
	// greater ones.
	maxEpoch kafka.LeaderEpoch
	epochs   map[string]kafka.LeaderEpoch
	clock    map[string]kafka.TimestampMs // of the next record
	builder  record.Builder
	values   int
	// kafka lives the same life, op by op, unless it is nil.
	kafka *kafkaLogs
	// packed: batches of compacted topics are compressed, too.
	packed bool
}

// randomTopics draws n topics with small segments.
func randomTopics(r release, seed uint64, n int) []goldenTopic {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(values ...int) string { return strconv.Itoa(values[rnd.IntN(len(values))]) }
	var out []goldenTopic
	for i := range n {
		s := map[string]string{
			r.segmentBytes:         strconv.Itoa(1100 + rnd.IntN(2000)),
			"index.interval.bytes": pick(0, 100, 250, 400),
			"segment.index.bytes":  pick(480, 485, 4096),
		}
		if rnd.IntN(3) == 0 {
			s["flush.messages"] = pick(1, 3, 10)
		}
		if rnd.IntN(4) == 0 {
			s["segment.ms"] = pick(100, 1000, 5000)
		}
		if rnd.IntN(5) == 0 {
			s["message.timestamp.type"] = "LogAppendTime"
		}
		if rnd.IntN(5) == 0 && s["flush.messages"] == "" {
			// A power failure may undo the trimming of a segment that was flushed
			// right before it was rolled, and nobody looks at it again.
			s["preallocate"] = "true"
		}
		out = append(out, goldenTopic{Name: fmt.Sprintf("random-%02d", i), Settings: s})
	}
	return out
}

// newHistory makes the logs of the topics, which have their ids by now. The records of
// every other topic are about now, so that their producers have not expired.
func newHistory(t testing.TB, seed uint64, topics []goldenTopic, maxEpoch kafka.LeaderEpoch, now kafka.TimestampMs) *history {
	t.Helper()
	h := prepareHistory(t, seed, topics, maxEpoch, now)
	h.begin()
	return h
}

func prepareHistory(t testing.TB, seed uint64, topics []goldenTopic, maxEpoch kafka.LeaderEpoch, now kafka.TimestampMs) *history {
	t.Helper()
	h := &history{
		t: t, rand: rand.New(rand.NewPCG(seed, 2)), topics: topics, maxEpoch: maxEpoch,
		configs: (&manifest{Topics: topics}).configs(t),
		epochs:  make(map[string]kafka.LeaderEpoch), clock: make(map[string]kafka.TimestampMs),
	}
	personality := simdisk.Personality(seed % 2)
	h.disk = simdisk.New(simdisk.Config{Personality: personality}, func(name string, index uint64) uint64 {
		x := seed + index*0xbf58476d1ce4e5b9
		for _, c := range []byte(name) {
			x = (x ^ uint64(c)) * 0x100000001b3
		}
		x = (x ^ x>>30) * 0x94d049bb133111eb
		return x ^ x>>31
	})
	for i, topic := range topics {
		h.clock[topic.Name] = baseTime
		if i%2 == 0 {
			h.clock[topic.Name] = now - 3_600_000
		}
	}
	return h
}

// begin makes the logs.
func (h *history) begin() {
	check(h.t, h.disk.MkdirAll("data"))
	h.load()
	for _, topic := range h.topics {
		l, err := h.manager.Create(tp(topic.Name), topicID(h.t, topic.ID), 0)
		check(h.t, err)
		h.kafka.change(0, "create", topic.Name, topic.ID)
		check(h.t, l.AssignEpoch(0, 0))
		h.kafka.change(0, "epoch", topic.Name, "0 0")
	}
	// The directories are old; only what is in them is at stake.
	check(h.t, h.disk.SyncDir(""))
	check(h.t, h.disk.SyncDir("data"))
}

// load starts without the expiry of old producers.
func (h *history) load() {
	h.manager = load(h.t, h.disk, "data", h.configs, 0)
	h.kafka.load(h.manager)
}

// run lives the lives, of which the last ends in the given crash.
func (h *history) run(lives, opsPerTopic int, end simdisk.CrashKind) {
	h.t.Helper()
	for i := range lives {
		for range opsPerTopic * len(h.topics) {
			h.step(h.topics[h.rand.IntN(len(h.topics))].Name)
		}
		switch {
		case i == lives-1:
			h.disk.Crash(end, 0)
			return
		case h.rand.IntN(2) == 0:
			stopClean(h.t, h.manager, 0)
		default:
			h.disk.Crash(simdisk.Kill, 0)
		}
		h.load()
	}
}

func (h *history) step(topic string) {
	l := h.manager.Get(tp(topic))
	switch n := h.rand.IntN(100); {
	case n < 25:
		h.produce(topic, l, record.ClientOptions())
	case n < 40:
		h.produce(topic, l, h.idempotent(l))
	case n < 55:
		h.transact(topic, l)
	case n < 70:
		h.replicate(topic, l)
	case n < 78:
		if h.epochs[topic] < h.maxEpoch {
			h.epochs[topic]++
			check(h.t, l.AssignEpoch(h.epochs[topic], l.LogEndOffset()))
			h.kafka.change(0, "epoch", topic, h.epochs[topic], l.LogEndOffset())
		}
	case n < 84:
		h.truncate(topic, l)
	case n < 86:
		h.setHighWatermark(topic, l, l.LogEndOffset())
		start := h.between(l.LogStartOffset(), l.LogEndOffset())
		_, err := l.MaybeIncrementLogStartOffset(start)
		check(h.t, err)
		h.kafka.change(0, "raise-start", topic, start)
		check(h.t, h.manager.WriteLogStartOffsets())
		h.kafka.do(0, "starts")
	case n < 92:
		h.setHighWatermark(topic, l, h.between(l.HighWatermark(), l.LogEndOffset()))
		check(h.t, h.manager.WriteHighWatermarks())
	default:
		h.writeRecoveryPoints()
	}
	check(h.t, l.Failure())
	if h.kafka == nil {
		check(h.t, log.RemoveFiles(h.disk, l.TakeDeleted()))
	}
}

// background does what waits for the scheduler: flushes, and the removal of files.
func (h *history) background() {
	h.t.Helper()
	for _, r := range h.manager.Replicas() {
		if job, ok := r.Log.PendingFlush(); ok {
			for _, f := range job.Files {
				check(h.t, f.Sync())
			}
			for _, dir := range job.Dirs {
				check(h.t, h.disk.SyncDir(dir))
			}
			check(h.t, r.Log.FlushDone(job, 0, nil))
		}
		check(h.t, log.RemoveFiles(h.disk, r.Log.TakeDeleted()))
	}
	h.kafka.do(0, "tasks")
	for _, topic := range h.topics {
		h.kafka.change(0, "state", topic.Name)
	}
}

func (h *history) setHighWatermark(topic string, l *log.Log, o kafka.Offset) {
	l.SetHighWatermark(o)
	h.kafka.change(0, "high-watermark", topic, o)
}

func (h *history) writeRecoveryPoints() {
	check(h.t, h.manager.WriteRecoveryPoints())
	h.kafka.do(0, "recovery-points")
}

// between is a random offset, both ends included.
func (h *history) between(low, high kafka.Offset) kafka.Offset {
	return low + kafka.Offset(h.rand.Int64N(int64(high-low)+1))
}

// truncate cuts at a random offset, most often near the end, or all.
func (h *history) truncate(topic string, l *log.Log) {
	if h.kafka != nil {
		// Of a flush that comes after the truncation Kafka believes that it has reached
		// beyond the log's end (package log, "Where it differs").
		h.background()
	}
	low := max(l.LogStartOffset(), l.LogEndOffset()-8)
	if h.rand.IntN(5) == 0 {
		low = l.LogStartOffset()
	}
	if h.rand.IntN(12) == 0 {
		start := l.LogEndOffset() + kafka.Offset(h.rand.IntN(5))
		check(h.t, l.TruncateFullyAndStartAt(start, 0))
		h.kafka.change(0, "restart-at", topic, start)
	} else {
		end := h.between(low, l.LogEndOffset())
		_, err := l.TruncateTo(end, 0)
		check(h.t, err)
		h.kafka.do(0, "truncate", topic, end)
		// Kafka's last stable offset waits for the next append or high watermark.
		h.setHighWatermark(topic, l, l.HighWatermark())
	}
	h.writeRecoveryPoints() // as the caller of a truncation does
}

func (h *history) produce(topic string, l *log.Log, o record.BatchOptions) {
	h.build(topic, o)
	b, err := h.builder.Build()
	check(h.t, err)
	h.append(topic, l, b, log.Client)
}

func (h *history) append(topic string, l *log.Log, b record.Batch, from log.Origin) {
	sent := h.kafka.encode(b)
	_, verdict, err := l.Append(b, &log.LeaderAppend{Epoch: h.epochs[topic], Now: h.clock[topic], Origin: from})
	check(h.t, err)
	if verdict.Code != kafka.None {
		h.t.Fatalf("%s: %s", topic, verdict.Message)
	}
	origin := "CLIENT"
	if from == log.Coordinator {
		origin = "COORDINATOR"
	}
	h.kafka.change(h.clock[topic], "append", topic, h.epochs[topic], origin, sent)
}

// Producer ids: idempotent ones, then transactional ones.
const (
	idempotentIDs    = 3
	transactionalIDs = 2
)

// idempotent is the next batch of an idempotent producer.
func (h *history) idempotent(l *log.Log) record.BatchOptions {
	return nextOf(l, h.rand.Int64N(idempotentIDs))
}

func nextOf(l *log.Log, id int64) record.BatchOptions {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = id, 0, 0
	for _, p := range l.Producers() {
		if p.ID == id {
			o.BaseSequence = p.LastSequence + 1
		}
	}
	return o
}

// transact begins, continues or ends a transaction.
func (h *history) transact(topic string, l *log.Log) {
	id := idempotentIDs + h.rand.Int64N(transactionalIDs)
	if l.HasOngoingTransaction(id) && h.rand.IntN(2) == 0 {
		m := record.Marker{ProducerID: id, Commit: h.rand.IntN(2) == 0}
		b, err := record.MarkerBatch(m, 0, kafka.NoLeaderEpoch, h.clock[topic])
		check(h.t, err)
		h.append(topic, l, b, log.Coordinator)
		return
	}
	o := nextOf(l, id)
	o.Transactional = true
	h.produce(topic, l, o)
}

// replicate appends what a leader's log may look like: several batches at once, now
// and then with offsets that compaction has taken out.
func (h *history) replicate(topic string, l *log.Log) {
	var buf []byte
	next := l.LogEndOffset()
	for range 1 + h.rand.IntN(3) {
		if h.rand.IntN(6) == 0 {
			next += kafka.Offset(h.rand.IntN(4))
		}
		o := record.ClientOptions()
		o.BaseOffset, o.LeaderEpoch = next, h.epochs[topic]
		h.build(topic, o)
		b, err := h.builder.Build()
		check(h.t, err)
		buf = append(buf, b...)
		next = b.NextOffset()
	}
	sent := h.kafka.encode(buf)
	_, err := l.AppendAsFollower(slices.Clip(buf), h.clock[topic])
	check(h.t, err)
	h.kafka.change(h.clock[topic], "replicate", topic, h.epochs[topic], sent)
}

// build fills the builder with one to four records.
func (h *history) build(topic string, o record.BatchOptions) {
	o.Codec = record.Codec(h.rand.IntN(5))
	if h.configs(topic).Compact && !h.packed {
		o.Codec = record.None // the cleaner writes batches anew, with the codecs of its language
	}
	h.builder.Reset(o)
	for range 1 + h.rand.IntN(4) {
		ts := h.clock[topic] + kafka.TimestampMs(h.rand.IntN(40)-15)
		h.clock[topic] += kafka.TimestampMs(h.rand.IntN(30))
		h.builder.Append(ts, h.key(topic), h.bytes(70), h.headers())
	}
}

// key is one of few in a compacted topic, and any or none in others.
func (h *history) key(topic string) []byte {
	if h.configs(topic).Compact {
		return fmt.Appendf(nil, "key-%d", h.rand.IntN(9))
	}
	return h.bytes(12)
}

// bytes are up to n of them, or nil.
func (h *history) bytes(n int) []byte {
	h.values++
	switch h.rand.IntN(6) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return fmt.Appendf(nil, "%0*d", 1+h.rand.IntN(n), h.values)
}

func (h *history) headers() []record.Header {
	if h.rand.IntN(4) > 0 {
		return nil
	}
	return []record.Header{{Key: "h", Value: h.bytes(5)}, {Key: "", Value: nil}, {Key: "h", Value: []byte("2")}}
}
