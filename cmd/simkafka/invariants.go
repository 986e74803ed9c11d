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
		err := paragraph(w, a.style(w).Bold(i.Name)+"  "+i.Rules, i.Words, label("must hold: ", i.When), label("Kafka breaks it: ", i.Broken))
		if err != nil {
			return err
		}
	}
	return nil
}

func label(name, text string) string {
	if text == "" {
		return ""
	}
	return name + text
}
