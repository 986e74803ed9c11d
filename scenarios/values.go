package scenarios

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// unit is a word behind a number and what one of it is.
type unit struct {
	name string
	size int64
}

var durationUnits = []unit{{"ns", 1}, {"us", int64(kafka.Microsecond)}, {"µs", int64(kafka.Microsecond)}, {"ms", int64(kafka.Millisecond)},
	{"s", int64(kafka.Second)}, {"m", int64(kafka.Minute)}, {"h", int64(kafka.Hour)}}

var sizeUnits = []unit{{"B", 1}, {"kB", 1000}, {"KiB", 1 << 10}, {"MB", 1_000_000}, {"MiB", 1 << 20}, {"GB", 1_000_000_000},
	{"GiB", 1 << 30}, {"TB", 1_000_000_000_000}, {"TiB", 1 << 40}}

// bit rates, in bits.
var bitUnits = []unit{{"bit/s", 1}, {"kbit/s", 1000}, {"Mbit/s", 1_000_000}, {"Gbit/s", 1_000_000_000}}

// scaled reads digits[.digits] and the longest unit behind them; it returns the
// value in the smallest unit, which must be whole, and what follows.
func scaled(s string, units []unit) (value int64, rest string, err error) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	number, tail := s[:i], s[i:]
	if number == "" || number == "." || strings.Count(number, ".") > 1 {
		return 0, "", fmt.Errorf("%q does not begin with a number", s)
	}
	best := unit{}
	for _, u := range units {
		if strings.HasPrefix(tail, u.name) && len(u.name) > len(best.name) {
			best = u
		}
	}
	if best.size == 0 {
		return 0, "", fmt.Errorf("%q has no unit", s)
	}
	whole, frac, _ := strings.Cut(number, ".")
	v, err := multiply(whole, best.size)
	if err != nil {
		return 0, "", err
	}
	part, err := fraction(frac, best.size)
	if err != nil {
		return 0, "", fmt.Errorf("%q: %w", s, err)
	}
	if v > 1<<63-1-part {
		return 0, "", fmt.Errorf("%q is too large", s)
	}
	return v + part, tail[len(best.name):], nil
}

func multiply(digits string, size int64) (int64, error) {
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is too large", digits)
	}
	hi, lo := bits.Mul64(n, uint64(size))
	if hi != 0 || lo > 1<<63-1 {
		return 0, fmt.Errorf("%q is too large", digits)
	}
	return int64(lo), nil
}

// fraction is 0.digits of size; digits below one smallest unit are an error.
func fraction(digits string, size int64) (int64, error) {
	v := int64(0)
	for _, d := range strings.TrimRight(digits, "0") {
		if size%10 != 0 {
			return 0, fmt.Errorf("too many digits after the point")
		}
		size /= 10
		v += int64(d-'0') * size
	}
	return v, nil
}

// one reads exactly one scaled number.
func one(s string, units []unit) (int64, error) {
	v, rest, err := scaled(s, units)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q follows the unit", rest)
	}
	return v, err
}

func unitNames(units []unit) string {
	names := make([]string, 0, len(units))
	for _, u := range units {
		if u.name != "µs" {
			names = append(names, u.name)
		}
	}
	return strings.Join(names, " ")
}

// ParseDuration reads a duration such as 1.5s or 1m30s; a minus sign is allowed
// where negative is.
func ParseDuration(s string, negative bool) (kafka.Nanos, error) {
	bad := func() (kafka.Nanos, error) {
		hint := ""
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			hint = fmt.Sprintf("; a number needs a unit, such as %ss or %sms", s, s)
		}
		return 0, fmt.Errorf("%q is not a duration%s (units: %s)", s, hint, unitNames(durationUnits))
	}
	body, minus := strings.CutPrefix(s, "-")
	if minus && !negative {
		return 0, fmt.Errorf("%q is negative; this duration cannot be", s)
	}
	if body == "0" {
		return 0, nil
	}
	total := int64(0)
	for rest := body; ; {
		v, tail, err := scaled(rest, durationUnits)
		if err != nil || total > 1<<62-v {
			return bad()
		}
		total += v
		if tail == "" {
			break
		}
		rest = tail
	}
	if minus {
		total = -total
	}
	return kafka.Nanos(total), nil
}

// ParseSize reads a size such as 1KiB, in bytes.
func ParseSize(s string) (int64, error) {
	v, err := one(s, sizeUnits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size; write a number with a unit, such as 1KiB (units: %s)", s, unitNames(sizeUnits))
	}
	return v, nil
}

