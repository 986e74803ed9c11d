package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/scenarios"
)

// check looks at the flags before anything is read.
func (r *runner) check(args []string) error {
	f := &r.flags
	r.stdoutTaken = f.json || f.trace == "-"
	if err := point.CheckEnv(); err != nil {
		return usage("%w", err)
	}
	if err := checkFailOn(f.failOn); err != nil {
		return err
	}
	if f.until != "" {
		t, err := scenarios.ParseDuration(f.until, false)
		if err != nil {
			return usage("--%s: %w", r.untilFlag(), err)
		}
		if t == 0 {
			return usage("--%s 0 leaves nothing to run", r.untilFlag())
		}
		r.until = t
	}
	if f.protocol != "" {
		if _, ok := config.ProfileByName(f.protocol); !ok {
			return usage("unknown protocol %q%s", f.protocol, oneOf(f.protocol, config.ProfileNames()))
		}
	}
	switch {
	case f.json && f.trace == "-":
		return usage("--json and --trace - both want stdout")
	case f.noOut && f.out != "":
		return usage("--out and --no-out exclude each other")
	case f.traceSteps && f.trace == "":
		return usage("--trace-steps needs --trace")
	case f.trace != "" && len(args) > 1:
		return usage("--trace takes one scenario")
	}
	for _, text := range f.set {
		o, err := parseOverride(text)
		if err != nil {
			return err
		}
		r.overrides = append(r.overrides, o)
	}
	return nil
}

// job is one scenario to run.
type job struct {
	source *source
	spec   *scenarios.Spec
	out    *outDir // nil = no files
}

// prepare loads every scenario before the first one runs, so that a mistake in the
// last does not come after minutes.
func (r *runner) prepare(args []string) ([]job, error) {
	if r.flags.gen != "" {
		j, err := r.drawn()
		return []job{j}, err
	}
	var jobs []job
	bad := 0
	for _, arg := range args {
		j, err := r.load(arg, len(args) > 1)
		var found *scenarios.Diagnostics
		switch {
		case errors.As(err, &found):
			fmt.Fprintln(r.stderr, r.folded(r.stderr, strings.TrimRight(found.Error(), "\n")))
			r.annotateFindings(findings(found), fileForActions(found.File))
			bad++
		case err != nil:
			return nil, err
		}
		for i := range jobs {
			if j.out != nil && jobs[i].out != nil && jobs[i].out.path == j.out.path {
				return nil, usage("%s and %s would both write to %s; give them different names", jobs[i].source.arg, arg, j.out.path)
			}
		}
		jobs = append(jobs, j)
	}
	if bad > 0 {
		return nil, usage("nothing was run")
	}
	return jobs, nil
}

func (r *runner) load(arg string, several bool) (job, error) {
	src, err := r.find(arg)
	if err != nil {
		return job{}, err
	}
	spec, err := src.load()
	if err == nil {
		err = r.override(spec)
	}
	if err != nil {
		return job{}, err
	}
	j := job{source: src, spec: spec}
	return j, r.place(&j, several)
}

// override applies --protocol and --set.
func (r *runner) override(spec *scenarios.Spec) error {
	if r.flags.protocol != "" {
		spec.Protocol = r.flags.protocol
	}
	for i := range r.overrides {
		if err := r.overrides[i].apply(spec); err != nil {
			return err
		}
	}
	return nil
}

// drawn is the job of --gen.
func (r *runner) drawn() (job, error) {
	spec, err := r.draw(r.flags.seed)
	if err != nil {
		return job{}, err
	}
	j := job{source: &source{file: r.flags.gen}, spec: spec}
	return j, r.place(&j, false)
}

// draw is the scenario that --gen gives for a seed. It may be called by several
// goroutines.
func (r *runner) draw(seed uint64) (*scenarios.Spec, error) {
	g, ok := scenarios.GeneratorByName(r.flags.gen)
	if !ok {
		return nil, usage("there is no generator %q%s", r.flags.gen, oneOf(r.flags.gen, scenarios.GeneratorNames()))
	}
	spec, err := g.Draw(seed)
	if err != nil {
		return nil, &codeError{exitSimulator, err}
	}
	return spec, r.override(spec)
}

// outName names what a run leaves: by scenario, seed and what the flags change, so that runs
// of one scenario with other flags do not replace each other.
func (r *runner) outName(spec *scenarios.Spec) string {
	name := spec.Name
	if r.flags.gen == "" { // else it has the seed
		name = fmt.Sprintf("%s-%d", name, r.flags.seed)
	}
	return name + r.variant()
}

// variant is --protocol in words, and a short hash of the other flags that change a run; ""
// without any.
func (r *runner) variant() (suffix string) {
	f := &r.flags
	if f.protocol != "" {
		suffix = "-" + f.protocol
	}
	var more []string
	for _, text := range f.set {
		more = append(more, "--set", text)
	}
	if f.until != "" {
		more = append(more, "--until", f.until)
	}
	if f.maxEvents > 0 {
		more = append(more, "--max-events", fmt.Sprint(f.maxEvents))
	}
	if more != nil {
		sum := sha256.Sum256([]byte(strings.Join(more, "\x00")))
		suffix += fmt.Sprintf("-%x", sum[:3])
	}
	return suffix
}

// place decides where a job's files go.
func (r *runner) place(j *job, several bool) error {
	if !r.flags.noOut {
		name := r.outName(j.spec)
		dir := filepath.Join("out", name)
		if r.flags.out != "" {
			dir = r.flags.out
			if several {
				dir = filepath.Join(dir, name)
			}
		}
		j.out = &outDir{path: filepath.Clean(dir)}
		return j.out.check()
	}
	return nil
}
