// Package assignor decides which member of a consumer group reads which partition:
// range, roundrobin, sticky and cooperative-sticky as the leader of a classic group
// runs them, Uniform and Range as the coordinator of a KIP-848 group does.
// All are pure functions of topics and members.
//
// It mirrors clients/consumer (RangeAssignor, RoundRobinAssignor, StickyAssignor,
// CooperativeStickyAssignor, internals/AbstractStickyAssignor) and
// group-coordinator/assignor (RangeAssignor, UniformHomogeneousAssignmentBuilder,
// UniformHeterogeneousAssignmentBuilder). Racks of members and replicas count as in
// KIP-881.
//
// Where Kafka's result depends on the order of a hash map, members are taken by id
// and topics by name (groups 0.2). Where Kafka slips, the rule of the spec holds: a
// partition's newest claim counts in any order of members (ST-1), members without
// a subscription get nothing (ST-3), a partition goes back only to a member that
// subscribes to it (ST-7), and a claim from an older generation is no ownership in a
// cooperative round (CS-C). WithBugs gives some of the slips back.
//
// Left out: assignors of the application's own, Streams' assignor, server assignors
// that know the racks of members (none of Kafka's does).
package assignor
