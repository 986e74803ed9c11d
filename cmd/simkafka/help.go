package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
)

// helpWidth is the width of all help.
const helpWidth = 80

// The groups of commands on the first page.
const (
	groupRun  = "run"
	groupFind = "find"
	groupKnow = "know"
	groupReal = "real"
)

// arrange gives the commands their groups, and help its width.
func arrange(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: groupRun, Title: "Run a scenario:"}, &cobra.Group{ID: groupFind, Title: "Search, and find the cause:"},
		&cobra.Group{ID: groupKnow, Title: "Look up:"}, &cobra.Group{ID: groupReal, Title: "Real files and disks:"})
	for id, names := range map[string]string{
		groupRun: "run lint scenarios", groupFind: "sweep merge shrink explain diff bugs",
		groupKnow: "faults config invariants schema", groupReal: "log perf",
	} {
		for _, name := range strings.Fields(names) {
			if c, _, err := root.Find([]string{name}); err == nil {
				c.GroupID = id
			}
		}
	}
	usage := strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 ")
	usage = strings.Replace(usage, "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1)
	root.SetUsageTemplate(strings.ReplaceAll(usage, "[command]", "COMMAND"))
	refold(root)
}

// refold breaks the text of a command's help, and of those below it.
func refold(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") { // as it stands
			paragraphs[i] = strings.Join(report.Wrap(strings.ReplaceAll(p, "\n", " "), helpWidth), "\n")
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, c := range cmd.Commands() {
		refold(c)
	}
}