// ParseBandwidth reads a bit rate or a byte rate, in bytes per second.
func ParseBandwidth(s string) (int64, error) {
	if v, err := one(s, bitUnits); err == nil {
		return v / 8, nil
	}
	if body, ok := strings.CutSuffix(s, "/s"); ok {
		if v, err := one(body, sizeUnits); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%q is not a bandwidth; write 100Mbit/s or 10MiB/s", s)
}

// ParseRate reads a rate such as 500/s or 33.333/s, in thousandths a second.
func ParseRate(s string) (int64, error) {
	body, ok := strings.CutSuffix(s, "/s")
	if ok {
		if v, err := one(body+"x", []unit{{"x", 1000}}); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%q is not a rate; write 500/s (up to three digits after the point)", s)
}

// ParsePercent reads a percentage, in parts per million.
func ParsePercent(s string) (int64, error) {
	v, err := one(s, []unit{{"%", 10_000}})
	if err != nil || v > 1_000_000 {
		return 0, fmt.Errorf("%q is not a percentage; write 2.5%%, at most 100%%", s)
	}
	return v, nil
}

// ParseFactor reads a whole factor such as 10x.
func ParseFactor(s string) (int64, error) {
	v, err := one(s, []unit{{"x", 1}})
	if err != nil || v < 1 {
		return 0, fmt.Errorf("%q is not a factor; write a whole number of times, such as 10x", s)
	}
	return v, nil
}

// ParseDist reads a delay: 1ms, 200us..500us, exponential 1ms, or lognormal 1ms p99 10ms.
func ParseDist(s string) (Dist, error) {
	bad := fmt.Errorf("%q is not a delay; write 1ms, 200us..500us, exponential 1ms, or lognormal 1ms p99 10ms", s)
	d := func(t string) kafka.Nanos {
		v, err := ParseDuration(t, false)
		if err != nil {
			return -1
		}
		return v
	}
	words := strings.Fields(s)
	var out Dist
	switch {
	case len(words) == 2 && words[0] == "exponential":
		out = Dist{Kind: "exponential", A: d(words[1])}
	case len(words) == 4 && words[0] == "lognormal" && words[2] == "p99":
		out = Dist{Kind: "lognormal", A: d(words[1]), B: d(words[3])}
		if out.A <= 0 || out.B < out.A {
			return Dist{}, bad
		}
	case len(words) == 1:
		lo, hi, isRange := strings.Cut(s, "..")
		out = Dist{Kind: "constant", A: d(lo)}
		if isRange {
			out = Dist{Kind: "uniform", A: d(lo), B: d(hi)}
			if out.B < out.A {
				return Dist{}, bad
			}
		}
	default:
		return Dist{}, bad
	}
	if out.A < 0 || out.B < 0 {
		return Dist{}, bad
	}
	return out, nil
}

// The forms of values, as the file has them.
func durations() syntax[kafka.Nanos] {
	return syntax[kafka.Nanos]{func(s string) (kafka.Nanos, error) { return ParseDuration(s, false) }, durationPattern(), true, []any{"5ms", "30s", "1m30s"}}
}

func signedDurations() syntax[kafka.Nanos] {
	return syntax[kafka.Nanos]{func(s string) (kafka.Nanos, error) { return ParseDuration(s, true) }, "-?(?:" + durationPattern() + ")", true, []any{"5m", "-1h"}}
}

func sizes() syntax[int64] {
	return syntax[int64]{ParseSize, sizePattern(), false, []any{"100B", "1KiB"}}
}

func bandwidths() syntax[int64] {
	return syntax[int64]{ParseBandwidth, bandwidthPattern(), false, []any{"100Mbit/s", "10MiB/s"}}
}

func rates() syntax[int64] {
	return syntax[int64]{ParseRate, numberPattern + "/s", false, []any{"500/s"}}
}

func percents() syntax[int64] {
	return syntax[int64]{ParsePercent, numberPattern + "%", false, []any{"2.5%"}}
}

func factors() syntax[int64] {
	return syntax[int64]{ParseFactor, numberPattern + "x", false, []any{"10x"}}
}

func dists() syntax[Dist] {
	return syntax[Dist]{ParseDist, distPattern(), true, []any{"1ms", "200us..500us", "exponential 1ms", "lognormal 1ms p99 10ms"}}
}
