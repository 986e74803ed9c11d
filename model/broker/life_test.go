package broker

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

func TestAcksAllIsAnsweredWhenTheISRHasIt(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-0.11", "zk-2.0", "zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			w := newWorld(t, profile)
			w.cluster(3)
			w.create("orders", nil, 1, 2, 3)
			c := w.client(1)
			for i := range 5 {
				code, base := produced(c.ask(w.produce(-1, "orders", 0, batch("a", "b"))))
				if code != kafka.None || base != kafka.Offset(2*i) {
					t.Fatalf("produce %d: %v at %d", i, code, base)
				}
			}
			w.until("the followers have the high watermark", func() bool {
				return w.part(2, "orders").HighWatermark() == 10 && w.part(3, "orders").HighWatermark() == 10
			})
			got := fetched(c.ask(w.fetch("orders", 0, 0, 500)))
			if got.HighWatermark != 10 || len(got.RecordBatches) == 0 {
				t.Fatalf("fetch: %d bytes, high watermark %d", len(got.RecordBatches), got.HighWatermark)
			}
			if !w.broker(1).Idle() {
				t.Fatal("not idle")
			}
		})
	}
}
