// Package perf measures model/log on a real disk (sim/osfs), and on the simulated disk
// beside it: append, read, index, recover, compact, sendfile; and the costs that a
// hardware profile of the simulation is made of.
//
// It mirrors no Kafka class; kafka-producer-perf-test measures a cluster, this the log
// under it. The code that runs is the simulation's: there is no second log.
//
// # How it measures
//
// Cases take turns: each round runs every case once, so that a machine that gets slower
// gets slower for all. A first round is not counted. Each case is told with median,
// least and greatest of the rounds, in wall-clock time and in CPU time of the process,
// its garbage collection included. What was done is checked in the same run: number of
// records, checksums, bytes received. The collector runs when memory has become four
// times what is live, as in a sweep.
//
// Bytes are those of record values where a case has records, else those of the file.
//
// # Left out
//
// Several threads on one log. Direct I/O. Devices below the file system: a page cache
// hit is told from a miss by dropping the file's pages before, which only Linux can.
package perf
