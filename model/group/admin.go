package group

import (
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// The versions at which answers to administrators change.
const (
	describeInstanceVersion = 4
	listStateVersion        = 4
	listTypeVersion         = 5
)

const classicType = "classic"

// DescribeGroups tells members, and what they were assigned while the group is stable.
func (c *Coordinator) DescribeGroups(out *step.Effects, from Caller, req *kmsg.DescribeGroupsRequest) {
	resp := &kmsg.DescribeGroupsResponse{Version: req.Version}
	for _, id := range req.Groups {
		r := kmsg.DescribeGroupsResponseGroup{Group: id, ErrorCode: int16(c.validate(id, anyGroup)), AuthorizedOperations: math.MinInt32}
		switch g := c.byID[id]; {
		case r.ErrorCode != 0:
		case g == nil:
			r.State = Dead.String()
		default:
			r.State, r.ProtocolType, r.Members = g.state.String(), g.protocolType, g.describe(req.Version)
			if g.state == Stable {
				r.Protocol = g.protocol
			}
		}
		resp.Groups = append(resp.Groups, r)
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

func (g *Group) describe(version int16) (list []kmsg.DescribeGroupsResponseGroupMember) {
	for _, m := range g.members {
		r := kmsg.DescribeGroupsResponseGroupMember{MemberID: m.id, ClientID: m.client, ClientHost: m.host}
		if m.isStatic() && version >= describeInstanceVersion {
			r.InstanceID = pointerTo(m.instance)
		}
		if g.state == Stable {
			r.ProtocolMetadata, r.MemberAssignment = m.metadata(g.protocol), m.assignment
		}
		list = append(list, r)
	}
	return list
}

// ListGroups tells the groups that this coordinator has.
func (c *Coordinator) ListGroups(out *step.Effects, from Caller, req *kmsg.ListGroupsRequest) {
	resp := &kmsg.ListGroupsResponse{Version: req.Version}
	switch {
	case c.stopped:
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable)
	case c.loading > 0:
		resp.ErrorCode = int16(kafka.CoordinatorLoadInProgress)
	}
	for _, g := range c.groups {
		if c.stopped || !asksFor(req.StatesFilter, g.state.String()) || !asksFor(req.TypesFilter, classicType) {
			continue
		}
		r := kmsg.ListGroupsResponseGroup{Group: g.id, ProtocolType: g.protocolType}
		if req.Version >= listStateVersion {
			r.GroupState = g.state.String()
		}
		if req.Version >= listTypeVersion {
			r.GroupType = classicType
		}
		resp.Groups = append(resp.Groups, r)
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

// asksFor: a filter lets a word pass, in any case; none lets all pass.
func asksFor(filter []string, word string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, word) })
}

// DeleteGroups removes empty groups.
func (c *Coordinator) DeleteGroups(in *step.Input, out *step.Effects, from Caller, req *kmsg.DeleteGroupsRequest) {
	resp := &kmsg.DeleteGroupsResponse{Version: req.Version}
	for i, id := range req.Groups {
		if slices.Contains(req.Groups[:i], id) {
			continue
		}
		resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{Group: id, ErrorCode: int16(c.delete(in, out, id))})
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

func (c *Coordinator) delete(in *step.Input, out *step.Effects, id string) kafka.ErrorCode {
	if code := c.validate(id, anyGroup); code != kafka.None {
		return code
	}
	g := c.byID[id]
	switch {
	case g == nil || g.state == Dead:
		return kafka.GroupIDNotFound
	case g.state != Empty:
		return kafka.NonEmptyGroup
	}
	var all []kafka.TopicPartition
	for _, e := range g.offsets.list {
		all = append(all, e.tp)
	}
	c.move(in, out, g, Dead, "DeleteGroups")
	c.removeOffsets(in, out, g, all, event.RemovedGroup)
	return kafka.None
}

// OffsetDelete removes offsets of an empty group, or of topics to which a group of
// consumers does not subscribe. known reports whether a partition exists.
func (c *Coordinator) OffsetDelete(in *step.Input, out *step.Effects, from Caller, req *kmsg.OffsetDeleteRequest, known func(topic string, partition int32) bool) {
	resp := &kmsg.OffsetDeleteResponse{Version: req.Version}
	code := c.validate(req.Group, membership)
	g := c.byID[req.Group]
	switch {
	case code != kafka.None:
	case g == nil || g.state == Dead:
		code = kafka.GroupIDNotFound
	case g.state != Empty && g.protocolType != consumerType:
		code = kafka.NonEmptyGroup
	}
	resp.ErrorCode = int16(code)
	if code == kafka.None {
		resp.Topics = c.deleteOffsets(in, out, g, req, known)
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

func (c *Coordinator) deleteOffsets(in *step.Input, out *step.Effects, g *Group, req *kmsg.OffsetDeleteRequest, known func(topic string, partition int32) bool) (topics []kmsg.OffsetDeleteResponseTopic) {
	var doomed []kafka.TopicPartition
	for i := range req.Topics {
		t := kmsg.OffsetDeleteResponseTopic{Topic: req.Topics[i].Topic}
		for j := range req.Topics[i].Partitions {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: req.Topics[i].Partitions[j].Partition}
			r := kmsg.OffsetDeleteResponseTopicPartition{Partition: tp.Partition}
			switch {
			case !known(tp.Topic, tp.Partition):
				r.ErrorCode = int16(kafka.UnknownTopicOrPartition)
			case g.state != Empty && g.subscribes(tp.Topic):
				r.ErrorCode = int16(kafka.GroupSubscribedToTopic)
			default:
				doomed = append(doomed, tp)
			}
			t.Partitions = append(t.Partitions, r)
		}
		topics = append(topics, t)
	}
	if len(doomed) > 0 {
		c.removeOffsets(in, out, g, doomed, event.RemovedOffset)
	}
	return topics
}

// PartitionsDeleted removes what all groups committed for partitions that are gone
// (handleDeletedPartitions).
func (c *Coordinator) PartitionsDeleted(in *step.Input, out *step.Effects, gone []kafka.TopicPartition) {
	for _, g := range slices.Clone(c.groups) {
		c.removeOffsets(in, out, g, gone, event.RemovedTopic)
	}
}
