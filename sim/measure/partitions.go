package measure

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// partitions follows every partition's leader, ISR, outages and lag, in order of
// topic and number.
type partitions struct {
	index kafka.PartitionTable[partition]
	list  []*partition
	down  []kafka.NodeID
	dirty bool // list needs sorting
	unfit int  // partitions without a leader or with less than the full ISR
}

type partition struct {
	out          outcome.Partition
	spans        []outcome.Span
	vacant       []outcome.Interval // stretches of leaderless that are over
	lags         []replicaLag
	installed    kafka.LeaderEpoch // newest epoch whose leader took office
	since        kafka.Nanos       // records have waited since; -1 = none wait
	vain         kafka.Nanos       // the oldest record that failed since the last acknowledgement; -1 = none
	lastAck      kafka.Nanos
	leaderless   kafka.Nanos // since; -1 = has a leader
	underISR     kafka.Nanos // under-replicated since; -1 = not
	fit          bool
	first, ended bool
	gone         bool // its topic is deleted, or is to be, or it is taken
	taken        bool // taken out of its topic again before anybody led it
}

func (p *partitions) get(tp kafka.TopicPartition) *partition {
	if x := p.index.Get(tp); x != nil {
		return x
	}
	x := &partition{out: outcome.Partition{TP: tp, Leader: kafka.NoNode}, since: -1, vain: -1, leaderless: -1, underISR: -1, installed: -1, first: true}
	p.index.Put(tp, x)
	p.list = append(p.list, x)
	p.dirty = true
	p.unfit++
	return x
}

func (p *partitions) sorted() []*partition {
	if p.dirty {
		slices.SortFunc(p.list, func(a, b *partition) int { return a.out.TP.Compare(b.out.TP) })
		p.dirty = false
	}
	return p.list
}

// assigned takes the replicas of a partition. With none it is taken out of its topic again: two
// requests for partitions at once, of which the second did not see the first.
func (p *partitions) assigned(e *event.Event) {
	x := p.get(e.TP)
	switch x.out.Replicas = e.Replicas; {
	case len(e.Replicas) == 0 && x.first && !x.ended:
		x.taken = true
		p.end(x, e.Time)
	case x.taken:
		x.taken = false
		p.begin(x, e.Time)
	}
}

// changed takes the committed state of a partition.
func (p *partitions) changed(e *event.Event) {
	x := p.get(e.TP)
	o := &x.out
	if !x.first && e.LeaderEpoch > o.LeaderEpoch && e.Leader != o.Leader && e.Leader != kafka.NoNode {
		o.Elections++
	}
	x.first = false
	o.Leader, o.LeaderEpoch, o.ISR = e.Leader, e.LeaderEpoch, e.ISR
	x.lead(e)
	under := len(e.ISR) < len(o.Replicas)
	x.underISR = charge(&o.UnderReplicated, x.underISR, under && !x.ended, e.Time)
	p.office(x, e.Time)
	p.judge(x)
}

// lead begins a span. A topic that is to be deleted has none any more.
func (x *partition) lead(e *event.Event) {
	if x.gone {
		return
	}
	if n := len(x.spans); n > 0 && x.spans[n-1].To < 0 {
		x.spans[n-1].To = e.Time
	}
	x.spans = append(x.spans, outcome.Span{Interval: outcome.Interval{From: e.Time, To: -1}, Leader: e.Leader,
		LeaderEpoch: e.LeaderEpoch, ISR: e.ISR})
}

func (p *partitions) tookOffice(e *event.Event) {
	x := p.get(e.TP)
	x.installed = max(x.installed, e.LeaderEpoch)
	p.office(x, e.Time)
	p.judge(x)
}

func (p *partitions) nodeChanged(id kafka.NodeID, up bool, at kafka.Nanos) {
	i := slices.Index(p.down, id)
	if up && i >= 0 {
		p.down = slices.Delete(p.down, i, i+1)
	} else if !up && i < 0 {
		p.down = append(p.down, id)
	}
	for _, x := range p.list {
		p.office(x, at)
	}
}

