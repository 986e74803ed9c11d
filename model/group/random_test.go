package group

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// What holds of a coordinator whatever clients, clocks and logs do: groups 6.1.
func TestCoordinatorsKeepTheirInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		profile := rapid.SampledFrom([]string{"zk-0.11", "zk-2.6", "zk-3.9"}).Draw(t, "profile")
		r := &random{T: t, lab: newLab(t, profile, 1, "group.max.size=4", "group.initial.rebalance.delay.ms=500", "offsets.retention.minutes=1", "offsets.load.buffer.size=200")}
		r.elect(0, 0)
		r.work()
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			r.act()
			r.check()
		}
		r.atRest()
	})
}

type random struct {
	*rapid.T
	*lab
	epoch kafka.LeaderEpoch
	lost  bool // the log may hold something else than what is published
	seen  int  // notes that were checked
	// generation and state of the one group in this life of the coordinator.
	generation int32
	state      State
	stored     map[string]uint32 // the assignment by member and generation
	committed  map[kafka.TopicPartition]kafka.Offset
}

func (r *random) Fatalf(format string, args ...any) { r.T.Fatalf(format, args...) }
func (r *random) Fatal(args ...any)                 { r.T.Fatal(args...) }
func (r *random) Helper()                           { r.T.Helper() }

func (r *random) act() {
	switch rapid.SampledFrom([]string{"join", "join", "join", "sync", "sync", "sync", "heartbeat", "leave", "commit", "commit", "fetch", "run", "run", "hold", "release", "move", "expire", "admin"}).Draw(r.T, "act") {
	case "join":
		m := r.member("who")
		if rapid.IntRange(0, 2).Draw(r.T, "new") == 0 {
			m = member{instance: rapid.SampledFrom([]string{"", "", "i", "j"}).Draw(r.T, "instance")}
		}
		protocols := rapid.SampledFrom([][]string{{"range", "sticky"}, {"sticky", "range"}, {"range=x"}, {"own"}}).Draw(r.T, "protocols")
		version := rapid.SampledFrom([]int16{0, 3, 4, 8, 9}).Draw(r.T, "version")
		r.again(m, func() { r.lab.join(m, version, protocols...) })
	case "sync":
		m := r.member("who")
		var parts []string
		if g := r.c.Group("g"); g != nil {
			for i, o := range g.members {
				if i != 1 { // the leader's answer leaves one out
					parts = append(parts, o.id, fmt.Sprint(g.generation, "/", i))
				}
			}
		}
		r.again(m, func() { r.lab.sync(m, parts...) })
	case "heartbeat":
		r.lab.heartbeat(r.member("who"))
	case "leave":
		m := r.member("who")
		r.again(m, func() { r.lab.leave(m) })
	case "commit":
		m := r.member("who")
		if rapid.Bool().Draw(r.T, "simple") {
			m = member{generation: -1}
		}
		r.lab.commit(m, int64(rapid.IntRange(0, 9).Draw(r.T, "offset")))
	case "fetch":
		r.lab.fetch(rapid.Bool().Draw(r.T, "stable"))
	case "run":
		r.run(kafka.Nanos(rapid.SampledFrom([]int{0, 1, 499, 500, 3000, 9999, 10_000, 60_000, 300_000}).Draw(r.T, "ms")) * kafka.Millisecond)
	case "hold":
		r.hold = true
	case "release":
		r.fail = rapid.SampledFrom([]kafka.ErrorCode{kafka.None, kafka.None, kafka.None, kafka.NotLeaderOrFollower, kafka.RequestTimedOut, kafka.NotEnoughReplicas}).Draw(r.T, "fail")
		r.lost = r.lost || r.fail != kafka.None && len(r.held) > 0
		r.release()
		r.fail = kafka.None
	case "move":
		r.move()
	case "expire":
		r.c.Expire()
		r.work()
	case "admin":
		// A deletion forgets commits under way, but writes no tombstones for them.
		r.lost = r.lost || len(r.held) > 0
		if rapid.Bool().Draw(r.T, "delete") {
			r.deleteGroup()
		} else {
			r.deleteOffset(rapid.SampledFrom([]string{"t", "u"}).Draw(r.T, "topic"))
		}
	}
}

