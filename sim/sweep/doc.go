// Package sweep runs a scenario under many seeds on many cores, writes one line for
// each, and merges what several machines wrote. It mirrors no Kafka class.
//
// A sweep is a list of runs numbered k = 0, 1, 2, …; the seed of run k is a hash of
// the root seed, the source and k alone. A shard i of N does the runs with
// k ≡ i-1 (mod N), so that a shard that was stopped early has done a balanced part.
// Shards know nothing of each other: merging their files gives, byte for byte, what
// one machine would have written (interface 4.3).
//
// Simulations are single threads that share nothing; this is the one place with
// goroutines. A worker runs one seed after the other. Every failing run and one
// passing run of twenty is run twice and compared.
//
// What runs is a Source: a scenario, or anything else that gives a scenario for a
// seed. What is done with a kept Failure is the caller's affair: sim/shrink makes it
// small, sim/explain says what brought it about.
package sweep
