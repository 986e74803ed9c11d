package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxDistance is how many letters a suggestion may differ in (interface 3.1 rule 6).
const maxDistance = 2

// didYouMean is the end of a message about an unknown word.
func didYouMean(word string, known []string) string {
	best, bestD := "", maxDistance+1
	for _, k := range known {
		if d := distance(word, k); d < bestD {
			best, bestD = k, d
		}
	}
	if best == "" || bestD >= len(word) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// flagError explains a bad flag and suggests a near one. A flag behind an unknown
// command is not the user's first mistake.
func flagError(a *app) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() {
			if word := firstWord(a.args, cmd); word != "" {
				return unknownCommand(cmd, word)
			}
		}
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			name := unknown.GetSpecifiedName()
			return usage("%v%s%s (see %s --help)", err, didYouMean("--"+name, names), othersFlag(cmd, name), cmd.CommandPath())
		}
		var invalid *pflag.InvalidValueError
		if errors.As(err, &invalid) {
			return usage("--%s cannot be %q; it is a %s (see %s --help)", invalid.GetFlag().Name, invalid.GetValue(), typeWord(invalid.GetFlag()), cmd.CommandPath())
		}
		return usage("%v (see %s --help)", err, cmd.CommandPath())
	}
}

// othersFlag is the end of a message about a flag that commands beside cmd have.
func othersFlag(cmd *cobra.Command, flag string) string {
	var owners []string
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(flag) != nil {
			owners = append(owners, c.Name())
		}
	}
	if owners == nil {
		return ""
	}
	return fmt.Sprintf("; --%s is a flag of %s", flag, strings.Join(owners, ", "))
}

// typeWord says what a flag takes.
func typeWord(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "uint64":
		return "whole number from 0"
	case "bool":
		return "true or false"
	}
	return f.Value.Type()
}

// oneOf is the end of a message about a word that must be one of a few.
func oneOf(word string, known []string) string {
	if s := didYouMean(word, known); s != "" {
		return s
	}
	return "; there are " + strings.Join(known, ", ")
}

// firstWord is the first argument behind cmd's own name that is not a flag.
func firstWord(args []string, cmd *cobra.Command) string {
	depth := len(strings.Fields(cmd.CommandPath())) - 1
	for _, w := range args {
		if strings.HasPrefix(w, "-") {
			continue
		}
		if depth == 0 {
			return w
		}
		depth--
	}
	return ""
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	return usage("unknown command %q for %q%s (see %s --help)", word, cmd.CommandPath(), didYouMean(word, names), cmd.CommandPath())
}

// group makes a command that only holds others: alone it shows its help and is a
// usage error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		cmd.SetOut(cmd.ErrOrStderr())
		if err := cmd.Help(); err != nil {
			return err
		}
		return usage("a command is missing")
	}
	return cmd
}
