package client

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

func labProducer(t testing.TB, partition int32) (*lab, *Producer) {
	p := NewProducer(ProducerConfig{Producer: labProducerConfig(), Number: 7, Bootstrap: []step.Addr{addrOf(1), addrOf(2)},
		Workload: Workload{Topic: "orders", RatePerMil: 1000, RecordSize: 50, Partition: partition, Count: 1}})
	return newLab(t, p), p
}

func TestMetadataIsRefreshedWhenItIsOld(t *testing.T) {
	l, _ := labProducer(t, 0)
	l.lead("orders", 0, 1)
	l.do(step.Input{Kind: step.Boot})
	c, r := l.take(1)
	l.answer(c, r, logs{}.answer(r.req, kafka.None))
	if l.advance(299 * kafka.Second); l.asked != 1 {
		t.Fatalf("asked %d times", l.asked)
	}
	if l.advance(2 * kafka.Second); l.asked != 2 {
		t.Errorf("asked %d times after metadata.max.age.ms", l.asked)
	}
}

func TestATopicThatIsNewDuringARequestIsAskedForAfterIt(t *testing.T) {
	l, p := labProducer(t, 0)
	l.lead("orders", 0, 1)
	l.lead("pays", 0, 1)
	l.mute = true
	l.do(step.Input{Kind: step.Boot})
	pays := p.network.meta.topic("pays")
	l.mute = false
	l.answerMetadata()
	l.do(step.Input{Kind: step.Done}) // any input
	c, r := l.take(1)
	l.answer(c, r, logs{}.answer(r.req, kafka.None))
	if l.asked != 1 || pays.count != 0 {
		t.Fatalf("asked %d times, knows %+v", l.asked, pays.partitions)
	}
	if l.advance(2 * kafka.Second); l.asked != 2 || pays.count != 1 {
		t.Errorf("asked %d times, knows %+v", l.asked, pays.partitions)
	}
}

func TestMetadataThatTeachesNothingIsAskedForLessAndLess(t *testing.T) {
	l, _ := labProducer(t, 0)
	l.lead("orders", 0, -1)
	l.do(step.Input{Kind: step.Boot})
	l.advance(20 * kafka.Second)
	if l.asked < 15 || l.asked > 35 {
		t.Errorf("asked %d times in 20 s without a leader", l.asked)
	}
}

func TestMetadataGoesToAnotherNodeWhenOneIsDown(t *testing.T) {
	l, _ := labProducer(t, 0)
	l.down["broker-1"], l.down["broker-2"] = true, true
	l.lead("orders", 0, 3)
	l.do(step.Input{Kind: step.Boot})
	l.advance(5 * kafka.Second)
	if l.asked != 0 {
		t.Fatal("nobody is up")
	}
	delete(l.down, "broker-2")
	l.advance(2 * kafka.Second)
	if l.asked != 1 || l.waiting(3) != 1 {
		t.Errorf("asked %d times, %d requests at the leader", l.asked, l.waiting(3))
	}
}

func TestMetadataKeepsTheNewerEpochP8(t *testing.T) {
	var m metadata
	out := step.NewEffects()
	topic := m.topic("orders")
	update := func(id byte, leader, epoch int32) {
		r := kmsg.NewPtrMetadataResponse()
		for n := int32(1); n <= 3; n++ {
			r.Brokers = append(r.Brokers, kmsg.MetadataResponseBroker{NodeID: n, Host: addrOf(n).Host, Port: 9092})
		}
		name := "orders"
		r.Topics = []kmsg.MetadataResponseTopic{{Topic: &name, TopicID: [16]byte{id},
			Partitions: []kmsg.MetadataResponseTopicPartition{{Leader: leader, LeaderEpoch: epoch}}}}
		m.update(out, r)
	}
	for _, s := range []struct {
		id            byte
		leader, epoch int32
		want          leaderInfo
	}{
		{1, 1, 5, leaderInfo{1, 5}},
		{1, 2, 4, leaderInfo{1, 5}},
		{1, 3, 5, leaderInfo{3, 5}},
		{1, 2, -1, leaderInfo{2, -1}}, // a version without epochs
		{1, 1, 5, leaderInfo{1, 5}},
		{2, 2, 0, leaderInfo{2, 0}}, // another topic of the same name
	} {
		if update(s.id, s.leader, s.epoch); topic.partitions[0].leaderInfo != s.want {
			t.Errorf("%+v: knows %+v", s, topic.partitions[0])
		}
	}
	m.hint(out, topic, 0, leaderInfo{9, 7})
	if topic.partitions[0].epoch != 0 {
		t.Error("a hint at a node without address was taken")
	}
	m.hint(out, topic, 0, leaderInfo{3, 7})
	m.hint(out, topic, 0, leaderInfo{1, 7})
	if topic.partitions[0].leaderInfo != (leaderInfo{3, 7}) {
		t.Errorf("knows %+v", topic.partitions[0])
	}
	// A committed offset tells of epoch 9: what brokers say of older ones is not taken.
	tp := kafka.TopicPartition{Topic: topic.name}
	if m.sight(out, tp, 7) || !m.sight(out, tp, 9) {
		t.Error("only an epoch that is newer is news")
	}
	if update(2, 1, 8); topic.partitions[0].leaderInfo != (leaderInfo{kafka.NoNode, 9}) {
		t.Errorf("knows %+v", topic.partitions[0])
	}
	if update(2, 1, 9); topic.partitions[0].leaderInfo != (leaderInfo{1, 9}) {
		t.Errorf("knows %+v", topic.partitions[0])
	}
}