// booted: a new process leads nothing until it takes office.
func (p *partitions) booted(id kafka.NodeID, at kafka.Nanos) {
	for _, x := range p.list {
		if x.out.Leader == id {
			x.installed = kafka.NoLeaderEpoch
			p.office(x, at)
			p.judge(x)
		}
	}
}

// stuck reports whether records of some partition wait for longer than an outage.
func (p *partitions) stuck(at kafka.Nanos) bool {
	for _, x := range p.list {
		if x.since >= 0 && !x.ended && at-max(x.since, x.lastAck) > outcome.OutageThreshold {
			return true
		}
	}
	return false
}

// office keeps the time without a living leader that has taken office.
func (p *partitions) office(x *partition, at kafka.Nanos) {
	without := x.out.Leader == kafka.NoNode || x.installed < x.out.LeaderEpoch || slices.Contains(p.down, x.out.Leader)
	since := x.leaderless
	x.leaderless = charge(&x.out.Leaderless, x.leaderless, without && !x.ended, at)
	if since >= 0 && x.leaderless < 0 && at > since {
		x.vacant = append(x.vacant, outcome.Interval{From: since, To: at})
	}
}

// charge opens or closes a stretch that began at since (-1: none open).
func charge(total *kafka.Nanos, since kafka.Nanos, on bool, at kafka.Nanos) kafka.Nanos {
	if on {
		if since < 0 {
			return at
		}
		return since
	}
	if since >= 0 {
		*total += at - since
	}
	return -1
}

func (p *partitions) judge(x *partition) {
	if x.ended {
		return
	}
	fit := x.out.Leader != kafka.NoNode && x.installed >= x.out.LeaderEpoch && len(x.out.ISR) == len(x.out.Replicas)
	if fit != x.fit {
		x.fit = fit
		if fit {
			p.unfit--
		} else {
			p.unfit++
		}
	}
}

func (p *partitions) whole() bool { return p.unfit == 0 && len(p.list) > 0 }

// waiting: a record was sent.
func (x *partition) waiting(at kafka.Nanos) {
	if x.since < 0 {
		x.since = at
	}
}

// failed: a record created at created waited in vain; the wait goes on for whoever
// tries next.
func (x *partition) failed(created kafka.Nanos) {
	if x.vain < 0 || created < x.vain {
		x.vain = created
	}
}

// acked: a record created at created was acknowledged; every older wait is over.
func (x *partition) acked(created, at kafka.Nanos) {
	if x.vain >= 0 {
		created = min(created, x.vain)
	}
	if from := max(created, x.lastAck); at-from > outcome.OutageThreshold && !x.ended {
		x.outage(from, at)
	}
	x.lastAck = at
	x.since, x.vain = -1, -1
}

func (x *partition) outage(from, to kafka.Nanos) {
	x.out.Outages = append(x.out.Outages, outcome.Interval{From: from, To: to})
	x.out.Unavailable += to - from
}

// doomed ends the measured time of a topic that is to be deleted.
func (p *partitions) doomed(topic string, at kafka.Nanos) {
	for _, x := range p.list {
		if x.out.TP.Topic == topic && !x.ended {
			p.end(x, at)
		}
	}
}

func (p *partitions) end(x *partition, at kafka.Nanos) {
	x.close(at)
	x.gone = true
	if n := len(x.spans); n > 0 {
		x.spans[n-1].To = at
	}
	x.since = -1
	if !x.fit {
		x.fit = true // nobody waits for it
		p.unfit--
	}
}

// created begins the measured time of a topic that was deleted and is there again. What the
// deleted one was charged with stays.
func (p *partitions) created(topic string, at kafka.Nanos) {
	for _, x := range p.list {
		if x.out.TP.Topic == topic && x.gone {
			p.begin(x, at)
		}
	}
}

