package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func groupSettles() rule {
	return rule{
		Info: Info{
			Name:  "group-settles",
			Rules: "groups 6.5",
			Words: "A group comes to rest: when the faults have ended, no process starts or ends, no broker takes the group over, hears late who leads its partition of __consumer_offsets (of its members' coordinators, that it does so no more), or gets the min.insync.replicas back that its offsets need, and no topic changes, then its members join, and take " +
				"partitions, no longer than the bound that its settings give.",
			When: "after the faults, at each rebalance that begins and each partition that is taken; at the end of a run",
			Broken: "two members whose callbacks take longer than max.poll.interval.ms; a coordinator that cannot append (fewer than min.insync.replicas replicas run); all members are static and " +
				"gone (the group waits for their sessions); the controller's answer that takes a follower out of the in-sync set of a partition of __consumer_offsets was lost, " +
				"and the leader asks again after controller.socket.timeout.ms; a member whose application takes longer than session.timeout.ms for what a poll returned, " +
				"and does not read before that the answer to its JoinGroup; a topic that members read is deleted, or created again with fewer partitions: they hear of it as late as metadata.max.age.ms, and before they rejoin " +
				"they commit in vain for max.poll.interval.ms (KAFKA-13310); a JoinGroup that was sent before the faults ended, and lost: " +
				"its member waits for the answer for max.poll.interval.ms and 5 s",
		},
		kinds: []event.Kind{event.GroupChanged, event.PartitionAssigned, event.NodeBooted, event.NodeCrashed, event.NodeStopped, event.NodePaused, event.NodeResumed,
			event.MemberRemoved, event.CoordinatorLoaded, event.TopicCreated, event.AssignmentChanged, event.MetadataSeen, event.PartitionChanged,
			event.CoordinatorUnloaded, event.ControlExecuted},
		build: func(f *findings) checker { return &settles{findings: f} },
	}
}

// settles keeps for each group when it was last struck: by what 6.5 assumes not to happen any
// more. What follows from that, as a member whose session ends, is in the bound.
type settles struct {
	*findings
	struck []kafka.Nanos // by the number of the group
	rest   []Rest        // likewise
}

const updateMetadata = "UpdateMetadata"

const doomedSubscription = "a topic that its members subscribe to is deleted"

// readsDoomed: a member subscribes to a topic that is deleted, or is to be.
func (g *ghost) readsDoomed(x *group) bool {
	l := x.newest()
	return l != nil && slices.ContainsFunc(l.wanted(), g.doomedTopic)
}

// Rest is how a group came to rest after it was last struck.
type Rest struct {
	Group       string
	Took, Bound kafka.Nanos
	Rebalances  int
}

// since is when a group was last struck, the end of the faults at the earliest. It is, too, when
// what its coordinator had appended no longer waits for the controller, when a member no
// longer commits in vain, and when it gives up a JoinGroup of the time of the faults.
func (c *settles) since(i int) kafka.Nanos {
	for len(c.struck) <= i {
		c.struck, c.rest = append(c.struck, 0), append(c.rest, Rest{})
	}
	if p := c.g.offsetsPartition(c.g.groups.list[i].index); p != nil && p.freed > c.struck[i] {
		c.struck[i], c.rest[i] = p.freed, Rest{}
	}
	if at := c.g.groups.list[i].wentOn; at > c.struck[i] {
		c.struck[i], c.rest[i] = at, Rest{}
	}
	return max(c.g.healed, c.struck[i])
}

