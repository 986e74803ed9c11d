package zkcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
)

// Each builder sets only the fields that exist at the profile's version.

// leaderAndISRRequest builds the request that makes a broker leader or follower.
// It names the endpoints of the leaders that are registered.
func (c *Controller) leaderAndISRRequest(to *liveBroker, states []partitionState) *kmsg.LeaderAndISRRequest {
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version = c.cfg.Profile.Versions.LeaderAndISR
	req.ControllerID = int32(c.cfg.NodeID)
	req.ControllerEpoch = int32(c.ctx.epoch)
	if req.Version >= 2 {
		req.BrokerEpoch = c.brokerEpochOf(to)
	}
	for i := range states {
		c.addLeaderAndISRState(req, &states[i])
	}
	for _, b := range c.ctx.brokers {
		if leadsAny(b.id, states) {
			leader := kmsg.NewLeaderAndISRRequestLiveLeader()
			leader.BrokerID, leader.Host, leader.Port = int32(b.id), b.addr.Host, b.addr.Port
			req.LiveLeaders = append(req.LiveLeaders, leader)
		}
	}
	return req
}

func leadsAny(id kafka.NodeID, states []partitionState) bool {
	for i := range states {
		if states[i].info.leader == id {
			return true
		}
	}
	return false
}

// addLeaderAndISRState appends one partition; states come ordered by topic.
func (c *Controller) addLeaderAndISRState(req *kmsg.LeaderAndISRRequest, s *partitionState) {
	p := kmsg.NewLeaderAndISRRequestTopicPartition()
	p.Partition = s.tp.Partition
	p.ControllerEpoch = int32(s.info.controllerEpoch)
	p.Leader, p.LeaderEpoch = int32(s.info.leader), int32(s.info.leaderEpoch)
	p.ISR, p.ZKVersion, p.Replicas = ids(s.info.isr), int32(s.info.partitionEpoch), ids(s.replicas)
	if req.Version >= 1 {
		p.IsNew = s.isNew
	}
	if req.Version >= 3 {
		p.AddingReplicas, p.RemovingReplicas = ids(s.adding), ids(s.removing)
	}
	if req.Version >= 6 && c.cfg.Profile.RecoveryState && s.info.recovering {
		p.LeaderRecoveryState = 1
	}
	if req.Version < 2 {
		p.Topic = s.tp.Topic
		req.PartitionStates = append(req.PartitionStates, p)
		return
	}
	last := len(req.TopicStates) - 1
	if last < 0 || req.TopicStates[last].Topic != s.tp.Topic {
		t := kmsg.NewLeaderAndISRRequestTopicState()
		t.Topic = s.tp.Topic
		if req.Version >= 5 {
			t.TopicID = s.topicID
		}
		req.TopicStates = append(req.TopicStates, t)
		last++
	}
	req.TopicStates[last].PartitionStates = append(req.TopicStates[last].PartitionStates, p)
}

// updateMetadataBody builds what all receivers of an UpdateMetadata share; only the
// broker epoch differs.
func (c *Controller) updateMetadataBody(states []partitionState) kmsg.UpdateMetadataRequest {
	req := kmsg.NewUpdateMetadataRequest()
	req.Version = c.cfg.Profile.Versions.UpdateMetadata
	req.ControllerID = int32(c.cfg.NodeID)
	req.ControllerEpoch = int32(c.ctx.epoch)
	for i := range states {
		addUpdateMetadataState(&req, &states[i])
	}
	for _, b := range c.ctx.brokers {
		req.LiveBrokers = append(req.LiveBrokers, liveBrokerAt(req.Version, b))
	}
	return req
}

