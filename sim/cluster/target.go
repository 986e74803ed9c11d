package cluster

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/simdisk"
	"github.com/simkafka/simkafka/sim/simnet"
)

var _ faults.Target = (*Cluster)(nil)

// Now implements faults.Target.
func (c *Cluster) Now() kafka.Nanos { return c.k.Now() }

// Draw implements faults.Target: keyed by the fault's name, not by its number in
// the plan, so that removing one fault leaves the others' draws.
func (c *Cluster) Draw(fault int, name string, index uint64) uint64 {
	return c.plan.faults[fault].draws.Draw(name, index)
}

// Select implements faults.Target.
func (c *Cluster) Select(s faults.Selector, ctx faults.Context) []string {
	switch s.Role {
	case faults.ByName:
		if h := c.names[s.Name]; h != nil {
			return []string{s.Name}
		}
		return nil
	case faults.Leader:
		return c.brokerName(c.view.at(s.TP).leader)
	case faults.Follower:
		if f := c.followers(s.TP, true); len(f) > 0 {
			return f[:1]
		}
		return nil
	case faults.Followers:
		return c.followers(s.TP, false)
	case faults.Controller:
		return c.brokerName(c.view.controller)
	case faults.Coordinator:
		return c.brokerName(c.view.coordinator(s.Name))
	case faults.GroupLeader:
		return c.groupLeader(s.Name)
	case faults.Rack:
		return c.pick(func(h *host) bool { return h.kind == brokerKind && h.rack == s.Name })
	case faults.Brokers, faults.Others:
		return c.pick(func(h *host) bool { return h.kind == brokerKind })
	case faults.Clients:
		return c.pick(func(h *host) bool { return h.kind == producerKind || h.kind == consumerKind })
	case faults.Producers:
		return c.pick(func(h *host) bool { return h.kind == producerKind })
	case faults.Consumers:
		return c.pick(func(h *host) bool { return h.kind == consumerKind })
	case faults.ZooKeeper:
		return []string{zookeeperName}
	case faults.Random:
		all := c.Select(*s.Inner, ctx)
		if len(all) == 0 {
			return nil
		}
		i := step.Below(c.Draw(ctx.Index, "random:"+s.Inner.String(), uint64(ctx.Nth)), uint64(len(all)))
		return all[i : i+1]
	case faults.Subject:
		if ctx.Event != nil && c.names[ctx.Event.Actor] != nil {
			return []string{ctx.Event.Actor}
		}
	}
	return nil
}

func (c *Cluster) brokerName(id kafka.NodeID) []string {
	if id == kafka.NoNode || c.names[kafka.BrokerHost(id)] == nil {
		return nil
	}
	return []string{kafka.BrokerHost(id)}
}

// groupLeader is the client whose member id is that of the group's leader.
func (c *Cluster) groupLeader(group string) []string {
	id := c.view.leaders[group]
	for _, h := range c.consumers {
		if h.group == group && h.member != nil && id != "" && h.member.MemberID() == id && c.k.State(h.id) == kernel.Running {
			return []string{h.name}
		}
	}
	return nil
}

// followers are the replicas that do not lead, in assignment order.
func (c *Cluster) followers(tp kafka.TopicPartition, running bool) []string {
	p := c.view.at(tp)
	var out []string
	for _, id := range p.replicas {
		name := kafka.BrokerHost(id)
		if id == p.leader || c.names[name] == nil || running && c.k.State(c.names[name].id) != kernel.Running {
			continue
		}
		out = append(out, name)
	}
	return out
}

// pick lists hosts in the order in which they were built.
func (c *Cluster) pick(want func(*host) bool) []string {
	var out []string
	for i := range c.k.Actors() {
		name := c.k.Name(kernel.ActorID(i))
		if h := c.names[name]; h != nil && want(h) {
			out = append(out, name)
		}
	}
	return out
}

func (c *Cluster) running(actor string) (*host, bool) {
	h := c.names[actor]
	return h, h != nil && c.k.State(h.id) == kernel.Running
}

// Kill implements faults.Target.
func (c *Cluster) Kill(actor string) bool { return c.crash(actor, "kill", kernel.Kill) }

// PowerLoss implements faults.Target.
func (c *Cluster) PowerLoss(actor string) bool { return c.crash(actor, "power loss", kernel.Power) }

func (c *Cluster) crash(actor, reason string, mode kernel.Mode) bool {
	h, ok := c.running(actor)
	if !ok {
		return false
	}
	c.k.Crash(h.id, reason, mode)
	return true
}

// Restart implements faults.Target.
func (c *Cluster) Restart(actor string) bool {
	h, up := c.running(actor)
	if h == nil || up && !h.stopping {
		return false
	}
	if up {
		h.again = true // boots when it has stopped
	} else {
		h.boot()
	}
	return true
}

