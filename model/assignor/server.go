package assignor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// The names of the server-side assignors (group.consumer.assignors).
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// UnknownTopicError says that a member subscribes to a topic that does not exist. A
// server-side assignor computes nothing then (groups SV-1).
type UnknownTopicError struct{ Topic string }

func (e *UnknownTopicError) Error() string {
	return fmt.Sprintf("members subscribe to topic %s, which does not exist", e.Topic)
}

// Range is the server-side range assignor (groups SV-1): blocks as AR-1 gives them,
// without racks and without regard to what members had.
func Range(topics []Topic, members []Member) ([]Assignment, error) {
	if err := allExist(topics, members); err != nil {
		return nil, err
	}
	g := newGroup(topics, members)
	order := g.bySeniority()
	owner := nobody(g.partitions())
	for t, places := range g.seniorSubscribers(order) {
		assignRange(owner[g.first[t]:g.first[t+1]], order, places)
	}
	return g.assignments(owner), nil
}

// Uniform is the server-side uniform assignor (groups SV-2, SV-3). Members' Owned is
// their previous target. Topics are visited in the order given, which stands for
// that of their ids, members in the order given, too; a caller passes members by id.
func Uniform(topics []Topic, members []Member) ([]Assignment, error) {
	if err := allExist(topics, members); err != nil {
		return nil, err
	}
	u := newUniform(topics, members)
	if u.homogeneous() {
		u.fillQuotas()
	} else {
		u.balanceTopics()
	}
	return u.result(), nil
}

func allExist(topics []Topic, members []Member) error {
	known := make(map[string]bool, len(topics))
	for i := range topics {
		known[topics[i].Name] = true
	}
	for i := range members {
		for _, name := range members[i].Topics {
			if !known[name] {
				return &UnknownTopicError{name}
			}
		}
	}
	return nil
}

// uniform is a target in the making. Members and topics are numbered as given.
type uniform struct {
	topics  []Topic
	members []Member
	index   map[string]int
	subs    [][]int  // by topic the subscribed members
	wants   []uint64 // by member words of bits, a bit for each topic
	words   int
	owner   [][]int32 // by topic and partition; -1 = nobody
	size    []int     // by member
}

func newUniform(topics []Topic, members []Member) *uniform {
	u := &uniform{topics: topics, members: members, index: make(map[string]int, len(topics)),
		subs: make([][]int, len(topics)), owner: make([][]int32, len(topics)), size: make([]int, len(members)),
		words: (len(topics) + 63) / 64}
	u.wants = make([]uint64, u.words*len(members))
	for t := range topics {
		u.index[topics[t].Name] = t
		u.owner[t] = nobody(topics[t].Partitions)
	}
	for m := range members {
		for _, name := range members[m].Topics {
			t := u.index[name]
			if w := &u.wants[m*u.words+t/64]; *w&(1<<(t%64)) == 0 {
				*w |= 1 << (t % 64)
				u.subs[t] = append(u.subs[t], m)
			}
		}
	}
	return u
}

func (u *uniform) homogeneous() bool {
	for m := range u.members {
		if !slices.Equal(u.wanted(m), u.wanted(0)) {
			return false
		}
	}
	return true
}

// wanted is a member's bits.
func (u *uniform) wanted(m int) []uint64 { return u.wants[m*u.words : (m+1)*u.words] }

// previous is the topic and partition of something owned; false if the member no
// longer subscribes to it, or it no longer exists.
func (u *uniform) previous(m int, tp kafka.TopicPartition) (t int, ok bool) {
	t, ok = u.index[tp.Topic]
	return t, ok && tp.Partition >= 0 && tp.Partition < u.topics[t].Partitions && u.wanted(m)[t/64]&(1<<(t%64)) != 0
}

func (u *uniform) give(t int, p int32, m int) {
	if old := u.owner[t][p]; old >= 0 {
		u.size[old]--
	}
	u.owner[t][p] = int32(m)
	u.size[m]++
}

func (u *uniform) result() []Assignment {
	out := make([]Assignment, len(u.members))
	for m := range out {
		out[m] = Assignment{Member: u.members[m].ID, Partitions: make([]kafka.TopicPartition, 0, u.size[m])}
	}
	for t := range u.topics {
		for p, m := range u.owner[t] {
			if m >= 0 {
				out[m].Partitions = append(out[m].Partitions, kafka.TopicPartition{Topic: u.topics[t].Name, Partition: int32(p)})
			}
		}
	}
	for m := range out {
		slices.SortFunc(out[m].Partitions, kafka.TopicPartition.Compare)
	}
	slices.SortFunc(out, func(a, b Assignment) int { return strings.Compare(a.Member, b.Member) })
	return out
}

// place is a topic and one of its partitions.
type place struct {
	topic     int
	partition int32
}

// fillQuotas is SV-2, for members with equal subscriptions: each keeps what it had
// up to its quota, which is one more for the first members visited.
func (u *uniform) fillQuotas() {
	if len(u.members) == 0 {
		return
	}
	total := 0
	for t := range u.topics {
		if len(u.subs[t]) > 0 {
			total += len(u.owner[t])
		}
	}
	q, e := total/len(u.members), total%len(u.members)
	quota := make([]int, len(u.members))
	pool := u.unowned()
	for m := range u.members {
		if quota[m] = q; m < e {
			quota[m]++
		}
		pool = append(pool, u.keep(m, quota[m])...)
	}
	for m := range u.members {
		for ; u.size[m] < quota[m] && len(pool) > 0; pool = pool[1:] {
			u.give(pool[0].topic, pool[0].partition, m)
		}
	}
}

// unowned lists the subscribed partitions that nobody had.
func (u *uniform) unowned() (free []place) {
	had := make(map[kafka.TopicPartition]bool)
	for m := range u.members {
		for _, tp := range u.members[m].Owned {
			had[tp] = true
		}
	}
	for t := range u.topics {
		for p := range u.owner[t] {
			if len(u.subs[t]) > 0 && !had[kafka.TopicPartition{Topic: u.topics[t].Name, Partition: int32(p)}] {
				free = append(free, place{t, int32(p)})
			}
		}
	}
	return free
}

// keep leaves a member what it had up to its quota and returns the rest.
func (u *uniform) keep(m, quota int) (rest []place) {
	for _, tp := range u.members[m].Owned {
		t, ok := u.previous(m, tp)
		switch {
		case !ok:
		case u.size[m] < quota:
			u.give(t, tp.Partition, m)
		default:
			rest = append(rest, place{t, tp.Partition})
		}
	}
	return rest
}
