package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
)

func newScenarios(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "scenarios", Short: "The built-in scenarios"})
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the built-in scenarios", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return a.listScenarios() }},
		&cobra.Command{Use: "show NAME", Short: "Print a built-in scenario", Example: "  simkafka scenarios show leader-crash > mine.yaml",
			Args: oneArg("the name of a scenario"),
			RunE: func(_ *cobra.Command, args []string) error { return a.showScenario(args[0]) }},
		newGenerate(a))
	return cmd
}

func (a *app) listScenarios() error {
	t := report.Table{Columns: []report.Column{{Name: "name"}, {Name: "what it shows"}}}
	for _, e := range scenarios.Library() {
		spec, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
		if err != nil {
			return &codeError{exitSimulator, err} // the library is ours
		}
		t.Rows = append(t.Rows, []string{e.Name, firstSentence(spec.Why)})
	}
	return a.print(func(w io.Writer) error { return t.Write(w, a.style(w)) })
}

// firstSentence is a text up to its first full stop or line end.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}

func (a *app) showScenario(name string) error {
	e, ok := scenarios.Builtin(name)
	if !ok {
		return usage("there is no built-in scenario %q%s (see simkafka scenarios list)", name, didYouMean(name, builtinNames()))
	}
	return a.print(func(w io.Writer) error {
		_, err := io.WriteString(w, e.Text)
		return err
	})
}

// print writes to stdout; a failure is the environment's.
func (a *app) print(write func(io.Writer) error) error {
	if err := write(a.stdout); err != nil {
		return environment(err)
	}
	return nil
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments", cmd.CommandPath())
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// paragraph prints an entry of a list: a head line and indented lines.
func paragraph(w io.Writer, head string, lines ...string) error {
	if _, err := fmt.Fprintln(w, head); err != nil {
		return err
	}
	for _, l := range lines {
		if l == "" {
			continue
		}
		for i, part := range report.Wrap(l, textWidth) {
			indent := "    "
			if i > 0 {
				indent = "      "
			}
			if _, err := fmt.Fprintln(w, indent+part); err != nil {
				return err
			}
		}
	}
	return nil
}

// textWidth leaves room for the indent in 80 columns.
const textWidth = 74
