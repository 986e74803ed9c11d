package cluster_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// identity is what two equal runs have in common: everything that leaves the
// simulator, and the fingerprint of everything that happened inside.
type identity struct {
	fingerprint string
	result      string // SHA-256 of result.json
	trace       string // SHA-256 of the text trace with its step lines
	series      string // SHA-256 of the plots' data
}

func (i identity) String() string {
	return i.fingerprint + " " + i.result + " " + i.trace + " " + i.series
}

// sample is one run of the determinism tests.
type sample struct {
	scenario string
	seed     uint64
}

func (s sample) String() string { return fmt.Sprintf("%s %d", s.scenario, s.seed) }

// samples are runs that together cross every part; the first emulated ones are
// few enough for a machine that is emulated.
var samples = []sample{
	{"codecs", 1}, {"leader-crash", 1}, {"w1", 1},
	{"w1", 2}, {"power-loss-all", 1}, {"a-03-fast-double-failover", 1}, {"zk-session-expiry", 1}, {"disk-full", 1},
	{"unclean-election", 1}, {"leader-crash", 1<<64 - 1}, {"killed-consumer", 1}, {"zombie-coordinator", 1},
}

const emulated = 3

// codecs compresses with every codec, whose libraries have code of their own for
// some processors.
const codecs = `apiVersion: simkafka/v1
name: codecs
duration: 10s
cluster: {brokers: 3, config: {min.insync.replicas: 2, zookeeper.session.timeout.ms: 4000}}
topics:
  - {name: orders, partitions: 2, replication: 3}
  - {name: packed, partitions: 2, replication: 2, config: {compression.type: zstd}}
producers:
  - {name: a, topic: orders, rate: 200/s, size: 2KiB, keys: 9, config: {compression.type: gzip, linger.ms: 50}}
  - {name: b, topic: orders, rate: 200/s, size: 2KiB, keys: 9, config: {compression.type: snappy, linger.ms: 50}}
  - {name: c, topic: orders, rate: 200/s, size: 2KiB, keys: 9, config: {compression.type: lz4, linger.ms: 50}}
  - {name: d, topic: orders, rate: 200/s, size: 2KiB, keys: 9, config: {compression.type: zstd, linger.ms: 50}}
  - {name: e, topic: packed, rate: 200/s, size: 2KiB, keys: 9, config: {compression.type: lz4, linger.ms: 50}}
consumers:
  - {name: r, topics: [orders, packed], config: {auto.offset.reset: earliest}}
events:
  - {at: 5s, kill: leader(orders/0), restart_after: 2s}
`

func (s sample) spec(t testing.TB) *scenarios.Spec {
	t.Helper()
	file, text := "codecs.yaml", codecs
	if s.scenario != "codecs" {
		e, ok := scenarios.Builtin(s.scenario)
		if !ok {
			t.Fatalf("there is no scenario %q", s.scenario)
		}
		file, text = e.File, e.Text
	}
	spec, err := scenarios.Load(file, []byte(text), scenarios.LibrarySource)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func identify(t testing.TB, s sample) identity {
	t.Helper()
	trace := sha256.New()
	w := report.NewTrace(trace)
	c, err := cluster.New(s.spec(t), cluster.Options{Seed: s.seed, Series: true, Observer: w, Recorder: w})
	if err != nil {
		t.Fatal(err)
	}
	w.Name = c.Kernel().Name
	r := c.Run()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return identity{fingerprint: r.Fingerprint, result: resultSum(t, r), trace: hex.EncodeToString(trace.Sum(nil)[:8]),
		series: sum([]byte(fmt.Sprintf("%+v", r.Series)))}
}

func resultSum(t testing.TB, r *outcome.Result) string {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return sum(b.Bytes())
}

// sum is enough of a SHA-256 to tell two texts apart.
func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:8])
}

