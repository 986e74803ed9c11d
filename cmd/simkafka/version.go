package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/sim/cluster"
)

// versionInfo is version --json. Engine is the version of the determinism: equal
// engine, scenario and seed give an equal run.
type versionInfo struct {
	Engine   int    `json:"engine"`
	Go       string `json:"go"`
	Modified bool   `json:"modified"`
	Module   string `json:"module"`
	Revision string `json:"revision"`
	Version  string `json:"version"`
}

func newVersion(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "version", Short: "Print the version of the program and of its determinism", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(func(w io.Writer) error { return writeVersion(w, readVersion(), asJSON) })
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func readVersion() versionInfo {
	v := versionInfo{Engine: cluster.Engine, Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go, v.Module, v.Version = info.GoVersion, info.Main.Path, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func writeVersion(w io.Writer, v versionInfo, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	_, err := fmt.Fprintf(w, "simkafka %s  engine %d  %s\n", v.Version, v.Engine, v.Go)
	return err
}
