// Command simkafka runs simulated Kafka clusters from scenario files; one file a
// verb. It mirrors no Kafka tool.
//
// stdout carries the result and nothing else; progress, hints and errors go to
// stderr. The exit code says how it ended (see exit.go). Left out so far:
// reports from saved results, inspection at a time.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/simkafka/simkafka/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{args: args, stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(a)
	root.SetArgs(joinOptional(root, args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.Execute(); err != nil {
		a.fail(err)
	}
	a.annotate()
	return a.code
}

// app is one invocation.
type app struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	color          string // --color
	code           int
	actions        actions
	stdoutTaken    bool // by a document that has it alone
}

// fail reports an error and keeps its exit code.
func (a *app) fail(err error) {
	a.code = worse(a.code, codeOf(err))
	if a.actions.on {
		a.actions.list = append(a.actions.list, report.Annotation{Level: report.AnnotateError, Title: "simkafka", Message: err.Error()})
	}
	fmt.Fprintln(a.stderr, a.folded(a.stderr, fmt.Sprintf("simkafka: %v", err)))
}
