package config

// topicKeys are the settings of a topic; their defaults are the broker's.
var topicKeys = []key[Topic]{
	number("segment.bytes", "bytes", "", 14, maxInt32, func(t *Topic) *int32 { return &t.SegmentBytes }),
	number("segment.ms", "ms", "", 1, maxInt64, func(t *Topic) *int64 { return &t.SegmentMs }),
	number("segment.jitter.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.SegmentJitterMs }),
	number("index.interval.bytes", "bytes", "", 0, maxInt32, func(t *Topic) *int32 { return &t.IndexIntervalBytes }),
	number("segment.index.bytes", "bytes", "", 4, maxInt32, func(t *Topic) *int32 { return &t.SegmentIndexBytes }),
	number("flush.messages", "records", "", 1, maxInt64, func(t *Topic) *int64 { return &t.FlushMessages }),
	number("flush.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.FlushMs }),
	number("retention.ms", "ms", "", -1, maxInt64, func(t *Topic) *int64 { return &t.RetentionMs }),
	number("retention.bytes", "bytes", "", -1, maxInt64, func(t *Topic) *int64 { return &t.RetentionBytes }),
	cleanupPolicy("cleanup.policy", "", func(t *Topic) *string { return &t.CleanupPolicy }),
	share("min.cleanable.dirty.ratio", "", func(t *Topic) *int64 { return &t.MinCleanableRatio }),
	number("delete.retention.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.DeleteRetentionMs }),
	number("min.compaction.lag.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.MinCompactionLagMs }),
	number("max.compaction.lag.ms", "ms", "", 1, maxInt64, func(t *Topic) *int64 { return &t.MaxCompactionLagMs }),
	number("file.delete.delay.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.FileDeleteDelayMs }),
	number("max.message.bytes", "bytes", "", 0, maxInt32, func(t *Topic) *int32 { return &t.MaxMessageBytes }),
	number("min.insync.replicas", "replicas", "", 1, maxInt32, func(t *Topic) *int { return &t.MinInsyncReplicas }),
	boolean("unclean.leader.election.enable", "", func(t *Topic) *bool { return &t.UncleanLeaderElection }),
	words("message.timestamp.type", "", timestampTypes, func(t *Topic, v string) { t.setTimestampType(v) }),
	number("message.timestamp.before.max.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.TimestampBeforeMaxMs }),
	number("message.timestamp.after.max.ms", "ms", "", 0, maxInt64, func(t *Topic) *int64 { return &t.TimestampAfterMaxMs }),
	words("compression.type", "", brokerCodecs, func(t *Topic, v string) { t.setCodec(v) }),
	boolean("preallocate", "", func(t *Topic) *bool { return &t.Preallocate }),
}

// ParseTopic is base (a broker's LogDefaults) with a topic's own settings. Every
// error is a *SettingError.
func ParseTopic(base Topic, settings []Setting) (Topic, []error) {
	errs := apply(&base, &profiles[len(profiles)-1], topicKeys, settings)
	return base, errs
}

// TopicKeys documents the honoured topic settings.
func TopicKeys() []Key { return documentation(topicKeys) }
