package scenarios

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Plans at one group (simulation 4.5, groups 6.6). That a partition has one owner, and that
// a committed offset is where its next owner goes on, rests on each member's JoinGroup and
// SyncGroup arriving in their round, on heartbeats within its session, on a poll within
// max.poll.interval.ms, and on what the coordinator has written of both. A plan takes one of
// these supports away, some times over. Whether that matters depends on who the members
// are more than on the moment, so that the plan casts them first: what takes three settings
// and a fault together is seldom drawn one by one.

// groupPlan is a support that is cut, and the members whose group it holds up.
type groupPlan struct {
	name string
	most int64 // how often it is cut
	rest int64 // how many other things happen to the group at most
	cast func(w *world, g string)
	cut  groupCut
}

type groupCut func(w *world, p *faults.Planned, g string)

var groupPlans = []groupPlan{
	{"static-behind", 3, 1, (*world).castStatic, (*world).staticBehind},
	{"joins-late", 1, 0, (*world).castApart, (*world).joinsLate},
	{"joins-late", 1, 0, (*world).castApart, (*world).joinsLate}, // takes most to matter
	{"assigned-and-busy", 3, 1, (*world).castBusy, (*world).assignedAndBusy},
	{"dies-new", 3, 0, (*world).castLongPolls, (*world).diesJoining}, // see easeLongPolls
	{"between-rounds", 3, 2, (*world).castClaiming, (*world).betweenRounds},
	{"restarts-unassigned", 3, 1, (*world).castStatic, (*world).restartsUnassigned},
	{"coordinator", 3, 2, func(*world, string) {}, (*world).coordinatorFails},
	{"lead-returns", 1, 2, func(*world, string) {}, (*world).leadReturns},
	{"past-retention", 2, 1, (*world).castRetention, (*world).pastRetentionJoining},
	{"full", 3, 2, (*world).castFull, (*world).memberAway},
}

// otherCuts are at supports that the groups of all plans have.
var otherCuts = []groupCut{
	(*world).betweenRounds, (*world).coordinatorFails, (*world).leadReturns,
	(*world).memberAway,
}

// planGroups draws a plan at one group, and in most worlds something else that happens to it.
func (w *world) planGroups() {
	w.chooseLossy()
	w.path = "plan/"
	g := w.spec.Consumers[w.int("group", 0, int64(len(w.spec.Consumers)-1))].Group
	x := &groupPlans[w.int("which", 0, int64(len(groupPlans)-1))]
	w.on = append(w.on, x.name)
	x.cast(w, g)
	for i := range w.int("cuts", 1, x.most) {
		w.cutGroup(fmt.Sprintf("plan/%d/", i), x.cut, g)
	}
	w.path = ""
	for i := range w.int("plan/others", 0, x.rest) {
		w.path = fmt.Sprintf("plan/other/%d/", i)
		w.cutGroup(w.path, otherCuts[w.int("which", 0, int64(len(otherCuts)-1))], g)
	}
	w.path = ""
	if x.rest > 0 && w.odd("plan/besides", 30) {
		w.aimedGroupFaults()
	}
}

// cutGroup draws a cut under names that begin with path.
func (w *world) cutGroup(path string, cut groupCut, g string) {
	w.path = path
	var p faults.Planned
	p.Trigger.At = w.millis("at", 5*kafka.Second, generatedHeal-8*kafka.Second)
	cut(w, &p, g)
	w.spec.Events = append(w.spec.Events, p)
}

// staticBehind: a static member stands still for longer than the rebalance timeout, while
// the group rebalances. It stays a member, whose claims are a generation old.
func (w *world) staticBehind(p *faults.Planned, g string) {
	p.Fault = faults.Pause{Node: named(w.aStatic(g).name)}
	w.missesRound(p, g, 50)
}

// joinsLate: a JoinGroup of a static member is under way for longer than the rebalance
// timeout. What it claims the group may have given to others when it arrives.
func (w *world) joinsLate(p *faults.Planned, g string) {
	p.Fault = faults.Message{API: "JoinGroup", Kind: "request", Count: 1, From: only(named(w.aStatic(g).name)), To: only(plain(faults.Brokers))}
	w.missesRound(p, g, 80)
}

// aStatic is a static member of a group, any if there is none.
func (w *world) aStatic(g string) member {
	list := w.membersOf(g)
	if still := slices.DeleteFunc(slices.Clone(list), func(m member) bool { return !isStatic(m.of) }); len(still) > 0 {
		list = still
	}
	return list[w.int("static", 0, int64(len(list)-1))]
}

// missesRound has a group rebalance as p begins, which lasts for longer than that round,
// because somebody is new in percent of all cases; somebody else may go just before it ends.
func (w *world) missesRound(p *faults.Planned, g string, percent int64) {
	moving := slices.DeleteFunc(w.membersOf(g), func(m member) bool { return isStatic(m.of) })
	if len(moving) == 0 {
		w.memberAway(p, g)
		return
	}
	r, begins := w.ofGroup(g, "max.poll.interval.ms"), w.millis("begins", 0, kafka.Second)
	p.For = begins + r + w.millis("more", 100*kafka.Millisecond, r+kafka.Second)
	p.Trigger.At = min(p.Trigger.At, generatedHeal-p.For-kafka.Second)
	if w.odd("somebody-new", percent) {
		n := w.addConsumer(moving[0].of)
		n.Count, n.Start, n.Topics = 1, p.Trigger.At+begins, w.topicNames()
	} else {
		w.goes(moving, "first", p.Trigger.At+begins, w.millis("first-back", 0, 3*kafka.Second))
	}
	if w.odd("then-another", percent) {
		w.goes(moving, "then", p.Trigger.At+p.For-w.millis("before-it-is-back", 0, r), w.millis("then-back", 2*kafka.Second, 8*kafka.Second))
	}
}

