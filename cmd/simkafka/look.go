package main

import (
	"github.com/simkafka/simkafka/report"
)

// shown reports whether --at can show it.
func shown(what string) bool { return what == "groups" }

// untilFlag is the flag that says when the run ends.
func (r *runner) untilFlag() string {
	if r.flags.at != "" {
		return "at"
	}
	return "until"
}

// look runs a scenario up to --at and prints the state instead of a result.
func (r *runner) look(args []string) error {
	f := &r.flags
	switch {
	case f.until != "":
		return usage("--at and --until exclude each other")
	case f.json || f.out != "" || f.trace != "":
		return usage("--at prints a state: it takes none of --json, --out and --trace")
	}
	f.until, f.noOut = f.at, true
	if err := r.check(args); err != nil {
		return err
	}
	jobs, err := r.prepare(args)
	if err != nil {
		return err
	}
	j := &jobs[0]
	if end := j.spec.Duration; r.until > end {
		return usage("--at %s is after the end of the workload, %s", f.at, report.Exact(end))
	}
	r.stop = catchInterrupt()
	defer r.stop.release()
	if _, err := r.simulate(j); err != nil {
		return err
	}
	if r.stop.requested() {
		r.code = worse(r.code, exitInterrupted)
		return nil
	}
	if err := report.WriteGroups(r.stdout, r.cluster.Groups(), r.cluster.Kernel().Now()); err != nil {
		return environment(err)
	}
	return nil
}
