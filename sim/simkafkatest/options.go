package simkafkatest

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/simkafka/simkafka/sim/sweep"
)

// Option varies what a test runs.
type Option func(*settings)

// settings are a test's options and environment.
type settings struct {
	seeds []uint64 // of RunFile
	count uint64   // of Sweep
	root  uint64
	jobs  int
	shard sweep.Shard
	alone bool // SIMKAFKA_SEED
}

// Seeds are the seeds that RunFile and Run take; without it, seed 1.
func Seeds(seeds ...uint64) Option { return func(s *settings) { s.seeds = seeds } }

// Count is how many seeds Sweep takes; without it 100.
func Count(n uint64) Option { return func(s *settings) { s.count = n } }

// RootSeed is what the seeds of Sweep are made of; without it 1.
func RootSeed(seed uint64) Option { return func(s *settings) { s.root = seed } }

// Jobs is how many clusters Sweep runs at once; without it as many as there are cores.
func Jobs(n int) Option { return func(s *settings) { s.jobs = n } }

// defaultCount is how many seeds a sweep has, shortShare which part of them with -short.
const (
	defaultCount = 100
	shortShare   = 10
)

func settingsOf(tb testing.TB, options []Option) settings {
	tb.Helper()
	s := settings{seeds: []uint64{1}, count: defaultCount, root: 1, jobs: runtime.GOMAXPROCS(0), shard: sweep.Whole()}
	for _, o := range options {
		o(&s)
	}
	if testing.Short() {
		s.count = max(s.count/shortShare, 1)
	}
	if n, ok := variable(tb, "SIMKAFKA_COUNT"); ok {
		s.count = n
	}
	if n, ok := variable(tb, "SIMKAFKA_SEED"); ok {
		s.seeds, s.alone = []uint64{n}, true
	}
	if text := os.Getenv("SIMKAFKA_SHARD"); text != "" {
		shard, err := sweep.ParseShard(text)
		if err != nil {
			tb.Fatalf("SIMKAFKA_SHARD: %v", err)
		}
		s.shard = shard
	}
	if s.count == 0 || len(s.seeds) == 0 || s.jobs < 1 {
		tb.Fatalf("simkafka: no seeds, or no jobs: this test would show nothing")
	}
	return s
}

func variable(tb testing.TB, name string) (n uint64, ok bool) {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("%s is %q; it is a whole number", name, text)
	}
	return n, true
}
