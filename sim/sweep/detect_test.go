package sweep

import (
	"strings"
	"testing"
)

// Every row of interface 4.2 and every way in which one can be wrong (D14, U24).
func TestShardAutoKnowsEveryRowOfInterface42(t *testing.T) {
	slurm := func(id, count, low, high, step string) string {
		return "SLURM_ARRAY_TASK_ID=" + id + " SLURM_ARRAY_TASK_COUNT=" + count + " SLURM_ARRAY_TASK_MIN=" + low + " SLURM_ARRAY_TASK_MAX=" + high + " SLURM_ARRAY_TASK_STEP=" + step
	}
	for _, c := range []struct{ env, want string }{
		{"SIMKAFKA_SHARD=3/16", "3/16 simkafka"},
		{"JOB_COMPLETION_INDEX=0 SIMKAFKA_SHARD_TOTAL=4", "1/4 Kubernetes Indexed Job"},
		{"JOB_COMPLETION_INDEX=3 SIMKAFKA_SHARD_TOTAL=4", "4/4 Kubernetes Indexed Job"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=4", "1/4 GitLab"},
		{"CI_NODE_INDEX=4 CI_NODE_TOTAL=4 CI_JOB_NAME=sweep_4/4", "4/4 GitLab"},
		{slurm("0", "4", "0", "3", "1"), "1/4 Slurm"},
		{slurm("3", "4", "0", "3", "1"), "4/4 Slurm"},
		{slurm("10", "3", "10", "18", "4"), "1/3 Slurm"},
		{slurm("18", "3", "10", "18", "4"), "3/3 Slurm"},
		{"BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=2", "1/2 Buildkite"},
		{"CIRCLE_NODE_INDEX=1 CIRCLE_NODE_TOTAL=2", "2/2 CircleCI"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=9 AWS_BATCH_JOB_ARRAY_SIZE=10", "10/10 AWS Batch"},
		{"CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=7", "1/7 Cloud Run jobs"},
		{"SYSTEM_JOBPOSITIONINPHASE=7 SYSTEM_TOTALJOBSINPHASE=7", "7/7 Azure Pipelines"},
		{"TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=3 TEST_SHARD_STATUS_FILE=status", "2/3 Bazel touch status"},

		{"", "error: no index"},
		{"CI_NODE_TOTAL=1", "error: no index"}, // every GitLab job that is not parallel
		{"SIMKAFKA_SHARD=5/4", "error: the index is 1 to 4"},
		{"SIMKAFKA_SHARD=4", "error: write i/N"},
		{"JOB_COMPLETION_INDEX=0", "error: SIMKAFKA_SHARD_TOTAL is missing"},
		{"SIMKAFKA_SHARD_TOTAL=4", "error: JOB_COMPLETION_INDEX is missing"},
		{"JOB_COMPLETION_INDEX=4 SIMKAFKA_SHARD_TOTAL=4", "error: the index is 1 to 4"},
		{"JOB_COMPLETION_INDEX=x SIMKAFKA_SHARD_TOTAL=4", "error: is no number"},
		{"CI_NODE_TOTAL=4", "error: CI_NODE_INDEX is missing"},
		{"CI_NODE_INDEX=2", "error: CI_NODE_TOTAL is missing"},
		{"CI_NODE_INDEX=0 CI_NODE_TOTAL=4", "error: the index is 1 to 4"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=1 CI_JOB_NAME=sweep_1/4", `error: CI_NODE_TOTAL is 1, but the job's name is "sweep_1/4"`},
		{slurm("2", "3", "1", "7", "1"), "error: not a whole range"}, // --array=1,2,7
		{slurm("3", "1", "3", "3", "1"), "error: array of one task"}, // one task again
		{"SLURM_ARRAY_TASK_ID=1", "error: SLURM_ARRAY_TASK_COUNT is missing"},
		{"BUILDKITE_PARALLEL_JOB=0", "error: BUILDKITE_PARALLEL_JOB_COUNT is missing"},
		{"CIRCLE_NODE_INDEX=2 CIRCLE_NODE_TOTAL=2", "error: the index is 1 to 2"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=1", "error: AWS_BATCH_JOB_ARRAY_SIZE is missing"},
		{"CLOUD_RUN_TASK_INDEX=1", "error: CLOUD_RUN_TASK_COUNT is missing"},
		{"SYSTEM_JOBPOSITIONINPHASE=0 SYSTEM_TOTALJOBSINPHASE=7", "error: the index is 1 to 7"},
		{"TEST_TOTAL_SHARDS=3", "error: TEST_SHARD_INDEX is missing"},
		{"SIMKAFKA_SHARD=1/4 CI_NODE_INDEX=1 CI_NODE_TOTAL=4", "error: names 2 shards"},
		{slurm("0", "4", "0", "3", "1") + " JOB_COMPLETION_INDEX=0 SIMKAFKA_SHARD_TOTAL=4", "error: names 2 shards"},
	} {
		vars := make(map[string]string)
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		d, err := Detect(func(name string) string { return vars[name] })
		if want, bad := strings.CutPrefix(c.want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v, want the error %q", c.env, d, err, want)
			}
			continue
		}
		got := d.Shard.String() + " " + d.System
		if d.Touch != "" {
			got += " touch " + d.Touch
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.env, got, err, c.want)
		}
	}
}
