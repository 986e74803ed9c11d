package replica

import (
	"testing"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// TestAnIdleReplicaCostsLessThanHalfAKiB here, with two followers or a fetcher.
func TestAnIdleReplicaCostsLessThanHalfAKiB(t *testing.T) {
	leader := unsafe.Sizeof(Partition{}) + 2*unsafe.Sizeof(remote{}) + 3*unsafe.Sizeof(kafka.NodeID(0))
	follower := unsafe.Sizeof(Partition{}) + unsafe.Sizeof(fetchState{}) + unsafe.Sizeof(askedFor{}) + unsafe.Sizeof(visible{})
	if leader > 512 || follower > 512 {
		t.Errorf("leader %d bytes, follower %d", leader, follower)
	}
	t.Logf("leader %d bytes, follower %d", leader, follower)
}

// BenchmarkIdleRound is a fetch of 36 partitions that brings nothing, and the next
// request.
func BenchmarkIdleRound(b *testing.B) {
	w := newWorld(b, "zk-3.9", 2)
	f := w.broker(2)
	for n := range int32(36) {
		f.follow(n, 1, 0, 0, ids(1, 2))
	}
	req := f.pending().(*kmsg.FetchRequest)
	for i := range f.fetcher.parts {
		f.fetcher.parts[i].state = fetching
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	rt := kmsg.FetchResponseTopic{TopicID: req.Topics[0].TopicID}
	for n := range int32(36) {
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.Partition, rp.LogStartOffset = n, 0
		rt.Partitions = append(rt.Partitions, rp)
	}
	resp.Topics = append(resp.Topics, rt)
	f.answer(resp)
	in := f.input(step.Response)
	in.Lane, in.Conn, in.Body = fetcherLane, f.conn, resp
	in.Correlation = f.requests[0].Correlation
	b.ReportAllocs()
	for b.Loop() {
		f.out.Reset()
		if _, err := f.fetcher.Handle(in, f.out); err != nil {
			b.Fatal(err)
		}
		in.Correlation++
	}
}
