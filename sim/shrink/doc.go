// Package shrink makes a small scenario of a failing run: the fewest faults, clients,
// records, nodes, partitions and settings with which the same invariant fails on the same
// kind of object. It mirrors no Kafka class.
//
// First the run is frozen: every fault that struck is written down with its time and the
// nodes that it hit, so that nothing is left to be drawn and taking one away leaves every
// other as it was (freeze.go). Then parts are removed in chunks that get smaller (delta
// debugging, simulation 4.6), values go to their defaults and times to round ones. Each
// candidate is loaded from its own text and run with the same seed; one that fails
// otherwise, or not at all, is put back (target.go). If a run that is frozen by time stays
// large, because its races hang on what was removed, it is shrunk once more with its
// faults still triggered by the facts that they waited for.
//
// The shrinker draws nothing and reads no clock: equal runs shrink to equal scenarios,
// unless Options.Stop ends the search. Left out: changing the seed, and trying values
// between the failing one and the default.
package shrink
