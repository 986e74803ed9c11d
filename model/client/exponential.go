package client

import (
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
)

const (
	logBits = 24         // fraction bits of a logarithm
	ln2     = 0xb17217f7 // ln 2 in units of 2^-32
)

// exponential maps a uniform draw to an exponentially distributed delay of the
// given mean: -ln(draw / 2^64) * mean, in integer arithmetic, exact on every
// machine. At most 44.4 means.
func exponential(mean kafka.Nanos, draw uint64) kafka.Nanos {
	halvings := uint64(64)<<logBits - log2(draw|1)
	hi, lo := bits.Mul64(halvings, ln2)
	e := hi<<(64-32) | lo>>32 // the delay in means, in units of 2^-logBits
	hi, lo = bits.Mul64(e, uint64(mean))
	if hi >= 1<<(logBits-1) {
		return kafka.Forever
	}
	return kafka.Nanos(hi<<(64-logBits) | lo>>logBits)
}

// log2 is the binary logarithm of x >= 1 in units of 2^-logBits, rounded down,
// found bit by bit by squaring the mantissa.
func log2(x uint64) uint64 {
	whole := uint64(bits.Len64(x) - 1)
	mantissa := x << bits.LeadingZeros64(x) // in [1, 2), units of 2^-63
	result := whole
	for range logBits {
		hi, lo := bits.Mul64(mantissa, mantissa) // in [1, 4), units of 2^-126
		bit := hi >> 63
		result = result<<1 | bit
		small := bit - 1 // all ones if the bit is 0: no branch, which would be guessed wrong half the time
		mantissa = hi<<(small&1) | lo>>63&small
	}
	return result
}
