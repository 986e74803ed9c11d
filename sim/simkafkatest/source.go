package simkafkatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/sweep"
)

// Source gives the scenarios of a test. One that cannot be had fails the test.
type Source func(testing.TB) *Scenarios

// Scenarios are what a Source has found.
type Scenarios struct {
	source sweep.Source
	replay string // the command that repeats a run, without its seed
}

// File is a scenario file; its path is relative to the test's folder.
func File(name string) Source {
	return func(tb testing.TB) *Scenarios {
		tb.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatalf("simkafka: %v", err)
		}
		return load(tb, filepath.ToSlash(name), text, func(other string) ([]byte, error) {
			if !filepath.IsAbs(other) {
				other = filepath.Join(filepath.Dir(name), other)
			}
			return os.ReadFile(other)
		})
	}
}

// Builtin is a built-in scenario; simkafka scenarios list names them.
func Builtin(name string) Source {
	return func(tb testing.TB) *Scenarios {
		tb.Helper()
		e, ok := scenarios.Builtin(name)
		if !ok {
			tb.Fatalf("simkafka: there is no built-in scenario %q", name)
		}
		s := load(tb, e.File, []byte(e.Text), scenarios.LibrarySource)
		s.replay = "simkafka run " + name
		return s
	}
}

func load(tb testing.TB, name string, text []byte, open scenarios.Source) *Scenarios {
	tb.Helper()
	spec, err := scenarios.Load(name, text, open)
	if err != nil {
		tb.Fatalf("simkafka: %v", err)
	}
	return &Scenarios{sweep.Scenario(spec), "simkafka run " + name}
}

// Generator draws another scenario for each seed; simkafka scenarios generate names
// the generators.
func Generator(name string) Source {
	return func(tb testing.TB) *Scenarios {
		tb.Helper()
		g, ok := scenarios.GeneratorByName(name)
		if !ok {
			tb.Fatalf("simkafka: there is no generator %q; there are %s", name, strings.Join(scenarios.GeneratorNames(), ", "))
		}
		s, err := sweep.Drawn(name, g.Draw)
		if err != nil {
			tb.Fatalf("simkafka: %v", err)
		}
		return &Scenarios{s, "simkafka run --gen " + name}
	}
}
