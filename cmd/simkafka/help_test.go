package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// flagType is a flag without a word of its own for its value.
var flagType = regexp.MustCompile(`^ +(-., )?--\S+ string`)

// Help fits a screen of 80 columns, and each flag says what it is.
func TestHelpFitsEightyColumns(t *testing.T) {
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	root := newRoot(a)
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		var b bytes.Buffer
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if utf8.RuneCountInString(line) > helpWidth {
				t.Errorf("%s --help: %q", c.CommandPath(), line)
			}
			if flagType.MatchString(line) {
				t.Errorf("%s --help names a type instead of a thing: %q", c.CommandPath(), line)
			}
		}
		if c.Parent() == root && c.GroupID == "" && c.Name() != "version" && c.Name() != "trace" {
			t.Errorf("%s is in no group", c.Name())
		}
		for _, d := range c.Commands() {
			each(d)
		}
	}
	each(root)
}