// again sends a request of a member that may have the same one parked: Kafka never
// answers the first then, whose connection is taken to be gone. Nor does it answer the
// SyncGroup of a member that leaves.
func (r *random) again(m member, send func()) {
	var old *Member
	var join, sync waiting
	if g := r.c.Group("g"); g != nil && g.byID[m.id] != nil {
		old = g.byID[m.id]
		join, sync = old.join, old.sync
	}
	send()
	if old == nil {
		return
	}
	if join.parked && old.join != join {
		delete(r.names, join.Conn)
	}
	if g := r.c.Group("g"); sync.parked && (old.sync != sync || g == nil || g.byID[old.id] != old) {
		delete(r.names, sync.Conn)
	}
}

// move takes the partition away and gives it back. What was held fails then.
func (r *random) move() {
	r.epoch++
	r.resign(0, r.epoch)
	r.work()
	if r.c.Group("g") != nil || r.c.NextDeadline() != kafka.Forever {
		r.Fatalf("something is left of an unloaded partition")
	}
	r.release()
	if len(r.names) > 0 {
		r.Fatalf("requests are not answered after an unload: %v", r.names)
	}
	r.epoch++
	r.elect(0, r.epoch)
	r.work()
	r.generation, r.state, r.lost = -1, 0, false
}

// member is one that some answer told of, mostly of its true generation.
func (r *random) member(label string) member {
	var all []member
	if g := r.c.Group("g"); g != nil {
		for _, m := range g.members {
			all = append(all, member{m.id, m.instance, g.generation}, member{m.id, m.instance, g.generation})
		}
		for _, d := range g.pending {
			all = append(all, member{id: d.id})
		}
		if len(g.members) > 0 {
			all = append(all, member{g.leader, g.byID[g.leader].instance, g.generation - 1})
		}
	}
	all = append(all, member{id: "stranger", generation: 1})
	return rapid.SampledFrom(all).Draw(r.T, label)
}

func (r *random) check() {
	for i := range r.notes[r.seen:] {
		r.note(&r.notes[r.seen+i])
	}
	r.seen = len(r.notes)
	for _, g := range r.c.Groups() {
		r.checkGroup(g)
	}
	for i, d := range r.c.deadlines.heap {
		if d.place != i+1 || r.c.byID[d.group.id] != d.group {
			r.Fatalf("a deadline of %s is left", d.group.id)
		}
	}
}

// note checks VI-1 to VI-4 over the facts.
func (r *random) note(e *event.Event) {
	switch e.Kind {
	case event.CoordinatorLoaded, event.CoordinatorUnloaded:
		r.generation, r.state = -1, 0
	case event.GroupChanged:
		if r.generation >= 0 && r.state != Dead && e.Text != "loaded" {
			grows := e.State == CompletingRebalance || e.State == Empty && r.state == PreparingRebalance
			want := r.generation
			if grows {
				want++
			}
			if e.Generation != want {
				r.Fatalf("VI-1: %v with generation %d after %v with %d", e.State, e.Generation, r.state, r.generation)
			}
		}
		r.generation, r.state = e.Generation, e.State
		if e.State == Dead {
			r.generation = -1
		}
	case event.AssignmentStored:
		if r.stored == nil {
			r.stored = map[string]uint32{}
		}
		r.stored[fmt.Sprint(e.Member, "/", e.Generation)] = e.CRC
	case event.OffsetCommitted:
		if r.committed == nil {
			r.committed = map[kafka.TopicPartition]kafka.Offset{}
		}
		if last, any := r.committed[e.TP]; any && kafka.Offset(e.First) <= last {
			r.Fatalf("VI-12: a commit at %d is published after that at %d", e.First, last)
		}
		r.committed[e.TP] = kafka.Offset(e.First)
	}
}

