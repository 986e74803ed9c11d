package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/scenarios"
)

// finding is one line of lint --json.
type finding struct {
	Col      int    `json:"col"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

func newLint(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "lint FILE...",
		Aliases: []string{"validate"},
		Short:   "Check scenario files without running them",
		Long:    "Checks scenario files and prints every finding with its place. Warnings tell what\nruns and is probably not meant. Exit code 2 if there is an error.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name a scenario file")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.lint(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as one JSON document")
	a.addGHA(cmd.Flags())
	return cmd
}

func (a *app) lint(args []string, asJSON bool) error {
	all := []finding{}
	a.stdoutTaken = asJSON
	for _, arg := range args {
		src, err := a.find(arg)
		if err != nil {
			a.fail(err)
			continue
		}
		spec, err := src.load()
		var d *scenarios.Diagnostics
		switch {
		case errors.As(err, &d):
			a.code = worse(a.code, exitUsage)
			all = append(all, findings(d)...)
			a.annotateFindings(findings(d), src.inFile())
			if !asJSON {
				fmt.Fprintln(a.stdout, a.folded(a.stdout, d.Error()))
			}
		case err != nil:
			return err
		default:
			good := remarks(src, spec)
			all = append(all, good...)
			a.annotateFindings(good, src.inFile())
			if !asJSON {
				a.good(src, spec)
			}
		}
	}
	if !asJSON {
		return nil
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(all)
}

// remarks are what there is to say about a scenario that can be run.
func remarks(src *source, spec *scenarios.Spec) (list []finding) {
	for _, w := range spec.Warnings {
		list = append(list, warning(w))
	}
	for _, s := range spec.NotModelled {
		list = append(list, finding{File: src.file, Line: 1, Col: 1, Message: "not modelled: " + s.Key + "=" + s.Value, Severity: "note"})
	}
	return list
}

func (a *app) good(src *source, spec *scenarios.Spec) {
	for _, w := range spec.Warnings {
		f := warning(w)
		fmt.Fprintln(a.stdout, a.folded(a.stdout, fmt.Sprintf("%s:%d:%d: warning: %s", f.File, f.Line, f.Col, f.Message)))
	}
	for _, s := range spec.NotModelled {
		fmt.Fprintf(a.stdout, "%s: not modelled: %s=%s\n", src.file, s.Key, s.Value)
	}
	fmt.Fprintf(a.stdout, "%s: ok\n", src.file)
}

func findings(d *scenarios.Diagnostics) []finding {
	var out []finding
	for _, x := range d.List {
		severity := "error"
		if x.Warning {
			severity = "warning"
		}
		out = append(out, finding{x.Col, d.File, x.Line, x.Message, severity})
	}
	return out
}
