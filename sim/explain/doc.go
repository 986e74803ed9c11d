// Package explain goes back from a violation to the faults that brought it about. It
// mirrors no Kafka class.
//
// The run is repeated and what concerns the violated partition, or the cluster where it
// is no partition's, is kept: facts, and of every step the step that caused it. The facts
// are a graph (graph.go). A fact follows from the facts of the steps that led to its own:
// the message that arrived, the request before that. It follows from what the same
// replica did last, as its log and its high watermark are that. And it follows from a
// fault where it is the lack of something that the fault took away: an in-sync set that
// shrinks, a session that expires. What cannot be reached from the violation, or from the
// life of the record that it is about, is left out (chain.go).
//
// The story of a consumer group has facts of several partitions: the group's own, at its
// coordinators and at its members, of the partition in question whose it was and what was
// committed, and of __consumer_offsets who led it (group.go, group_links.go).
//
// Which faults are needed is not guessed: the run is written down and repeated without
// each of them, and without the historical bugs that it has (causes.go).
//
// Left out: what happened inside a step, and the order of steps where only that matters.
package explain
