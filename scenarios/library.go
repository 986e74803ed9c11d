package scenarios

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"strings"
)

//go:embed library/*
var library embed.FS

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

// Builtin finds a built-in scenario.
func Builtin(name string) (Entry, bool) {
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
