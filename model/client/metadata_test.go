package client

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// named is a partition of a response.
type named struct{ partition, leader, epoch int32 }

func metadataResponse(name string, id kafka.TopicID, code kafka.ErrorCode, parts ...named) *kmsg.MetadataResponse {
	r := kmsg.NewPtrMetadataResponse()
	for n := int32(1); n <= 3; n++ {
		r.Brokers = append(r.Brokers, kmsg.MetadataResponseBroker{NodeID: n, Host: addrOf(n).Host, Port: 9092})
	}
	rt := kmsg.MetadataResponseTopic{Topic: &name, TopicID: id, ErrorCode: int16(code)}
	for _, p := range parts {
		rt.Partitions = append(rt.Partitions, kmsg.MetadataResponseTopicPartition{Partition: p.partition, Leader: p.leader, LeaderEpoch: p.epoch})
	}
	r.Topics = []kmsg.MetadataResponseTopic{rt}
	return r
}

func (t *topicInfo) known() (numbers []int32) {
	for p := range t.partitions {
		if t.partitions[p].known {
			numbers = append(numbers, int32(p))
		}
	}
	return numbers
}

// Partitions without a leader yet are in no response: a client counts the others, and knows these
// under their own numbers (Cluster.partitionCountForTopic, Cluster.partition). A response that
// says the same again changes nothing.
func TestMetadataCountThePartitionsOfAResponse(t *testing.T) {
	m, out := metadata{}, step.NewEffects()
	topic := m.topic("orders")
	for _, want := range [][]int32{{0}, {0, 1, 3, 5, 7}, {0, 5, 7}, {2}, {2}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 2}, {0, 2}} {
		var parts []named
		for _, p := range want {
			parts = append(parts, named{p, 1, 0})
		}
		m.update(out, metadataResponse("orders", kafka.TopicID{1}, kafka.None, parts...))
		if !slices.Equal(topic.known(), want) || topic.count != len(want) {
			t.Errorf("%v: counts %d, knows %+v", want, topic.count, topic.partitions)
		}
		for p := range int32(9) {
			if leader, _ := m.leaderOf(topic, p); (leader == 1) != slices.Contains(want, p) {
				t.Errorf("%v: broker %d leads partition %d", want, leader, p)
			}
		}
	}
}

// A response older than what was seen last of a partition leaves it as it is: known with its leader, or
// not known, and then not counted, whatever else the response tells of (Metadata.updateLatestMetadata).
func TestMetadataLeaveOutWhatIsOlderThanWasSeen(t *testing.T) {
	m, out, id := metadata{}, step.NewEffects(), kafka.TopicID{1}
	topic := m.topic("orders")
	update := func(parts ...named) { m.update(out, metadataResponse("orders", id, kafka.None, parts...)) }
	update(named{0, 1, 3}, named{1, 1, 3})
	update(named{1, 2, 4})
	update(named{0, 2, 2}, named{1, 3, 3}, named{2, 2, 0})
	if topic.count != 2 || !slices.Equal(topic.known(), []int32{1, 2}) || topic.partitions[1].leaderInfo != (leaderInfo{2, 4}) {
		t.Errorf("counts %d, knows %+v", topic.count, topic.partitions)
	}
	if leader, epoch := m.leaderOf(topic, 0); leader != kafka.NoNode || epoch != 3 { // Metadata.currentLeader
		t.Errorf("broker %d leads partition 0 in epoch %d", leader, epoch)
	}
	m.hint(out, topic, 0, leaderInfo{2, 9})
	if topic.has(0) {
		t.Error("a hint made a partition known that metadata do not have (Metadata.updatePartitionLeadership)")
	}
	if tp := (kafka.TopicPartition{Topic: "orders"}); !m.sight(out, tp, 5) || m.sight(out, tp, 5) || topic.has(0) {
		t.Error("an epoch that is seen elsewhere counts for a partition that is not known (Metadata.updateLastSeenEpochIfNewer), and does not make it known")
	}
	if update(named{0, 2, 4}, named{1, 2, 4}); topic.has(0) {
		t.Error("an epoch was taken that is older than the one of a committed offset")
	}
	if update(named{0, 2, 5}, named{1, 2, 4}); !topic.has(0) || topic.count != 2 {
		t.Errorf("counts %d, knows %+v", topic.count, topic.partitions)
	}
}

// snapshotTwin is Metadata.handleMetadataResponse of one topic, word for word: maps that are made anew.
type snapshotTwin struct {
	lastSeen map[int32]kafka.LeaderEpoch
	snapshot map[int32]leaderInfo
	id       kafka.TopicID
}

