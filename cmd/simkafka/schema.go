package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/scenarios"
)

func newSchema(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenario files",
		Long: `Prints the JSON schema of scenario files (draft 7), with which editors complete
keys and mark mistakes as you type. Those with yaml-language-server take it from
a first line of the scenario:

  # yaml-language-server: $schema=` + scenarios.SchemaFile + `

The schema knows keys, words and units. What only the whole file shows, such as a
topic that does not exist, simkafka lint finds.`,
		Example: "  simkafka schema > " + scenarios.SchemaFile,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(func(w io.Writer) error {
				_, err := w.Write(scenarios.Schema())
				return err
			})
		},
	}
}
