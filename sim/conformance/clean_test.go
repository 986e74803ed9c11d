package conformance

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

const (
	packedSeeds  = 12
	packedRounds = 3  // each ends in cleanings
	packedOps    = 60 // in a round
)

// Kafka's Cleaner and ours make the same of compressed batches (storage 9.3): batch by
// batch the same header but for length and checksum, the same codec, the same records.
// The bytes of a batch that was compressed anew are those of the language's library; how
// many agree nevertheless is told. The twin histories have the cleaner's other duties, with
// uncompressed batches, byte for byte.
func TestKafkaCleansCompressedBatchesAsWeDo(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		var did packedCounts
		for seed := range uint64(packedSeeds) {
			w := newPackedTwin(t, k, seed, filepath.Join(dir, strconv.FormatUint(seed, 10)))
			for range packedRounds {
				w.round(&did)
			}
			k.do(0, "kill")
		}
		t.Logf("Kafka %s: %+v", r.version, did)
		for c := record.Gzip; c <= record.Zstd; c++ {
			if did.Records[c]+did.Bytes[c] < 20 {
				t.Errorf("only %d batches of codec %s were compressed anew", did.Records[c]+did.Bytes[c], c)
			}
		}
	})
}

// packedCounts are, by codec, the batches that were left alone, and those written anew:
// with the same bytes, and the same as records only.
type packedCounts struct {
	Cleanings            int
	Left, Bytes, Records [5]int
}

func (c *packedCounts) add(ours, theirs record.Batch) (same bool) {
	codec := ours.Codec()
	_, horizon := ours.DeleteHorizon()
	whole := ours.Count() == ours.LastOffsetDelta()+1 && !horizon
	switch {
	case !bytes.Equal(ours, theirs):
		c.Records[codec]++
		return sameButPacked(ours, theirs)
	case whole || codec == record.None:
		c.Left[codec]++
	default:
		c.Bytes[codec]++
	}
	return true
}

func newPackedTwin(t testing.TB, k *kafkaLogs, seed uint64, dir string) *twin {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 4))
	topics := []goldenTopic{{Name: "packed", ID: kafka.TopicID{1}.String(), Settings: map[string]string{
		// By time, not size, segments are rolled and grouped alike whatever the codecs save.
		k.r.segmentBytes: "1048576", "segment.ms": strconv.Itoa(100 + rnd.IntN(400)), "segment.index.bytes": "4096",
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": []string{"0", "100", "100000"}[rnd.IntN(3)],
	}}}
	w := &twin{history: prepareHistory(t, seed, topics, 8, now())}
	w.configs(topics[0].Name).CleanerDropsEnd = !k.r.kraft
	w.packed, w.kafka = true, k
	k.configure(dir, topics)
	w.begin()
	return w
}

func (w *twin) round(did *packedCounts) {
	w.t.Helper()
	topic := w.topics[0].Name
	l := w.manager.Get(tp(topic))
	for range packedOps {
		switch w.rand.IntN(4) {
		case 0:
			w.produce(topic, l, record.ClientOptions())
		case 1, 2:
			w.produce(topic, l, w.idempotent(l))
		default:
			w.transact(topic, l)
		}
	}
	w.setHighWatermark(topic, l, l.LogEndOffset())
	for range 3 {
		at := w.later()
		ours, theirs := w.cleanOurs(at), w.kafka.do(at, "clean", cleanMapBytes, cleanReadBytes)
		if ours != theirs {
			w.t.Fatalf("cleaned is %s, Kafka says %s\nafter\n%s", ours, theirs, w.kafka.story())
		}
		if ours != "nothing" {
			did.Cleanings++
		}
	}
	w.background()
	w.samePacked(topic, did)
}

// samePacked compares the batches of a topic's segments.
func (w *twin) samePacked(topic string, did *packedCounts) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.kafka.dir, topic+"-0", "*.log"))
	check(w.t, err)
	segments := w.manager.Get(tp(topic)).Segments()
	if len(files) != len(segments) {
		w.t.Fatalf("%s: %d segments, Kafka has %d", topic, len(segments), len(files))
	}
	for _, f := range files {
		name := filepath.Base(f)
		theirs, err := os.ReadFile(f)
		check(w.t, err)
		ours := read(w.t, w.disk, "data/"+topic+"-0/"+name)
		a, b := split(w.t, ours), split(w.t, theirs)
		for i := range max(len(a), len(b)) {
			switch {
			case i >= len(a) || i >= len(b):
				w.t.Fatalf("%s/%s: %d batches, Kafka has %d\nafter\n%s", topic, name, len(a), len(b), w.kafka.story())
			case !did.add(a[i], b[i]):
				w.t.Fatalf("%s/%s: batch %d\nours  %x\nKafka %x\nafter\n%s", topic, name, i, a[i], b[i], w.kafka.story())
			}
		}
	}
}

func split(t testing.TB, file []byte) (out []record.Batch) {
	t.Helper()
	for len(file) > 0 {
		b, rest, err := record.Next(file)
		check(t, err)
		out, file = append(out, b), rest
	}
	return out
}

// sameButPacked: the batches differ only in how their records are compressed.
func sameButPacked(ours, theirs record.Batch) bool {
	const length, crc, attributes = 8, 17, 21
	if !slices.Equal(ours[:length], theirs[:length]) || !slices.Equal(ours[length+4:crc], theirs[length+4:crc]) ||
		!slices.Equal(ours[attributes:record.HeaderSize], theirs[attributes:record.HeaderSize]) {
		return false
	}
	a, errA := ours.Records(nil)
	b, errB := theirs.Records(nil)
	return ours.Codec() != record.None && errA == nil && errB == nil && reflect.DeepEqual(a, b)
}
