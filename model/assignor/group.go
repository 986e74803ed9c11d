package assignor

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// group is topics and members with names resolved to numbers. Partitions are
// numbered through, by topic name and partition, so that a whole assignment is one
// slice of owners.
type group struct {
	members []Member // by id
	topics  []Topic  // that exist and have a subscriber, by name
	// first[t] is the number of topic t's partition 0; first[len(topics)] is the
	// number of partitions.
	first []int32
	index map[string]int32 // of topics
	// class is by member its subscription, of which there are few different ones.
	class   []int32
	classes []class
	subs    [][]int32 // by topic the subscribed members, ascending
	uniform bool      // all subscriptions name the same topics, existing or not
}

// class is a subscription.
type class struct {
	names  []string // as the first of its members gave them
	topics []int32  // the existing ones, ascending
	wants  []uint64 // the same as a set of bits
}

func newGroup(topics []Topic, members []Member) *group {
	g := &group{members: byID(members), class: make([]int32, len(members)), classes: make([]class, 0, min(len(members), 16))}
	g.classify()
	g.name(topics)
	g.resolve()
	g.choose()
	g.subscribe()
	return g
}

// classify finds the subscriptions. Equal lists of neighbours are one class; that
// a later one may be found again costs time, nothing else.
func (g *group) classify() {
	g.uniform = true
	var all []string
	for i := range g.members {
		names := g.members[i].Topics
		if n := len(g.classes); n > 0 && slices.Equal(g.classes[n-1].names, names) {
			g.class[i] = int32(n - 1)
			continue
		}
		g.class[i] = int32(len(g.classes))
		g.classes = append(g.classes, class{names: names})
		if i == 0 {
			all = asSet(names)
		} else if g.uniform {
			g.uniform = slices.Equal(all, asSet(names))
		}
	}
}

func asSet(names []string) []string {
	s := slices.Clone(names)
	slices.Sort(s)
	return slices.Compact(s)
}

// name sorts and indexes the topics, also those that nobody subscribes to.
func (g *group) name(topics []Topic) {
	g.topics = make([]Topic, 0, len(topics))
	for i := range topics {
		if topics[i].Partitions > 0 {
			g.topics = append(g.topics, topics[i])
		}
	}
	before := func(a, b Topic) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(g.topics, before) {
		slices.SortFunc(g.topics, before)
	}
	g.index = make(map[string]int32, len(g.topics))
	for t := range g.topics {
		g.index[g.topics[t].Name] = int32(t)
	}
}

// resolve finds each class's topics.
func (g *group) resolve() {
	names, words := 0, (len(g.topics)+63)/64
	for i := range g.classes {
		names += len(g.classes[i].names)
	}
	all, sets := make([]int32, names), make([]uint64, words*len(g.classes))
	for i := range g.classes {
		c := &g.classes[i]
		n := len(c.names)
		c.topics, all = all[:0:n], all[n:]
		c.wants, sets = sets[:words:words], sets[words:]
		for _, name := range c.names {
			if t, exists := g.index[name]; exists && c.wants[t/64]&(1<<(t%64)) == 0 {
				c.wants[t/64] |= 1 << (t % 64)
				c.topics = append(c.topics, t)
			}
		}
		slices.Sort(c.topics)
	}
}

// choose keeps the topics that somebody subscribes to, and numbers their partitions.
func (g *group) choose() {
	wanted := make([]uint64, (len(g.topics)+63)/64)
	for i := range g.classes {
		for w, set := range g.classes[i].wants {
			wanted[w] |= set
		}
	}
	n := 0
	for _, set := range wanted {
		n += bits.OnesCount64(set)
	}
	if n < len(g.topics) {
		g.restrict(func(t int) bool { return wanted[t/64]&(1<<(t%64)) != 0 })
	}
	g.first = make([]int32, len(g.topics)+1)
	for t := range g.topics {
		g.first[t+1] = g.first[t] + g.topics[t].Partitions
	}
}

// restrict drops the other topics and begins anew with those that are left.
func (g *group) restrict(wanted func(t int) bool) {
	kept := make([]Topic, 0, len(g.topics))
	for t := range g.topics {
		if wanted(t) {
			kept = append(kept, g.topics[t])
		}
	}
	g.name(kept)
	g.resolve()
}