// strike begins the time anew: for the group of a client, for the groups that a coordinator
// loads or can persist again, else for all.
func (c *settles) strike(e *event.Event) {
	if c.g.groups == nil {
		return
	}
	client := c.g.groups.byActor[e.Actor]
	switch e.Kind {
	case event.NodeBooted, event.NodeCrashed, event.NodeStopped, event.NodePaused, event.NodeResumed:
		if _, broker := kafka.ParseBrokerHost(e.Actor); !broker && client == nil {
			return // a producer, or who reads everything in the end
		}
	}
	for i, x := range c.g.groups.list {
		c.since(i)
		if others := (e.Kind == event.CoordinatorLoaded || e.Kind == event.PartitionChanged) && x.index >= 0 && x.index != e.TP.Partition; !others && (client == nil || client.of == x) {
			c.struck[i], c.rest[i] = e.Time, Rest{}
		}
	}
}

// tooBusy begins the time of a group anew that has lost a member because its application did
// not poll for longer than its session: poll sends JoinGroup and returns records without
// waiting for the answer (updateAssignmentMetadataIfNeeded), nothing reads the answer before
// the next poll, and there are no heartbeats until it is read (AbstractCoordinator's
// HeartbeatThread disables itself while hasNotJoinedGroup, JoinGroupResponseHandler enables
// it), while the session runs from the answer on (GroupCoordinator.onCompleteJoin). It joins
// again when it polls, and the next one meets the same, as long as polls return that much. A
// session that is shorter than it should be is another matter; one that came back to a complete
// generation has it from when that was complete.
func (c *settles) tooBusy(e *event.Event) {
	o, m := c.g.groups.byMember[e.Member], c.g.ch.groups.member
	if e.Text != event.GoneSession || m == nil || o == nil || o.member != e.Member || o.state != event.MemberPreparing || o.work <= 0 || o.polled > m.answered {
		return
	}
	if began := min(m.answered, c.g.ch.groups.life.rounds.formed); o.of.setup == nil || e.Time < began+o.of.setup.LeastSession {
		return
	}
	i := slices.Index(c.g.groups.list, o.of)
	c.since(i)
	c.struck[i], c.rest[i] = e.Time, Rest{}
}

// heard begins the time anew for the groups whose partition of __consumer_offsets a broker
// hears of only now, while a member asks for the coordinator, or was told last of one that no
// longer leads it: the broker that it asks answers from what it was told
// (KafkaApis.getCoordinator), the one that it names says NOT_COORDINATOR, and which one it
// asks is not its choice (NetworkClient.leastLoadedNode takes the one that it is connected
// to). A controller tells a broker nothing for as long as request.timeout.ms after the
// faults, if an answer was lost (RequestSendThread's NetworkClient).
func (c *settles) heard(e *event.Event) {
	if c.g.groups == nil || e.Text != updateMetadata {
		return
	}
	for i, x := range c.g.groups.list {
		c.since(i)
		if c.g.newTo(x, c.g.ch.n.heard) {
			c.struck[i], c.rest[i] = e.Time, Rest{}
		}
	}
}

// letsGo begins the time anew for a group with a member that holds to a coordinator which only now
// hears that another broker leads the group's partition of __consumer_offsets: until then it answers its
// heartbeats (GroupCoordinator.onResignation comes with the controller's LeaderAndIsr), while the other one
// takes the member for gone.
func (c *settles) letsGo(e *event.Event) {
	if c.g.groups == nil {
		return
	}
	for i, x := range c.g.groups.list {
		p := c.g.offsetsPartition(x.index)
		c.since(i)
		if p != nil && x.index == e.TP.Partition && p.auth.known && p.auth.leader != e.Node && slices.ContainsFunc(c.g.groups.clients, func(o *groupClient) bool { return o.of == x && o.node == e.Node }) {
			c.struck[i], c.rest[i] = e.Time, Rest{}
		}
	}
}

// newTo reports whether the leader of the group's partition of __consumer_offsets, of any if
// no coordinator ever told of the group, was committed after a broker had heard of states,
// and a member needs to be told of it.
func (g *ghost) newTo(x *group, heard kafka.Nanos) (is bool) {
	late := func(p *partition) bool {
		return p.auth.known && p.auth.since > heard && slices.ContainsFunc(g.groups.clients, func(c *groupClient) bool { return c.of == x && (c.seeks || c.misled(p)) })
	}
	if p := g.offsetsPartition(x.index); p != nil {
		return late(p)
	}
	g.each(func(p *partition) { is = is || p.tp.Topic == offsetsTopic && late(p) })
	return is
}

