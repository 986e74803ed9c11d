package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// FindCoordinator (LK-1 to LK-3). Modelled: groups, one key or several, the creation of
// __consumer_offsets at the first question. Left out: transactions and share groups,
// which are answered INVALID_REQUEST, and authorization.

const (
	findMessageVersion = 1
	findKeysVersion    = 4
	groupCoordinator   = 0 // the type of coordinator
)

func (b *Broker) handleFindCoordinator(in *step.Input, out *step.Effects, from caller, req *kmsg.FindCoordinatorRequest) {
	resp := &kmsg.FindCoordinatorResponse{Version: req.Version}
	if req.Version >= findKeysVersion {
		for _, key := range req.CoordinatorKeys {
			node, code := b.findCoordinator(in, out, req.CoordinatorType, key)
			r := kmsg.FindCoordinatorResponseCoordinator{Key: key, NodeID: int32(kafka.NoNode), Port: -1, ErrorCode: int16(code)}
			if node != nil {
				r.NodeID, r.Host, r.Port = int32(node.id), node.addr.Host, node.addr.Port
			}
			resp.Coordinators = append(resp.Coordinators, r)
		}
		from.answer(out, resp)
		return
	}
	node, code := b.findCoordinator(in, out, req.CoordinatorType, req.CoordinatorKey)
	resp.NodeID, resp.Port, resp.ErrorCode = int32(kafka.NoNode), -1, int16(code)
	if node != nil {
		resp.NodeID, resp.Host, resp.Port = int32(node.id), node.addr.Host, node.addr.Port
	}
	if req.Version >= findMessageVersion {
		text := code.String()
		resp.ErrorMessage = &text
	}
	from.answer(out, resp)
}

// findCoordinator is the leader of a group's partition as far as the cache knows; nil
// with an error.
func (b *Broker) findCoordinator(in *step.Input, out *step.Effects, kind int8, key string) (*liveBroker, kafka.ErrorCode) {
	if kind != groupCoordinator {
		return nil, kafka.InvalidRequest
	}
	partition := b.coordinator(in, out).PartitionOf(key)
	if b.cache.byName[group.OffsetsTopic] == nil {
		b.autoCreate(in, out, group.OffsetsTopic)
		return nil, kafka.CoordinatorNotAvailable
	}
	p := b.cache.partition(group.OffsetsTopic, partition)
	if p == nil {
		return nil, kafka.CoordinatorNotAvailable
	}
	node := b.cache.broker(p.leader)
	if node == nil {
		return nil, kafka.CoordinatorNotAvailable
	}
	return node, kafka.None
}
