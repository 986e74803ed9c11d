package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Metadata, from what the controller last told (ZkMetadataCache). Modelled: all or
// named topics, by name or id, leaders that are not alive, automatic creation of
// topics. Left out: listeners, authorized operations.

// The Metadata versions at which the fields change.
const (
	metadataControllerVersion  = 1
	metadataClusterVersion     = 2
	metadataAutoCreateVersion  = 4 // the request may forbid it
	metadataOfflineVersion     = 5
	metadataLeaderEpochVersion = 7
	metadataTopicIDVersion     = 10
)

func (b *Broker) handleMetadata(in *step.Input, out *step.Effects, from caller, req *kmsg.MetadataRequest) {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	b.fillBrokers(resp)
	switch all := req.Topics == nil || req.Version == 0 && len(req.Topics) == 0; {
	case all:
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, len(b.cache.topics))
		for _, t := range b.cache.topics {
			resp.Topics = append(resp.Topics, b.topicResponse(req.Version, t))
		}
	default:
		for i := range req.Topics {
			resp.Topics = append(resp.Topics, b.askedTopic(in, out, req, &req.Topics[i]))
		}
	}
	from.answer(out, resp)
}

func (b *Broker) fillBrokers(resp *kmsg.MetadataResponse) {
	resp.Brokers = make([]kmsg.MetadataResponseBroker, 0, len(b.cache.brokers))
	for _, n := range b.cache.brokers {
		m := kmsg.MetadataResponseBroker{NodeID: int32(n.id), Host: n.addr.Host, Port: n.addr.Port}
		if resp.Version >= metadataControllerVersion {
			m.Rack = n.rack
		}
		resp.Brokers = append(resp.Brokers, m)
	}
	if resp.Version >= metadataClusterVersion {
		resp.ClusterID = &b.params.ClusterID
	}
	if resp.Version >= metadataControllerVersion {
		resp.ControllerID = int32(kafka.NoNode)
		if _, alive := b.cache.controllerAddr(); alive {
			resp.ControllerID = int32(b.cache.controller)
		}
	}
}

func (b *Broker) askedTopic(in *step.Input, out *step.Effects, req *kmsg.MetadataRequest, asked *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	unknown := kmsg.NewMetadataResponseTopic()
	unknown.Topic = asked.Topic
	unknown.ErrorCode = int16(kafka.UnknownTopicOrPartition)
	if asked.Topic == nil {
		unknown.TopicID, unknown.ErrorCode = asked.TopicID, int16(kafka.UnknownTopicID)
		if t := b.cache.byID[asked.TopicID]; t != nil {
			return b.topicResponse(req.Version, t)
		}
		return unknown
	}
	if t := b.cache.byName[*asked.Topic]; t != nil {
		return b.topicResponse(req.Version, t)
	}
	if b.cfg.AutoCreateTopics && (req.Version < metadataAutoCreateVersion || req.AllowAutoTopicCreation) {
		unknown.ErrorCode = int16(b.autoCreate(in, out, *asked.Topic))
	}
	return unknown
}

func (b *Broker) topicResponse(version int16, t *topicMetadata) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic = &t.name
	if version >= metadataTopicIDVersion {
		r.TopicID = t.id
	}
	if version >= metadataControllerVersion {
		r.IsInternal = internalTopic(t.name)
	}
	r.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.count)
	for i := range t.parts {
		if t.parts[i].known {
			r.Partitions = append(r.Partitions, b.partitionResponse(version, int32(i), &t.parts[i]))
		}
	}
	return r
}

// partitionResponse tells a leader only if it is alive.
func (b *Broker) partitionResponse(version int16, number int32, p *partitionMetadata) kmsg.MetadataResponseTopicPartition {
	r := kmsg.NewMetadataResponseTopicPartition()
	r.Partition, r.Leader, r.Replicas, r.ISR = number, int32(p.leader), p.replicas, p.isr
	if b.cache.broker(p.leader) == nil {
		r.Leader, r.ErrorCode = int32(kafka.NoNode), int16(kafka.LeaderNotAvailable)
	}
	if version >= metadataLeaderEpochVersion {
		r.LeaderEpoch = int32(p.leaderEpoch)
	}
	if version >= metadataOfflineVersion {
		r.OfflineReplicas = b.offlineReplicas(p)
	}
	return r
}

// offlineReplicas are those on failed directories and those on brokers that are
// not alive.
func (b *Broker) offlineReplicas(p *partitionMetadata) []int32 {
	var list []int32
	for _, id := range p.replicas {
		offline := b.cache.broker(kafka.NodeID(id)) == nil
		for _, o := range p.offline {
			offline = offline || o == id
		}
		if offline {
			list = append(list, id)
		}
	}
	return list
}
