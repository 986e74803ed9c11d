package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/scenarios"
)

// source is a scenario as the user named it.
type source struct {
	arg  string // as given; an absolute path relative to the working directory
	file string // for messages
	text []byte
	open scenarios.Source
}

// find takes a built-in name, a file, or - for stdin.
func (a *app) find(arg string) (*source, error) {
	if e, ok := scenarios.Builtin(arg); ok {
		return &source{arg, e.File, []byte(e.Text), scenarios.LibrarySource}, nil
	}
	if arg == "-" {
		text, err := io.ReadAll(io.LimitReader(a.stdin, maxScenario+1))
		if err != nil {
			return nil, environment(err)
		}
		return &source{arg, "stdin", text, beside(".")}, nil
	}
	text, err := readScenario(arg)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, `./\`) {
		hint := didYouMean(arg, builtinNames())
		if _, ok := scenarios.GeneratorByName(arg); ok {
			hint = "; a generator has the name: --gen " + arg
		}
		if _, err := os.Stat(arg + ".yaml"); err == nil {
			hint = fmt.Sprintf("; did you mean %q?", arg+".yaml")
		}
		return nil, usage("there is no built-in scenario %q and no such file%s (see simkafka scenarios list)", arg, hint)
	}
	if err != nil {
		return nil, environment(err)
	}
	return &source{relative(arg), arg, text, beside(filepath.Dir(arg))}, nil
}

// maxScenario bounds what is read; the loader refuses a file above 1 MiB.
const maxScenario = 16 << 20

func readScenario(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usage("%s is a directory", name)
	}
	return io.ReadAll(io.LimitReader(f, maxScenario+1))
}

// beside opens the files that a scenario names, relative to its own folder.
func beside(dir string) scenarios.Source {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return os.ReadFile(name)
	}
}

// relative keeps machine paths out of what is printed (interface 3.1 rule 8).
func relative(name string) string {
	if !filepath.IsAbs(name) {
		return name
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, name); err == nil {
			return rel
		}
	}
	return name
}

func builtinNames() []string {
	var names []string
	for _, e := range scenarios.Library() {
		names = append(names, e.Name)
	}
	return names
}

// load reads a scenario; its findings are a usage error, printed as they are.
func (s *source) load() (*scenarios.Spec, error) {
	return scenarios.Load(s.file, s.text, s.open)
}