func (p *partitions) begin(x *partition, at kafka.Nanos) {
	x.out.Leader, x.out.LeaderEpoch, x.out.ISR = kafka.NoNode, 0, nil
	x.installed, x.since, x.vain, x.lastAck = -1, -1, -1, at
	x.gone, x.ended, x.first, x.fit = false, false, true, false
	p.unfit++
}

// close closes what is open; nothing is charged afterwards.
func (p *partitions) close(at kafka.Nanos) {
	for _, x := range p.list {
		if !x.ended {
			x.close(at)
		}
	}
}

func (x *partition) close(at kafka.Nanos) {
	if from := max(x.since, x.lastAck); x.since >= 0 && at-from > outcome.OutageThreshold {
		x.outage(from, at)
	}
	if x.leaderless >= 0 && at > x.leaderless {
		x.vacant = append(x.vacant, outcome.Interval{From: x.leaderless, To: at})
	}
	x.leaderless = charge(&x.out.Leaderless, x.leaderless, false, at)
	x.underISR = charge(&x.out.UnderReplicated, x.underISR, false, at)
	x.ended = true
}

// offsets keeps each replica's end and high watermark.
func (p *partitions) offsets(e *event.Event) {
	x := p.get(e.TP)
	pt := x.lag(e)
	switch e.Kind {
	case event.HighWatermark:
		pt.HW = e.HW
	case event.Truncated:
		pt.LEO, pt.HW = e.Offset, e.HW
	case event.ReplicaLoaded:
		pt.LEO, pt.HW = e.LEO, e.HW
		x.out.LogStart = e.LogStart
	default:
		pt.LEO = e.LEO
	}
	if e.Node == x.out.Leader {
		x.out.LEO, x.out.HW = pt.LEO, pt.HW
	}
}

// lag is the open point of the replica that e is about.
func (x *partition) lag(e *event.Event) *outcome.LagPoint {
	for i := range x.lags {
		if l := &x.lags[i]; l.lag.Node == e.Node {
			return &l.open
		}
	}
	if x.lags == nil {
		x.lags = make([]replicaLag, 0, len(x.out.Replicas))
	}
	x.lags = append(x.lags, replicaLag{lag: outcome.Lag{TP: e.TP, Node: e.Node}})
	return &x.lags[len(x.lags)-1].open
}

// replicaLag is a replica's closed points and the open one.
type replicaLag struct {
	lag  outcome.Lag
	open outcome.LagPoint
}

// sample closes the open lag point of every replica at a bucket's end; room is how
// many points there may be in the end.
func (p *partitions) sample(at kafka.Nanos, room int) {
	for _, x := range p.sorted() {
		for i := range x.lags {
			l := &x.lags[i]
			if l.lag.Points == nil {
				l.lag.Points = make([]outcome.LagPoint, 0, room)
			}
			l.open.At = at
			l.lag.Points = append(l.lag.Points, l.open)
		}
	}
}

func (p *partitions) result() []outcome.Partition {
	out := make([]outcome.Partition, 0, len(p.list))
	for _, x := range p.sorted() {
		out = append(out, x.out)
	}
	return out
}

// strips writes leader and ISR history and lag, up to the close.
func (p *partitions) strips(s *outcome.Series, closed kafka.Nanos) {
	for _, x := range p.sorted() {
		strip := outcome.Strip{TP: x.out.TP, Vacant: x.vacant}
		for _, sp := range x.spans {
			if closed >= 0 && sp.From >= closed {
				break
			}
			if sp.To < 0 || (closed >= 0 && sp.To > closed) {
				sp.To = closed
			}
			strip.Spans = append(strip.Spans, sp)
		}
		s.Strips = append(s.Strips, strip)
		slices.SortFunc(x.lags, func(a, b replicaLag) int { return int(a.lag.Node) - int(b.lag.Node) })
		for i := range x.lags {
			s.Lags = append(s.Lags, x.lags[i].lag)
		}
	}
}
