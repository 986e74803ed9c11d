package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// latencyUnits are the units of a duration in a table, largest first.
var latencyUnits = [...]struct {
	size kafka.Nanos
	name string
}{{kafka.Second, "s"}, {kafka.Millisecond, "ms"}, {kafka.Microsecond, "µs"}, {1, "ns"}}

// latency prints a duration with three digits, such as 1.23 ms. Integer
// arithmetic only, so that equal runs print equal text on every machine.
func latency(d kafka.Nanos) string {
	if d == 0 {
		return "0"
	}
	if d < 0 {
		return "-" + latency(-d)
	}
	for _, u := range latencyUnits {
		if d < u.size {
			continue
		}
		if text, ok := threeDigits(int64(d), int64(u.size)); ok {
			return text + " " + u.name
		}
		return latency(d + u.size) // rounding up reached the next unit
	}
	return "0"
}

// threeDigits prints n/unit with three significant digits, rounded half up; false
// when that gives 1000 and a larger unit exists.
func threeDigits(n, unit int64) (string, bool) {
	switch {
	case unit == 1:
		return strconv.FormatInt(n, 10), true
	case n >= 100*unit-unit/20:
		v := n / unit
		if n%unit >= unit-n%unit {
			v++
		}
		return strconv.FormatInt(v, 10), v < 1000 || unit == int64(kafka.Second)
	case n >= 10*unit-unit/200:
		v := (n*10 + unit/2) / unit
		return fmt.Sprintf("%d.%d", v/10, v%10), true
	}
	v := (n*100 + unit/2) / unit
	return fmt.Sprintf("%d.%02d", v/100, v%100), true
}

// moment prints a point of virtual time in seconds with three digits, cut, not
// rounded, so that it never names a time before the fact it stands for.
func moment(t kafka.Nanos) string {
	if t < 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%03ds", t/kafka.Second, t%kafka.Second/kafka.Millisecond)
}

// span prints a duration for people: 450 ms, 12.3s, 1m03.2s, 2h05m00s.
func span(d kafka.Nanos) string {
	tenths := (d + 50*kafka.Millisecond) / (100 * kafka.Millisecond)
	s := tenths / 10
	switch {
	case d < 0:
		return "-"
	case d == 0:
		return "0"
	case d < kafka.Second:
		return latency(d)
	case s < 60:
		return fmt.Sprintf("%d.%ds", s, tenths%10)
	case s < 3600:
		return fmt.Sprintf("%dm%02d.%ds", s/60, s%60, tenths%10)
	}
	return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
}

// Exact prints a duration in seconds with every digit it needs, as --until takes it.
func Exact(d kafka.Nanos) string {
	text := fmt.Sprintf("%d.%09d", d/kafka.Second, d%kafka.Second)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

// count prints a number with commas between groups of three digits.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(text) - 3; i > from; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// plural prints a count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// nodes prints node ids as {1,2,3}.
func nodes(ids []kafka.NodeID) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(id)))
	}
	b.WriteByte('}')
	return b.String()
}

// broker prints a broker's name; nobody is "none".
func broker(id kafka.NodeID) string {
	if id < 0 {
		return "none"
	}
	return kafka.BrokerHost(id)
}
