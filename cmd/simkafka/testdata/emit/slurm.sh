#!/bin/bash
# 16 parts of a sweep of w1, as a Slurm job array. Submit it where the parts
# can write to the working directory, and merge when it has ended:
#   job=$(sbatch --parsable sweep.sbatch)
#   sbatch --dependency=afterany:$job --wrap "simkafka merge parts --out merged --junit junit.xml"
# The number of parts is written out: Slurm's own count is wrong when a few tasks are
# submitted again, such as with sbatch --array=3,7.
#SBATCH --job-name=simkafka-sweep-w1
#SBATCH --array=1-16
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
exec simkafka sweep w1 --seeds 1000 --shard "$SLURM_ARRAY_TASK_ID/16" --jobs "${SLURM_CPUS_PER_TASK:-1}" --out parts --resume auto --quiet