// misled: the coordinator that it was told last is not the leader of the partition of
// __consumer_offsets, though that was committed before it was told. It may have given the
// coordinator up, and not have asked anew yet.
func (c *groupClient) misled(p *partition) bool {
	return c.told != kafka.NoNode && c.told != p.auth.leader && c.toldAt > p.auth.since
}

// term is one of the times that make the bound of groups 6.5.
type term struct {
	name string
	of   func(s *Setup, g *Group) kafka.Nanos
}

// slack is for everything on the way: the requests' own time, appends, backoffs of
// members and coordinators.
const slack = 2 * kafka.Second

// settlesBefore is what passes until members know that they must rebalance, settlesRound
// what each of the 1 + k rebalances takes: X = sum(settlesBefore) + (1+k) *
// sum(settlesRound).
var (
	settlesBefore = []term{
		{"T_coord: a broker that is gone is replaced", func(s *Setup, _ *Group) kafka.Nanos { return s.Detection }},
		{"T_coord: a connection to it is given up", func(_ *Setup, g *Group) kafka.Nanos { return g.Request }},
		{"S: a member that is gone", func(_ *Setup, g *Group) kafka.Nanos { return g.Session }},
		{"L: the first members of a group wait for others", func(_ *Setup, g *Group) kafka.Nanos { return min(2*g.Delay, g.Rebalance) }},
	}
	settlesRound = []term{
		{"h: a member hears of it", func(_ *Setup, g *Group) kafka.Nanos { return g.Heartbeat }},
		{"G: it comes to poll", func(_ *Setup, g *Group) kafka.Nanos { return g.Poll }},
		{"K: its callback and last commit", func(_ *Setup, g *Group) kafka.Nanos { return g.Callback + g.Request }},
		{"min(R, slowest): all have joined", func(_ *Setup, g *Group) kafka.Nanos { return min(g.Rebalance, g.Poll+g.Callback+g.Request) }},
		{"join, sync and append", func(*Setup, *Group) kafka.Nanos { return slack }},
	}
)

// Settles is X of groups 6.5: how long after its last disturbance a group may rebalance.
func (s *Setup) Settles(g *Group) (x kafka.Nanos) {
	for _, t := range settlesBefore {
		x += t.of(s, g)
	}
	rounds := 1 + g.Rounds
	if g.Callback >= g.Rebalance { // one member is thrown out and comes back
		rounds++
	}
	for _, t := range settlesRound {
		x += kafka.Nanos(rounds) * t.of(s, g)
	}
	return x
}

func (c *settles) observe(e *event.Event) {
	switch e.Kind {
	case event.GroupChanged, event.PartitionAssigned:
	case event.MetadataSeen:
		if c.g.ch.topicChanged {
			c.strike(e)
		}
		return
	case event.ControlExecuted:
		c.heard(e)
		return
	case event.CoordinatorUnloaded:
		c.letsGo(e)
		return
	case event.MemberRemoved:
		c.tooBusy(e)
		return
	case event.PartitionChanged:
		if p := c.g.ch.p; e.TP.Topic == offsetsTopic && len(c.g.ch.before.isr) < p.minISR() && !p.short() {
			c.strike(e)
		}
		return
	default:
		c.strike(e)
		return
	}
	x := c.g.ch.groups.of
	if x.setup == nil || c.g.healed == 0 || e.Kind == event.GroupChanged && e.State != event.GroupPreparingRebalance {
		return
	}
	c.checked++
	if c.g.readsDoomed(x) {
		c.suspend(nil, doomedSubscription)
		return
	}
	i := slices.Index(c.g.groups.list, x)
	since, bound := c.since(i), c.g.setup.Settles(x.setup)
	if why := c.waits(x); why != "" {
		if e.Time > since+bound {
			c.suspend(c.g.offsetsPartition(x.index), why)
		}
		return
	}
	if e.Time > since+bound {
		c.violateGroup(x, kafka.TopicPartition{}, "it rebalances at %s, %s after the last thing that happened to it; the bound is %s", e.Time, e.Time-since, bound)
	}
	c.rest[i] = Rest{x.id, e.Time - since, bound, c.rest[i].Rebalances}
	if e.Kind == event.GroupChanged {
		c.rest[i].Rebalances++
	}
}

