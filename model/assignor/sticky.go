package assignor

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
)

// sticky balances and moves as little as it can (groups 4.3). What members owned
// comes from their user data, which survives a lost generation (ST-2).
type sticky struct{ flaws }

func (sticky) Name() string      { return "sticky" }
func (sticky) Cooperative() bool { return false }

// UserData is StickyAssignor's, version 1: partitions by topic, and the generation.
func (sticky) UserData(owned []kafka.TopicPartition, generation int32) []byte {
	if generation < 0 && len(owned) == 0 {
		return nil
	}
	var d kmsg.StickyMemberMetadata
	d.Generation = generation
	sorted := slices.Clone(owned)
	slices.SortFunc(sorted, kafka.TopicPartition.Compare)
	for _, tp := range sorted {
		if n := len(d.CurrentAssignment); n == 0 || d.CurrentAssignment[n-1].Topic != tp.Topic {
			d.CurrentAssignment = append(d.CurrentAssignment, kmsg.StickyMemberMetadataCurrentAssignment{Topic: tp.Topic})
		}
		t := &d.CurrentAssignment[len(d.CurrentAssignment)-1]
		t.Partitions = append(t.Partitions, tp.Partition)
	}
	return d.AppendTo(nil)
}

func (s sticky) Assign(topics []Topic, members []Member) []Assignment {
	return stickily(topics, members, nil, s.flaws).result()
}

// stickily computes the target. Members are visited in the order of visit, which
// holds numbers in the order of ids; nil is that order itself.
func stickily(topics []Topic, members []Member, visit []int32, f flaws) *target {
	t := newTarget(newGroup(topics, members), visit)
	t.flaws = f
	var data kmsg.StickyMemberMetadata
	for _, m := range t.visit {
		if user := t.members[m].UserData; len(user) > 0 && data.UnsafeReadFrom(user) == nil {
			c := t.claimant(m, data.Generation)
			for i := range data.CurrentAssignment {
				a := &data.CurrentAssignment[i]
				for _, p := range a.Partitions {
					c.claim(a.Topic, p)
				}
			}
		}
	}
	t.compute()
	return t
}

// cooperativeSticky is sticky over what members own while they rebalance, and takes
// two rounds to move a partition (groups 4.4).
type cooperativeSticky struct{ flaws }

func (cooperativeSticky) Name() string      { return "cooperative-sticky" }
func (cooperativeSticky) Cooperative() bool { return true }

// UserData is the generation, which subscriptions before version 2 do not carry.
func (cooperativeSticky) UserData(_ []kafka.TopicPartition, generation int32) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(generation))
}

func (s cooperativeSticky) Assign(topics []Topic, members []Member) []Assignment {
	t := cooperatively(topics, members, nil, s.flaws)
	t.withhold()
	return t.result()
}

func cooperatively(topics []Topic, members []Member, visit []int32, f flaws) *target {
	t := newTarget(newGroup(topics, members), visit)
	t.flaws = f
	for _, m := range t.visit {
		member := &t.members[m]
		c := t.claimant(m, cooperativeGeneration(member))
		for i := range member.Owned {
			c.claim(member.Owned[i].Topic, member.Owned[i].Partition)
		}
	}
	t.compute()
	return t
}

// cooperativeGeneration is the generation of what a member owns (ST-2).
func cooperativeGeneration(m *Member) int32 {
	if m.Generation >= 0 || len(m.UserData) < 4 {
		return max(m.Generation, NoGeneration)
	}
	return max(int32(binary.BigEndian.Uint32(m.UserData)), NoGeneration)
}

// withhold takes out what somebody must give up first (CS-A): a partition goes only
// to the one member that rightly claims it, or to anybody if nobody claims it. A
// claim from an older generation than another's is none (CS-C): its owner, too, has
// to revoke before it may own the partition anew.
func (t *target) withhold() {
	if t.flaws.raw && !t.uniform {
		t.withholdRaw()
		return
	}
	for p, m := range t.owner {
		if m >= 0 && t.claimed[p] != m && t.claimed[p] != unclaimed {
			t.owner[p] = -1
		}
	}
}