// checkGroup holds the group's counts against its members (VI-2, VI-3).
func (r *random) checkGroup(g *Group) {
	awaiting, pending, supports, static := 0, 0, map[string]int{}, 0
	for _, m := range g.members {
		if g.byID[m.id] != m {
			r.Fatalf("%s is not found by its id", m.id)
		}
		if m.join.parked {
			awaiting++
		}
		if m.syncPending {
			pending++
		}
		for i := range m.protocols {
			supports[m.protocols[i].Name]++
		}
		if m.isStatic() {
			static++
			if g.static[m.instance] != m {
				r.Fatalf("instance %s is not found", m.instance)
			}
		}
		// Whoever is not parked has a session that will end.
		if m.session.place == 0 && !m.join.parked && !m.sync.parked {
			r.Fatalf("%s in %v has no session timer", m.id, g.state)
		}
		if m.sync.parked && g.state != CompletingRebalance {
			r.Fatalf("a SyncGroup is parked in %v", g.state)
		}
	}
	switch {
	case awaiting != g.awaitingJoin, pending != g.syncsPending, len(g.byID) != len(g.members), len(g.static) != static:
		r.Fatalf("counts: %d of %d await, %d of %d syncs, %d of %d ids, %d of %d static", g.awaitingJoin, awaiting, g.syncsPending, pending, len(g.byID), len(g.members), len(g.static), static)
	case len(g.members) > 0 && g.byID[g.leader] == nil, len(g.members) == 0 && g.leader != "":
		r.Fatalf("VI-2: leader %q of %d members in %v", g.leader, len(g.members), g.state)
	case g.state == Empty && len(g.members) > 0, g.state == Stable && len(g.members) == 0, g.state == CompletingRebalance && len(g.members) == 0:
		r.Fatalf("%d members in %v", len(g.members), g.state)
	case g.state == PreparingRebalance && g.join.place == 0:
		r.Fatalf("nothing ends the rebalance")
	case g.state != PreparingRebalance && g.join.place != 0:
		r.Fatalf("a join timer runs in %v", g.state)
	case g.state == CompletingRebalance && g.sync.place == 0 && g.syncsPending > 0:
		r.Fatalf("nothing ends the wait for syncs")
	}
	for name, n := range supports {
		if g.supports[name] != n {
			r.Fatalf("%d of %d support %s", g.supports[name], n, name)
		}
	}
	if g.state == CompletingRebalance || g.state == Stable {
		// VI-3; a static member may change its list while the group is stable, as long as
		// the vote stays.
		if g.supports[g.protocol] != len(g.members) {
			r.Fatalf("VI-3: %s is supported by %d of %d", g.protocol, g.supports[g.protocol], len(g.members))
		}
	}
}

// atRest lets all clients go silent: everything is answered, the group empties, and what
// the log says is what is published (VI-8) unless a write was lost.
func (r *random) atRest() {
	r.release()
	// Sessions of 10 s, rebalances of 60 s, new members 300 s; each may follow another.
	r.run(20 * kafka.Minute)
	r.check()
	for conn, name := range r.names {
		r.Fatalf("request %d of %s is not answered", conn, name)
	}
	if g := r.c.Group("g"); g != nil && g.state != Empty {
		r.Fatalf("the group is %v with %d members", g.state, len(g.members))
	}
	before := r.picture()
	r.epoch++
	r.resign(0, r.epoch)
	r.work()
	r.epoch++
	r.elect(0, r.epoch)
	r.work()
	if after := r.picture(); before != after && !r.lost {
		r.Fatalf("VI-8: published %s\nloaded %s\n%s", before, after, r.records(0))
	}
}

// picture is what a coordinator publishes of its groups, apart from those that hold
// nothing.
func (r *random) picture() string {
	text := ""
	for _, g := range r.c.Groups() {
		if g.generation == 0 && !g.offsets.has() {
			continue
		}
		text += fmt.Sprint(g.id, " ", g.state, " ", g.generation, " ", g.protocolType)
		g.Offsets(func(tp kafka.TopicPartition, o Offset) { text += fmt.Sprint(" ", tp, " ", o.Offset, " ", o.Committed) })
		text += "\n"
	}
	return text
}

