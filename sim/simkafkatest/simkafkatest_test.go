package simkafkatest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// The tests of a user, as the package comment has them.

func TestFileUnderSeveralSeeds(t *testing.T) {
	t.Parallel()
	RunFile(t, "testdata/small.yaml", Seeds(1, 2, 3))
}

func TestSweepOfAFile(t *testing.T) {
	t.Parallel()
	Sweep(t, File("testdata/small.yaml"), Count(10), Jobs(2))
}

func FuzzSmall(f *testing.F) { Fuzz(f, File("testdata/small.yaml")) }

// Sixteen tests side by side do not meet (U21); the race detector runs this one too.
func TestParallel(t *testing.T) {
	for i := range 16 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			RunFile(t, "testdata/small.yaml", Seeds(uint64(i+1)))
		})
	}
}

// inside says that this process is the one in which a test is to fail.
var inside = os.Getenv("SIMKAFKATEST_INSIDE") != ""

func TestInsideFails(t *testing.T) {
	if !inside {
		t.Skip("run by TestFailureSaysHowToRepeatIt")
	}
	Sweep(t, File("testdata/failing.yaml"), Count(3))
}

func TestInsideFileFails(t *testing.T) {
	if !inside {
		t.Skip("run by TestFailureSaysHowToRepeatIt")
	}
	RunFile(t, "testdata/failing.yaml", Seeds(7))
}

func TestInsideIsSlow(t *testing.T) {
	if !inside {
		t.Skip("run by TestShortfallIsAFailure")
	}
	Sweep(t, File("testdata/small.yaml"), Count(1_000_000))
}

func TestInsideHasNoSource(t *testing.T) {
	if !inside {
		t.Skip("run by TestAbsentSourceIsAFailure")
	}
	t.Run("file", func(t *testing.T) { RunFile(t, "testdata/nothing.yaml") })
	t.Run("bad", func(t *testing.T) { RunFile(t, "testdata/bad.yaml") })
	t.Run("builtin", func(t *testing.T) { Run(t, Builtin("nothing")) })
	t.Run("generator", func(t *testing.T) { Sweep(t, Generator("nothing")) })
	t.Run("count", func(t *testing.T) { Sweep(t, Builtin("w1"), Count(0)) })
	t.Run("seeds", func(t *testing.T) { Run(t, Builtin("w1"), Seeds()) })
}

// again runs a test in another process and returns what it printed.
func again(t *testing.T, env []string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"-test.v"}, args...)...)
	cmd.Env = append(append(os.Environ(), "SIMKAFKATEST_INSIDE=1"), env...)
	out, _ := cmd.CombinedOutput() // it fails; what it says is looked at
	return string(out)
}

func demand(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("no %s in\n%s", p, text)
		}
	}
}

func TestFailureSaysHowToRepeatIt(t *testing.T) {
	dir := t.TempDir()
	text := again(t, nil, "-test.run=^TestInside(File)?Fails$", "-test.artifacts", "-test.outputdir="+dir)
	demand(t, text,
		`--- FAIL: TestInsideFails`, `simkafka: failing: 3 of 3 seeds failed`,
		`VIOLATED  seed \d+`, `replay  simkafka run testdata/failing.yaml --seed \d+`, `SIMKAFKA_SEED=\d+ go test -run '\^TestInsideFails\$'`,
		`=== ATTR  TestInsideFileFails simkafka.seed 7`, `replay  simkafka run testdata/failing.yaml --seed 7`,
		`(?m)^simkafka: 4 seeds, 4 failed$`)
	if n := strings.Count(text, "VIOLATED"); n != 2 {
		t.Errorf("%d failures are told, not one for each test and signature\n%s", n, text)
	}
	found := 0
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != manifestFile {
			return err
		}
		found++
		checkArtifacts(t, name)
		return nil
	})
	if found != 2 {
		t.Errorf("%d manifests", found)
	}
}

// checkArtifacts reads a manifest and what it names.
func checkArtifacts(t *testing.T, manifest string) {
	t.Helper()
	b, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Test, Scenario string
		Failures       []struct {
			Dir, Replay string
			Seed        uint64
		}
	}
	if err := json.Unmarshal(b, &m); err != nil || len(m.Failures) != 1 || m.Scenario != "failing" || !strings.HasPrefix(m.Test, "TestInside") {
		t.Fatalf("%v: %s", err, b)
	}
	f := m.Failures[0]
	if !strings.HasSuffix(f.Replay, fmt.Sprint("--seed ", f.Seed)) {
		t.Errorf("replay %q of seed %d", f.Replay, f.Seed)
	}
	for _, name := range []string{"scenario.yaml", "result.json", "trace.txt", "replay.txt", "lag.svg"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(manifest), f.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// A seed from outside replaces those of the test, in files and sweeps.
func TestEnvironmentChoosesSeeds(t *testing.T) {
	demand(t, again(t, []string{"SIMKAFKA_SEED=12"}, "-test.run=^TestInsideFails$"), `1 of 1 seeds failed`, `--seed 12\n`)
	demand(t, again(t, []string{"SIMKAFKA_COUNT=2"}, "-test.run=^TestInsideFails$"), `2 of 2 seeds failed`)
	demand(t, again(t, []string{"SIMKAFKA_SHARD=2/2"}, "-test.run=^TestInsideFails$"), `1 of 1 seeds failed`)
	demand(t, again(t, []string{"SIMKAFKA_SHARD=4/3"}, "-test.run=^TestInsideFails$"), `SIMKAFKA_SHARD: shard 4/3: the index is 1 to 3`)
	demand(t, again(t, []string{"SIMKAFKA_SEED=x"}, "-test.run=^TestInsideFails$"), `SIMKAFKA_SEED is "x"`)
	demand(t, again(t, nil, "-test.short", "-test.run=^TestSweepOfAFile$"), `(?m)^simkafka: 1 seeds, 0 failed$`)
}

// A test that did not run what it was asked to has not passed.
func TestShortfallIsAFailure(t *testing.T) {
	text := again(t, nil, "-test.run=^TestInsideIsSlow$", "-test.timeout=3s")
	demand(t, text, `--- FAIL: TestInsideIsSlow`, `INCONCLUSIVE  \d+ of 1000000 seeds`)
	if strings.Contains(text, "panic: test timed out") {
		t.Errorf("the deadline struck first\n%s", text)
	}
}

func TestAbsentSourceIsAFailure(t *testing.T) {
	demand(t, again(t, nil, "-test.run=^TestInsideHasNoSource$"),
		`--- FAIL: TestInsideHasNoSource/file`, `--- FAIL: TestInsideHasNoSource/bad`, `testdata/bad.yaml:2:1: error: unknown key "nam"`,
		`there is no built-in scenario "nothing"`, `there is no generator "nothing"; there are swarm`,
		`--- FAIL: TestInsideHasNoSource/count`, `--- FAIL: TestInsideHasNoSource/seeds`)
}