// goes takes one of the members down at a time.
func (w *world) goes(of []member, name string, at, back kafka.Nanos) {
	n := named(of[w.int(name+"-who", 0, int64(len(of)-1))].name)
	p := faults.Planned{Fault: faults.Stop{Node: n}, RestartAfter: back}
	if w.odd(name+"-dies", 50) {
		p.Fault = faults.Kill{Node: n}
	}
	p.Trigger.At = inChaos(at)
	w.spec.Events = append(w.spec.Events, p)
}

// assignedAndBusy: a process stands still between the answer to its SyncGroup and the poll
// that would take the assignment over, for longer than its membership lasts.
func (w *world) assignedAndBusy(p *faults.Planned, g string) {
	list, at := w.membersOf(g), p.Trigger.At
	c, n := list[0].of, named(list[0].name)
	w.goes(list[1:], "first", at, w.millis("first-back", 0, 2*kafka.Second))
	p.Trigger = w.onGroup(event.MemberChanged, g, event.MemberStable, 20*kafka.Millisecond)
	p.Trigger.On.After, p.Trigger.On.Nth, p.Trigger.On.Actor = at-w.millis("before", 0, 3*kafka.Second), int(w.int("nth-stable", 1, 2)), &n
	p.Fault = faults.Pause{Node: n}
	p.For = w.longerThan(max(c.time("session.timeout.ms"), c.time("max.poll.interval.ms")))
}

// betweenRounds: what one member sends in a round is lost or late, so that it is in one of
// two rounds only.
func (w *world) betweenRounds(p *faults.Planned, g string) {
	m, another := w.aMemberOf(g)
	how := w.int("how", 0, 4)
	switch how {
	case 0:
		w.memberAway(p, g)
		return
	case 1:
		w.lateJoin(p, g)
		return
	}
	f := faults.Message{Lose: !w.odd("held", 30), API: "JoinGroup", Kind: "request", Count: 1, From: only(named(m.name)), To: only(plain(faults.Brokers))}
	p.For = w.longerThan(m.of.time("session.timeout.ms"))
	if how > 2 {
		f.API, f.Lose, p.For = "SyncGroup", false, w.millis("late-by", kafka.Second, 8*kafka.Second)
	}
	p.Fault = f
	w.goes([]member{another}, "first", p.Trigger.At+w.millis("first-after", 0, kafka.Second), w.millis("first-back", 0, 3*kafka.Second))
}

// restartsUnassigned: a static member comes back under another id between the last JoinGroup
// of a round and the leader's SyncGroup, which is late.
func (w *world) restartsUnassigned(p *faults.Planned, g string) {
	if w.odd("in-any-state", 30) {
		w.staticRestart(p, g)
		return
	}
	m := w.aStatic(g)
	joined := func() faults.Trigger {
		t := w.onGroup(event.GroupChanged, g, event.GroupCompletingRebalance.String(), kafka.Millisecond)
		t.On.After, t.On.Nth, t.On.DelayMax = p.Trigger.At, 1, 0
		return t
	}
	late := w.millis("late-by", 500*kafka.Millisecond, max(kafka.Second, w.ofGroup(g, "max.poll.interval.ms")))
	back := faults.Planned{Fault: faults.Kill{Node: named(m.name)}, Trigger: joined(), RestartAfter: w.millis("back", kafka.Millisecond, late)}
	others := slices.DeleteFunc(w.membersOf(g), func(x member) bool { return x.name == m.name })
	w.goes(others, "first", p.Trigger.At, w.millis("first-back", 0, 3*kafka.Second))
	p.Trigger, p.For = joined(), late
	p.Fault = faults.Message{API: "SyncGroup", Kind: "request", From: only(faults.Selector{Role: faults.GroupLeader, Name: g}), To: only(plain(faults.Brokers))}
	w.spec.Events = append(w.spec.Events, back)
}

// coordinatorFails: the group's coordinator goes, or is one for its members only.
func (w *world) coordinatorFails(p *faults.Planned, g string) {
	if w.odd("zombie", 30) {
		w.zombieCoordinator(p, g)
		return
	}
	w.coordinatorAtStep(p, g)
}

// pastRetentionJoining: all members go, and offsets.retention.minutes pass by the clock of the
// coordinator as they are back and join. It looks often.
func (w *world) pastRetentionJoining(p *faults.Planned, g string) {
	if w.odd("in-any-state", 30) {
		w.pastRetention(p, g)
		return
	}
	at, back := p.Trigger.At, w.millis("back", 500*kafka.Millisecond, 4*kafka.Second)
	for i, m := range w.membersOf(g) {
		x := faults.Planned{Fault: faults.Stop{Node: named(m.name)}, RestartAfter: back + w.millis(fmt.Sprintf("back-%d", i), 0, kafka.Second)}
		x.Trigger.At = at
		w.spec.Events = append(w.spec.Events, x)
	}
	p.Trigger = w.onGroup(event.GroupChanged, g, event.GroupPreparingRebalance.String(), 300*kafka.Millisecond)
	p.Trigger.On.After, p.Trigger.On.Nth = at+min(back, 500*kafka.Millisecond), 1
	p.Fault = faults.Clock{Node: coordinatorOf(g), Delta: w.millis("by", 61*kafka.Second, 3*kafka.Minute), Jump: true}
}