// The vote of the slow twin: all ballots counted over all names.
func TestTheVoteIsThatOfTheMajority(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		g := newGroup("g", 0, 0)
		for i := range rapid.IntRange(1, 6).Draw(t, "members") {
			list := rapid.Permutation(names).Draw(t, "order")
			list = append([]string{}, list[:rapid.IntRange(2, 4).Draw(t, "length")]...)
			if !slices.Contains(list, "a") { // all have one in common
				list = append(list, "a")
			}
			m := &Member{id: fmt.Sprint(i)}
			for _, n := range list {
				m.protocols = append(m.protocols, Protocol{Name: n})
			}
			g.add(m, "consumer")
		}
		votes := map[string]int{}
		common := func(n string) bool {
			for _, m := range g.members {
				if !slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == n }) {
					return false
				}
			}
			return true
		}
		for _, m := range g.members {
			for _, p := range m.protocols {
				if common(p.Name) {
					votes[p.Name]++
					break
				}
			}
		}
		got := g.vote()
		for _, n := range names {
			if votes[n] > votes[got] {
				t.Fatalf("%s with %d votes loses to %s with %d", n, votes[n], got, votes[got])
			}
		}
		for _, p := range g.members[0].protocols { // the leader's order decides ties
			if p.Name == got {
				break
			}
			if votes[p.Name] == votes[got] {
				t.Fatalf("the leader prefers %s to %s", p.Name, got)
			}
		}
	})
}

// Deadlines fire as a sorted list would say.
func TestDeadlinesFireInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l deadlines
		timers := make([]*deadline, 8)
		for i := range timers {
			timers[i] = &deadline{id: fmt.Sprint(i)}
		}
		var twin []*deadline
		drop := func(d *deadline) {
			twin = slices.DeleteFunc(twin, func(o *deadline) bool { return o == d })
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d := timers[rapid.IntRange(0, 7).Draw(t, "timer")]
			switch rapid.IntRange(0, 3).Draw(t, "act") {
			case 0, 1:
				l.start(d, kafka.Nanos(rapid.IntRange(0, 5).Draw(t, "at")))
				drop(d)
				twin = append(twin, d)
				slices.SortStableFunc(twin, func(a, b *deadline) int { return int(a.at - b.at) })
			case 2:
				l.stop(d)
				drop(d)
			case 3:
				now := kafka.Nanos(rapid.IntRange(0, 5).Draw(t, "now"))
				var want *deadline
				if len(twin) > 0 && twin[0].at <= now {
					want = twin[0]
					drop(want)
				}
				if got := l.pop(now); got != want {
					t.Fatalf("pop(%d) is %+v, want %+v", now, got, want)
				}
			}
			first := kafka.Forever
			if len(twin) > 0 {
				first = twin[0].at
			}
			if l.first() != first {
				t.Fatalf("first is %d, want %d", l.first(), first)
			}
		}
	})
}

// A group of a thousand members gets a generation and an assignment.
func TestAThousandMembersRebalance(t *testing.T) {
	l := newLab(t, "zk-3.9", 1, "group.initial.rebalance.delay.ms=0")
	l.elect(0, 0)
	l.work()
	const n = 1000
	for range n {
		l.join(member{}, 3)
	}
	l.run(0)
	g := l.c.Group("g")
	// The first is through alone; the others wait for it.
	if l.run(0); g.state != CompletingRebalance || len(g.members) != n {
		t.Fatal(g.state, len(g.members))
	}
	leader := member{id: g.leader, generation: g.generation}
	var parts []string
	for i, m := range g.members {
		parts = append(parts, m.id, fmt.Sprint(i))
		if m.id != g.leader {
			l.sync(member{id: m.id, generation: g.generation})
		}
	}
	if got := l.sync(leader, parts...); got != "NONE" || g.state != Stable {
		t.Fatal(got, g.state)
	}
	for i, m := range g.members {
		if string(m.assignment) != fmt.Sprint(i) {
			t.Fatalf("member %d has %q", i, m.assignment)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newLab(b, "zk-3.9", 1, "group.initial.rebalance.delay.ms=0")
			l.elect(0, 0)
			l.work()
			for range n {
				l.join(member{}, 3)
			}
			l.run(0)
			g := l.c.Group("g")
			r := kmsg.NewPtrHeartbeatRequest()
			r.Version, r.Group, r.Generation = 4, "g", g.generation
			in := &step.Input{Now: l.now}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.MemberID = g.members[i%n].id
				i++
				in.Now += kafka.Microsecond
				l.out.Reset()
				l.c.Heartbeat(in, l.out, Caller{Conn: 1}, r)
			}
		})
	}
}