func (w *snapshotTwin) update(id kafka.TopicID, code kafka.ErrorCode, parts []named) {
	old, next := w.snapshot, map[int32]leaderInfo{}
	recreated := !id.IsZero() && id != w.id
	w.id = id
	for _, p := range parts {
		seen, found := w.lastSeen[p.partition]
		switch now := (leaderInfo{kafka.NodeID(p.leader), kafka.LeaderEpoch(p.epoch)}); {
		case code != kafka.None:
			continue
		case p.epoch < 0:
			delete(w.lastSeen, p.partition)
			next[p.partition] = now
		case !found || recreated || now.epoch >= seen:
			w.lastSeen[p.partition], next[p.partition] = now.epoch, now
		default:
			if kept, cached := old[p.partition]; cached {
				next[p.partition] = kept
			}
		}
	}
	w.snapshot = next
}

// What a client knows after any responses is what Kafka's maps have, and who only hears its
// notes knows the same.
func TestMetadataAreWhatHandleMetadataResponseMakes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m, out := metadata{}, step.NewEffects()
		topic := m.topic("orders")
		twin := snapshotTwin{lastSeen: map[int32]kafka.LeaderEpoch{}}
		for range rapid.IntRange(1, 8).Draw(r, "responses") {
			id, code := kafka.TopicID{byte(rapid.IntRange(0, 2).Draw(r, "id"))}, kafka.None
			if rapid.IntRange(0, 5).Draw(r, "error") == 0 {
				id, code = kafka.TopicID{}, kafka.UnknownTopicOrPartition
			}
			epochs := rapid.IntRange(0, 5).Draw(r, "epochs") > 0
			var parts []named
			for p := range int32(5) {
				if rapid.Bool().Draw(r, "named") && code == kafka.None {
					x := named{p, rapid.Int32Range(-1, 3).Draw(r, "leader"), -1}
					if x.leader == 0 {
						x.leader = -1
					}
					if epochs {
						x.epoch = rapid.Int32Range(0, 3).Draw(r, "epoch")
					}
					parts = append(parts, x)
				}
			}
			twin.update(id, code, parts)
			m.update(out, metadataResponse("orders", id, code, parts...))
			if rapid.IntRange(0, 5).Draw(r, "sighted") == 0 {
				p, epoch := rapid.Int32Range(0, 4).Draw(r, "of"), kafka.LeaderEpoch(rapid.Int32Range(0, 4).Draw(r, "in"))
				seen, found := twin.lastSeen[p]
				if newer := m.sight(out, kafka.TopicPartition{Topic: "orders", Partition: p}, epoch); newer != (found && epoch > seen) {
					r.Fatalf("epoch %d of %d after %d is newer: %v", epoch, p, seen, newer)
				} else if newer {
					twin.lastSeen[p] = epoch
				}
			}
			compare(r, &m, topic, &twin)
		}
		heard := map[int32]leaderInfo{}
		for _, e := range out.Notes {
			if e.Kind == event.MetadataSeen {
				if heard[e.TP.Partition] = (leaderInfo{e.Leader, e.LeaderEpoch}); e.Flag {
					delete(heard, e.TP.Partition)
				}
			}
		}
		if len(heard) != topic.count {
			r.Fatalf("heard of %v, knows %+v", heard, topic.partitions)
		}
		for p, l := range heard {
			if !topic.has(p) || topic.partitions[p].leaderInfo != l {
				r.Fatalf("heard of %v, knows %+v", heard, topic.partitions)
			}
		}
	})
}

// compare checks the count, and Metadata.currentLeader of each partition.
func compare(r *rapid.T, m *metadata, topic *topicInfo, twin *snapshotTwin) {
	if topic.count != len(twin.snapshot) {
		r.Fatalf("counts %d of %v: %+v", topic.count, twin.snapshot, topic.partitions)
	}
	for p := range int32(5) {
		x, known := twin.snapshot[p]
		seen, found := twin.lastSeen[p]
		if !found {
			seen = kafka.NoLeaderEpoch
		}
		want := leaderInfo{kafka.NoNode, seen}
		if known && (!found || x.epoch == seen) { // partitionMetadataIfCurrent
			want = x
		}
		leader, epoch := m.leaderOf(topic, p)
		if known != topic.has(p) || leader != want.leader || epoch != want.epoch {
			r.Fatalf("partition %d: %d in %d, known %v; Kafka has %+v of %v, seen %v", p, leader, epoch, topic.has(p), want, twin.snapshot, twin.lastSeen)
		}
	}
}