// Stop implements faults.Target. What stops may take long, or need ZooKeeper; a
// restart asked for meanwhile follows when it has ended.
func (c *Cluster) Stop(actor string) bool {
	h, ok := c.running(actor)
	if !ok || !c.k.Terminate(h.id) {
		return false
	}
	h.stopping = true
	return true
}

// Pause implements faults.Target.
func (c *Cluster) Pause(actor string) bool {
	h, ok := c.running(actor)
	return ok && c.k.Pause(h.id)
}

// Resume implements faults.Target.
func (c *Cluster) Resume(actor string) bool {
	h, ok := c.running(actor)
	return ok && c.k.Resume(h.id)
}

// Cut implements faults.Target.
func (c *Cluster) Cut(from, to []string) func() { return c.net.Cut(from, to) }

// Shape implements faults.Target.
func (c *Cluster) Shape(a, b []string, s faults.LinkShape) func() {
	return c.net.Shape(a, b, simnet.Shape{Latency: s.Latency, Jitter: s.Jitter, LossPPM: s.LossPPM, Bandwidth: s.Bandwidth})
}

// Reset implements faults.Target.
func (c *Cluster) Reset(a, b []string) int { return c.net.Reset(a, b) }

func (c *Cluster) inject(actor string, f simdisk.Fault) func() {
	h := c.names[actor]
	if h == nil || h.disk == nil {
		return func() {}
	}
	id := h.disk.Inject(f)
	return func() { h.disk.Heal(id) }
}

// SlowDisk implements faults.Target.
func (c *Cluster) SlowDisk(actor string, times int64, until kafka.Nanos) func() {
	return c.inject(actor, simdisk.Slow{Times: times, From: c.k.Now(), Until: until})
}

// StallDisk implements faults.Target.
func (c *Cluster) StallDisk(actor string, until kafka.Nanos) func() {
	return c.inject(actor, simdisk.Stall{From: c.k.Now(), Until: until})
}

// FailDisk implements faults.Target.
func (c *Cluster) FailDisk(actor string, f faults.DiskError) func() {
	kinds := []simdisk.OpKind{}
	for _, name := range map[string][]string{"write": {"append", "write", "truncate", "create"}, "read": {"read"}, "sync": {"sync", "flush"}}[f.Op] {
		if k, ok := simdisk.ParseOpKind(name); ok {
			kinds = append(kinds, k)
		}
	}
	m := simdisk.Match{Ops: simdisk.OpsOf(kinds...), Pattern: f.Match, Nth: uint64(f.Nth)}
	var fault simdisk.Fault = simdisk.IOError{Match: m}
	if f.DropDirty {
		fault = simdisk.SyncDrop{Match: m}
	}
	h := c.names[actor]
	if h == nil || h.disk == nil {
		return func() {}
	}
	id := h.disk.Inject(fault)
	return func() {
		if h.disk.Selected(id) == 0 {
			c.idleFaults = append(c.idleFaults, fmt.Sprintf("disk_error on %s met no %s of %q: nothing failed", actor, f.Op, f.Match))
		}
		h.disk.Heal(id)
	}
}

// FillDisk implements faults.Target.
func (c *Cluster) FillDisk(actor string) func() { return c.inject(actor, simdisk.Full{}) }

// Failpoint implements faults.Target.
func (c *Cluster) Failpoint(actor, site, term string) (func(), error) {
	h := c.names[actor]
	if h == nil || h.disk == nil {
		return nil, fmt.Errorf("%s has no failpoints", actor)
	}
	r := c.points(h)
	s, ok := point.Parse(site)
	if !ok {
		return nil, fmt.Errorf("unknown failpoint %q", site)
	}
	if err := r.Arm(s, term); err != nil {
		return nil, err
	}
	return func() { r.Disarm(s) }, nil
}

// Clock implements faults.Target.
func (c *Cluster) Clock(actor string, delta kafka.Nanos) func() {
	h := c.names[actor]
	if h == nil {
		return func() {}
	}
	c.shiftClock(h, delta)
	return func() { c.shiftClock(h, -delta) }
}

func (c *Cluster) shiftClock(h *host, delta kafka.Nanos) {
	offset := c.k.WallOffset(h.id) + delta
	c.k.SetWallOffset(h.id, offset)
	if h.disk != nil {
		h.disk.SetWallOffset(c.k.Epoch() + kafka.TimestampMs(offset/kafka.Millisecond))
	}
}

// hooks watches disks for the faults that a disk operation triggers.
func (c *Cluster) hooks() {
	if !slices.ContainsFunc(c.plan.faults, func(f planned) bool { return f.Trigger.Disk != nil }) {
		return
	}
	for _, b := range c.brokers {
		b.disk.SetHook(func(op simdisk.Op) simdisk.Action { return c.plan.diskOp(b.name, op) })
	}
}
