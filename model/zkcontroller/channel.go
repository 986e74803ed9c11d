package zkcontroller

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// resendPause is the wait of RequestSendThread after a failed attempt.
const resendPause = 100 * kafka.Millisecond

// setupTimeout is socket.connection.setup.timeout.ms.
const setupTimeout = 10 * kafka.Second

// maxQueuedRequests bounds a channel. The queue only grows while its broker is
// registered and cannot be reached, so a full one is a program error.
const maxQueuedRequests = 1 << 20

// channel is the way to one broker (ControllerBrokerStateInfo and its
// RequestSendThread): one request in flight, the same one sent again after a
// pause until it is answered or the broker is gone (Z-18).
type channel struct {
	broker kafka.NodeID
	addr   step.Addr
	queue  []kmsg.Request // the first one may be in flight
	busy   bool           // in flight, or pausing before the next attempt
	pause  step.TimerRef
	closed bool // removed; completions are nobody's
}

func (c *Controller) channel(id kafka.NodeID) *channel {
	i, found := slices.BinarySearchFunc(c.channels, id, func(ch *channel, id kafka.NodeID) int { return cmp.Compare(ch.broker, id) })
	if !found {
		return nil
	}
	return c.channels[i]
}

// openChannel starts the channel to a broker that has none.
func (c *Controller) openChannel(b *liveBroker) {
	if c.channel(b.id) != nil {
		return
	}
	i, _ := slices.BinarySearchFunc(c.channels, b.id, func(ch *channel, id kafka.NodeID) int { return cmp.Compare(ch.broker, id) })
	c.channels = slices.Insert(c.channels, i, &channel{broker: b.id, addr: b.addr})
}

// closeChannel drops the channel and what is queued on it.
func (c *Controller) closeChannel(id kafka.NodeID) {
	if ch := c.channel(id); ch != nil {
		ch.close(c)
		c.channels = slices.DeleteFunc(c.channels, func(o *channel) bool { return o == ch })
	}
}

func (ch *channel) close(c *Controller) {
	ch.closed = true
	ch.queue = nil
	c.out.CancelTimer(&ch.pause)
	c.net.Disconnect(c.in, c.out, ch.addr)
}

// enqueue hands a request to a broker's channel; without one it is dropped.
func (c *Controller) enqueue(id kafka.NodeID, req kmsg.Request) {
	ch := c.channel(id)
	if ch == nil {
		return
	}
	if len(ch.queue) == maxQueuedRequests {
		panic("zkcontroller: the request queue of a broker is full")
	}
	ch.queue = append(ch.queue, req)
	ch.sendFirst(c)
}

// sendFirst sends the first request unless one is in flight or pausing.
func (ch *channel) sendFirst(c *Controller) {
	if ch.busy || len(ch.queue) == 0 {
		return
	}
	ch.busy = true
	if !c.net.Connect(c.in, c.out, ch.addr) {
		ch.startPause(c)
		return
	}
	c.net.Send(c.in, c.out, ch.addr, ch.queue[0], 0, ch)
}

func (ch *channel) startPause(c *Controller) {
	ch.pause = c.out.SetTimer(c.lane, c.in.Now+resendPause, c.timerBase+timerBackoff, 0, ch)
}

// backoffOver sends the same request again.
func (ch *channel) backoffOver(c *Controller) {
	ch.pause = step.TimerRef{}
	if ch.closed {
		return
	}
	ch.busy = false
	ch.sendFirst(c)
}

// completed takes the end of an attempt.
func (c *Controller) completed(done *netclient.Completion) {
	ch := done.Tag.(*channel)
	if ch.closed {
		return
	}
	if done.Failure != netclient.Answered {
		ch.startPause(c)
		return
	}
	sent := ch.queue[0]
	ch.queue[0] = nil
	ch.queue = ch.queue[1:]
	ch.busy = false
	switch r := done.Response.(type) {
	case *kmsg.LeaderAndISRResponse:
		c.put(&leaderAndISRResponse{broker: ch.broker, resp: r})
	case *kmsg.StopReplicaResponse:
		if e := c.deletionAnswered(ch.broker, sent.(*kmsg.StopReplicaRequest), r); e != nil {
			c.put(e)
		}
	}
	ch.sendFirst(c)
}
