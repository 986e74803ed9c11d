package faults

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// selectorWords are the forms of a selector, for messages and suggestions.
var selectorWords = []string{"broker-N", "zookeeper", "leader(topic/partition)", "follower(topic/partition)",
	"followers(topic/partition)", "controller", "coordinator(group)", "group_leader(group)", "rack(name)", "brokers", "clients", "producers", "consumers",
	"random(...)", "others", "$node"}

// SelectorForms lists what a selector may be.
func SelectorForms() []string { return selectorWords }

var plainRoles = map[string]Role{"controller": Controller, "brokers": Brokers, "clients": Clients,
	"producers": Producers, "consumers": Consumers, "zookeeper": ZooKeeper, "others": Others, "$node": Subject}

var partitionRoles = map[string]Role{"leader": Leader, "follower": Follower, "followers": Followers}

// ParseSelector reads a selector. A plain word that is no role is a node's name.
func ParseSelector(s string) (Selector, error) {
	if r, ok := plainRoles[s]; ok {
		return Selector{Role: r}, nil
	}
	word, arg, ok := strings.Cut(s, "(")
	if !ok {
		if s == "" {
			return Selector{}, fmt.Errorf("empty selector; write one of %s", strings.Join(selectorWords, ", "))
		}
		return Selector{Role: ByName, Name: s}, nil
	}
	arg, ok = strings.CutSuffix(arg, ")")
	if !ok {
		return Selector{}, fmt.Errorf("selector %q lacks its closing parenthesis", s)
	}
	if r, ok := partitionRoles[word]; ok {
		tp, err := ParsePartition(arg)
		return Selector{Role: r, TP: tp}, err
	}
	switch word {
	case "rack":
		return Selector{Role: Rack, Name: arg}, nil
	case "coordinator":
		return Selector{Role: Coordinator, Name: arg}, nil
	case "group_leader":
		return Selector{Role: GroupLeader, Name: arg}, nil
	case "random":
		inner, err := ParseSelector(arg)
		return Selector{Role: Random, Inner: &inner}, err
	}
	return Selector{}, fmt.Errorf("unknown selector %q; write one of %s", word, strings.Join(selectorWords, ", "))
}

// Nobody says why s selects nothing.
func (s Selector) Nobody() string {
	tp := fmt.Sprintf("%s/%d", s.TP.Topic, s.TP.Partition)
	switch s.Role {
	case Leader:
		return tp + " had no leader"
	case Follower:
		return tp + " had no running follower"
	case Followers:
		return tp + " had no followers"
	case Controller:
		return "there was no controller yet"
	case Coordinator:
		return "group " + s.Name + " had no coordinator"
	case GroupLeader:
		return "group " + s.Name + " had no leader whose process runs"
	case Random:
		return s.Inner.Nobody()
	case Subject:
		return "what triggered it was no node's doing"
	}
	return s.String() + " is nobody"
}

// ParsePartition reads topic/partition.
func ParsePartition(s string) (kafka.TopicPartition, error) {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 {
		return kafka.TopicPartition{}, fmt.Errorf("%q is not a partition; write topic/number, such as orders/0", s)
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 32)
	if err != nil || n < 0 {
		return kafka.TopicPartition{}, fmt.Errorf("%q is not a partition number; write topic/number, such as orders/0", s[i+1:])
	}
	return kafka.TopicPartition{Topic: s[:i], Partition: int32(n)}, nil
}
