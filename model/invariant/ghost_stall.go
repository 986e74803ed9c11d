package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// stall is what a leader waits for: as long as the controller has not answered that a
// follower is out of the in-sync set, the high watermark waits for that follower
// (PendingShrinkIsr.maximalIsr), and appends with acks=all for the high watermark.
//
// The request goes over a channel of its own, one at a time (DefaultAlterPartitionManager),
// and is repeated over a new connection when its answer has not come within
// controller.socket.timeout.ms (NodeToControllerChannelManagerImpl gives that to its
// NetworkClient). So long a connection takes that has fallen silent; the one that the follower
// fetches over likewise, replica.socket.timeout.ms.
type stall struct {
	// asked is when it asked to take somebody out of the in-sync set, 0 if that was
	// answered. Who asks again because of an error has asked before.
	asked kafka.Nanos
	// since is when the oldest batch above the high watermark was published or the
	// high watermark moved last; 0 if there is none.
	since kafka.Nanos
}

// shrinks takes a proposal.
func (r *replica) shrinks(now kafka.Nanos) {
	if r.stall.asked == 0 && slices.ContainsFunc(r.isr, func(id kafka.NodeID) bool { return !slices.Contains(r.proposed, id) }) {
		r.stall.asked = now
	}
}

// appended takes a published log end.
func (r *replica) appended(leo kafka.Offset, now kafka.Nanos) {
	if r.published = leo; r.role == leads && r.hw < leo && r.stall.since == 0 {
		r.stall.since = now
	}
}

// moves takes the high watermark of a leader that has moved.
func (g *ghost) moves(p *partition, r *replica, e *event.Event) {
	g.frees(p, r)
	if r.stall.since = 0; e.HW < e.LEO {
		r.stall.since = e.Time
	}
}

// frees ends the stall of a leader.
func (g *ghost) frees(p *partition, r *replica) {
	if r.stall.asked > 0 && r == p.incumbent() && g.stalls(p) {
		p.freed = g.now
	}
}

// stalls reports whether appends to a partition wait since the controller has not answered its
// leader: longer than they may take anyway, and no longer than that may take when the faults have
// ended. Over a connection that brought an answer since then the next ones come at once.
func (g *ghost) stalls(p *partition) bool {
	r := p.incumbent()
	if r == nil || r.stall.asked == 0 || r.stall.since == 0 || g.now <= r.stall.since+slack || !g.setup.Profile.AlterPartition {
		return false
	}
	n := g.node(r.node)
	if n.answered.at >= g.healed && n.answered.by == g.controllerEpoch {
		return g.now <= max(n.answered.at, r.stall.asked)+slack
	}
	return g.now <= max(g.healed, r.stall.asked)+g.setup.ControllerTimeout+slack
}

// answered is when a controller, of which epoch, last answered a broker that it had changed the
// in-sync set of a partition.
type answered struct {
	at kafka.Nanos
	by kafka.ControllerEpoch
}
