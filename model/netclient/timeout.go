package netclient

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// deadline is now + timeout, or Forever when there is no timeout.
func deadline(now, timeout kafka.Nanos) kafka.Nanos {
	if timeout <= 0 || timeout >= kafka.Forever-now {
		return kafka.Forever
	}
	return now + timeout
}

// onTimer closes every connection that has an overdue request or is overdue
// itself, and sets the alarm for the rest.
func (c *Client) onTimer(in *step.Input, out *step.Effects) {
	if !c.alarm.Fired(in) {
		return
	}
	next := kafka.Forever
	for _, n := range c.conns {
		at := n.nextDeadline()
		if at > in.Now {
			next = min(next, at)
			continue
		}
		why := TimedOut
		if n.state == connecting {
			why = Refused
		}
		out.Close(n.id)
		c.fail(in, n, why)
	}
	c.alarm.Set(out, next)
}

// Backoff is Kafka's ExponentialBackoff: initial doubled attempts times, at most
// limit, with a jitter of ±20 % drawn, again at most limit. A limit not above
// initial is the constant answer, without jitter; no limit (0) makes initial that.
func Backoff(initial, limit kafka.Nanos, attempts int, draw uint64) kafka.Nanos {
	if initial <= 0 {
		return 0
	}
	if limit <= 0 {
		return initial
	}
	if limit <= initial {
		return limit
	}
	term := initial
	for range attempts {
		if term >= limit-term {
			term = limit
			break
		}
		term *= 2
	}
	spread := int64(term / 5)
	return min(limit, term+kafka.Nanos(step.Between(draw, -spread, spread)))
}
