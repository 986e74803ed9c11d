package client

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// lagMonitor is an application that calls Consumer.endOffsets again and again, as those do
// that watch how far consumers are behind. What it hears is noted by the brokers
// (OffsetAnswered). Left out: it asks only about partitions that have a position, and an
// error that no retry cures is not raised to the application.
type lagMonitor struct {
	every kafka.Nanos // between an answer and the next question; 0 = no monitor
}

// due marks the partition when its next question is; else next is lowered to when it will
// be.
func (m *lagMonitor) due(in *step.Input, a *assigned, next *kafka.Nanos) {
	switch {
	case m.every == 0 || a.state != fetching || a.endDue:
	case in.Now >= a.endAt:
		a.endDue = true
	default:
		*next = min(*next, a.endAt)
	}
}

// answered waits for the next question. A failed one is repeated after backoff, which
// does not keep the partition from being fetched.
func (m *lagMonitor) answered(in *step.Input, a *assigned, wait kafka.Nanos) {
	a.endDue, a.endAt = false, in.Now+wait
}
