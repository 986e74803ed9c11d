package scenarios

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/simkafka/simkafka/model/quirk"
)

//go:embed library/*
var library embed.FS

// BugScenario is the scenario of a historical bug: its file has the bug's switch on
// and names the invariants that then fail. WithoutQuirks is its other variant, in which
// everything holds.
func BugScenario(b quirk.Bug) (Entry, bool) {
	name := "bugs/" + strings.ToLower(b.Key)
	text, err := library.ReadFile("library/" + name + ".yaml")
	return Entry{Name: name, File: name + ".yaml", Text: string(text)}, err == nil
}

// WithoutQuirks is the scenario with its bugs off, which must then violate nothing.
func (s *Spec) WithoutQuirks() *Spec {
	off := *s
	off.Quirks, off.Expect = quirk.Set{}, Expect{BeyondBudget: s.Expect.BeyondBudget, Loss: s.Expect.Loss}
	return &off
}

// Entry is a built-in scenario.
type Entry struct{ Name, File, Text string }

// Library lists the built-in scenarios by name.
func Library() []Entry {
	names, err := fs.Glob(library, "library/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	out := make([]Entry, 0, len(names))
	for _, n := range names {
		text, err := library.ReadFile(n)
		if err != nil {
			panic(err) // embedded
		}
		base := path.Base(n)
		out = append(out, Entry{Name: strings.TrimSuffix(base, ".yaml"), File: base, Text: string(text)})
	}
	return out
}

// Builtin finds a built-in scenario; those of bugs by bugs/KEY.
func Builtin(name string) (Entry, bool) {
	if key, ok := strings.CutPrefix(name, "bugs/"); ok {
		if id, known := quirk.Parse(key); known {
			return BugScenario(id.Bug())
		}
	}
	for _, e := range Library() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// LibrarySource gives the files that built-in scenarios name.
func LibrarySource(file string) ([]byte, error) {
	b, err := library.ReadFile(path.Join("library", file))
	if err != nil {
		return nil, errors.New("there is no built-in file " + file)
	}
	return b, nil
}
