package broker

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/step"
)

// StopReplica (L-32): fetchers stop; with the deletion flag the log's directory is
// renamed and removed later.

// stopping is one partition of a request, whatever its version.
type stopping struct {
	topic     string
	partition int32
	epoch     kafka.LeaderEpoch
	delete    bool
}

func (b *Broker) handleStopReplica(in *step.Input, out *step.Effects, from caller, req *kmsg.StopReplicaRequest) error {
	return b.changes.begin(func(in *step.Input, out *step.Effects) error {
		resp := kmsg.NewPtrStopReplicaResponse()
		resp.Version = req.Version
		resp.ErrorCode = int16(b.checkControl(req.BrokerEpoch, req.ControllerEpoch))
		if resp.ErrorCode == 0 {
			if err := b.stopReplicas(in, out, stoppings(req), resp); err != nil {
				return err
			}
			b.noteControl(out, "StopReplica", req.ControllerID, req.ControllerEpoch, req.BrokerEpoch)
		}
		from.answer(out, resp)
		b.changes.finish(in, out)
		return nil
	}, in, out)
}

func stoppings(req *kmsg.StopReplicaRequest) (list []stopping) {
	for i := range req.Topics {
		t := &req.Topics[i]
		switch {
		case req.Version == 0:
			list = append(list, stopping{t.Topic, t.Partition, kafka.NoLeaderEpoch, req.DeletePartitions})
		case req.Version <= 2:
			for _, n := range t.Partitions {
				list = append(list, stopping{t.Topic, n, kafka.NoLeaderEpoch, req.DeletePartitions})
			}
		default:
			for j := range t.PartitionStates {
				s := &t.PartitionStates[j]
				list = append(list, stopping{t.Topic, s.Partition, kafka.LeaderEpoch(s.LeaderEpoch), s.Delete})
			}
		}
	}
	return list
}

func (b *Broker) stopReplicas(in *step.Input, out *step.Effects, list []stopping, resp *kmsg.StopReplicaResponse) error {
	for i := range list {
		code, err := b.stopReplica(in, out, &list[i])
		if err != nil {
			return err
		}
		if code == kafka.None && list[i].delete && list[i].topic == group.OffsetsTopic {
			b.coordinator(in, out).Resigned(list[i].partition, max(list[i].epoch, kafka.NoLeaderEpoch))
		}
		p := kmsg.NewStopReplicaResponsePartition()
		p.Topic, p.Partition, p.ErrorCode = list[i].topic, list[i].partition, int16(code)
		resp.Partitions = append(resp.Partitions, p)
	}
	b.fetchers.shutdownIdle(in, out)
	return nil
}

// stopReplica stops one. A partition that is not hosted may still have a log from
// an earlier life.
func (b *Broker) stopReplica(in *step.Input, out *step.Effects, s *stopping) (kafka.ErrorCode, error) {
	h := b.topics.get(s.topic, s.partition)
	if h != nil {
		if code := h.p.CheckStop(s.epoch); code != kafka.None {
			return code, nil
		}
		if err := b.unfollow(in, out, h); err != nil {
			return kafka.KafkaStorageError, b.absorb(err)
		}
		h.p.Stop(in, out, s.epoch, s.delete)
	}
	if !s.delete {
		return kafka.None, nil
	}
	if h != nil {
		// Its parked requests are answered after the handler, by the record itself.
		b.topics.drop(h)
	}
	err := b.deleteLog(in, out, kafka.TopicPartition{Topic: s.topic, Partition: s.partition})
	if err != nil {
		if !errors.Is(err, log.ErrDirsOffline) {
			err = b.absorb(err)
		} else {
			err = nil
		}
		return kafka.KafkaStorageError, err
	}
	return kafka.None, nil
}

// deleteLog renames the log's directory; it is removed file.delete.delay.ms later.
func (b *Broker) deleteLog(in *step.Input, out *step.Effects, tp kafka.TopicPartition) error {
	delay := kafka.Millis(b.cfg.LogDefaults.FileDeleteDelayMs)
	dirs, err := b.logs.Delete(tp, func() (unique [16]byte) {
		binary.BigEndian.PutUint64(unique[:], b.draw(in, "deleted-log:"+tp.String()))
		binary.BigEndian.PutUint64(unique[8:], b.draw(in, "deleted-log:"+tp.String()))
		return unique
	})
	for _, dir := range dirs {
		out.SetTimer(laneScheduler, in.Now+delay, timerDeleteDir, 0, dir)
	}
	return err
}
