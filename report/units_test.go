package report

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

func TestLatencyHasThreeDigits(t *testing.T) {
	for _, c := range []struct {
		d    kafka.Nanos
		want string
	}{
		{0, "0"}, {1, "1 ns"}, {999, "999 ns"}, {1000, "1.00 µs"}, {1234567, "1.23 ms"}, {9_994_999, "9.99 ms"}, {9_995_000, "10.0 ms"},
		{99_949_999, "99.9 ms"}, {99_950_000, "100 ms"}, {999_499_999, "999 ms"}, {999_500_000, "1.00 s"}, {12_345_678_901, "12.3 s"},
		{999_600_000_000, "1000 s"}, {-1_500_000, "-1.50 ms"},
	} {
		if got := latency(c.d); got != c.want {
			t.Errorf("latency(%d) = %q, want %q", int64(c.d), got, c.want)
		}
	}
}

func TestSpansReadAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		d    kafka.Nanos
		want string
	}{{0, "0"}, {450 * ms, "450 ms"}, {12340 * ms, "12.3s"}, {59960 * ms, "1m00.0s"}, {63200 * ms, "1m03.2s"}, {3600 * s, "1h00m00s"}, {-1, "-"}} {
		if got := span(c.d); got != c.want {
			t.Errorf("span(%d) = %q, want %q", int64(c.d), got, c.want)
		}
	}
}

func TestCountsHaveCommas(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestExactReadsBack: what a replay command says after --until is the same moment.
func TestExactReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := kafka.Nanos(rapid.Int64Range(1, int64(1000*kafka.Hour)).Draw(t, "d"))
		if got, err := time.ParseDuration(Exact(d)); err != nil || kafka.Nanos(got) != d {
			t.Fatalf("%s reads as %d, %v; want %d", Exact(d), int64(got), err, int64(d))
		}
	})
}
