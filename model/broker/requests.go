package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// caller is whom to answer.
type caller struct {
	conn        step.ConnID
	correlation int32
}

func callerOf(in *step.Input) caller { return caller{in.Conn, in.Correlation} }

func (c caller) answer(out *step.Effects, resp kmsg.Response) { out.Reply(c.conn, c.correlation, resp) }

// heldRequest came after the port was open and before requests were handled.
type heldRequest struct {
	caller
	client string
	body   step.Message
}

func (b *Broker) requestsLane(in *step.Input, out *step.Effects) error {
	switch in.Kind {
	case step.Accepted:
		if !b.bound {
			out.Close(in.Conn)
		}
	case step.Request:
		switch {
		case !b.bound:
			out.Close(in.Conn)
		case !b.serving:
			b.held = append(b.held, &heldRequest{callerOf(in), in.From, in.Body})
		default:
			return b.handle(in, out, callerOf(in), in.Body)
		}
	case step.Closed:
		b.waiting.forget(in.Conn)
	case step.Timer:
		if in.Timer == timerHeld {
			h := in.Ref.(*heldRequest)
			in.From = h.client
			return b.handle(in, out, h.caller, h.body)
		}
	}
	return nil
}

// handle is KafkaApis.handle.
func (b *Broker) handle(in *step.Input, out *step.Effects, from caller, body step.Message) error {
	switch req := body.(type) {
	case *kmsg.ProduceRequest:
		return b.handleProduce(in, out, from, req)
	case *kmsg.FetchRequest:
		return b.handleFetch(in, out, from, req)
	}
	out.Charge(b.cfg.RequestServiceTime)
	switch req := body.(type) {
	case *kmsg.MetadataRequest:
		b.handleMetadata(in, out, from, req)
	case *kmsg.ListOffsetsRequest:
		return b.handleListOffsets(in, out, from, req)
	case *kmsg.OffsetForLeaderEpochRequest:
		b.handleOffsetForLeaderEpoch(out, from, req)
	case *kmsg.LeaderAndISRRequest:
		return b.handleLeaderAndISR(in, out, from, req)
	case *kmsg.StopReplicaRequest:
		return b.handleStopReplica(in, out, from, req)
	case *kmsg.UpdateMetadataRequest:
		return b.handleUpdateMetadata(in, out, from, req)
	case *kmsg.ControlledShutdownRequest:
		b.handleControlledShutdown(in, out, from, req)
	case *kmsg.AlterPartitionRequest:
		b.handleAlterPartition(in, out, from, req)
	case *kmsg.ElectLeadersRequest:
		b.handleElectLeaders(in, out, from, req)
	case *kmsg.DeleteRecordsRequest:
		return b.handleDeleteRecords(in, out, from, req)
	case *kmsg.CreateTopicsRequest:
		b.handleCreateTopics(in, out, from, req)
	case *kmsg.DeleteTopicsRequest:
		b.handleDeleteTopics(in, out, from, req)
	case *kmsg.CreatePartitionsRequest:
		b.handleCreatePartitions(in, out, from, req)
	default:
		if b.handleGroups(in, out, from, body) {
			return nil
		}
		// As for a request that cannot be parsed.
		out.Close(from.conn)
	}
	return nil
}

// handleGroups is handle for the APIs of groups; false if the request is none of them.
func (b *Broker) handleGroups(in *step.Input, out *step.Effects, from caller, body step.Message) bool {
	switch req := body.(type) {
	case *kmsg.HeartbeatRequest:
		b.handleHeartbeat(in, out, from, req)
	case *kmsg.OffsetCommitRequest:
		b.handleOffsetCommit(in, out, from, req)
	case *kmsg.OffsetFetchRequest:
		b.handleOffsetFetch(in, out, from, req)
	case *kmsg.JoinGroupRequest:
		b.handleJoinGroup(in, out, from, req)
	case *kmsg.SyncGroupRequest:
		b.handleSyncGroup(in, out, from, req)
	case *kmsg.LeaveGroupRequest:
		b.handleLeaveGroup(in, out, from, req)
	case *kmsg.FindCoordinatorRequest:
		b.handleFindCoordinator(in, out, from, req)
	case *kmsg.DescribeGroupsRequest:
		b.handleDescribeGroups(in, out, from, req)
	case *kmsg.ListGroupsRequest:
		b.handleListGroups(in, out, from, req)
	case *kmsg.DeleteGroupsRequest:
		b.handleDeleteGroups(in, out, from, req)
	case *kmsg.OffsetDeleteRequest:
		b.handleOffsetDelete(in, out, from, req)
	default:
		return false
	}
	return true
}

// staleBrokerEpoch: a control request was meant for an earlier life (Z-11). A
// larger epoch than ours is possible: the controller may learn it first.
func (b *Broker) staleBrokerEpoch(epoch int64) bool {
	return b.cfg.Profile.BrokerEpoch && !b.cfg.Profile.Quirks.Has(quirk.OldBrokerEpochObeyed) && epoch != int64(unknownEpoch) && kafka.BrokerEpoch(epoch) < b.session.epoch
}
