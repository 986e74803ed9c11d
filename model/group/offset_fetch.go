package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// The OffsetFetch versions at which something changes (groups 2.8).
const (
	fetchErrorVersion  = 2 // an error of the group; no topics means all
	fetchEpochVersion  = 5
	fetchStableVersion = 7
	fetchGroupsVersion = 8
)

// OffsetFetch is CF-1 and CF-2: membership is not looked at.
func (c *Coordinator) OffsetFetch(out *step.Effects, from Caller, req *kmsg.OffsetFetchRequest) {
	stable := req.Version >= fetchStableVersion && req.RequireStable
	resp := &kmsg.OffsetFetchResponse{Version: req.Version}
	if req.Version >= fetchGroupsVersion {
		for i := range req.Groups {
			resp.Groups = append(resp.Groups, c.fetchGroup(&req.Groups[i], stable))
		}
	} else {
		c.fetchOne(req, resp, stable)
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

// fetchOne answers for the one group of an older request.
func (c *Coordinator) fetchOne(req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse, stable bool) {
	asked := kmsg.OffsetFetchRequestGroup{Group: req.Group}
	for i := range req.Topics {
		asked.Topics = append(asked.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: req.Topics[i].Topic, Partitions: req.Topics[i].Partitions})
	}
	if req.Topics != nil && asked.Topics == nil {
		asked.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	code := c.validate(req.Group, anyGroup)
	if req.Version >= fetchErrorVersion {
		resp.ErrorCode = int16(code)
		if code != kafka.None {
			return
		}
	}
	for _, t := range c.offsetsOf(&asked, stable) {
		topic := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			part := kmsg.OffsetFetchResponseTopicPartition{Partition: p.Partition, Offset: p.Offset, LeaderEpoch: -1, Metadata: p.Metadata, ErrorCode: p.ErrorCode}
			if req.Version >= fetchEpochVersion {
				part.LeaderEpoch = p.LeaderEpoch
			}
			if code != kafka.None {
				part.Offset, part.Metadata, part.ErrorCode = -1, pointerTo(""), int16(code)
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

func (c *Coordinator) fetchGroup(asked *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	r := kmsg.OffsetFetchResponseGroup{Group: asked.Group}
	if code := c.validate(asked.Group, anyGroup); code != kafka.None {
		r.ErrorCode = int16(code)
		return r
	}
	r.Topics = c.offsetsOf(asked, stable)
	return r
}

// offsetsOf are a group's offsets: of the partitions asked for, or all.
func (c *Coordinator) offsetsOf(asked *kmsg.OffsetFetchRequestGroup, stable bool) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	g := c.byID[asked.Group]
	if g != nil && g.state == Dead {
		g = nil
	}
	if asked.Topics == nil {
		if g == nil {
			return nil
		}
		for _, e := range g.offsets.list {
			if !e.known {
				continue
			}
			if n := len(topics); n == 0 || topics[n-1].Topic != e.tp.Topic {
				topics = append(topics, kmsg.OffsetFetchResponseGroupTopic{Topic: e.tp.Topic})
			}
			t := &topics[len(topics)-1]
			t.Partitions = append(t.Partitions, fetched(g, e.tp, stable))
		}
		return topics
	}
	for i := range asked.Topics {
		t := kmsg.OffsetFetchResponseGroupTopic{Topic: asked.Topics[i].Topic}
		for _, n := range asked.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, fetched(g, kafka.TopicPartition{Topic: t.Topic, Partition: n}, stable))
		}
		topics = append(topics, t)
	}
	return topics
}

// fetched is one partition's offset; g is nil for a group that is not there.
func fetched(g *Group, tp kafka.TopicPartition, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	r := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: tp.Partition, Offset: -1, LeaderEpoch: -1, Metadata: pointerTo("")}
	if g == nil {
		return r
	}
	if stable && g.offsets.unstable(tp) {
		r.ErrorCode = int16(kafka.UnstableOffsetCommit)
		return r
	}
	if e := g.offsets.get(tp); e != nil && e.known {
		r.Offset, r.LeaderEpoch, r.Metadata = int64(e.value.Offset), int32(e.value.LeaderEpoch), pointerTo(e.value.Metadata)
	}
	return r
}
