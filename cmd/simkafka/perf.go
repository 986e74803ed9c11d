package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/perf"
)

type perfFlags struct {
	dir, size, only, out, hardware string
	runs                           int
	json, quiet                    bool
}

func newPerf(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "perf",
		Short: "Measure the log on a real disk",
		Long: `Measures the log code of the simulation on the file system of a directory, and on
the simulated disk beside it: MB/s, records/s and CPU time as median, least and
greatest of several rounds in which all cases take turns, and the way that the bytes
really took (pread, mmap, sendfile, …).

--hardware-out writes what this machine's disk costs as a hardware profile, which a
scenario loads with the key hardware.

Exit codes: 0 measured, 2 usage, 5 environment (disk full, permission),
130 interrupted.`,
		Example: `  simkafka perf append --dir /var/tmp/perf
  simkafka perf sendfile --dir /var/tmp/perf --runs 7 --out result
  simkafka perf read --dir /var/tmp/perf --hardware-out my-disk.yaml`,
	})
	for _, w := range perf.Workloads() {
		cmd.AddCommand(newPerfWorkload(a, w))
	}
	cmd.AddCommand(newPerfReader())
	return cmd
}

func newPerfWorkload(a *app, w perf.Workload) *cobra.Command {
	var f perfFlags
	cmd := &cobra.Command{
		Use:   w.Name + " --dir DIR",
		Short: upper(w.About),
		Long: upper(w.About) + `.

--dir names the directory whose file system is measured: one that is empty or not
there. It is left as it was. A case moves about --size in each of its runs; a first
round is not counted. Measure on an idle machine: what else runs shows in the spread.

--json prints one document, schema ` + perf.Schema + `, whole numbers with units in
the names. --out writes table, charts and this document into a directory.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.perf(w, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "empty `directory` on the file system to measure; made if it is not there")
	flags.IntVar(&f.runs, "runs", 5, "counted rounds")
	flags.StringVar(&f.size, "size", "256MiB", "`bytes` that one run of a case moves")
	flags.StringVar(&f.only, "only", "", "only the cases whose name in the JSON contains this `text`")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.StringVar(&f.out, "out", "", "write table, charts and JSON into this `directory`")
	flags.StringVar(&f.hardware, "hardware-out", "", "measure the costs of a hardware profile too, and write it to this `file`")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// newPerfReader is the process that reads what sendfile sends.
func newPerfReader() *cobra.Command {
	return &cobra.Command{
		Use: "reader", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return environmentOf(perf.ReadFrom(args)) },
	}
}

const (
	maxPerfRuns = 1000
	leastPerf   = 1 << 20
	mostPerf    = 64 << 30
)

func (a *app) perf(w perf.Workload, f *perfFlags) (err error) {
	size, err := scenarios.ParseSize(f.size)
	switch {
	case f.dir == "":
		return usage("--dir names the directory to measure in; there is no default")
	case f.runs < 1 || f.runs > maxPerfRuns:
		return usage("--runs is %d; it is from 1 to %d", f.runs, maxPerfRuns)
	case err != nil:
		return usage("--size: %v", err)
	case size < leastPerf || size > mostPerf:
		return usage("--size is %s; it is from 1MiB to 64GiB", f.size)
	}
	out := perfOut{f.out}
	if err := out.check(); err != nil {
		return err
	}
	if err := hardwareFileIsFree(f.hardware); err != nil {
		return err
	}
	made, err := perf.Claim(f.dir)
	if foreign := (*perf.ForeignFileError)(nil); errors.As(err, &foreign) {
		return usage("--dir: %v", err)
	}
	if err != nil {
		return perfEnvironment(err)
	}
	if made {
		defer func() { err = errors.Join(err, environmentOf(os.Remove(f.dir))) }()
	}
	return a.measure(w, f, size, out)
}

// perfEnvironment is environment, but for a directory that is a file.
func perfEnvironment(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		if info, statErr := os.Stat(path.Path); statErr == nil && !info.IsDir() {
			return usage("--dir: %s is a file", path.Path)
		}
	}
	return environment(err)
}

func (a *app) measure(w perf.Workload, f *perfFlags, size int64, out perfOut) error {
	stop := catchInterrupt()
	defer stop.release()
	line := a.newStatus(f.quiet)
	o := perf.Options{Dir: f.dir, Runs: f.runs, Size: size, Only: f.only, Stop: stop.requested, Progress: line.steps()}
	if self, err := os.Executable(); err == nil {
		o.Reader = []string{self, "perf", "reader"}
	}
	report, err := perf.Run(w, o)
	line.clear()
	if err != nil {
		return perfError(err)
	}
	if f.hardware != "" {
		if err := a.hardwareOut(f, o); err != nil {
			return err
		}
	}
	return a.perfReport(report, f.json, out)
}

// perfError gives an error of a measurement its exit code.
func perfError(err error) error {
	if unknown := (*perf.UnknownCaseError)(nil); errors.As(err, &unknown) {
		return usage("--only: %v", err)
	}
	if errors.Is(err, perf.ErrStopped) {
		return &codeError{exitInterrupted, errors.New("interrupted: nothing is reported")}
	}
	return environmentOf(err)
}

// steps shows which of a known number of steps is under way. A step takes long enough for
// each to be shown on a terminal.
func (s *status) steps() func(done, all int, what string) {
	if s.terminal {
		s.every = time.Nanosecond
	}
	return func(done, all int, what string) {
		if s.due() {
			s.show(fmt.Sprintf("%d of %d: %s", done+1, all, what))
		}
	}
}
