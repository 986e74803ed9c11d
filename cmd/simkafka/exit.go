package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/simkafka/simkafka/model/outcome"
)

// Exit codes (interface 3.2).
const (
	exitPass         = 0
	exitViolated     = 1   // an invariant or expectation is violated: final, do not retry
	exitUsage        = 2   // wrong command line or scenario
	exitInconclusive = 3   // a limit was hit
	exitSimulator    = 4   // simkafka itself is at fault
	exitEnvironment  = 5   // disk full, permission
	exitInterrupted  = 130 // Ctrl-C
)

// precedence of several codes, the strongest first.
var precedence = []int{exitInterrupted, exitSimulator, exitUsage, exitEnvironment, exitViolated, exitInconclusive, exitPass}

func worse(a, b int) int {
	if slices.Index(precedence, a) <= slices.Index(precedence, b) {
		return a
	}
	return b
}

// codeError is an error with its exit code.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

// environment is an error of the machine, except that a path which cannot be is the
// user's.
func environment(err error) error {
	var known *codeError
	if errors.As(err, &known) {
		return err
	}
	for _, wrong := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, wrong) {
			return &codeError{exitUsage, err}
		}
	}
	return &codeError{exitEnvironment, err}
}

// codeOf is the code of any error; those of the command-line library are usage.
func codeOf(err error) int {
	var c *codeError
	if errors.As(err, &c) {
		return c.code
	}
	return exitUsage
}

// verdictCode is the code of a finished run. failOn demotes violations and
// inconclusive runs; never the verdict itself.
func verdictCode(v outcome.Verdict, failOn string) int {
	switch v {
	case outcome.Pass:
		return exitPass
	case outcome.Violated:
		if failOn == failNever {
			return exitPass
		}
		return exitViolated
	case outcome.Inconclusive:
		if failOn != failInconclusive {
			return exitPass
		}
		return exitInconclusive
	}
	return exitSimulator
}

// The words of --fail-on.
const (
	failInconclusive = "inconclusive" // violations and inconclusive runs fail
	failViolation    = "violation"    // violations only
	failNever        = "never"
)

func checkFailOn(word string) error {
	switch word {
	case failInconclusive, failViolation, failNever:
		return nil
	}
	return usage("--fail-on is %q; write inconclusive, violation or never", word)
}
