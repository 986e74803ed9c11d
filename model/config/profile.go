package config

// profiles are oldest first; a setting's default may change along the list.
// API versions are the newest that a release's brokers spoke to each other and to
// clients of their own release (MetadataVersion, request JSON files), with one
// exception: every profile writes batch v2, so the oldest speak Produce v3 and
// Fetch v4 of the following release.
var profiles = [...]Profile{
	{Name: "zk-0.10", Truncation: TruncateToHW, OffsetsFactorOfAlive: true, HaltOnDirFailure: true, Partitioner: RoundRobin,
		Versions: APIVersions{Produce: 3, Fetch: 4, ListOffsets: 1, Metadata: 2, OffsetForLeaderEpoch: -1,
			LeaderAndISR: 0, StopReplica: 0, UpdateMetadata: 2, ControlledShutdown: 1, AlterPartition: -1,
			FindCoordinator: 0, JoinGroup: 1, SyncGroup: 0, Heartbeat: 0, LeaveGroup: 0, OffsetCommit: 2, OffsetFetch: 2}},
	{Name: "zk-0.11", Truncation: TruncateEpoch101, HaltOnDirFailure: true, Partitioner: RoundRobin,
		Versions: APIVersions{Produce: 3, Fetch: 5, ListOffsets: 2, Metadata: 4, OffsetForLeaderEpoch: 0,
			LeaderAndISR: 0, StopReplica: 0, UpdateMetadata: 3, ControlledShutdown: 1, AlterPartition: -1,
			FindCoordinator: 1, JoinGroup: 2, SyncGroup: 1, Heartbeat: 1, LeaveGroup: 1, OffsetCommit: 3, OffsetFetch: 3}},
	{Name: "zk-2.0", Truncation: TruncateEpoch279, Partitioner: RoundRobin,
		Versions: APIVersions{Produce: 6, Fetch: 8, ListOffsets: 3, Metadata: 6, OffsetForLeaderEpoch: 1,
			LeaderAndISR: 1, StopReplica: 0, UpdateMetadata: 4, ControlledShutdown: 1, AlterPartition: -1,
			FindCoordinator: 2, JoinGroup: 3, SyncGroup: 2, Heartbeat: 2, LeaveGroup: 2, OffsetCommit: 4, OffsetFetch: 4}},
	{Name: "zk-2.6", Truncation: TruncateEpoch279, Fencing320: true, EpochStartGate: true, BrokerEpoch: true,
		StaticMembers: true, ExpireIdleGroups: true, LeaderAsksAnew: true, BeatsFromJoin: true,
		Partitioner: StickyPerBatch,
		Versions: APIVersions{Produce: 8, Fetch: 11, ListOffsets: 5, Metadata: 9, OffsetForLeaderEpoch: 3,
			LeaderAndISR: 4, StopReplica: 3, UpdateMetadata: 6, ControlledShutdown: 3, AlterPartition: -1,
			FindCoordinator: 3, JoinGroup: 7, SyncGroup: 5, Heartbeat: 4, LeaveGroup: 4, OffsetCommit: 8, OffsetFetch: 7}},
	{Name: "zk-3.9", Truncation: TruncateOnFetch, Fencing320: true, EpochStartGate: true, AlterPartition: true,
		BrokerEpoch: true, RecoveryState: true, StaticMembers: true, ExpireIdleGroups: true, HWMinISRGate: true, IndexPerBatch: true, AutoRebalanceIgnoresReassignment: true, AssignsKnown: true, LeaderAsksAnew: true, BeatsFromJoin: true, DoomedUntold: true,
		Partitioner: UniformSticky,
		Versions: APIVersions{Produce: 11, Fetch: 16, ListOffsets: 8, Metadata: 12, OffsetForLeaderEpoch: 4,
			LeaderAndISR: 7, StopReplica: 4, UpdateMetadata: 8, ControlledShutdown: 3, AlterPartition: 3,
			FindCoordinator: 6, JoinGroup: 9, SyncGroup: 5, Heartbeat: 4, LeaveGroup: 5, OffsetCommit: 9, OffsetFetch: 9}},
}

// ProfileByName returns a copy of the named profile, which the caller may change.
func ProfileByName(name string) (*Profile, bool) {
	for i := range profiles {
		if profiles[i].Name == name {
			p := profiles[i]
			return &p, true
		}
	}
	return nil, false
}

// ProfileNames lists the profiles, oldest first.
func ProfileNames() []string {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].Name
	}
	return names
}

// age is a profile's place in the list; an unknown (changed) one counts as newest.
func (p *Profile) age() int {
	for i := range profiles {
		if profiles[i].Name == p.Name {
			return i
		}
	}
	return len(profiles) - 1
}
