// Package replica is one partition on one broker: its leader side (append, fetch,
// high watermark, in-sync replicas), its follower side (the replica fetcher and
// the truncation policies) and the carriers of ISR changes.
//
// It mirrors kafka.cluster.Partition and Replica, the parts of
// kafka.server.ReplicaManager that concern a single partition, DelayedProduce and
// DelayedFetch (their conditions, not the purgatory), AbstractFetcherThread and
// ReplicaFetcherThread, DefaultAlterPartitionManager with
// NodeToControllerChannelManager, and ZkAlterPartitionManager (cluster 1 and 2).
//
// # Who calls what
//
// The broker actor owns dispatch, purgatory and lanes. Its request handlers call
// Partition; each Fetcher and the AlterPartitionManager has a lane of its own and
// takes that lane's inputs through Handle. Whatever a parked request may wait for
// is told to the broker through Env.Watcher, from wherever it happens.
//
// # What is visible when
//
// A step's code runs at the start of its time. The log's own end therefore moves
// before the append's disk time is spent; what fetches, high watermark and ISR
// rules see is the published log end offset, which moves when the broker calls
// Publish in the Done continuation of the appending step. Appends of one
// partition may overlap on several workers; the published end is that of the
// longest prefix whose appends are all done, as Kafka's log lock would have it.
//
// # Left out
//
// Fetch sessions (F-11: every fetch is a full one), the preferred read replica of
// KIP-392 (the default selector never names one; followers do serve consumers up
// to their own high watermark), quotas and throttling, log directory moves (future
// replicas), tiered storage, the verification of transactions with their
// coordinator, and KRaft's broker-epoch checks on fetches (L-3.1, L-6).
package replica
