package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/invariant"
)

func newInvariants(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "invariants", Short: "What every run is checked for"})
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List the invariants: what must hold, and when", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.print(a.listInvariants) }})
	return cmd
}

func (a *app) listInvariants(w io.Writer) error {
	for _, i := range invariant.All() {
		lines := []string{i.Words, label("must hold: ", i.When)}
		lines = append(lines, causes(i.Causes())...)
		if err := paragraph(w, a.style(w).Bold(i.Name)+"  "+i.Rules, lines...); err != nil {
			return err
		}
	}
	return nil
}

// causes are the lines that say when Kafka breaks a rule: one a cause, if there are several.
func causes(list []string) []string {
	if len(list) == 1 {
		return []string{"Kafka breaks it: " + list[0]}
	}
	lines := []string{"Kafka breaks it:"}
	for _, c := range list {
		lines = append(lines, "- "+c)
	}
	return lines
}

func label(name, text string) string {
	if text == "" {
		return ""
	}
	return name + text
}
