package main

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/report"
)

// replay is the command line that repeats a run.
func (r *runner) replay(j *job) string {
	more := []string{"--seed", fmt.Sprint(r.flags.seed)}
	if r.flags.until != "" {
		more = append(more, "--until", r.flags.until)
	}
	return r.command(j, more...)
}

// command is the command line that runs a scenario, with more flags behind its name.
func (r *runner) command(j *job, more ...string) string {
	words := []string{"simkafka", "run", j.source.arg}
	if r.flags.gen != "" {
		words = []string{"simkafka", "run", "--gen", r.flags.gen}
	}
	words = append(words, more...)
	if r.flags.protocol != "" {
		words = append(words, "--protocol", r.flags.protocol)
	}
	for i := range r.overrides {
		words = append(words, "--set", r.overrides[i].text)
	}
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

// quote makes a word safe to paste into a shell.
func quote(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=,@%+", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// printJSON prints one document: a result, or several in a list. A run that gave no
// result leaves stdout empty.
func (r *runner) printJSON() error {
	var err error
	switch len(r.results) {
	case 0:
		return nil
	case 1:
		err = report.WriteJSON(r.stdout, r.results[0])
	default:
		err = report.WriteJSONAll(r.stdout, r.results)
	}
	if err != nil {
		return environment(err)
	}
	return nil
}
