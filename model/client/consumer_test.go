package client

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// partitionLog is the obvious twin of a replicated partition: what its leader has.
type partitionLog struct {
	leader  int32
	epoch   int32
	batches [][]byte
	number  int64 // of the next record; no number comes twice
}

func (p *partitionLog) end() kafka.Offset {
	if len(p.batches) == 0 {
		return 0
	}
	return record.Batch(p.batches[len(p.batches)-1]).NextOffset()
}

func (p *partitionLog) append(count int) {
	p.batches = append(p.batches, labBatch(p.end(), kafka.LeaderEpoch(p.epoch), count, p.number))
	p.number += int64(count)
}

// elect makes a leader that lacks the last batches.
func (p *partitionLog) elect(leader int32, lost int) {
	p.leader = leader
	p.epoch++
	p.batches = p.batches[:max(0, len(p.batches)-lost)]
}

// epochEnd is the largest epoch at most e and the offset where it ends.
func (p *partitionLog) epochEnd(e int32) (epoch int32, end kafka.Offset) {
	if e == p.epoch {
		return e, p.end()
	}
	epoch, end = -1, -1
	for _, data := range p.batches {
		b := record.Batch(data)
		if int32(b.PartitionLeaderEpoch()) > e {
			return epoch, b.BaseOffset()
		}
		epoch, end = int32(b.PartitionLeaderEpoch()), b.NextOffset()
	}
	if epoch >= 0 {
		return epoch, p.end()
	}
	return epoch, end
}

// answer plays a broker.
func (p *partitionLog) answer(broker int32, req kmsg.Request) kmsg.Response {
	return respond(req, func(kafka.TopicPartition) partReply {
		if broker != p.leader {
			return partReply{err: kafka.NotLeaderOrFollower, offset: -1}
		}
		switch q := req.(type) {
		case *kmsg.FetchRequest:
			return p.read(q.Topics[0].Partitions[0])
		case *kmsg.ListOffsetsRequest:
			if q.Topics[0].Partitions[0].Timestamp == latest {
				return partReply{offset: int64(p.end())}
			}
			return partReply{}
		case *kmsg.OffsetForLeaderEpochRequest:
			x := q.Topics[0].Partitions[0]
			if x.CurrentLeaderEpoch != p.epoch {
				return partReply{err: kafka.FencedLeaderEpoch, offset: -1, epoch: -1}
			}
			epoch, end := p.epochEnd(x.LeaderEpoch)
			return partReply{offset: int64(end), epoch: epoch}
		}
		panic("unexpected request")
	})
}

func (p *partitionLog) read(x kmsg.FetchRequestTopicPartition) partReply {
	if x.CurrentLeaderEpoch != p.epoch {
		return partReply{err: kafka.FencedLeaderEpoch}
	}
	from := kafka.Offset(x.FetchOffset)
	if from > p.end() {
		return partReply{err: kafka.OffsetOutOfRange}
	}
	var got partReply
	for _, data := range p.batches {
		if record.Batch(data).LastOffset() >= from {
			got.records = append(got.records, data...)
		}
	}
	return got
}

func TestConsumerEndsUpWithTheFinalLogWhateverWasTruncated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := labConsumerConfig()
		cfg.AutoOffsetReset = config.ResetEarliest
		c := NewConsumer(ConsumerConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}}})
		l, p := newLab(discard{}, c), &partitionLog{leader: 1}
		l.quiet = true
		l.lead("orders", 0, 1)
		l.do(step.Input{Kind: step.Boot})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			broker := rapid.Int32Range(1, 3).Draw(t, "broker")
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				l.cut(broker)
			case 1:
				p.elect(broker, rapid.IntRange(0, 3).Draw(t, "lost"))
				l.lead("orders", p.epoch, p.leader)
			case 2:
				p.append(rapid.IntRange(1, 5).Draw(t, "count"))
			case 3, 4, 5:
				for l.waiting(p.leader) > 0 && broker != 3 {
					conn, r := l.take(p.leader)
					l.answer(conn, r, p.answer(p.leader, r.req))
					broker++
				}
			default:
				l.advance(kafka.Millisecond * kafka.Nanos(rapid.Int64Range(1, 700).Draw(t, "ms")))
			}
		}
		settleConsumer(l, p)
		checkDelivered(t, l.events, p)
	})
}

func settleConsumer(l *lab, p *partitionLog) {
	l.lead("orders", p.epoch, p.leader)
	for range 15 {
		for broker := int32(1); broker <= 3; broker++ {
			for range 20 { // an empty fetch is followed by another
				if l.waiting(broker) > 0 {
					conn, r := l.take(broker)
					l.answer(conn, r, p.answer(broker, r.req))
				}
			}
		}
		l.advance(kafka.Second)
	}
}

// checkDelivered: offsets follow one another but for resets that were noted, and the
// last delivery of each offset is what the log holds.
func checkDelivered(t *rapid.T, events []event.Event, p *partitionLog) {
	last := map[kafka.Offset]int64{}
	next := kafka.NoOffset
	for i := range events {
		switch e := &events[i]; e.Kind {
		case event.PositionReset:
			if e.Offset != next {
				t.Fatalf("reset from %d, position was %d", e.Offset, next)
			}
			next = e.Base
		case event.RecordDelivered:
			if e.Base != next {
				t.Fatalf("delivered %d, position was %d", e.Base, next)
			}
			for o := e.Base; o <= e.Last; o++ {
				last[o] = e.First + int64(o-e.Base)
			}
			next = e.Last + 1
		}
	}
	if next != p.end() {
		t.Fatalf("position %d, the log ends at %d", next, p.end())
	}
	for _, data := range p.batches {
		var it record.Iterator
		for it.Reset(record.Batch(data)); it.Next(); {
			_, n, _, _ := ParseValue(it.Record().Value)
			if last[it.Record().Offset] != n {
				t.Fatalf("offset %d holds record %d, the consumer last saw %d", it.Record().Offset, n, last[it.Record().Offset])
			}
		}
	}
}

func TestMembersShareAllPartitionsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(1, 12).Draw(t, "members")
		topics := rapid.IntRange(1, 4).Draw(t, "topics")
		partitions := rapid.Int32Range(1, 30).Draw(t, "partitions")
		for topic := range topics {
			for p := range partitions {
				owners := 0
				for m := range members {
					if new(readTopic).wanted(p, topic, m, members) {
						owners++
					}
				}
				if owners != 1 {
					t.Fatalf("partition %d of topic %d has %d owners", p, topic, owners)
				}
			}
		}
	})
}

func TestOldVersionsCarryNoNewFields(t *testing.T) {
	old := labProfile("zk-0.10")
	cfg := labConsumerConfig()
	cfg.Profile, cfg.AutoOffsetReset = old, config.ResetEarliest
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}}}))
	l.lead("orders", 3, 1)
	l.do(step.Input{Kind: step.Boot}) // the lab checks each request
	p := &partitionLog{leader: 1}
	c, r := l.take(1)
	l.answer(c, r, p.answer(1, r.req))
	if l.waiting(1) != 1 {
		t.Fatal("no fetch")
	}
	pcfg := labProducerConfig()
	pcfg.Profile = old
	l = newLab(t, NewProducer(ProducerConfig{Producer: pcfg, Bootstrap: []step.Addr{addrOf(1)}, Workload: Workload{Topic: "orders", RatePerMil: 1000}}))
	l.lead("orders", 3, 1)
	l.do(step.Input{Kind: step.Boot})
	if l.waiting(1) != 1 {
		t.Fatal("no produce request")
	}
}

func TestAConsumerTellsWhichLeadersItDoesNotKnow(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "orders", Partition: 1}
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: labConsumerConfig(), Bootstrap: []step.Addr{addrOf(1)},
		Assignment: Assignment{Partitions: []kafka.TopicPartition{{Topic: "orders"}, tp}}}))
	l.lead("orders", 0, 1, -1)
	l.do(step.Input{Kind: step.Boot})
	if got := l.node.(*Consumer).Leaderless(); len(got) != 1 || got[0] != (Leaderless{tp, kafka.NoNode, kafka.NoLeaderEpoch}) {
		t.Errorf("%v", got)
	}
}

func TestAConsumerTellsWhichBrokersItKnows(t *testing.T) {
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: labConsumerConfig(), Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}}}))
	if got := l.node.(*Consumer).Brokers(); got != nil {
		t.Errorf("before any answer: %v", got)
	}
	l.lead("orders", 0, 2, -1)
	l.do(step.Input{Kind: step.Boot})
	if got, want := l.node.(*Consumer).Brokers(), []kafka.NodeID{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A partition that a response leaves out is fetched from the leader that its position has.
func TestAConsumerTellsWhomItFetchesFromAllTheSame(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "orders", Partition: 1}
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: labConsumerConfig(), Bootstrap: []step.Addr{addrOf(1)},
		Assignment: Assignment{Partitions: []kafka.TopicPartition{tp}}}))
	l.lead("orders", 3, 1, 1)
	l.do(step.Input{Kind: step.Boot})
	x := l.node.(*Consumer)
	x.network.meta.topic("orders").vanish(step.NewEffects())
	if got := x.Leaderless(); len(got) != 1 || got[0] != (Leaderless{tp, kafka.NoNode, kafka.NoLeaderEpoch}) {
		t.Errorf("it has no position yet: %v", got)
	}
	c, r := l.take(1)
	l.answer(c, r, respond(r.req, func(kafka.TopicPartition) partReply { return partReply{offset: 4} }))
	if got := x.Leaderless(); len(got) != 1 || got[0] != (Leaderless{tp, 1, 3}) {
		t.Errorf("it fetches: %v", got)
	}
	if _, r = l.take(1); r.req.Key() != int16(kmsg.Fetch) {
		t.Errorf("it sends %T", r.req)
	}
}

func TestPositionsSurviveAsStartOffsets(t *testing.T) {
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: labConsumerConfig(), Bootstrap: []step.Addr{addrOf(1)},
		Assignment: Assignment{Partitions: []kafka.TopicPartition{{Topic: "orders", Partition: 1}}}}))
	l.lead("orders", 0, 1, 1)
	l.do(step.Input{Kind: step.Boot})
	c, r := l.take(1)
	l.answer(c, r, respond(r.req, func(kafka.TopicPartition) partReply { return partReply{offset: 4} }))
	c, r = l.take(1)
	l.answer(c, r, respond(r.req, func(kafka.TopicPartition) partReply { return partReply{records: labBatch(4, 0, 2, 0)} }))
	got := l.node.(*Consumer).Positions()
	if want := (StartOffset{TP: kafka.TopicPartition{Topic: "orders", Partition: 1}, Offset: 6, Epoch: 0}); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
}
