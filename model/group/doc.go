// Package group is the classic group coordinator of one broker: members, rebalances,
// committed offsets, and the log of __consumer_offsets in which they are kept (groups
// 1 and 2).
//
// It mirrors kafka.coordinator.group: GroupCoordinator, GroupMetadata, MemberMetadata,
// GroupMetadataManager, DelayedJoin, DelayedSync and DelayedHeartbeat, with the
// GroupCoordinatorAdapter in front, as a broker in ZooKeeper mode has them.
//
// A Coordinator is a part of its broker's actor. It takes requests and answers them, at
// once or later; it queues appends, which the broker carries out after each call (Take)
// and tells the outcome of (Append.Done); it has tasks, which the broker runs one at a
// time on a lane of their own (RunTask: loads, unloads, expiry); and it has deadlines
// (NextDeadline, RunDeadlines).
//
// # Choices that Kafka leaves to hash order
//
// Those of groups 0.2: members in the order in which they joined, offsets by topic and
// partition, groups by id, a vote's tie for what the leader prefers, deadlines of one
// instant in the order in which they were set.
//
// # Releases
//
// The rules are those of Kafka 3.9 in every profile. What differs by profile is the
// versions of requests and records, the settings, static members (KIP-345) and the
// expiry of offsets (KIP-211).
//
// # Kept as Kafka has it
//
//   - A JoinGroup or SyncGroup that comes while the same member has one parked takes its
//     place; the first is never answered. Nor is the SyncGroup of a member that is removed.
//   - A load that fails, or that loses its partition on the way, ends, and what was read so
//     far, or nothing, is served; in the second case until the unload that follows.
//   - A leader whose directory fails keeps its groups: heartbeats are answered, commits fail.
//   - OffsetDelete, DeleteGroups and a topic's deletion forget a commit that is under way
//     without a tombstone for it; the next coordinator has it again.
//   - A tombstone between a transaction's commit of the same key and its marker is undone by
//     the marker, unless the cleaner has been there.
//   - The number of partitions of __consumer_offsets is learned when the broker starts.
//
// # Left out
//
// The protocol of KIP-848, TxnOffsetCommit and the markers of transactions as they happen
// (a log that has them is loaded by the rules), offsets in ZooKeeper (version 0 of
// OffsetCommit and OffsetFetch), authorization and quotas.
package group