// KAFKA-12257: leader epochs are compared while a topic keeps its id (KIP-516). The id is
// forgotten while the topic is unknown, its epochs are not: metadata without ids, or of the
// same topic, are refused as before.
func TestMetadataOfATopicCreatedAgainAreTakenByItsID(t *testing.T) {
	old, again, none := kafka.TopicID{1}, kafka.TopicID{2}, kafka.TopicID{}
	for _, c := range []struct {
		name        string
		before, now kafka.TopicID
		unknown     bool // in between
		taken       bool
		quirks      quirk.Set
	}{
		{"the same topic", old, old, false, false, quirk.Set{}},
		{"another one", old, again, false, true, quirk.Set{}},
		{"another one, and the client has heard that there was none", old, again, true, true, quirk.Set{}},
		{"no ids", none, none, false, false, quirk.Set{}},
		{"no ids, and the client has heard that there was none", none, none, true, false, quirk.Set{}},
		{"an id where none was known", none, again, false, true, quirk.Set{}},
		{"another one, KAFKA-12257", old, again, false, false, quirk.Of(quirk.EpochsOverIDs)},
		{"another one, KAFKA-12257, and the client has heard that there was none", old, again, true, false, quirk.Of(quirk.EpochsOverIDs)},
		{"another one, KAFKA-13488", old, again, false, true, quirk.Of(quirk.IDLostUnknown)},
		{"another one, KAFKA-13488, and the client has heard that there was none", old, again, true, false, quirk.Of(quirk.IDLostUnknown)},
		{"no id any more", old, none, false, false, quirk.Set{}},
	} {
		m := metadata{quirks: c.quirks}
		out := step.NewEffects()
		topic := m.topic("orders")
		update := func(id kafka.TopicID, code kafka.ErrorCode, parts ...kmsg.MetadataResponseTopicPartition) {
			name := "orders"
			r := kmsg.NewPtrMetadataResponse()
			r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: addrOf(1).Host, Port: 9092}, {NodeID: 2, Host: addrOf(2).Host, Port: 9092}}
			r.Topics = []kmsg.MetadataResponseTopic{{Topic: &name, TopicID: id, ErrorCode: int16(code), Partitions: parts}}
			m.update(out, r)
		}
		update(c.before, kafka.None, kmsg.MetadataResponseTopicPartition{Leader: 1, LeaderEpoch: 7})
		if c.unknown {
			update(none, kafka.UnknownTopicOrPartition)
		}
		update(c.now, kafka.None, kmsg.MetadataResponseTopicPartition{Leader: 2, LeaderEpoch: 0})
		if got := topic.count > 0 && topic.partitions[0].leader == 2; got != c.taken {
			t.Errorf("%s: knows %+v", c.name, topic.partitions)
		}
		if c.unknown && !c.taken && topic.count > 0 {
			t.Errorf("%s: the topic seems to be there again: %+v", c.name, topic.partitions)
		}
		update(c.now, kafka.None, kmsg.MetadataResponseTopicPartition{Leader: 2, LeaderEpoch: 7})
		if topic.partitions[0].leaderInfo != (leaderInfo{2, 7}) {
			t.Errorf("%s: knows %+v of the epoch that it had seen", c.name, topic.partitions[0])
		}
	}
}

