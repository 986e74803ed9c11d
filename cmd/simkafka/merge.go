package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/sweep"
)

// merger puts the files of a sweep's shards together.
type merger struct {
	*app
	baseline string
	partial  bool
	out      string
	junit    string
	json     bool
	quiet    bool
	failOn   string
}

func newMerge(a *app) *cobra.Command {
	m := &merger{app: a}
	cmd := &cobra.Command{
		Use:   "merge FILE|DIR...",
		Short: "Put the parts of a sweep together and judge the whole",
		Long: `Reads the files of a sweep's shards, in any order; a directory stands for the
shard-*.jsonl files in it. What it prints and writes depends on the runs alone,
not on how they were divided.

Files of different sweeps are refused. Runs that no file has make the sweep
inconclusive, exit code 3, unless --allow-partial. Two files that tell different
things about one run mean that the simulator is at fault, exit code 4.

--baseline compares the findings with an earlier sweep: new, ongoing, resolved,
or rare: so seldom there that it may be chance that it is not here.`,
		Example: `  simkafka merge parts/*.jsonl
  simkafka merge parts --out merged --junit sweep.xml
  simkafka merge parts --baseline last-week/sweep.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name the files of a sweep's shards, or a directory of them")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return m.run(args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&m.baseline, "baseline", "", "compare with this merged `file`")
	fl.BoolVar(&m.partial, "allow-partial", false, "do not fail because of runs that are missing")
	fl.StringVar(&m.out, "out", "", "write sweep.jsonl, summary and chart to this `directory`")
	fl.StringVar(&m.junit, "junit", "", "write JUnit XML to `file`")
	fl.BoolVar(&m.json, "json", false, "print one JSON document and nothing else on stdout")
	a.addGHA(fl)
	fl.BoolVarP(&m.quiet, "quiet", "q", false, "print the verdict only")
	fl.StringVar(&m.failOn, "fail-on", failInconclusive, "which `verdicts` fail the command: inconclusive (and violations), violation, never")
	return cmd
}

func (m *merger) run(args []string) error {
	m.stdoutTaken = m.json
	if err := checkFailOn(m.failOn); err != nil {
		return err
	}
	parts, err := readParts(args)
	if err != nil {
		return err
	}
	merged, err := sweep.Merge(parts)
	switch {
	case errors.Is(err, sweep.ErrDisagree):
		return &codeError{exitSimulator, err}
	case err != nil:
		return usage("%w", err)
	}
	o := report.SweepOptions{}
	if m.baseline != "" {
		f, err := readSweep(m.baseline)
		if err != nil {
			return err
		}
		o.Baseline = sweep.Baseline(f)
	}
	if m.out != "" {
		if err := writeMerged(m.out, merged, o.Baseline); err != nil {
			return environment(err)
		}
		o.Files = []string{filepath.ToSlash(relative(m.out))}
	}
	if m.junit != "" {
		if err := writeTo(m.junit, func(w io.Writer) error { return report.WriteJUnit(w, merged) }); err != nil {
			return environment(err)
		}
	}
	code := sweepCode(merged, m.failOn, m.partial)
	m.code = worse(m.code, code)
	m.annotateSweep(merged, nil, code, o)
	return m.printSweep(merged, o, m.json, m.quiet)
}

// readParts reads files and, of directories, the shards' files in them.
func readParts(args []string) ([]sweep.Part, error) {
	var parts []sweep.Part
	for _, arg := range args {
		names := []string{arg}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			names, err = filepath.Glob(filepath.Join(arg, "shard-*-of-*.jsonl"))
			if err != nil || len(names) == 0 {
				return nil, usage("%s holds no shard-*-of-*.jsonl", arg)
			}
		}
		for _, name := range names {
			f, err := readSweep(name)
			if err != nil {
				return nil, err
			}
			parts = append(parts, sweep.Part{Name: relative(name), File: f})
		}
	}
	return parts, nil
}

// readSweep reads a file of a sweep; one that is no such file is the user's mistake.
func readSweep(name string) (*sweep.File, error) {
	f, err := sweep.ReadFile(name)
	var path *os.PathError
	switch {
	case errors.As(err, &path):
		return nil, environment(err)
	case err != nil:
		return nil, usage("%w", err)
	}
	return f, nil
}
