// Package simkafkatest runs simulated Kafka clusters in a team's own Go tests. It
// mirrors no Kafka class.
//
//	func TestOrdersSurviveALeaderCrash(t *testing.T) {
//		simkafkatest.RunFile(t, "testdata/leader-crash.yaml", simkafkatest.Seeds(1, 2, 3))
//	}
//
//	func TestSweep(t *testing.T) {
//		simkafkatest.Sweep(t, simkafkatest.Generator("swarm"), simkafkatest.Count(200))
//	}
//
//	func FuzzWorlds(f *testing.F) { simkafkatest.Fuzz(f, simkafkatest.Generator("small")) }
//
//	func TestMain(m *testing.M) { simkafkatest.Main(m) }
//
// A failure prints verdict, seed and the command that repeats it, and leaves its
// scenario, result, trace and charts in the test's artifact directory, which go test
// -artifacts keeps; manifest.json there says which test and seeds they are of. With
// -short a sweep runs a tenth of its seeds. A sweep stops when four fifths of the time
// until the test's deadline are over, and a test that could not run all its seeds
// fails: it has not shown what it claims.
//
// Of the environment, SIMKAFKA_SEED runs that seed alone, SIMKAFKA_COUNT says how many
// seeds a sweep has, SIMKAFKA_SHARD=i/N runs that part of each sweep.
//
// Tests may run in parallel: clusters share nothing. Left out: clusters that talk to a
// real client.
package simkafkatest
