package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

var updateEmit = flag.Bool("update-emit", false, "write testdata/emit anew")

const emitScenario = `apiVersion: simkafka/v1
name: Mine_1
duration: 6s
cluster: {brokers: 1}
topics: [{name: orders, partitions: 1, replication: 1}]
`

// What --emit prints is compared with files, and must be what its system reads.
func TestEmittedJobsAreAsPinned(t *testing.T) {
	golden, err := filepath.Abs("testdata/emit")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.yaml", []byte(emitScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, args string }{
		{"kubernetes.yaml", "w1 --seeds 1000 --emit kubernetes --shards 16"},
		{"kubernetes-file.yaml", "mine.yaml --time 1h --emit kubernetes --shards 4 --set producer.acks=1"},
		{"github.yaml", "mine.yaml --seeds 1000 --emit github --shards 16"},
		{"gitlab.yaml", "w1 --seeds 1000 --emit gitlab --shards 16 --root-seed 7 --protocol zk-2.6 --shrink"},
		{"slurm.sh", "w1 --seeds 1000 --emit slurm --shards 16"},
	} {
		code, stdout, stderr := simkafka(append([]string{"sweep"}, strings.Fields(c.args)...))
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d\n%s", c.args, code, stderr)
			continue
		}
		if *updateEmit {
			if err := os.WriteFile(filepath.Join(golden, c.file), []byte(stdout), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.Join(golden, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if stdout != string(want) {
			t.Errorf("%s (-update-emit writes it anew) differs at\n%s", c.file, firstDifference(string(want), stdout))
		}
		checkJob(t, c.file, stdout)
	}
}

// checkJob reads a job as its system would, as far as that can be had here.
func checkJob(t *testing.T, file, text string) {
	t.Helper()
	if strings.HasSuffix(file, ".sh") {
		if sh, err := exec.LookPath("bash"); err == nil {
			cmd := exec.Command(sh, "-n")
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
		}
		return
	}
	for part := range strings.SplitSeq(text, "\n---\n") {
		var doc map[string]any
		if err := yaml.Load([]byte(part), &doc); err != nil || len(doc) == 0 {
			t.Errorf("%s is no YAML: %v\n%s", file, err, part)
		}
		if config, ok := doc["data"].(map[string]any); ok {
			spec, err := (&source{file: "carried", text: []byte(config["mine-1.yaml"].(string))}).load()
			if err != nil || spec.Name != "Mine_1" {
				t.Errorf("%s carries a scenario that cannot be loaded: %v", file, err)
			}
		}
		if file == "kubernetes.yaml" {
			checkIndexedJob(t, doc)
		}
	}
}

// checkIndexedJob looks at what decides whether a part is tried again (interface 4.3.6).
func checkIndexedJob(t *testing.T, doc map[string]any) {
	t.Helper()
	at := func(path string) any {
		var v any = doc
		for key := range strings.SplitSeq(path, ".") {
			switch x := v.(type) {
			case map[string]any:
				v = x[key]
			case []any:
				v = x[key[0]-'0']
			default:
				t.Fatalf("%s: nothing at %s", path, key)
			}
		}
		return v
	}
	for path, want := range map[string]any{
		"kind": "Job", "spec.completionMode": "Indexed", "spec.completions": 16, "spec.backoffLimitPerIndex": 2,
		"spec.podFailurePolicy.rules.0.action": "Ignore", "spec.podFailurePolicy.rules.0.onPodConditions.0.type": "DisruptionTarget",
		"spec.podFailurePolicy.rules.1.action": "FailIndex", "spec.podFailurePolicy.rules.1.onExitCodes.operator": "In",
		"spec.podFailurePolicy.rules.1.onExitCodes.values.0": exitViolated, "spec.podFailurePolicy.rules.1.onExitCodes.values.1": exitUsage,
		"spec.podFailurePolicy.rules.1.onExitCodes.values.2": exitSimulator,
		"spec.template.spec.restartPolicy":                   "Never", "spec.template.spec.containers.0.env.0.name": "SIMKAFKA_SHARD_TOTAL",
		"spec.template.spec.containers.0.env.0.value": "16", "spec.template.spec.containers.0.args.1": "w1",
	} {
		if got := at(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestEmitRefusesWhatNoJobCanBe(t *testing.T) {
	for args, want := range map[string]string{
		"w1 --emit jenkins":                   `--emit knows no "jenkins"`,
		"w1 --emit githb":                     `did you mean "github"?`,
		"w1 --emit github --shards 257":       "github runs 1 to 256",
		"w1 --emit gitlab --shards 201":       "gitlab runs 1 to 200",
		"w1 --emit slurm --shards 0":          "--shards 0",
		"w1 --emit slurm --out x":             "--out is the job's own",
		"w1 --emit slurm --shard 1/2":         "--shard is the job's own",
		"w1 --emit github --fail-on never":    "--fail-on is the job's own",
		"w1 --emit github --jobs 2":           "--jobs is the job's own",
		"no-such-scenario --emit slurm":       "no built-in scenario",
		"w1 --emit slurm --set no.such.key=1": "no.such.key",
	} {
		code, stdout, stderr := simkafka(append([]string{"sweep"}, strings.Fields(args)...))
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q", args, code, stderr)
		}
	}
}