// subscribe lists the subscribers of each topic.
func (g *group) subscribe() {
	if g.subs = make([][]int32, len(g.topics)); g.uniform {
		everybody := make([]int32, len(g.members))
		for m := range everybody {
			everybody[m] = int32(m)
		}
		for t := range g.subs {
			g.subs[t] = everybody
		}
		return
	}
	counts := make([]int32, len(g.topics)+1)
	for m := range g.members {
		for _, t := range g.classes[g.class[m]].topics {
			counts[t+1]++
		}
	}
	for t := range g.topics {
		counts[t+1] += counts[t]
	}
	all := make([]int32, counts[len(g.topics)])
	for t := range g.topics {
		g.subs[t] = all[counts[t]:counts[t]:counts[t+1]]
	}
	for m := range g.members {
		for _, t := range g.classes[g.class[m]].topics {
			g.subs[t] = append(g.subs[t], int32(m))
		}
	}
}

// partitions is how many there are.
func (g *group) partitions() int32 { return g.first[len(g.topics)] }

// wants reports whether a member subscribes to a topic.
func (g *group) wants(m, t int32) bool {
	return g.classes[g.class[m]].wants[t/64]&(1<<(t%64)) != 0
}

// topicOf is the topic of a partition.
func (g *group) topicOf(p int32) int32 {
	at, found := slices.BinarySearch(g.first, p)
	if !found {
		return int32(at - 1)
	}
	return int32(at)
}

// number is that of a topic's partition, -1 if there is none.
func (g *group) number(t, partition int32) int32 {
	if numbers := g.topics[t].Numbers; numbers != nil {
		at, found := slices.BinarySearch(numbers, partition)
		if !found {
			return -1
		}
		return g.first[t] + int32(at)
	}
	if partition < 0 || partition >= g.topics[t].Partitions {
		return -1
	}
	return g.first[t] + partition
}

// partition is the topic's partition that has number p.
func (g *group) partition(t, p int32) int32 {
	p -= g.first[t]
	if numbers := g.topics[t].Numbers; numbers != nil {
		return numbers[p]
	}
	return p
}

// assignments turns owners into the answer. An owner of -1 or less is nobody.
func (g *group) assignments(owner []int32) []Assignment {
	counts := make([]int32, len(g.members))
	total := int32(0)
	for _, m := range owner {
		if m >= 0 {
			counts[m]++
			total++
		}
	}
	all := make([]kafka.TopicPartition, total)
	out := make([]Assignment, len(g.members))
	at := int32(0)
	for m := range out {
		out[m] = Assignment{Member: g.members[m].ID, Partitions: all[at : at : at+counts[m]]}
		at += counts[m]
	}
	for t := range g.topics {
		for p := g.first[t]; p < g.first[t+1]; p++ {
			if m := owner[p]; m >= 0 {
				out[m].Partitions = append(out[m].Partitions, kafka.TopicPartition{Topic: g.topics[t].Name, Partition: g.partition(int32(t), p)})
			}
		}
	}
	return out
}

// nobody is owners of n partitions that have none.
func nobody(n int32) []int32 {
	owner := make([]int32, n)
	for i := range owner {
		owner[i] = -1
	}
	return owner
}

// bySeniority is the order of members for range and round robin (AS-0): static
// members by instance id, then dynamic ones by member id.
func (g *group) bySeniority() []int32 {
	order := make([]int32, len(g.members))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		x, y := &g.members[a], &g.members[b]
		switch {
		case x.InstanceID != "" && y.InstanceID != "":
			return strings.Compare(x.InstanceID, y.InstanceID)
		case x.InstanceID != "":
			return -1
		case y.InstanceID != "":
			return 1
		}
		return cmp.Compare(a, b)
	})
	return order
}

// seniorSubscribers lists by topic its subscribers' places in order.
func (g *group) seniorSubscribers(order []int32) [][]int32 {
	place := make([]int32, len(order))
	for i, m := range order {
		place[m] = int32(i)
	}
	out := make([][]int32, len(g.topics))
	for t, subs := range g.subs {
		if g.uniform && t > 0 {
			out[t] = out[0]
			continue
		}
		places := make([]int32, len(subs))
		for i, m := range subs {
			places[i] = place[m]
		}
		slices.Sort(places)
		out[t] = places
	}
	return out
}
