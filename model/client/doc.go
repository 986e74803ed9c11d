// Package client is the clients of a cluster as actors: a Producer with its
// workload, a Consumer with assigned partitions, a GroupConsumer whose group assigns
// them, a Verifier that reads everything back, and an Admin that creates topics.
//
// It mirrors clients/producer (KafkaProducer, RecordAccumulator, ProducerBatch,
// Sender, BuiltInPartitioner, DefaultPartitioner), clients/consumer
// (SubscriptionState, AbstractFetch, FetchCollector, OffsetFetcher,
// OffsetsForLeaderEpochClient, AbstractCoordinator, ConsumerCoordinator, Heartbeat,
// ClassicKafkaConsumer) and clients/Metadata with NetworkClient's
// metadata updater. Connections are model/netclient.
//
// A client has one lane: the application and the sender thread of a producer, the
// poll loop of a consumer, take no time of their own. Only the application of a
// GroupConsumer may take time for each record, and then waits for a timer.
//
// Left out: idempotence and transactions (P-9 to P-11, cluster 7), subscriptions by
// pattern, the racks of members, callbacks that take time, a commitAsync waiting for
// a coordinator to be found (it fails), the group protocol of KIP-848,
// read_committed (C-1), fetch sessions (KIP-227), reading from
// followers (KIP-392), topic auto-creation (metadata requests never ask for it),
// metadata.max.idle.ms (a client uses its topics for as long as it lives),
// re-bootstrapping (KIP-899). Without a group max.poll.records has no effect: a fetch
// is handed over whole.
package client
