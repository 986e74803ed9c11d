package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// graph has, for each fact, the facts that it follows from.
type graph struct {
	facts []fact
	after [][]int
}

// builder walks the facts in order and knows what came last of everything.
type builder struct {
	*graph
	parents []uint64
	told    map[uint64]string // see history
	last    map[uint64]int    // fact by step
	replica map[seat]int      // last fact of a broker's replica
	// delivered is the last delivery to a client.
	delivered map[seat]int
	process   map[string]int // last boot or end of an actor
	kinds     map[kindOf]int
	groups    groupLinks
	faults    []struct{ fact, index int } // that are active
}

// kindOf is a kind of fact, of a partition where each has its own.
type kindOf struct {
	kind event.Kind
	tp   kafka.TopicPartition
}

// ofPartitions are the kinds that are looked up by partition.
var ofPartitions = [event.NumKinds]bool{event.PartitionChanged: true, event.LeaderElected: true, event.IsrProposed: true}

// link builds the graph of facts.
func link(facts []fact, parents []uint64, told map[uint64]string) *graph {
	b := &builder{graph: &graph{facts: facts, after: make([][]int, len(facts))}, parents: parents, told: told,
		last: make(map[uint64]int), replica: make(map[seat]int), delivered: make(map[seat]int), process: make(map[string]int), kinds: make(map[kindOf]int), groups: newGroupLinks()}
	for i := range facts {
		b.add(i)
	}
	return b.graph
}

func (b *builder) add(i int) {
	f := &b.facts[i]
	world := f.Actor == "" || f.Kind == event.FaultStarted || f.Kind == event.FaultEnded || f.Kind == event.Healed
	if !world && !bySimulator[f.Kind] {
		if j, ok := b.cause(f.Seq); ok {
			b.follows(i, j)
		}
		b.last[f.Seq] = i
	}
	b.state(i)
	b.inGroup(i)
	b.absence(i)
	b.remember(i)
}

// bySimulator are facts about a node that no step of it notes.
var bySimulator = [event.NumKinds]bool{
	event.NodeBooted: true, event.NodeCrashed: true, event.NodeStopped: true, event.NodePaused: true, event.NodeResumed: true,
}

// cause is the last fact of this step, or of the nearest step before it that noted any.
func (b *builder) cause(seq uint64) (int, bool) {
	for seq > 0 && seq < uint64(len(b.parents)) {
		if j, ok := b.last[seq]; ok {
			return j, true
		}
		if node := b.told[seq]; node != "" {
			return b.fault(node)
		}
		seq = b.parents[seq]
	}
	return 0, false
}

// fault is the last one that hit a node.
func (b *builder) fault(node string) (int, bool) {
	for i := len(b.faults) - 1; i >= 0; i-- {
		if names(&b.facts[b.faults[i].fact], node) {
			return b.faults[i].fact, true
		}
	}
	return 0, false
}

func (b *builder) follows(i, j int) {
	if j < i && !slices.Contains(b.after[i], j) {
		b.after[i] = append(b.after[i], j)
	}
}

// state links what happens to a replica or a process to what it did before.
func (b *builder) state(i int) {
	f := &b.facts[i]
	from := func(j int, ok bool) {
		if ok {
			b.follows(i, j)
		}
	}
	process := func() {
		j, ok := b.process[f.Actor]
		from(j, ok)
	}
	replica := func() {
		j, ok := b.replica[seat{f.Actor, f.TP}]
		from(j, ok)
	}
	kind := func(k event.Kind) {
		tp := f.TP
		if !ofPartitions[k] {
			tp = kafka.TopicPartition{}
		}
		j, ok := b.kinds[kindOf{k, tp}]
		from(j, ok)
	}
	switch f.Kind {
	case event.NodeBooted, event.DirectoryOffline:
		process()
	case event.NodeCrashed, event.NodePaused, event.NodeStopped, event.NodeResumed:
		process()
		for _, x := range b.faults {
			if b.facts[x.fact].Time == f.Time && names(&b.facts[x.fact], f.Actor) {
				b.follows(i, x.fact)
			}
		}
	case event.ReplicaLoaded, event.OffsetsMissing:
		process()
		replica()
	case event.LeaderElected:
		for _, k := range []event.Kind{event.BrokerUnregistered, event.BrokerRegistered, event.ControllerElected, event.PartitionChanged} {
			kind(k)
		}
	case event.ControllerElected:
		for _, k := range []event.Kind{event.SessionExpired, event.ControllerResigned} {
			kind(k)
		}
	case event.BecameLeader, event.BecameFollower:
		kind(event.PartitionChanged)
		replica()
	case event.ControlExecuted:
		b.obeyed(i)
	case event.PartitionChanged:
		kind(event.LeaderElected)
		kind(event.IsrProposed)
	case event.RecordDelivered: // it is what the broker had, and where the client was
		j, ok := b.replica[seat{kafka.BrokerHost(f.Node), f.TP}]
		from(j, ok)
		j, ok = b.delivered[seat{f.Actor, f.TP}]
		from(j, ok)
	}
	if f.Node > 0 && f.TP.Topic != "" && f.Kind != event.PartitionChanged && f.Kind != event.ReplicaLoaded && f.Kind != event.OffsetsMissing {
		replica()
	}
}

