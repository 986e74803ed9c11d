// Package dist samples delays with integers alone, so that every machine draws
// the same (DESIGN 4): constant, uniform, exponential and log-normal, the last two
// through committed tables with linear interpolation. A sample is a pure function
// of the distribution and one 64-bit draw.
//
// Tails are not cut at the end of a table: both tables are laid out by octaves of
// the tail probability, down to 2^-64 (exponential) and 2^-34 (normal).
package dist

import (
	"fmt"
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
)

// Kind is the shape of a distribution.
type Kind uint8

// The shapes.
const (
	ConstantKind Kind = iota
	UniformKind
	ExponentialKind
	LogNormalKind
)

// Dist is a distribution of durations. The zero value is always 0.
type Dist struct {
	kind Kind
	a    kafka.Nanos // constant; low end; mean; median
	b    kafka.Nanos // high end, inclusive
	k    int64       // log-normal: sigma * log2(e), 24 fraction bits
	ppm  int64       // log-normal: sigma in millionths, for String
}

// Constant is always d.
func Constant(d kafka.Nanos) Dist { return Dist{a: d} }

// Uniform is uniform over [lo, hi], both inclusive.
func Uniform(lo, hi kafka.Nanos) Dist { return Dist{kind: UniformKind, a: lo, b: max(lo, hi)} }

// Exponential has the given mean.
func Exponential(mean kafka.Nanos) Dist { return Dist{kind: ExponentialKind, a: mean} }

// maxSigma keeps the exponent's arithmetic within 64 bits.
const maxSigma = 8_000_000

// LogNormal has the given median; sigma, of the underlying normal, is in millionths
// and at most 8,000,000.
func LogNormal(median kafka.Nanos, sigmaPPM int64) Dist {
	sigmaPPM = min(max(sigmaPPM, 0), maxSigma)
	// log2(e) with 24 fraction bits is 24204406.323.
	return Dist{kind: LogNormalKind, a: median, ppm: sigmaPPM, k: sigmaPPM * 24204406 / 1_000_000}
}

// Kind is the distribution's shape.
func (d Dist) Kind() Kind { return d.kind }

// Min is a lower bound of every sample.
func (d Dist) Min() kafka.Nanos {
	if d.kind == ConstantKind || d.kind == UniformKind {
		return d.a
	}
	return 0
}

// String is how a scenario would say it.
func (d Dist) String() string {
	switch d.kind {
	case UniformKind:
		return fmt.Sprintf("uniform(%s, %s)", d.a, d.b)
	case ExponentialKind:
		return fmt.Sprintf("exponential(%s)", d.a)
	case LogNormalKind:
		return fmt.Sprintf("lognormal(%s, %d.%06d)", d.a, d.ppm/1_000_000, d.ppm%1_000_000)
	}
	return fmt.Sprintf("constant(%s)", d.a)
}

// Sample maps a uniform draw to a duration.
func (d Dist) Sample(draw uint64) kafka.Nanos {
	switch d.kind {
	case UniformKind:
		hi, _ := bits.Mul64(draw, uint64(d.b-d.a)+1)
		return d.a + kafka.Nanos(hi)
	case ExponentialKind:
		return scale(d.a, minusLn(draw), 0)
	case LogNormalKind:
		y := int64(normal(draw)) * d.k >> 20 // 28 + 24 fraction bits to 32
		return scale(d.a, exp2(uint32(y)), int(y>>32))
	}
	return d.a
}

// minusLn is -ln(p) with 32 fraction bits, for p = draw/2^64 (2^-64 for 0).
func minusLn(draw uint64) uint64 {
	if draw == 0 {
		draw = 1
	}
	zeros := bits.LeadingZeros64(draw)
	m := draw << zeros // in [0.5, 1)
	i := m >> 55 & 0xff
	frac := m >> 23 & 0xffffffff
	return uint64(zeros)*ln2 + lnTable[i] - (lnTable[i]-lnTable[i+1])*frac>>32
}

// maxOctave is the last octave of the normal table.
const maxOctave = 31

// normal is a standard normal quantile with 28 fraction bits. The top bit of draw
// is the sign, the rest is twice the tail probability.
func normal(draw uint64) int32 {
	p := draw << 1
	zeros := bits.LeadingZeros64(p | 2)
	if zeros > maxOctave {
		zeros, p = maxOctave, 1<<(63-maxOctave)
	}
	m := p << zeros
	i := int(m >> 58 & 31)
	frac := int64(m >> 26 & 0xffffffff)
	g := zeros*32 + 32 - i
	z := normalTable[g] - int32(int64(normalTable[g]-normalTable[g-1])*frac>>32)
	if draw>>63 == 0 {
		return -z
	}
	return z
}

// exp2 is 2^f with 32 fraction bits, f = frac/2^32.
func exp2(frac uint32) uint64 {
	i := frac >> 24
	return exp2Table[i] + (exp2Table[i+1]-exp2Table[i])*uint64(frac&0xffffff)>>24
}

// scale is d * m/2^32 * 2^shift, saturating far below overflow of a clock.
func scale(d kafka.Nanos, m uint64, shift int) kafka.Nanos {
	hi, lo := bits.Mul64(uint64(d), m)
	s := 32 - shift
	switch {
	case s >= 128:
		return 0
	case s >= 64:
		return kafka.Nanos(hi >> (s - 64))
	case s <= 0 || hi>>s != 0:
		return longest
	}
	return kafka.Nanos(min(hi<<(64-s)|lo>>s, uint64(longest)))
}

// longest bounds a sample: a hundred years.
const longest = 100 * 365 * 24 * kafka.Hour
