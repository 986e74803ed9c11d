// Package broker is the broker process in ZooKeeper mode: one actor, one crash
// domain, one life from Boot to exit. A restart makes a new Broker on the same
// file system.
//
// It mirrors kafka.server.KafkaServer (startup and shutdown), KafkaApis,
// ReplicaManager, DelayedOperationPurgatory with DelayedProduce and DelayedFetch,
// ZkMetadataCache, ReplicaFetcherManager, ZkAdminManager (topic creation),
// DynamicConfigManager (topics), and the background tasks of LogManager. What a
// single partition does is model/replica, its bytes are model/log, the controller
// is model/zkcontroller, groups are model/group; this package connects them to
// requests, timers, lanes and ZooKeeper (cluster 1, 2.1, 3.2).
//
// Each API has a file of its name; the file's opening says what of it is modelled.
//
// # Lanes
//
//	main        startup, loading and recovery, shutdown
//	requests    num.io.threads request handlers; the only lane that serves
//	zookeeper   the session client and the controller: all their calls are made here
//	scheduler   background.threads: checkpoints, flushes, ISR expiration, deletions
//	alter       the way to the controller (AlterPartition), or ISR writes
//	expiration  the reaper of the purgatories
//	fetcher-N   one per replica fetcher thread
//	cleaner     and cleaner-N: log.cleaner.threads
//	groups      the background thread of the group coordinator: loads, unloads, expiry
//
// Work for another lane is posted to it by a timer that is due at once, so that
// what one connection carries keeps its order.
//
// # Visibility
//
// A handler appends at the start of its time; a Done continuation at the end of it
// publishes the new log end offset and answers or parks the request. Partitions
// that moved are noted down and their parked requests looked at after the handler,
// in the same step.
//
// # Failures
//
// A handler's Go error is the failure of the last log directory: the process notes
// it and halts (LogDirFailureHandler), except for vfs.ErrCrashed, which goes up
// as it is. The failure of one of several takes its partitions offline (log_dirs.go).
//
// # Where it differs from Kafka
//
//   - A broker whose registration znode still belongs to an earlier session, or
//     that finds no ZooKeeper, keeps trying instead of exiting: Kafka leaves that to
//     a supervisor that starts it again (Z-6).
//   - Before it is registered it closes connections that it accepts, where Kafka's
//     port is not open yet.
//   - Requests are not limited by queued.max.requests, quotas or authorization.
//   - Waiting for ZooKeeper does not keep a request handler busy.
//
// # Left out
//
// Transaction coordination, configuration
// and log directory APIs, the ApiVersions exchange, dynamic broker configuration, fetch
// sessions, recovery on several threads (num.recovery.threads.per.data.dir) and of
// several directories at once, moves between directories, and the purging of old
// configuration notifications.
package broker
