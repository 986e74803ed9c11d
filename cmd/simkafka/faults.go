package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/report"
)

func newFaults(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "faults", Short: "What can go wrong"})
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List faults, how nodes are named, and failpoints", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.print(a.listFaults) }}, newFaultsEffects(a))
	return cmd
}

func (a *app) listFaults(w io.Writer) error {
	s := a.style(w)
	for _, k := range faults.Table {
		if err := paragraph(w, s.Bold(k.Word), k.Summary, k.Example); err != nil {
			return err
		}
	}
	if err := paragraph(w, "\n"+s.Bold("nodes"), "a fault names nodes by id or by role: "+strings.Join(faults.SelectorForms(), ", ")); err != nil {
		return err
	}
	if err := paragraph(w, "\n"+s.Bold("failpoints"), "sites of the fault failpoint, and what a term may return there:"); err != nil {
		return err
	}
	t := report.Table{Columns: []report.Column{{Name: "site"}, {Name: "where"}, {Name: "values"}}, Indent: "    "}
	for _, site := range point.Sites() {
		t.Rows = append(t.Rows, []string{site.String(), site.Description(), strings.Join(site.Values(), ", ")})
	}
	return t.Write(w, s)
}
