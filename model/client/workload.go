package client

import (
	"math/bits"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Arrival says how calls are spread in time.
type Arrival uint8

// The arrivals.
const (
	Constant    Arrival = iota // at equal intervals
	Exponential                // a Poisson process
)

// Workload is what a Producer's application sends. It is an open loop: calls come
// at their times whether or not earlier ones have returned, as from a pool of
// threads, so that a blocked call delays no later one.
type Workload struct {
	Topic string
	// RatePerMil is calls a second, in thousandths; 0 sends nothing.
	RatePerMil int64
	Arrival    Arrival
	// RecordsPerCall are sent at each call's time; 0 means 1.
	RecordsPerCall int
	// RecordSize is the size of a value in bytes, at least MinValueSize.
	RecordSize int
	// KeyCount is the number of distinct keys, drawn uniformly; 0 = no key.
	KeyCount int64
	// TombstonePPM is the share of records without a value, in millionths, if they have
	// keys.
	TombstonePPM int64
	// Partition is where all records go; -1 = the partitioner decides.
	Partition int32
	// Count ends the workload after so many records; 0 = no limit.
	Count int64
	// StartAt is the time of the first constant call, and the origin of the others.
	StartAt kafka.Nanos
	// StopAt is exclusive; 0 = never.
	StopAt kafka.Nanos
}

// arrivals walks a workload's calls in time.
type arrivals struct {
	w     *Workload
	calls uint64
	left  int64 // records still to send
	next  kafka.Nanos
}

func newArrivals(in *step.Input, w *Workload) arrivals {
	a := arrivals{w: w, left: w.Count, next: max(w.StartAt, in.Now)}
	if w.Count == 0 {
		a.left = 1<<63 - 1
	}
	if w.RatePerMil <= 0 {
		a.next = kafka.Forever
		return a
	}
	if w.Arrival == Exponential {
		a.next = saturatingAdd(a.next, a.gap(in))
	} else if in.Now > w.StartAt {
		a.skip(in.Now)
	}
	a.stop()
	return a
}

// skip passes the constant calls before now: a process that starts late has not
// made them.
func (a *arrivals) skip(now kafka.Nanos) {
	hi, lo := bits.Mul64(uint64(now-a.w.StartAt), uint64(a.w.RatePerMil))
	a.calls, _ = bits.Div64(hi, lo, 1000*uint64(kafka.Second))
	for a.next = a.constant(); a.next < now; {
		a.calls++
		a.next = a.constant()
	}
}

// constant is the time of the constant call number a.calls, without drift.
func (a *arrivals) constant() kafka.Nanos {
	hi, lo := bits.Mul64(a.calls, 1000*uint64(kafka.Second))
	if hi >= uint64(a.w.RatePerMil) {
		return kafka.Forever
	}
	q, _ := bits.Div64(hi, lo, uint64(a.w.RatePerMil))
	return saturatingAdd(a.w.StartAt, kafka.Nanos(min(q, 1<<63-1)))
}

func (a *arrivals) gap(in *step.Input) kafka.Nanos {
	mean := kafka.Nanos(1000 * uint64(kafka.Second) / uint64(a.w.RatePerMil))
	return exponential(mean, in.Draw("workload/arrival", uint64(in.Incarnation)<<32|a.calls))
}

// pass moves on to the call after the current one.
func (a *arrivals) pass(in *step.Input) {
	a.calls++
	a.left -= a.records()
	if a.w.Arrival == Exponential {
		a.next = saturatingAdd(a.next, a.gap(in))
	} else {
		a.next = a.constant()
	}
	a.stop()
}

func (a *arrivals) stop() {
	if a.left <= 0 || a.w.StopAt != 0 && a.next >= a.w.StopAt {
		a.next = kafka.Forever
	}
}

// records is how many records the current call sends.
func (a *arrivals) records() int64 { return min(a.left, int64(max(a.w.RecordsPerCall, 1))) }

// appendKey appends the key of a workload's record: "key-" and a number.
func appendKey(dst []byte, n uint64) []byte {
	return strconv.AppendUint(append(dst, "key-"...), n, 10)
}
