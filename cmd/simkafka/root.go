package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
)

func newRoot(a *app) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "simkafka",
		Short: "Run a whole Kafka cluster, its faults and its clients, in one thread",
		Long: `simkafka simulates a whole Apache Kafka cluster: brokers, controllers,
ZooKeeper, producers and consumers over a virtual clock, network and disk. The
log code is real; faults are lines of a scenario. The same scenario and seed
give the same run everywhere.

Exit codes: 0 pass, 1 violated, 2 usage or scenario error, 3 inconclusive,
4 fault of the simulator, 5 environment (disk full, permission),
130 interrupted.`,
		Example: `  simkafka run leader-crash
  simkafka run leader-crash --seed 7 --set min.insync.replicas=1
  simkafka scenarios list
  simkafka scenarios show leader-crash > mine.yaml
  simkafka lint mine.yaml
  simkafka sweep mine.yaml --seeds 1000`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "`when` there are colours: auto, always or never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		switch a.color {
		case "auto", "always", "never":
			return nil
		}
		return usage("--color is %q; write auto, always or never", a.color)
	}
	root.SetFlagErrorFunc(flagError(a))
	root.SetHelpCommand(newHelp())
	root.AddCommand(newRun(a), newSweep(a), newMerge(a), newShrink(a), newExplain(a), newDiff(a), newLint(a), newSchema(a), newScenarios(a), newFaults(a), newConfig(a), newInvariants(a), newBugs(a), newLog(a), newPerf(a), newVersion(a), traceTopic())
	arrange(root)
	return root
}

// newHelp is cobra's help command with our errors: an unknown topic is a mistake.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}

// traceTopic is a page of help without a command behind it.
func traceTopic() *cobra.Command {
	return &cobra.Command{Use: "trace", Short: "The format of run --trace", Long: report.TraceHelp}
}