// cannotAppend says that a group has no coordinator, or one that persists nothing: too few of the replicas of
// its partition of __consumer_offsets run.
func (g *ghost) cannotAppend(x *group) string {
	if x.index < 0 { // no coordinator ever told of it
		return g.nobodyServes()
	}
	p := g.offsetsPartition(x.index)
	if p == nil || len(p.assignment) == 0 {
		return ""
	}
	running := 0
	for _, id := range p.assignment {
		if !g.node(id).down {
			running++
		}
	}
	if running >= p.minISR() {
		return g.unanswered(p)
	}
	return fmt.Sprintf("%d of the replicas of the group's partition of __consumer_offsets run, and min.insync.replicas is %d", running, p.topic.MinISR)
}

// nobodyServes says why no broker may lead a partition of __consumer_offsets.
func (g *ghost) nobodyServes() (why string) {
	g.each(func(p *partition) {
		if p.tp.Topic == offsetsTopic && p.auth.known && why == "" {
			why = g.createdUnheard(p)
		}
	})
	return why
}

// short: the in-sync set is smaller than min.insync.replicas. It may be for as long as
// request.timeout.ms of the controller after the faults, if the answer to a request of the controller
// was lost, behind which the one waits that tells a follower whom to follow
// (ControllerChannelManager); that it does not stay so is what converges-after-heal says.
func (p *partition) short() bool { return p.auth.known && len(p.auth.isr) < p.minISR() }

// waits says why the group need not come to rest yet.
func (c *settles) waits(x *group) string {
	if why := c.g.cannotAppend(x); why != "" {
		return why
	}
	if c.g.inVain(x) {
		return vainText
	}
	if p := c.g.offsetsPartition(x.index); p != nil && p.short() {
		return fmt.Sprintf("the in-sync set of the group's partition of __consumer_offsets is %v, and min.insync.replicas is %d", p.auth.isr, p.topic.MinISR)
	} else if p != nil && c.g.stalls(p) {
		return "the leader of the group's partition of __consumer_offsets has no answer yet to its request to take a follower out of the in-sync set"
	}
	return ""
}

// Rests tells how each group came to rest at the end of the run, if it had to.
func (s *Suite) Rests() (list []Rest) {
	for _, c := range s.byKind[event.PartitionAssigned] {
		if c, ok := c.(*settles); ok {
			for _, r := range c.rest {
				if r.Group != "" {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// finish looks for groups that are not at rest though they had the time.
func (c *settles) finish(bool) {
	if c.g.groups == nil || c.g.healed == 0 || !c.s.complete {
		return
	}
	for i, x := range c.g.groups.list {
		if x.setup == nil || c.g.readsDoomed(x) {
			continue
		}
		c.checked++
		if why := c.waits(x); why != "" {
			c.suspend(c.g.offsetsPartition(x.index), why)
			continue
		}
		l, since := x.newest(), c.since(i)
		if bound := c.g.setup.Settles(x.setup); l != nil && c.g.now > since+bound && l.state != event.GroupStable && l.state != event.GroupEmpty {
			c.violateGroup(x, kafka.TopicPartition{}, "at the end, %s, it is %s; the last thing happened to it at %s, and the bound is %s", c.g.now, l.state, since, bound)
		}
	}
}