// obeyed links what a broker did for a controller to that one's election, to what became
// of its process, and to what the broker had done for another one before.
func (b *builder) obeyed(i int) {
	f := &b.facts[i]
	if j, ok := b.process[kafka.BrokerHost(f.Peer)]; ok && b.facts[j].Kind != event.NodeBooted {
		b.follows(i, j)
	}
	for j := i - 1; j >= 0; j-- {
		g := &b.facts[j]
		if g.Kind == event.ControllerElected && g.ControllerEpoch == f.ControllerEpoch {
			b.follows(i, j)
			return
		}
		if g.Kind == event.ControlExecuted && g.Actor == f.Actor && g.ControllerEpoch != f.ControllerEpoch && len(b.after[i]) < 3 {
			b.follows(i, j)
		}
	}
}

// absence links facts that are the lack of something to the faults that take away: to
// those that name a node concerned, or else to all that are active.
func (b *builder) absence(i int) {
	f := &b.facts[i]
	var about []string
	switch f.Kind {
	case event.SessionExpired:
		about = []string{f.Text}
	case event.IsrProposed, event.RecordFailed, event.ControllerResigned, event.FetcherFailed, event.DirectoryOffline:
		about = []string{f.Actor}
	case event.BrokerUnregistered:
		about = []string{kafka.BrokerHost(f.Node)}
	default:
		if about = b.groups.lacks(f); about == nil {
			return
		}
	}
	for _, n := range about {
		if j, ok := b.process[n]; ok && b.facts[j].Kind != event.NodeBooted {
			b.follows(i, j)
		}
	}
	found := false
	for _, x := range b.faults {
		if slices.ContainsFunc(about, func(n string) bool { return names(&b.facts[x.fact], n) }) {
			b.follows(i, x.fact)
			found = true
		}
	}
	for _, x := range b.faults {
		if !found {
			b.follows(i, x.fact)
		}
	}
}

func (b *builder) remember(i int) {
	f := &b.facts[i]
	tp := f.TP
	if !ofPartitions[f.Kind] {
		tp = kafka.TopicPartition{}
	}
	b.kinds[kindOf{f.Kind, tp}] = i
	switch f.Kind {
	case event.FaultStarted:
		b.faults = append(b.faults, struct{ fact, index int }{i, int(f.Index)})
	case event.FaultEnded:
		for j, x := range b.faults {
			if x.index == int(f.Index) {
				b.follows(i, x.fact)
				if b.facts[x.fact].Time != f.Time { // what happens at once has causes behind it
					b.faults = slices.Delete(b.faults, j, j+1)
				}
				break
			}
		}
	case event.NodeBooted, event.NodeCrashed, event.NodeStopped, event.NodePaused, event.NodeResumed, event.DirectoryOffline:
		b.process[f.Actor] = i
	case event.RecordDelivered:
		b.delivered[seat{f.Actor, f.TP}] = i
	}
	if f.TP.Topic != "" && f.Node > 0 && f.Group == "" && f.Kind != event.PartitionChanged && f.Kind != event.RecordDelivered {
		b.replica[seat{f.Actor, f.TP}] = i
	}
}

// names reports whether a fault hit a node: its actor lists, in words, what it hit.
func names(f *fact, node string) bool {
	return slices.ContainsFunc(strings.Fields(f.Actor), func(w string) bool { return strings.Trim(w, ":,") == node })
}

var (
	offsetIn = regexp.MustCompile(`offsets? (?:up to )?(\d+)`)
	endIn    = regexp.MustCompile(`up to (\d+)`)
	recordIn = regexp.MustCompile(`producer (\d+)`)
	numberIn = regexp.MustCompile(`(?:from number|record) (\d+)`)
)

// focus finds the offset that a violation is about, from its words.
func focus(what string, facts []fact) kafka.Offset {
	number := func(m []string) int64 {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	if m := offsetIn.FindStringSubmatch(what); m != nil {
		return kafka.Offset(number(m))
	}
	if m := endIn.FindStringSubmatch(what); m != nil {
		return kafka.Offset(number(m))
	}
	p, n := recordIn.FindStringSubmatch(what), numberIn.FindStringSubmatch(what)
	if p == nil || n == nil {
		return -1
	}
	for i := range facts {
		f := &facts[i]
		first := number(n)
		if f.Kind == event.RecordAcked && int64(f.Producer) == number(p) && f.First <= first && first < f.First+int64(f.Count) && f.Base >= 0 {
			return f.Base + kafka.Offset(first-f.First)
		}
	}
	return -1
}
