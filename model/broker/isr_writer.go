package broker

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// WriteISR implements replica.ISRWriter: brokers before KIP-497 write the state
// znode themselves (L-27). The outcome is dealt with on the alter lane.
func (b *Broker) WriteISR(in *step.Input, out *step.Effects, c replica.ISRChange) {
	path := zookeeper.StatePath(c.Partition.TP)
	data := zookeeper.EncodePartitionState(zookeeper.PartitionState{Leader: b.cfg.NodeID, LeaderEpoch: c.LeaderEpoch,
		ControllerEpoch: c.ControllerEpoch, ISR: c.ISR})
	write := zookeeper.Request{{Type: zookeeper.OpSetData, Path: path, Data: data, Version: int32(c.PartitionEpoch)}}
	b.ask(in, out, []zookeeper.Request{write}, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		r := &results[0][0]
		if r.Code != zookeeper.BadVersion {
			b.isrWritten(in, out, c, replica.WriteResult{Written: r.Code == zookeeper.OK, Version: kafka.PartitionEpoch(r.Stat.Version)})
			return nil
		}
		read := zookeeper.Request{{Type: zookeeper.OpGetData, Path: path}}
		b.ask(in, out, []zookeeper.Request{read}, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
			b.isrWritten(in, out, c, storedISR(&results[0][0]))
			return nil
		})
		return nil
	})
}

func storedISR(r *zookeeper.Result) replica.WriteResult {
	s, err := zookeeper.DecodePartitionState(r.Data)
	if r.Code != zookeeper.OK || err != nil {
		return replica.WriteResult{}
	}
	return replica.WriteResult{Found: true, Version: kafka.PartitionEpoch(r.Stat.Version), Stored: replica.State{
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ISR: s.ISR, ControllerEpoch: s.ControllerEpoch}}
}

func (b *Broker) isrWritten(in *step.Input, out *step.Effects, c replica.ISRChange, r replica.WriteResult) {
	post(in, out, laneAlter, func(in *step.Input, out *step.Effects) error {
		b.alterZK.Written(in, out, c, r)
		return nil
	})
}

// NotifyISRChange implements replica.ISRWriter.
func (b *Broker) NotifyISRChange(in *step.Input, out *step.Effects, tps []kafka.TopicPartition) {
	create := zookeeper.Request{{Type: zookeeper.OpCreate, Path: zookeeper.IsrChangePrefix, Data: zookeeper.EncodePartitions(tps), Sequential: true}}
	b.ask(in, out, []zookeeper.Request{create}, func(*step.Input, *step.Effects, [][]zookeeper.Result) error { return nil })
}
