package log

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

func TestOffsetOfReadsWhatFileNameWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := kafka.Offset(rapid.Int64Min(0).Draw(t, "base"))
		name := fileName(base, indexSuffix)
		if len(name) != offsetDigits+len(indexSuffix) {
			t.Fatalf("%q is no name of 20 digits", name)
		}
		if got, ok := offsetOf(name); !ok || got != base {
			t.Errorf("%q is read as %d, %t", name, got, ok)
		}
		if path := markedPath("d-0", base, indexSuffix, swapSuffix); path != "d-0/"+name+swapSuffix {
			t.Errorf("%q is not the path of %q", path, name)
		}
	})
}

// Kafka reads the digits with Long.parseLong, whose other forms are no names of files.
func TestOffsetOfTakesTwentyDigitsOfAnOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.OneOf(rapid.StringMatching(`[0-9]{20}`), rapid.StringMatching(`0[0-9+_ :/a-f-]{18,20}`),
			rapid.SampledFrom([]string{"09223372036854775807", "09223372036854775808", "18446744073709551616"})).Draw(t, "digits")
		n, err := strconv.ParseInt(digits, 10, 64)
		want := err == nil && len(digits) == offsetDigits && !strings.ContainsAny(digits, "+-")
		if got, ok := offsetOf(digits + logSuffix); ok != want || ok && got != kafka.Offset(n) {
			t.Errorf("%q is read as %d, %t", digits, got, ok)
		}
	})
}
