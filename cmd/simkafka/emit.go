package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/simkafka/simkafka/scenarios"
)

// Templates of jobs, by system.
//
//go:embed emit/*.tmpl
var emitFiles embed.FS

// emitters are what --emit takes, with the most tasks that the system runs in one
// job: 0 where that is the user's own setting.
var emitters = []struct {
	name string
	most int
}{{"kubernetes", 0}, {"github", 256}, {"gitlab", 200}, {"slurm", 0}}

func emitNames() []string {
	var names []string
	for _, e := range emitters {
		names = append(names, e.name)
	}
	return names
}

// emitted is what the templates know.
type emitted struct {
	Name    string
	Label   string // the name as Kubernetes and others allow it
	Shards  int
	Indexes []int
	Words   []string // arguments of simkafka
	Command string   // the same for a shell, with simkafka before them
	// Text is the scenario and File its name, for machines that do not have the file;
	// "" for a built-in one.
	Text, File string
}

// emit prints a job that runs this sweep in parts.
func (s *sweeper) emit(args []string) error {
	f := &s.flags
	own := ""
	for _, flag := range []string{"shard", "jobs", "resume", "out", "junit", "json", "gha", "quiet", "fail-on"} {
		if s.given(flag) {
			own = flag
		}
	}
	most := -1
	for _, e := range emitters {
		if e.name == f.emit {
			most = e.most
		}
	}
	switch {
	case most < 0:
		return usage("--emit knows no %q%s", f.emit, oneOf(f.emit, emitNames()))
	case f.shards < 1 || most > 0 && f.shards > most:
		return usage("--shards %d: %s runs 1 to %s tasks in one job", f.shards, f.emit, upTo(most))
	case own != "":
		return usage("--emit prints a job; --%s is the job's own", own)
	case len(args) > 0 && args[0] == "-":
		return usage("--emit needs the name of a scenario, not stdin")
	}
	e := emitted{Name: s.plan.Source.Name(), Label: jobLabel(s.plan.Source.Name()), Shards: f.shards}
	for i := range f.shards {
		e.Indexes = append(e.Indexes, i+1)
	}
	scenario := ""
	if len(args) > 0 {
		scenario = filepath.ToSlash(relative(args[0]))
		if _, builtin := scenarios.Builtin(args[0]); !builtin && f.emit == "kubernetes" {
			if err := e.carry(s, args[0]); err != nil {
				return err
			}
			scenario = "/scenario/" + e.File
		}
	}
	e.Words = s.words(scenario)
	e.Command = "simkafka"
	for _, w := range e.Words {
		e.Command += " " + quote(w)
	}
	t := template.New("").Funcs(template.FuncMap{"json": jsonWord, "indent": indent})
	t, err := t.ParseFS(emitFiles, "emit/*.tmpl")
	if err != nil {
		return &codeError{exitSimulator, err}
	}
	return s.print(func(w io.Writer) error { return t.ExecuteTemplate(w, f.emit+".tmpl", e) })
}

func upTo(most int) string {
	if most == 0 {
		return "any number of"
	}
	return fmt.Sprint(most)
}

// carry takes the scenario into the job, complete, as it was loaded.
func (e *emitted) carry(s *sweeper, arg string) error {
	src, err := s.find(arg)
	if err != nil {
		return err
	}
	spec, err := src.load()
	if err != nil {
		return err
	}
	e.Text, e.File = spec.YAML(), jobLabel(spec.Name)+".yaml"
	return nil
}

// words are the arguments that the parts have in common.
func (s *sweeper) words(scenario string) []string {
	f := &s.flags
	words := []string{"sweep"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	if scenario != "" {
		words = append(words, scenario)
	}
	add("--gen", s.runner.flags.gen)
	if s.plan.Count > 0 {
		add("--seeds", fmt.Sprint(s.plan.Count))
	}
	add("--time", f.time)
	if f.shrink != "" {
		words = append(words, "--shrink="+f.shrink)
	}
	if f.root != defaultRoot {
		add("--root-seed", fmt.Sprint(f.root))
	}
	add("--protocol", f.protocol)
	for _, o := range f.set {
		add("--set", o)
	}
	return words
}

// jobLabel makes a name that is one for Kubernetes too: lower case letters, digits and
// hyphens, a letter or digit at both ends, at most 40.
func jobLabel(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(clean[:min(len(clean), 40)], "-")
}

func jsonWord(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+pad)
}
