package faults

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Duration prints a duration in the largest unit that is exact, as scenario
// files write it.
func Duration(d kafka.Nanos) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	for _, u := range []struct {
		unit kafka.Nanos
		name string
	}{{kafka.Hour, "h"}, {kafka.Minute, "m"}, {kafka.Second, "s"}, {kafka.Millisecond, "ms"}, {kafka.Microsecond, "us"}} {
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprintf("%s%d%s", sign, d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%s%dns", sign, int64(d))
}

// percentText prints parts per million as a percentage.
func percentText(ppm int64) string { return Decimal(ppm, 10_000) + "%" }

// Decimal prints n/scale without trailing zeros; scale is a power of ten.
func Decimal(n, scale int64) string {
	s := strconv.FormatInt(n/scale, 10)
	if rest := n % scale; rest != 0 {
		digits := strconv.FormatInt(scale+rest, 10)[1:]
		s += "." + strings.TrimRight(digits, "0")
	}
	return s
}
