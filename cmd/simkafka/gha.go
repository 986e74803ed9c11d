package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/sweep"
)

// actions collects what --gha shows in GitHub Actions: annotations, which the runner reads
// from the step's output, and the step's page.
type actions struct {
	on      bool
	list    []report.Annotation
	summary *report.StepSummary
}

// addGHA adds the flag.
func (a *app) addGHA(fl *pflag.FlagSet) {
	fl.BoolVar(&a.actions.on, "gha", false, "also print annotations for GitHub Actions, and write the step's summary if GITHUB_STEP_SUMMARY says where")
}

// fileForActions is a path as annotations need it: relative to the repository.
func fileForActions(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	if root := os.Getenv("GITHUB_WORKSPACE"); root != "" {
		if rel, err := filepath.Rel(root, abs); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(relative(file))
}

// inFile is the file of a scenario for annotations; "" if it is in none: built-in, drawn,
// or read from stdin.
func (s *source) inFile() string {
	if _, builtin := scenarios.Builtin(s.arg); builtin || s.arg == "-" || s.arg == "" {
		return ""
	}
	return fileForActions(s.file)
}

// levelOf is how loud a verdict is said: as an error where it fails the command.
func levelOf(code int) string {
	if code != exitPass {
		return report.AnnotateError
	}
	return report.AnnotateWarning
}

// annotateFindings adds what is wrong with scenario files.
func (a *app) annotateFindings(list []finding, file string) {
	if !a.actions.on {
		return
	}
	levels := map[string]string{"error": report.AnnotateError, "warning": report.AnnotateWarning, "note": report.AnnotateNotice}
	for _, f := range list {
		x := report.Annotation{Level: levels[f.Severity], File: file, Line: f.Line, Col: f.Col, Title: "scenario " + f.Severity, Message: f.Message}
		if f.File != "" && file == "" {
			x.Message = f.File + ": " + f.Message
		}
		a.actions.list = append(a.actions.list, x)
	}
}

// annotateRun adds a run.
func (a *app) annotateRun(r *outcome.Result, j *job, failOn, replay string) {
	if !a.actions.on {
		return
	}
	a.actions.list = append(a.actions.list, report.RunAnnotations(r, j.spec, levelOf(verdictCode(r.Verdict, failOn)), j.source.inFile(), replay)...)
	var told []finding
	for _, w := range r.Warnings {
		told = append(told, warning(w))
	}
	a.annotateFindings(told, j.source.inFile())
	a.page().Run(r, replay)
}

// annotateSweep adds a sweep; j is nil where its scenario is not known.
func (a *app) annotateSweep(m *sweep.Merged, j *job, code int, o report.SweepOptions) {
	if !a.actions.on {
		return
	}
	var spec *scenarios.Spec
	file := ""
	if j != nil {
		spec, file = j.spec, j.source.inFile()
	}
	a.actions.list = append(a.actions.list, report.SweepAnnotations(m, spec, levelOf(code), file, o.Canary)...)
	a.page().Sweep(m, o)
}

// page is the step's page, begun on first use.
func (a *app) page() *report.StepSummary {
	if a.actions.summary == nil {
		used := int64(0)
		if info, err := os.Stat(os.Getenv("GITHUB_STEP_SUMMARY")); err == nil {
			used = info.Size()
		}
		a.actions.summary = report.NewStepSummary(used)
	}
	return a.actions.summary
}

// annotate ends a command with --gha. Annotations stand behind the result on stdout, which
// JSON and traces have alone: w is then stderr.
func (a *app) annotate() {
	if !a.actions.on {
		return
	}
	w := a.stdout
	if a.stdoutTaken {
		w = a.stderr
	}
	err := report.WriteAnnotations(w, a.actions.list)
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" && a.actions.summary != nil {
		err = errors.Join(err, appendTo(name, a.actions.summary.String()))
	}
	if err != nil {
		a.actions.on = false // or the error would be an annotation
		a.fail(environment(err))
	}
}

// appendTo adds to a file that others of the same step may have written.
func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}