// A response replaces what was known of its topics (Metadata.handleMetadataResponse): a topic
// that was created again with fewer partitions has fewer.
func TestMetadataForgetPartitionsThatAResponseDoesNotHave(t *testing.T) {
	m, out, name := metadata{}, step.NewEffects(), "orders"
	topic := m.topic(name)
	update := func(id byte, epochs ...int32) {
		r := kmsg.NewPtrMetadataResponse()
		r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: addrOf(1).Host, Port: 9092}}
		rt := kmsg.MetadataResponseTopic{Topic: &name, TopicID: kafka.TopicID{id}}
		for p, e := range epochs {
			rt.Partitions = append(rt.Partitions, kmsg.MetadataResponseTopicPartition{Partition: int32(p), Leader: 1, LeaderEpoch: e})
		}
		r.Topics = []kmsg.MetadataResponseTopic{rt}
		m.update(out, r)
	}
	for _, s := range []struct {
		id     byte
		epochs []int32
		want   int
	}{
		{1, []int32{3, 3, 3}, 3},
		{2, []int32{0, 0}, 2},    // another topic of the name
		{2, []int32{0, 0, 2}, 2}, // an epoch older than the one that was seen of the partition
		{2, []int32{0, 0, 3}, 3},
	} {
		update(s.id, s.epochs...)
		if topic.count != s.want {
			t.Errorf("%+v: knows %+v", s, topic.partitions)
		}
	}
	notes := 0
	for _, e := range out.Notes {
		if e.Kind == event.MetadataSeen && e.TP.Partition == 2 && e.LeaderEpoch == kafka.NoLeaderEpoch {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes that partition 2 is gone", notes)
	}
}

func TestFetchErrorsNameTheNewLeader(t *testing.T) {
	cfg := labConsumerConfig()
	cfg.AutoOffsetReset = config.ResetNone
	l := newLab(t, NewConsumer(ConsumerConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}},
		StartOffsets: []StartOffset{{TP: kafka.TopicPartition{Topic: "orders"}, Offset: 3, Epoch: kafka.NoLeaderEpoch}}}))
	l.lead("orders", 4, 1)
	l.do(step.Input{Kind: step.Boot})
	c, r := l.take(1)
	resp := respond(r.req, func(kafka.TopicPartition) partReply { return partReply{err: kafka.NotLeaderOrFollower} }).(*kmsg.FetchResponse)
	resp.Topics[0].Partitions[0].CurrentLeader.LeaderID, resp.Topics[0].Partitions[0].CurrentLeader.LeaderEpoch = 3, 5
	l.answer(c, r, resp)
	if l.waiting(3) != 1 {
		t.Error("no fetch from the leader that the answer named")
	}
}

func TestASlowNodeGetsNoUnkeyedRecordsP13(t *testing.T) {
	acc, topic, in := desk(config.UniformSticky, 400)
	put(acc, topic, in, 60) // every partition has had a record
	acc.cfg.AvailabilityLimit = kafka.Second
	acc.node(0, 2).readyAt = 2 * kafka.Second
	for range 50 {
		if p := acc.nextPartition(in, topic); p == 1 {
			t.Fatal("partition 1 of the node that takes nothing was chosen")
		}
	}
	acc.node(0, 2).drainedAt = 2 * kafka.Second
	found := false
	for range 50 {
		found = found || acc.nextPartition(in, topic) == 1
	}
	if !found {
		t.Error("partition 1 is never chosen again")
	}
}

func TestDrainServesPartitionsInTurnWithinMaxRequestSizeP3(t *testing.T) {
	cfg := labProducerConfig()
	cfg.MaxInFlight, cfg.MaxRequestSize = 1, 1000
	p := NewProducer(ProducerConfig{Producer: cfg, Bootstrap: []step.Addr{addrOf(1)},
		Workload: Workload{Topic: "orders", RatePerMil: 1, RecordsPerCall: 40, Count: 40, RecordSize: 300, Partition: -1, KeyCount: 100}})
	l, g := newLab(t, p), logs{}
	l.lead("orders", 0, 1, 1, 1, 1)
	l.do(step.Input{Kind: step.Boot})
	served := map[int32]int{}
	for l.waiting(1) > 0 {
		c, r := l.take(1)
		size := 0
		for _, part := range r.req.(*kmsg.ProduceRequest).Topics[0].Partitions {
			served[part.Partition]++
			size += len(part.Records)
		}
		if n := len(r.req.(*kmsg.ProduceRequest).Topics[0].Partitions); n > 1 && size > 1000 {
			t.Fatalf("%d bytes in %d batches", size, n)
		}
		l.answer(c, r, g.answer(r.req, kafka.None))
	}
	if len(served) != 4 || !p.Finished() {
		t.Errorf("served %v", served)
	}
}

func TestEventsTellALatencyFromTheCall(t *testing.T) {
	l, _ := labProducer(t, 0)
	l.mute = true
	l.do(step.Input{Kind: step.Boot})
	l.advance(2 * kafka.Second) // the call waits for metadata
	l.lead("orders", 0, 1)
	l.mute = false
	l.answerMetadata()
	l.do(step.Input{Kind: step.Done}) // any input
	c, r := l.take(1)
	l.advance(kafka.Second)
	l.answer(c, r, logs{}.answer(r.req, kafka.None))
	e := l.events[len(l.events)-1]
	if e.Kind != event.RecordAcked || e.Created != 0 || e.Time != 3*kafka.Second || e.Producer != 7 || e.Acks != -1 || e.Index != 1 {
		t.Errorf("%+v", e)
	}
}
