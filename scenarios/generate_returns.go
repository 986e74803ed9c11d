package scenarios

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// A lead that comes back. What a leader has sent in one of its terms may arrive in a later
// one, if it is held past two changes of the leader, both sides live on, and the follower
// keeps the connection because it copies another partition through it. Cuts and tactics
// along the lineage bring that about in one of a hundred worlds, and then the follower's
// log is as it was in nearly all of them. This plan takes the steps in their order.

// planReturn draws the plan at one partition of the first topic. Its leader fails and
// comes back. Before it has its lead again, one follower ceases to hear the leader in
// office, and a little later the others do, so that their logs end at different records.
// Soon after the lead has gone back, its leader fails again, in most cases before the other
// one is heard: that one leads anew.
func (w *world) planReturn() {
	w.chooseLossy()
	w.path = "return/"
	l := &lineage{tp: kafka.TopicPartition{Topic: w.spec.Topics[0].Name}, at: w.millis("first", 3500*kafka.Millisecond, 8*kafka.Second)}
	l.tp.Partition = int32(w.int("partition", 0, int64(w.spec.Topics[0].Partitions-1)))
	w.writeTo(l.tp)
	w.plan(w.when(l, acknowledged, 0, w.afterCause()), w.leaderFails("first-by", l), w.backAfter("back", 3*kafka.Second))
	w.unheard(l)
	again := w.brief("again-after", w.lag/4)
	w.plan(w.when(l, preferred, again, again), w.leaderFails("again-by", l), w.backAfter("back-again", 6*kafka.Second))
	w.path = ""
}

// writeTo lets most producers of the partition's topic write to this partition alone: what
// answers to its followers carry is of it.
func (w *world) writeTo(tp kafka.TopicPartition) {
	for i := range w.spec.Producers {
		if p := &w.spec.Producers[i]; p.Topic == tp.Topic && w.odd("writes-there/"+p.Name, 70) {
			p.Partition = tp.Partition
		}
	}
}

// unheard silences the leader, when the in-sync set is complete, towards one follower and
// then towards all, for longer than it takes to notice that a broker is gone.
func (w *world) unheard(l *lineage) {
	silence := w.pick("silence", "hold-answers", "hold-answers", "cut", "cut-one-way", "clog")
	w.on = append(w.on, silence)
	at := w.brief("unheard-after", 500*kafka.Millisecond)
	then := at + w.millis("then-after", 100*kafka.Millisecond, 900*kafka.Millisecond)
	w.plan(w.when(l, complete, at, at), silenced(silence, leaderOf(l.tp), w.followerOf(l.tp)), w.unheardFor("unheard-by-one"))
	w.plan(w.when(l, complete, then, then), silenced(silence, leaderOf(l.tp), w.others(l.tp)), w.unheardFor("unheard-by-all"))
}

func (w *world) unheardFor(name string) kafka.Nanos {
	return w.session + w.millis(name, kafka.Second, w.lag+6*kafka.Second)
}

// silenced is a way in which one side ceases to hear the other; it may hear later what
// was said meanwhile.
func silenced(silence string, from, to faults.Selector) faults.Fault {
	switch silence {
	case "cut":
		return cutOff(from, to)
	case "cut-one-way":
		return faults.Cut{From: only(from), To: only(to), OneWay: true}
	case "clog":
		return faults.Clog{From: only(from), To: only(to)}
	}
	return faults.Message{API: "Fetch", Kind: "response", From: only(from), To: only(to)}
}

// brief draws a time up to longest, most often a small part of it.
func (w *world) brief(name string, longest kafka.Nanos) kafka.Nanos {
	part := [...]kafka.Nanos{16, 4, 1}[w.int(name+"-part", 0, 2)]
	return w.millis(name, kafka.Millisecond, longest/part)
}
