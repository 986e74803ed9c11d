package zookeeper

import (
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// The fixed znodes of cluster 3.1.
const (
	ControllerPath        = "/controller"
	ControllerEpochPath   = "/controller_epoch"
	BrokerIDsPath         = "/brokers/ids"
	TopicsPath            = "/brokers/topics"
	BrokerSequencePath    = "/brokers/seqid"
	IsrChangePath         = "/isr_change_notification"
	LogDirEventPath       = "/log_dir_event_notification"
	DeleteTopicsPath      = "/admin/delete_topics"
	ReassignPath          = "/admin/reassign_partitions"
	PreferredElectionPath = "/admin/preferred_replica_election"
	ConfigTopicsPath      = "/config/topics"
	ConfigBrokersPath     = "/config/brokers"
	ConfigChangesPath     = "/config/changes"
	ClusterIDPath         = "/cluster/id"
)

// Prefixes for sequential creates; the server adds ten digits.
const (
	IsrChangePrefix    = IsrChangePath + "/isr_change_"
	LogDirEventPrefix  = LogDirEventPath + "/log_dir_event_"
	ConfigChangePrefix = ConfigChangesPath + "/config_change_"
)

// PersistentPaths lists the empty persistent nodes that every broker creates at
// start where they are missing, parents first.
func PersistentPaths() []string {
	return []string{
		"/consumers",
		"/brokers", BrokerIDsPath, TopicsPath,
		"/config", ConfigChangesPath,
		"/admin", DeleteTopicsPath,
		BrokerSequencePath,
		IsrChangePath,
		"/latest_producer_id_block",
		LogDirEventPath,
		ConfigTopicsPath, "/config/clients", "/config/users", ConfigBrokersPath, "/config/ips",
	}
}

// BrokerPath is the registration of a broker.
func BrokerPath(id kafka.NodeID) string { return BrokerIDsPath + "/" + itoa(int32(id)) }

// TopicPath holds a topic's assignment.
func TopicPath(topic string) string { return TopicsPath + "/" + topic }

// PartitionsPath is the empty parent of a topic's partitions.
func PartitionsPath(topic string) string { return TopicPath(topic) + "/partitions" }

// PartitionPath is the empty parent of a partition's state.
func PartitionPath(tp kafka.TopicPartition) string {
	return PartitionsPath(tp.Topic) + "/" + itoa(tp.Partition)
}

// StatePath holds a partition's leader and ISR; its version is the partition epoch.
func StatePath(tp kafka.TopicPartition) string { return PartitionPath(tp) + "/state" }

// DeleteTopicPath asks for a topic's deletion.
func DeleteTopicPath(topic string) string { return DeleteTopicsPath + "/" + topic }

// ParseDeleteTopicPath reads what DeleteTopicPath writes.
func ParseDeleteTopicPath(path string) (topic string, ok bool) {
	topic, ok = strings.CutPrefix(path, DeleteTopicsPath+"/")
	return topic, ok && topic != ""
}

// TopicConfigPath holds a topic's overrides.
func TopicConfigPath(topic string) string { return ConfigTopicsPath + "/" + topic }

// BrokerConfigPath holds a broker's dynamic settings; id "<default>" is for all.
func BrokerConfigPath(id string) string { return ConfigBrokersPath + "/" + id }

// ParseBrokerPath reads what BrokerPath writes.
func ParseBrokerPath(path string) (kafka.NodeID, bool) {
	name, ok := strings.CutPrefix(path, BrokerIDsPath+"/")
	if !ok {
		return 0, false
	}
	n, ok := atoi(name)
	return kafka.NodeID(n), ok
}

// ParseTopicPath reads what TopicPath writes, and no deeper path.
func ParseTopicPath(path string) (topic string, ok bool) {
	topic, ok = strings.CutPrefix(path, TopicsPath+"/")
	return topic, ok && topic != "" && strings.IndexByte(topic, '/') < 0
}

// ParseStatePath reads what StatePath writes.
func ParseStatePath(path string) (kafka.TopicPartition, bool) {
	rest, ok := strings.CutPrefix(path, TopicsPath+"/")
	if !ok {
		return kafka.TopicPartition{}, false
	}
	topic, rest, ok := strings.Cut(rest, "/partitions/")
	if !ok || topic == "" || strings.IndexByte(topic, '/') >= 0 {
		return kafka.TopicPartition{}, false
	}
	number, ok := strings.CutSuffix(rest, "/state")
	if !ok {
		return kafka.TopicPartition{}, false
	}
	p, ok := atoi(number)
	return kafka.TopicPartition{Topic: topic, Partition: p}, ok
}

// parentOf is the path above; "/" for a top-level path.
func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// baseOf is the last element of a path.
func baseOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// atoi accepts only the canonical decimal form of a number from 0 up.
func atoi(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && n >= 0 && itoa(int32(n)) == s
}
