package conformance

import (
	"encoding/binary"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// A replay lives a topic's lives again in model/log: it appends each batch of the
// golden directory at its time, starts and stops when the broker did, and must leave
// the same files (storage 2.2, 3.2, 3.4, 5.3, 7.1).
type replay struct {
	t     testing.TB
	fs    vfs.FS
	topic goldenTopic
	cfg   *log.Config
	now   kafka.TimestampMs // of the starts
	log   *log.Log
	// asLeader sends the batches through the leader's validation where that can
	// give the same bytes.
	asLeader bool
}

func TestReplayedHistoryLeavesKafkasBytes(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m := readManifest(t, r)
		lives := m.Lives[:len(m.Lives)-2] // those that ended in the clean directory
		for _, topic := range m.Topics {
			if topic.compacted() {
				continue // records are gone
			}
			golden := filepath.Join(r.golden(), cleanDir, topic.Name+"-0")
			for _, asLeader := range []bool{true, false} {
				p := &replay{t: t, fs: vfstest.NewMem(), topic: topic, cfg: topic.logConfig(t), now: clockOf(t, r), asLeader: asLeader}
				p.live(lives, batchesIn(t, golden))
				sameFiles(t, p.fs, p.dir(), golden)
			}
		}
	})
}

// The comparison can fail: a history that is told wrongly leaves other bytes.
func TestReplayOfAnotherHistoryDiffers(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m := readManifest(t, r)
		lives := m.Lives[:len(m.Lives)-2]
		for what, change := range map[string]func(*replay) []life{
			"flushed without a restart":                 func(*replay) []life { return lives[len(lives)-1:] },
			"flushed with another index interval":       func(p *replay) []life { p.cfg.IndexIntervalBytes = 250; return lives },
			"create-time with another segment.ms":       func(p *replay) []life { p.cfg.SegmentMs--; return lives },
			"codecs with other segment.bytes":           func(p *replay) []life { p.cfg.SegmentBytes -= 50; return lives },
			"index-full with a larger index":            func(p *replay) []life { p.cfg.SegmentIndexBytes += 12; return lives },
			"append-time with the first life's records": func(*replay) []life { return lives[:1] },
		} {
			name, _, _ := strings.Cut(what, " ")
			topic := m.topic(name)
			golden := filepath.Join(r.golden(), cleanDir, name+"-0")
			p := &replay{t: t, fs: vfstest.NewMem(), topic: topic, cfg: topic.logConfig(t), now: clockOf(t, r)}
			lives := change(p)
			end := kafka.Offset(lives[len(lives)-1].End[name].End)
			p.live(lives, slices.DeleteFunc(batchesIn(t, golden), func(b record.Batch) bool { return b.BaseOffset() >= end }))
			if len(differences(t, p.fs, p.dir(), golden)) == 0 {
				t.Errorf("%s leaves the same bytes", what)
			}
		}
	})
}

func (p *replay) dir() string { return "data/" + p.topic.Name + "-0" }

func (p *replay) live(lives []life, batches []record.Batch) {
	var recoveryPoint kafka.Offset
	start := int64(0)
	for i, l := range lives {
		var err error
		p.log, err = log.OpenNow(p.fs, p.dir(), p.cfg, log.OpenParams{RecoveryPoint: recoveryPoint, LogStart: kafka.Offset(start), Clean: true, Now: p.now})
		check(p.t, err)
		if i == 0 {
			check(p.t, log.WriteTopicID(p.fs, p.dir(), topicID(p.t, p.topic.ID)))
		}
		end := l.End[p.topic.Name]
		check(p.t, p.log.AssignEpoch(kafka.LeaderEpoch(end.Epoch), p.log.LogEndOffset()))
		for len(batches) > 0 && int64(batches[0].BaseOffset()) < end.End {
			p.append(batches[0])
			batches = batches[1:]
		}
		if start = end.Start; start > int64(p.log.LogStartOffset()) {
			_, err := p.log.MaybeIncrementLogStartOffset(kafka.Offset(start))
			check(p.t, err)
		}
		check(p.t, p.log.Close(true, 0))
		recoveryPoint = p.log.LogEndOffset()
		if recoveryPoint != kafka.Offset(end.End) {
			p.t.Errorf("%s: life %d ends at %d, want %d", p.topic.Name, i, recoveryPoint, end.End)
		}
	}
	if len(batches) > 0 {
		p.t.Errorf("%s: %d batches are later than the last life", p.topic.Name, len(batches))
	}
}

func (p *replay) append(b record.Batch) {
	p.t.Helper()
	if p.asLeader && !b.IsControl() && p.cfg.KeepCodec {
		info, verdict, err := p.log.AppendAsLeader(p.asProduced(b), b.PartitionLeaderEpoch(), b.MaxTimestamp())
		check(p.t, err)
		if verdict.Code != kafka.None {
			p.t.Fatalf("%s: offset %d is refused: %s", p.topic.Name, b.BaseOffset(), verdict.Message)
		}
		if info.Base != b.BaseOffset() {
			p.t.Fatalf("%s: offset %d became %d", p.topic.Name, b.BaseOffset(), info.Base)
		}
	} else if _, err := p.log.AppendAsFollower(slices.Clone(b), 0); err != nil {
		p.t.Fatal(err)
	}
	p.log.SetHighWatermark(p.log.LogEndOffset())
}

// asProduced is the batch as a client sent it, of a topic that keeps its codec.
func (p *replay) asProduced(b record.Batch) record.Batch {
	p.t.Helper()
	if b.TimestampType() == record.CreateTime {
		b = slices.Clone(b)
		b.SetBaseOffset(0)
		b.SetPartitionLeaderEpoch(kafka.NoLeaderEpoch)
		return b
	}
	return withCreateTime(b)
}

// withCreateTime takes back what a leader of a LogAppendTime topic does to a batch.
func withCreateTime(b record.Batch) record.Batch {
	const crcPos, attributesPos, maxTimestampPos, logAppendTimeBit = 17, 21, 35, 8
	b = slices.Clone(b)
	b.SetBaseOffset(0)
	b.SetPartitionLeaderEpoch(kafka.NoLeaderEpoch)
	b[attributesPos+1] &^= logAppendTimeBit
	binary.BigEndian.PutUint64(b[maxTimestampPos:], uint64(b.BaseTimestamp()))
	binary.BigEndian.PutUint32(b[crcPos:], crc32.Checksum(b[attributesPos:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
