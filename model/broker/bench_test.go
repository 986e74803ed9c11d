package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// served drives one broker's handler by hand, without a world around it.
type served struct {
	b    *Broker
	out  *step.Effects
	in   step.Input
	done []step.Op
}

func serve(w *world) *served {
	s := &served{b: w.broker(1), out: w.parties["broker-1"].out}
	s.in = step.Input{Lane: laneRequests, Now: w.now, Wall: 1_700_000_000_000, Incarnation: 1}
	s.in.SetDraws(step.NewDraws(1))
	return s
}

// request handles a request and its continuations, and returns the answer, if any.
func (s *served) request(m kmsg.Request) (resp step.Message) {
	s.in.Kind, s.in.Conn, s.in.Body = step.Request, 7, m
	for {
		s.out.Reset()
		if err := s.b.Step(&s.in, s.out); err != nil {
			panic(err)
		}
		s.done = s.done[:0]
		for i := range s.out.Ops {
			switch op := &s.out.Ops[i]; op.Kind {
			case step.OpReply:
				resp = op.Body
			case step.OpDone:
				s.done = append(s.done, *op)
			case step.OpCancelTimer:
				s.out.Timers.Release(op.TimerRef)
			}
		}
		if len(s.done) == 0 {
			return resp
		}
		s.in.Kind, s.in.Timer, s.in.Ref, s.in.Body = step.Done, s.done[0].Timer, s.done[0].Ref, nil
	}
}

// BenchmarkProduceAndFetch is one produce with acks=1 of one small batch and one
// consumer fetch of it, from request to answer.
func BenchmarkProduceAndFetch(b *testing.B) {
	w := newWorld(b, "zk-3.9")
	w.cluster(1)
	w.create("orders", nil, 1)
	s := serve(w)
	produce, fetch := w.produce(1, "orders", 0, batch("a value of some length, as usual")), w.fetch("orders", 0, 0, 500)
	b.ReportAllocs()
	for b.Loop() {
		_, base := produced(s.request(produce).(kmsg.Response))
		fetch.Topics[0].Partitions[0].FetchOffset = int64(base)
		if r := s.request(fetch); len(fetched(r.(kmsg.Response)).RecordBatches) == 0 {
			b.Fatal("nothing fetched")
		}
	}
}

// BenchmarkReplicatedProduce is acks=all with two followers whose fetches are
// parked, woken, answered and come again: five requests.
func BenchmarkReplicatedProduce(b *testing.B) {
	w := trio(b, "zk-3.9", nil)
	w.run(kafka.Second)
	s := serve(w)
	// The real followers' fetches stay away from now on.
	h := s.b.topics.get("orders", 0)
	for h.fetches.first != nil {
		h.fetches.first.remove()
	}
	produce := w.produce(-1, "orders", 0, batch("a value of some length, as usual"))
	var fetches [2]*kmsg.FetchRequest
	for i := range fetches {
		fetches[i] = w.fetch("orders", 0, 0, 500)
		fetches[i].ReplicaID = int32(2 + i)
	}
	next := h.p.PublishedLEO()
	park := func() {
		for _, f := range fetches {
			f.Topics[0].Partitions[0].FetchOffset = int64(next)
			s.request(f)
		}
	}
	park()
	b.ReportAllocs()
	for b.Loop() {
		if s.request(produce) == nil {
			b.Fatal("the followers are not woken")
		}
		next++
		park()
		if h.p.HighWatermark() != next {
			b.Fatal("not committed")
		}
	}
}

// BenchmarkIdleLongPoll is a consumer's fetch that is parked and expires.
func BenchmarkIdleLongPoll(b *testing.B) {
	w := newWorld(b, "zk-3.9")
	w.cluster(1)
	w.create("orders", nil, 1)
	s := serve(w)
	fetch := w.fetch("orders", 0, 0, 500)
	h := s.b.topics.get("orders", 0)
	b.ReportAllocs()
	for b.Loop() {
		s.request(fetch)
		op := h.fetches.first.fetch
		s.in.Kind, s.in.Lane, s.in.Timer, s.in.Now = step.Timer, laneExpiration, timerFetch, op.limit.at
		for i := range s.out.Ops {
			if set := &s.out.Ops[i]; set.Kind == step.OpSetTimer {
				s.in.Arg = set.Arg
				s.out.Timers.Release(set.TimerRef)
			}
		}
		s.out.Reset()
		if err := s.b.Step(&s.in, s.out); err != nil {
			b.Fatal(err)
		}
		s.in.Lane = laneRequests
	}
}
