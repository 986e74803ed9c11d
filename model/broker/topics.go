package broker

import (
	"slices"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// topicTable holds the partitions that the broker hosts and the settings of their
// topics (ReplicaManager.allPartitions, LogManager.currentDefaultConfig and
// overrides).
type topicTable struct {
	base    config.Topic
	profile *config.Profile
	// expiration is producer.id.expiration.ms.
	expiration int64
	// defaults is the log configuration of a topic without overrides.
	defaults *log.Config
	scratch  *record.Scratch // shared by all logs
	byName   map[string]*topic
	hosted   []*hosted // by topic and number
}

// topic is a topic whose settings are known.
type topic struct {
	name     string
	settings *config.Topic
	log      *log.Config
	parts    []*hosted // by number; nil where not hosted
}

// hosted is a partition that the broker hosts, with those who wait for it.
type hosted struct {
	p        *replica.Partition
	topic    *topic
	dropped  bool // not hosted any more
	produces watchers
	fetches  watchers
	moved    replica.Moved // noted down for lookAtParked
	moves    uint32        // times that something moved
	fetcher  *fetcherSlot  // that follows its leader, nil if none
}

func (t *topicTable) init(cfg *config.Broker, scratch *record.Scratch) {
	if t.scratch = scratch; scratch == nil {
		t.scratch = new(record.Scratch)
	}
	t.base, t.profile, t.expiration = cfg.LogDefaults, cfg.Profile, cfg.ProducerExpirationMs
	t.byName = make(map[string]*topic)
	t.defaults = t.toLog(&t.base)
}

// configure enters what /config/topics/T says, for a new topic or anew.
func (t *topicTable) configure(name string, r *zookeeper.Result) *topic {
	settings := t.base
	if r.Code == zookeeper.OK {
		// A znode that cannot be read has no overrides: AdminZkClient writes none such.
		entries, _ := zookeeper.DecodeConfig(r.Data)
		settings = topicConfig(t.base, entries)
	}
	found := t.byName[name]
	if found == nil {
		found = &topic{name: name}
		t.byName[name] = found
	}
	found.settings, found.log = &settings, t.toLog(&settings)
	for _, h := range found.parts {
		if h == nil {
			continue
		}
		h.p.SetTopic(found.settings)
		if l := h.p.Log(); l != nil {
			l.SetConfig(found.log)
		}
	}
	return found
}

// known reports whether the settings of a topic were read.
func (t *topicTable) known(name string) bool { return t.byName[name] != nil }

// logConfig is the configuration of a topic's logs; that of an unknown topic (its
// znode is gone) has the defaults.
func (t *topicTable) logConfig(name string) *log.Config {
	if found := t.byName[name]; found != nil {
		return found.log
	}
	return t.defaults
}

func (t *topicTable) toLog(s *config.Topic) *log.Config {
	return &log.Config{
		SegmentBytes: s.SegmentBytes, SegmentMs: s.SegmentMs, SegmentJitterMs: s.SegmentJitterMs,
		IndexIntervalBytes: s.IndexIntervalBytes, SegmentIndexBytes: s.SegmentIndexBytes,
		FlushMessages: s.FlushMessages, FlushMs: s.FlushMs, MaxMessageBytes: s.MaxMessageBytes,
		Delete: s.CleanupPolicy != config.Compact, Compact: s.CleanupPolicy == config.Compact || s.CleanupPolicy == config.CompactAndDelete,
		DeleteRetentionMs: s.DeleteRetentionMs, MinCompactionLagMs: s.MinCompactionLagMs, MaxCompactionLagMs: s.MaxCompactionLagMs,
		MinCleanableRatio: s.MinCleanableRatio,
		RetentionMs:       s.RetentionMs, RetentionBytes: s.RetentionBytes, FileDeleteDelayMs: s.FileDeleteDelayMs,
		ProducerExpirationMs: t.expiration,
		TimestampType:        s.TimestampType, TimestampBeforeMaxMs: s.TimestampBeforeMaxMs, TimestampAfterMaxMs: s.TimestampAfterMaxMs,
		Codec: s.Codec, KeepCodec: s.KeepCodec, Scratch: t.scratch, Preallocate: s.Preallocate, Quirks: t.profile.Quirks,
		// Two of these rules changed only after ZooKeeper mode was gone (storage 14).
		IndexPerBatch: t.profile.IndexPerBatch, LimitFollowerAppend: true, CleanerDropsEnd: true,
	}
}

// get is a hosted partition, nil if there is none.
func (t *topicTable) get(name string, partition int32) *hosted {
	if found := t.byName[name]; found != nil && partition >= 0 && int(partition) < len(found.parts) {
		return found.parts[partition]
	}
	return nil
}

// host makes a record for a partition of a known topic that is not hosted yet.
func (t *topicTable) host(env *replica.Env, tp kafka.TopicPartition, id kafka.TopicID) *hosted {
	in := t.byName[tp.Topic]
	tp.Topic = in.name
	h := &hosted{p: replica.New(env, tp, id, in.settings), topic: in}
	h.p.Host = h
	for len(in.parts) <= int(tp.Partition) {
		in.parts = append(in.parts, nil)
	}
	in.parts[tp.Partition] = h
	i, _ := t.find(tp)
	t.hosted = slices.Insert(t.hosted, i, h)
	return h
}

// drop forgets a partition; with a topic's last one go its settings, which a topic
// of that name may have anew.
func (t *topicTable) drop(h *hosted) {
	if i, found := t.find(h.p.TP); found {
		t.hosted = slices.Delete(t.hosted, i, i+1)
	}
	h.dropped = true
	h.topic.parts[h.p.TP.Partition] = nil
	if !slices.ContainsFunc(h.topic.parts, func(h *hosted) bool { return h != nil }) {
		delete(t.byName, h.topic.name)
	}
}

func (t *topicTable) find(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(t.hosted, tp, func(h *hosted, tp kafka.TopicPartition) int { return h.p.TP.Compare(tp) })
}

// topicConfigReads asks for the overrides of topics.
func topicConfigReads(topics []string) []zookeeper.Request {
	reqs := make([]zookeeper.Request, len(topics))
	for i, name := range topics {
		reqs[i] = zookeeper.Request{{Type: zookeeper.OpGetData, Path: zookeeper.TopicConfigPath(name)}}
	}
	return reqs
}
