// Package zkcontroller is the ZooKeeper-mode controller that lives inside every
// broker process and is active in one of them (cluster 3).
//
// It mirrors kafka.controller.KafkaController, ControllerContext,
// ControllerEventManager, PartitionStateMachine, ReplicaStateMachine, Election
// and ControllerChannelManager with its ControllerBrokerRequestBatch.
//
// It is not an actor of its own: the broker embeds a Controller, which uses the
// broker's ZooKeeper client (one session for both) and opens its own connections
// to the brokers, itself included.
//
// One event at a time. Events are taken from one queue in order (Z-14). An event
// is a procedure: a struct with a step number that ends each step by waiting for
// a batch of ZooKeeper answers, by calling another procedure, or by being done.
// While it waits no other event starts; virtual time passes and other actors run.
//
// Order. Wherever Kafka iterates over a hash map, brokers go by id, topics by
// name and partitions by number here.
//
// Left out: partition reassignment (Z-29 to Z-31: /admin/reassign_partitions is
// not watched; assignments in transit are read, carried in requests and not
// completed). Also left out: the /feature znode and feature compatibility, topic
// ids for topics created without one, producer id blocks, delegation tokens and
// the metrics.
package zkcontroller