// One run must leave nothing behind that another one sees: samples run again, in
// another order and side by side, are the same runs.
func TestRunsOfOneProcessDoNotMeet(t *testing.T) {
	list := samples[:5]
	first := make([]identity, len(list))
	for i, s := range list {
		first[i] = identify(t, s)
	}
	for _, i := range []int{3, 0, 4, 1, 2} {
		if got := identify(t, list[i]); got != first[i] {
			t.Errorf("%s in another order:\n%s, first\n%s", list[i], got, first[i])
		}
	}
	for i, s := range list {
		t.Run("parallel/"+s.String(), func(t *testing.T) {
			t.Parallel()
			if got := identify(t, s); got != first[i] {
				t.Errorf("side by side:\n%s, first\n%s", got, first[i])
			}
		})
	}
}

var update = flag.Bool("update-fingerprints", false, "write testdata/fingerprints.txt anew; after a release, bump Engine if an entry changed")

const goldenFile = "testdata/fingerprints.txt"

// Runs that use the same memory one after the other give what they give alone, whatever
// came before: large batches before small ones, another codec, an equal run.
func TestWarmMemoryDoesNotShow(t *testing.T) {
	small, _ := scenarios.GeneratorByName("small")
	specs := []*scenarios.Spec{samples[0].spec(t)}
	for seed := range uint64(4) {
		s, err := small.Draw(seed + 1)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	warm, want := new(cluster.Warm), make(map[*scenarios.Spec]identity)
	for _, s := range append(specs, specs...) {
		r, err := cluster.Run(s, cluster.Options{Seed: 1, Warm: warm})
		if err != nil {
			t.Fatal(err)
		}
		if _, known := want[s]; !known {
			alone, err := cluster.Run(s, cluster.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			want[s] = identity{fingerprint: alone.Fingerprint, result: resultSum(t, alone)}
		}
		if got := (identity{fingerprint: r.Fingerprint, result: resultSum(t, r)}); got != want[s] {
			t.Errorf("%s runs otherwise in warm memory", s.Name)
		}
	}
}

// The same bytes on every machine: .ci/run runs this test built for other
// processors too (with -test.short, as they are emulated). A difference on all of
// them is a change of the model: write the file anew and, after a release, bump Engine.
func TestFingerprintsAreTheSameEverywhere(t *testing.T) {
	list := samples
	if testing.Short() {
		list = samples[:emulated]
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s", s, identify(t, s)))
		t.Log(runMark + got[len(got)-1])
	}
	head := fmt.Sprintf("# engine %d: scenario, seed, fingerprint, sums of result.json, trace and series", cluster.Engine)
	if *update {
		text := strings.Join(append([]string{head}, got...), "\n") + "\n"
		if err := os.WriteFile(goldenFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if want[0] != head {
		t.Fatalf("%s was written by another engine: %q, this is %q", goldenFile, want[0], head)
	}
	want = want[1:]
	if len(want) != len(samples) {
		t.Fatalf("%d entries in %s, there are %d samples", len(want), goldenFile, len(samples))
	}
	for i, line := range got {
		if line != want[i] {
			t.Errorf("got\n%s, want\n%s", line, want[i])
		}
	}
}

// Environments that must not show in a run.
var environments = [][]string{
	{"GOMAXPROCS=1"},
	{"GOMAXPROCS=2", "GOGC=20"},
	{"TZ=Asia/Kathmandu", "LC_ALL=ja_JP.UTF-8"},
	{"TZ=America/St_Johns", "LC_ALL=C", "LANG=tr_TR.UTF-8", "GODEBUG=cpu.all=off"},
}

// The test binary runs itself in each environment; what it logs is compared with
// this process's own runs.
func TestEnvironmentDoesNotShow(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range samples[:emulated] {
		want = append(want, fmt.Sprintf("%s %s", s, identify(t, s)))
	}
	for _, env := range environments {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe, "-test.short", "-test.v", "-test.run", "^TestFingerprintsAreTheSameEverywhere$")
			cmd.Env = append(slices.Clone(os.Environ()), env...)
			out, _ := cmd.CombinedOutput() // that test has its own opinion of the committed file
			var got []string
			for line := range strings.Lines(string(out)) {
				if _, run, ok := strings.Cut(line, runMark); ok {
					got = append(got, strings.TrimSpace(run))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
			}
		})
	}
}

// runMark stands before the identity of a run in the test's log.
const runMark = "run: "