func addUpdateMetadataState(req *kmsg.UpdateMetadataRequest, s *partitionState) {
	p := kmsg.NewUpdateMetadataRequestTopicPartition()
	p.Partition = s.tp.Partition
	p.ControllerEpoch = int32(s.info.controllerEpoch)
	p.Leader, p.LeaderEpoch = int32(s.info.leader), int32(s.info.leaderEpoch)
	p.ISR, p.ZKVersion, p.Replicas = ids(s.info.isr), int32(s.info.partitionEpoch), ids(s.replicas)
	if req.Version >= 4 {
		p.OfflineReplicas = ids(s.offline)
	}
	if req.Version < 5 {
		p.Topic = s.tp.Topic
		req.PartitionStates = append(req.PartitionStates, p)
		return
	}
	last := len(req.TopicStates) - 1
	if last < 0 || req.TopicStates[last].Topic != s.tp.Topic {
		t := kmsg.NewUpdateMetadataRequestTopicState()
		t.Topic = s.tp.Topic
		if req.Version >= 7 {
			t.TopicID = s.topicID
		}
		req.TopicStates = append(req.TopicStates, t)
		last++
	}
	req.TopicStates[last].PartitionStates = append(req.TopicStates[last].PartitionStates, p)
}

func liveBrokerAt(version int16, b *liveBroker) kmsg.UpdateMetadataRequestLiveBroker {
	live := kmsg.NewUpdateMetadataRequestLiveBroker()
	live.ID = int32(b.id)
	if version == 0 {
		live.Host, live.Port = b.addr.Host, b.addr.Port
		return live
	}
	e := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
	e.Host, e.Port = b.addr.Host, b.addr.Port
	if version >= 3 {
		e.ListenerName = "PLAINTEXT"
	}
	live.Endpoints = []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{e}
	if version >= 2 && b.rack != "" {
		live.Rack = &b.rack
	}
	return live
}

// stopReplicaRequests builds one request, or before version 3, which has one
// deletion flag for all, one with and one without it.
func (c *Controller) stopReplicaRequests(to *liveBroker, states []stopState) []*kmsg.StopReplicaRequest {
	if c.cfg.Profile.Versions.StopReplica >= 3 {
		return []*kmsg.StopReplicaRequest{c.stopReplicaRequest(to, states, nil)}
	}
	var reqs []*kmsg.StopReplicaRequest
	for _, deletes := range [2]bool{true, false} {
		if req := c.stopReplicaRequest(to, states, &deletes); len(req.Topics) > 0 {
			reqs = append(reqs, req)
		}
	}
	return reqs
}

// stopReplicaRequest builds a request for the states whose flag equals only, or
// for all if only is nil.
func (c *Controller) stopReplicaRequest(to *liveBroker, states []stopState, only *bool) *kmsg.StopReplicaRequest {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version = c.cfg.Profile.Versions.StopReplica
	req.ControllerID = int32(c.cfg.NodeID)
	req.ControllerEpoch = int32(c.ctx.epoch)
	if req.Version >= 1 {
		req.BrokerEpoch = c.brokerEpochOf(to)
	}
	if only != nil {
		req.DeletePartitions = *only
	}
	for i := range states {
		if only == nil || states[i].delete == *only {
			addStopState(req, &states[i])
		}
	}
	return req
}

func addStopState(req *kmsg.StopReplicaRequest, s *stopState) {
	last := len(req.Topics) - 1
	if last < 0 || req.Version == 0 || req.Topics[last].Topic != s.tp.Topic {
		t := kmsg.NewStopReplicaRequestTopic()
		t.Topic = s.tp.Topic
		req.Topics = append(req.Topics, t)
		last++
	}
	t := &req.Topics[last]
	switch {
	case req.Version == 0:
		t.Partition = s.tp.Partition
	case req.Version <= 2:
		t.Partitions = append(t.Partitions, s.tp.Partition)
	default:
		p := kmsg.NewStopReplicaRequestTopicPartitionState()
		p.Partition, p.LeaderEpoch, p.Delete = s.tp.Partition, int32(s.leaderEpoch), s.delete
		t.PartitionStates = append(t.PartitionStates, p)
	}
}

// ids converts to the protocol's integers.
func ids(nodes []kafka.NodeID) []int32 {
	out := make([]int32, len(nodes))
	for i, n := range nodes {
		out[i] = int32(n)
	}
	return out
}

// nodes converts from the protocol's integers.
func nodes(ids []int32) []kafka.NodeID {
	out := make([]kafka.NodeID, len(ids))
	for i, n := range ids {
		out[i] = kafka.NodeID(n)
	}
	return out
}
