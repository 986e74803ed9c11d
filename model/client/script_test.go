package client

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// TestScripts plays testdata/scripts: a command a line, and what the client said and did.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.play(d)
			said := s.lab.said.String()
			s.lab.said.Reset()
			if said == "" {
				return "(nothing)\n"
			}
			return said
		})
	})
}

type script struct {
	t   *testing.T
	lab *lab
}

func (s *script) play(d *datadriven.TestData) {
	a := args{s.t, d}
	switch d.Cmd {
	case "producer":
		s.lab = newLab(s.t, NewProducer(a.producer()))
	case "consumer":
		s.lab = newLab(s.t, NewConsumer(a.consumer()))
	case "verifier":
		cfg := VerifierConfig{Consumer: labConsumerConfig(), Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}}}
		cfg.Batch = s.read
		s.lab = newLab(s.t, NewVerifier(cfg))
	case "admin":
		s.lab = newLab(s.t, NewAdmin(AdminConfig{Bootstrap: []step.Addr{addrOf(1)}, MetadataVersion: 12,
			Topics: []NewTopic{{Name: "orders", Partitions: 2, Replication: 3}, {Name: "audit", Partitions: 1, Replication: 1}}}))
	case "partitions":
		s.lab = newLab(s.t, NewTopicCommand(TopicCommandConfig{Bootstrap: []step.Addr{addrOf(1)}, MetadataVersion: 12, Topic: "orders", Partitions: int32(a.int("to", 6))}))
	case "deletion":
		s.lab = newLab(s.t, NewTopicCommand(TopicCommandConfig{Bootstrap: []step.Addr{addrOf(1)}, MetadataVersion: 12, Topic: "orders"}))
	case "creation":
		s.lab = newLab(s.t, NewTopicCommand(TopicCommandConfig{Bootstrap: []step.Addr{addrOf(1)}, MetadataVersion: 12, Topic: "orders",
			Create: &NewTopic{Name: "orders", Partitions: 2, Replication: 3}}))
	case "controller":
		s.lab.cluster.controller = int32(a.int("is", -1))
	case "topic":
		s.topic(a)
	case "boot":
		s.lab.do(step.Input{Kind: step.Boot})
	case "terminate":
		s.lab.do(step.Input{Kind: step.Terminate})
	case "advance":
		s.lab.advance(a.millis("ms", 0))
	case "down":
		s.lab.down[addrOf(a.broker()).Host] = true
		s.lab.cut(a.broker())
	case "up":
		delete(s.lab.down, addrOf(a.broker()).Host)
	case "cut":
		s.lab.cut(a.broker())
	case "answer":
		s.answer(a)
	case "member":
		s.lab = newLab(s.t, NewGroupConsumer(a.member()))
	default:
		if !s.playGroup(a) {
			d.Fatalf(s.t, "unknown command")
		}
	}
}

func (s *script) topic(a args) {
	var leaders []int32
	for _, v := range a.d.CmdArgs {
		if v.Key == "leaders" {
			for _, x := range v.Vals {
				id, _ := strconv.Atoi(x)
				leaders = append(leaders, int32(id))
			}
		}
	}
	s.lab.lead(a.string("name", "orders"), int32(a.int("epoch", 0)), leaders...)
}

func (s *script) answer(a args) {
	c, r := s.lab.take(a.broker())
	got := partReply{err: a.code(), offset: a.int("offset", 0), epoch: int32(a.int("epoch", 0))}
	if a.int("new-leader", 0) > 0 {
		got.newLeader = leaderInfo{kafka.NodeID(a.int("new-leader", 0)), kafka.LeaderEpoch(got.epoch)}
	}
	if n := a.int("count", 0); n > 0 {
		got.records = labBatch(kafka.Offset(got.offset), kafka.LeaderEpoch(got.epoch), int(n), a.int("first", got.offset))
	}
	if a.int("broken", 0) > 0 {
		got.records[30] ^= 1
	}
	only := a.int("partition", -1)
	s.lab.answer(c, r, respond(r.req, func(tp kafka.TopicPartition) partReply {
		if only >= 0 && int64(tp.Partition) != only {
			return partReply{}
		}
		return got
	}))
}

func (s *script) read(tp kafka.TopicPartition, b record.Batch, node kafka.NodeID) {
	s.lab.say("read %v: offsets %d-%d from broker %d", tp, b.BaseOffset(), b.LastOffset(), node)
}

// args reads a command's arguments.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) string(key, otherwise string) string {
	if a.d.HasArg(key) {
		a.d.ScanArgs(a.t, key, &otherwise)
	}
	return otherwise
}

func (a args) int(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(a.string(key, fmt.Sprint(otherwise)), 10, 64)
	if err != nil {
		a.d.Fatalf(a.t, "%s: %v", key, err)
	}
	return n
}

func (a args) millis(key string, otherwise kafka.Nanos) kafka.Nanos {
	return kafka.Millis(a.int(key, int64(otherwise/kafka.Millisecond)))
}

func (a args) broker() int32 { return int32(a.int("broker", 1)) }

func (a args) code() kafka.ErrorCode {
	name := a.string("error", "NONE")
	for c := kafka.ErrorCode(-1); c < 200; c++ {
		if c.String() == name {
			return c
		}
	}
	a.d.Fatalf(a.t, "no error %s", name)
	return 0
}

func (a args) producer() ProducerConfig {
	cfg := labProducerConfig()
	cfg.Acks = int8(a.int("acks", -1))
	cfg.Linger = a.millis("linger", 0)
	cfg.BatchSize = int32(a.int("batch", 16384))
	cfg.BufferMemory = a.int("buffer", 32<<20)
	cfg.MaxInFlight = int(a.int("in-flight", 5))
	cfg.Retries = int32(a.int("retries", 1<<31-1))
	cfg.DeliveryTimeout = a.millis("delivery", cfg.DeliveryTimeout)
	cfg.RequestTimeout = a.millis("request", cfg.RequestTimeout)
	cfg.MaxBlock = a.millis("max-block", cfg.MaxBlock)
	return ProducerConfig{Producer: cfg, Number: 7, Bootstrap: []step.Addr{addrOf(1), addrOf(2)}, Workload: Workload{
		Topic: "orders", RatePerMil: a.int("rate", 10) * 1000, RecordsPerCall: int(a.int("per-call", 1)), RecordSize: int(a.int("size", 100)),
		Partition: int32(a.int("partition", 0)), Count: a.int("records", 0), StartAt: a.millis("start", 0),
	}}
}

func (a args) consumer() ConsumerConfig {
	cfg := labConsumerConfig()
	switch a.string("reset", "earliest") {
	case "earliest":
		cfg.AutoOffsetReset = config.ResetEarliest
	case "none":
		cfg.AutoOffsetReset = config.ResetNone
	}
	if a.int("fencing", 1) == 0 {
		p := *cfg.Profile
		p.Fencing320 = false
		cfg.Profile = &p
	}
	c := ConsumerConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}},
		EndOffsets: a.millis("end-offsets", 0)}
	if a.d.HasArg("at") {
		tp := kafka.TopicPartition{Topic: "orders"}
		c.StartOffsets = []StartOffset{{TP: tp, Offset: kafka.Offset(a.int("at", 0)), Epoch: kafka.LeaderEpoch(a.int("at-epoch", -1))}}
	}
	return c
}
