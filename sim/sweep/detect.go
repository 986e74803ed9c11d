package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// system is a machine that runs tasks with an index (interface 4.2).
type system struct {
	name  string
	index string // variable that holds the index
	base  int    // index of the first task
	total string // variable that holds the number of tasks
	// shard reads both where they are not two plain numbers.
	shard func(env func(string) string) (Shard, error)
}

// systems are the rows of interface 4.2 that have variables.
var systems = []system{
	{name: "simkafka", index: "SIMKAFKA_SHARD", shard: ownShard},
	{name: "Kubernetes Indexed Job", index: "JOB_COMPLETION_INDEX", total: "SIMKAFKA_SHARD_TOTAL"},
	{name: "GitLab", index: "CI_NODE_INDEX", base: 1, total: "CI_NODE_TOTAL", shard: gitlabShard},
	{name: "Slurm", index: "SLURM_ARRAY_TASK_ID", total: "SLURM_ARRAY_TASK_COUNT", shard: slurmShard},
	{name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", total: "BUILDKITE_PARALLEL_JOB_COUNT"},
	{name: "CircleCI", index: "CIRCLE_NODE_INDEX", total: "CIRCLE_NODE_TOTAL"},
	{name: "AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX", total: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{name: "Cloud Run jobs", index: "CLOUD_RUN_TASK_INDEX", total: "CLOUD_RUN_TASK_COUNT"},
	{name: "Azure Pipelines", index: "SYSTEM_JOBPOSITIONINPHASE", base: 1, total: "SYSTEM_TOTALJOBSINPHASE"},
	{name: "Bazel", index: "TEST_SHARD_INDEX", total: "TEST_TOTAL_SHARDS"},
}

// Detected is the shard that the environment names.
type Detected struct {
	Shard
	System string
	// Touch is a file that the system wants to see touched; "" = none.
	Touch string
}

// Detect finds the shard in the environment: exactly one system must be there, with
// index and total. A guess would be worse than an error: shards that all run
// everything, or the same part, are green and prove nothing.
func Detect(env func(string) string) (Detected, error) {
	var found []*system
	for i := range systems {
		if s := &systems[i]; s.present(env) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return Detected{}, fmt.Errorf("no index of a task is in the environment (%s); write --shard i/N", indexNames())
	case 1:
	default:
		var seen []string
		for _, s := range found {
			seen = append(seen, s.seen(env))
		}
		return Detected{}, fmt.Errorf("the environment names %d shards (%s); write --shard i/N", len(found), strings.Join(seen, "; "))
	}
	s := found[0]
	read := s.shard
	if read == nil {
		read = s.plain
	}
	shard, err := read(env)
	if err == nil {
		err = shard.check()
	}
	if err != nil {
		return Detected{}, fmt.Errorf("%s: %w (%s)", s.name, err, s.seen(env))
	}
	d := Detected{Shard: shard, System: s.name}
	if s.name == "Bazel" {
		d.Touch = env("TEST_SHARD_STATUS_FILE")
	}
	return d, nil
}

// present reports whether the system is there: its index is set, or the total of a
// task that lost its index. GitLab sets a total of 1 on every job, a Kubernetes
// total without index is a mistake as well.
func (s *system) present(env func(string) string) bool {
	if env(s.index) != "" {
		return true
	}
	t := env(s.total)
	return s.total != "" && t != "" && t != "1"
}

// seen prints the variables as they are.
func (s *system) seen(env func(string) string) string {
	var parts []string
	for _, name := range []string{s.index, s.total} {
		if name != "" {
			parts = append(parts, fmt.Sprintf("%s=%s", name, env(name)))
		}
	}
	return strings.Join(parts, " ")
}

func indexNames() string {
	var names []string
	for i := range systems {
		names = append(names, systems[i].index)
	}
	return strings.Join(names, ", ")
}

// plain reads an index and a total.
func (s *system) plain(env func(string) string) (Shard, error) {
	index, err := number(env, s.index)
	if err != nil {
		return Shard{}, err
	}
	total, err := number(env, s.total)
	return Shard{index - s.base + 1, total}, err
}

func number(env func(string) string, name string) (int, error) {
	text := env(name)
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", name, text)
	}
	return n, nil
}

func ownShard(env func(string) string) (Shard, error) { return ParseShard(env("SIMKAFKA_SHARD")) }

// partName is how GitLab names the parts of a parallel job.
var partName = regexp.MustCompile(`\d+/(\d+)$`)

// gitlabShard distrusts a total of 1 on a job whose name says that it is a part.
func gitlabShard(env func(string) string) (Shard, error) {
	s, err := (&system{index: "CI_NODE_INDEX", base: 1, total: "CI_NODE_TOTAL"}).plain(env)
	if err != nil {
		return s, err
	}
	if m := partName.FindStringSubmatch(env("CI_JOB_NAME")); m != nil && s.Of == 1 && m[1] != "1" {
		return s, fmt.Errorf("CI_NODE_TOTAL is 1, but the job's name is %q", env("CI_JOB_NAME"))
	}
	return s, nil
}

// slurmShard allows any range with a step: ids need be neither dense nor from 0.
// A list such as 1,2,7, or one task that is run again alone, has no total that
// could be trusted.
func slurmShard(env func(string) string) (Shard, error) {
	var v [5]int
	for i, name := range []string{"ID", "COUNT", "MIN", "MAX", "STEP"} {
		n, err := number(env, "SLURM_ARRAY_TASK_"+name)
		if err != nil {
			return Shard{}, err
		}
		v[i] = n
	}
	id, count, low, high, step := v[0], v[1], v[2], v[3], v[4]
	if count < 2 {
		return Shard{}, errors.New("an array of one task does not say which part it is")
	}
	if step < 1 || (high-low)/step+1 != count || id < low || id > high || (id-low)%step != 0 {
		return Shard{}, fmt.Errorf("the array is not a whole range: id %d, %d tasks from %d to %d, step %d", id, count, low, high, step)
	}
	return Shard{(id-low)/step + 1, count}, nil
}
