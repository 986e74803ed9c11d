package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// joinOptional writes "--shrink 30s" as "--shrink=30s". The command-line library takes the
// value of a flag that can stand alone only behind "=", and would take 30s for a scenario. So
// does it with true and false behind a flag that is on or off.
func joinOptional(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return append(out, args[i:]...)
		}
		if i+1 < len(args) && takes(cmd, word, args[i+1]) {
			i++
			word += "=" + args[i]
		}
		out = append(out, word)
	}
	return out
}

// takes reports whether a word is a flag with an optional value, and the next one its value:
// true or false, or what begins as a number and is no file.
func takes(cmd *cobra.Command, word, next string) bool {
	name, ok := strings.CutPrefix(word, "--")
	if !ok || name == "" || next == "" {
		return false
	}
	f := cmd.Flags().Lookup(name)
	if f == nil {
		f = cmd.InheritedFlags().Lookup(name)
	}
	switch {
	case f == nil || f.NoOptDefVal == "":
		return false
	case f.Value.Type() == "bool":
		return next == "true" || next == "false"
	}
	_, err := os.Stat(next)
	return next[0] >= '0' && next[0] <= '9' && errors.Is(err, fs.ErrNotExist)
}
