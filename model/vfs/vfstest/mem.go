// Package vfstest is the conformance kit of model/vfs: Run checks every law of
// the interface on any implementation, Machine drives two implementations with
// the same operations, and Mem is the small, obvious file system in memory that
// serves as the slow twin and as a file system for unit tests.
//
// Mem mirrors no Kafka class. It leaves out time, crashes, faults and the
// difference between written and synced: Sync and SyncDir only check their
// argument. ModTime counts changes, one millisecond each.
package vfstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Mem is a tree of files in memory: one list of paths, sorted.
type Mem struct {
	entries []memEntry // sorted by path; the root "" is not listed
	clock   kafka.TimestampMs
}

var errIntoItself = errors.New("cannot move a directory into itself")

type memEntry struct {
	path string
	file *memFile // nil for a directory
}

// memFile holds what was written in data; the rest up to size is zeros.
// Invariant: len(data) <= size.
type memFile struct {
	data    []byte
	size    int64
	modTime kafka.TimestampMs
}

var _ vfs.FS = (*Mem)(nil)

// NewMem is an empty file system with its root directory "".
func NewMem() *Mem { return &Mem{} }

func (m *Mem) find(path string) (int, bool) {
	return slices.BinarySearchFunc(m.entries, path, func(e memEntry, p string) int {
		return strings.Compare(e.path, p)
	})
}

func (m *Mem) insert(e memEntry) {
	i, _ := m.find(e.path)
	m.entries = slices.Insert(m.entries, i, e)
}

func (m *Mem) isDir(path string) bool {
	i, ok := m.find(path)
	return path == "" || ok && m.entries[i].file == nil
}

func (m *Mem) touch(f *memFile) {
	m.clock++
	f.modTime = m.clock
}

func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

func fail(verb, name string, err error) error {
	return fmt.Errorf("%s %s: %w", verb, name, err)
}

// Create implements vfs.FS.
func (m *Mem) Create(name string) (vfs.File, error) {
	i, ok := m.find(name)
	switch {
	case m.isDir(name):
		return nil, fail("create", name, vfs.ErrIsDir)
	case ok:
		f := m.entries[i].file
		f.data, f.size = nil, 0
		m.touch(f)
		return &memHandle{fs: m, file: f, name: name}, nil
	case !m.isDir(parent(name)):
		return nil, fail("create", name, vfs.ErrNotExist)
	}
	f := &memFile{}
	m.touch(f)
	m.insert(memEntry{name, f})
	return &memHandle{fs: m, file: f, name: name}, nil
}

// Open implements vfs.FS.
func (m *Mem) Open(name string) (vfs.File, error) {
	i, ok := m.find(name)
	switch {
	case m.isDir(name):
		return nil, fail("open", name, vfs.ErrIsDir)
	case !ok:
		return nil, fail("open", name, vfs.ErrNotExist)
	}
	return &memHandle{fs: m, file: m.entries[i].file, name: name}, nil
}

// Remove implements vfs.FS.
func (m *Mem) Remove(name string) error {
	i, ok := m.find(name)
	if !ok {
		return fail("remove", name, vfs.ErrNotExist)
	}
	if m.entries[i].file == nil {
		if names, _ := m.List(name); len(names) > 0 {
			return fail("remove", name, vfs.ErrNotEmpty)
		}
	}
	m.entries = slices.Delete(m.entries, i, i+1)
	return nil
}

// Rename implements vfs.FS. A directory must not replace anything, nor move
// into itself.
func (m *Mem) Rename(old, new string) error {
	i, ok := m.find(old)
	if !ok || !m.isDir(parent(new)) {
		return fail("rename", old, vfs.ErrNotExist)
	}
	j, taken := m.find(new)
	isDir := m.entries[i].file == nil
	switch {
	case old == new:
		return nil
	case new == "" || taken && (isDir || m.entries[j].file == nil):
		return fail("rename", new, vfs.ErrExist)
	case isDir && strings.HasPrefix(new, old+"/"):
		return fail("rename", old, errIntoItself)
	case taken:
		m.entries = slices.Delete(m.entries, j, j+1)
	}
	for i, e := range m.entries {
		if rest, ok := strings.CutPrefix(e.path, old); ok && (rest == "" || isDir && rest[0] == '/') {
			m.entries[i].path = new + rest
		}
	}
	slices.SortFunc(m.entries, func(a, b memEntry) int { return strings.Compare(a.path, b.path) })
	return nil
}

// MkdirAll implements vfs.FS.
func (m *Mem) MkdirAll(name string) error {
	if m.isDir(name) {
		return nil
	}
	if _, ok := m.find(name); ok {
		return fail("mkdir", name, vfs.ErrExist)
	}
	if err := m.MkdirAll(parent(name)); err != nil {
		return err
	}
	m.insert(memEntry{path: name})
	return nil
}

// List implements vfs.FS.
func (m *Mem) List(dir string) ([]string, error) {
	if !m.isDir(dir) {
		return nil, fail("list", dir, vfs.ErrNotExist)
	}
	var names []string
	for _, e := range m.entries {
		if parent(e.path) == dir {
			names = append(names, strings.TrimPrefix(e.path[len(dir):], "/"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Stat implements vfs.FS.
func (m *Mem) Stat(name string) (vfs.Info, error) {
	if m.isDir(name) {
		return vfs.Info{IsDir: true}, nil
	}
	i, ok := m.find(name)
	if !ok {
		return vfs.Info{}, fail("stat", name, vfs.ErrNotExist)
	}
	f := m.entries[i].file
	return vfs.Info{Size: f.size, ModTime: f.modTime}, nil
}

// SetModTime implements vfs.ModTimer.
func (m *Mem) SetModTime(name string, t kafka.TimestampMs) error {
	i, ok := m.find(name)
	if !ok || m.isDir(name) {
		return fail("set time of", name, vfs.ErrNotExist)
	}
	m.entries[i].file.modTime = t
	return nil
}

// SyncDir implements vfs.FS.
func (m *Mem) SyncDir(dir string) error {
	if !m.isDir(dir) {
		return fail("syncdir", dir, vfs.ErrNotExist)
	}
	return nil
}
