package zkcontroller

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkNoFieldAboveVersion encodes and decodes at the request's version: what comes
// back must be the same in all versions' fields.
func checkNoFieldAboveVersion(req kmsg.Request) {
	back := kmsg.RequestForKey(req.Key())
	back.SetVersion(req.GetVersion())
	if err := back.ReadFrom(req.AppendTo(nil)); err != nil {
		panic(err)
	}
	version := req.GetVersion()
	for v := int16(0); v <= req.MaxVersion(); v++ {
		req.SetVersion(v)
		back.SetVersion(v)
		if !bytes.Equal(req.AppendTo(nil), back.AppendTo(nil)) {
			panic(fmt.Sprintf("%T at version %d has a field of version %d", req, version, v))
		}
	}
	req.SetVersion(version)
}

// describe prints a control request on one line.
func describe(req kmsg.Request) string {
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		return fmt.Sprintf("LeaderAndIsr v%d epoch=%d broker-epoch=%d%s leaders=%s", r.Version, r.ControllerEpoch, r.BrokerEpoch, laiStates(r), laiLeaders(r))
	case *kmsg.UpdateMetadataRequest:
		return fmt.Sprintf("UpdateMetadata v%d epoch=%d broker-epoch=%d%s brokers=%s", r.Version, r.ControllerEpoch, r.BrokerEpoch, umStates(r), umBrokers(r))
	case *kmsg.StopReplicaRequest:
		return fmt.Sprintf("StopReplica v%d epoch=%d broker-epoch=%d%s", r.Version, r.ControllerEpoch, r.BrokerEpoch, stopStates(r))
	}
	return fmt.Sprintf("%T", req)
}

func laiStates(r *kmsg.LeaderAndISRRequest) string {
	var b strings.Builder
	put := func(topic string, p *kmsg.LeaderAndISRRequestTopicPartition) {
		fmt.Fprintf(&b, " [%s-%d leader=%d/%d isr=%v pe=%d replicas=%v", topic, p.Partition, p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.Replicas)
		if p.IsNew {
			b.WriteString(" new")
		}
		if p.LeaderRecoveryState == 1 {
			b.WriteString(" recovering")
		}
		b.WriteString("]")
	}
	for i := range r.PartitionStates {
		put(r.PartitionStates[i].Topic, &r.PartitionStates[i])
	}
	for i := range r.TopicStates {
		for j := range r.TopicStates[i].PartitionStates {
			put(r.TopicStates[i].Topic, &r.TopicStates[i].PartitionStates[j])
		}
	}
	return b.String()
}

func laiLeaders(r *kmsg.LeaderAndISRRequest) string {
	var s []string
	for _, l := range r.LiveLeaders {
		s = append(s, fmt.Sprintf("%d@%s:%d", l.BrokerID, l.Host, l.Port))
	}
	return strings.Join(s, ",")
}

func umStates(r *kmsg.UpdateMetadataRequest) string {
	var b strings.Builder
	put := func(topic string, p *kmsg.UpdateMetadataRequestTopicPartition) {
		fmt.Fprintf(&b, " [%s-%d leader=%d/%d isr=%v pe=%d", topic, p.Partition, p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion)
		if len(p.OfflineReplicas) > 0 {
			fmt.Fprintf(&b, " offline=%v", p.OfflineReplicas)
		}
		b.WriteString("]")
	}
	for i := range r.PartitionStates {
		put(r.PartitionStates[i].Topic, &r.PartitionStates[i])
	}
	for i := range r.TopicStates {
		for j := range r.TopicStates[i].PartitionStates {
			put(r.TopicStates[i].Topic, &r.TopicStates[i].PartitionStates[j])
		}
	}
	return b.String()
}

func umBrokers(r *kmsg.UpdateMetadataRequest) string {
	var s []string
	for _, l := range r.LiveBrokers {
		s = append(s, fmt.Sprint(l.ID))
	}
	return strings.Join(s, ",")
}

func stopStates(r *kmsg.StopReplicaRequest) string {
	var b strings.Builder
	for _, t := range r.Topics {
		for _, p := range t.PartitionStates {
			fmt.Fprintf(&b, " [%s-%d epoch=%d delete=%t]", t.Topic, p.Partition, p.LeaderEpoch, p.Delete)
		}
		for _, p := range t.Partitions {
			fmt.Fprintf(&b, " [%s-%d delete=%t]", t.Topic, p, r.DeletePartitions)
		}
		if r.Version == 0 {
			fmt.Fprintf(&b, " [%s-%d delete=%t]", t.Topic, t.Partition, r.DeletePartitions)
		}
	}
	return b.String()
}
