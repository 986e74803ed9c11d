package invariant

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// The twin keeps every raise. More than keptRaises that matter may make a deletion later, never earlier.
func TestRaisesTellWhenAnOffsetWasDeletedLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got raises
		var all []raise
		high := rapid.SampledFrom([]int64{5, 20, 200}).Draw(t, "high")
		for range rapid.IntRange(0, 80).Draw(t, "raises") {
			x := raise{kafka.Offset(rapid.Int64Range(0, high).Draw(t, "offset")), kafka.Nanos(rapid.Int64Range(1, high).Draw(t, "at"))}
			got, all = got.with(x), append(all, x)
		}
		for i := 1; i < len(got); i++ {
			if got[i].at <= got[i-1].at || got[i].offset >= got[i-1].offset {
				t.Fatalf("not in order: %v", got)
			}
		}
		for o := range kafka.Offset(high) {
			var want kafka.Nanos
			for _, x := range all {
				if x.offset > o {
					want = max(want, x.at)
				}
			}
			at, ok := got.last(o)
			if ok != (want > 0) || at < want || at > want && len(got) < keptRaises {
				t.Fatalf("offset %d was deleted last at %d (%v), not %d: %v", o, at, ok, want, got)
			}
		}
	})
}
