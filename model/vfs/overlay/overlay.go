// Package overlay is a vfs.FS that shows the files of another one and keeps every
// change in memory: the log's real loader runs on a broker's directory without
// touching it. It mirrors no Kafka class.
//
// The tree of names is copied when the overlay is made; contents are read from below
// when they are asked for, as far as they were not cut or written over. What is written
// is kept in pages of 4 KiB, at most Limit of them in bytes; more is
// vfs.ErrNoSpace. A stretch that Truncate adds costs nothing.
//
// Left out: durability (Sync and SyncDir only check their argument), and changes made
// below after the overlay was made.
package overlay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// FS is a tree of files: those of base with the changes since.
type FS struct {
	base    vfs.FS
	entries []entry // sorted by path; the root "" is not listed
	limit   int64   // bytes of pages that may be in memory
	used    int64
	clock   kafka.TimestampMs // of the last change; one millisecond a change
}

type entry struct {
	path string
	node *node // nil for a directory
}

var _ vfs.FS = (*FS)(nil)

// maxDepth bounds the walk over the tree below.
const maxDepth = 16

var (
	errTooDeep    = errors.New("directories are nested too deep")
	errIntoItself = errors.New("cannot move a directory into itself")
)

// New shows the directory dir of base, "" for all of it, under the same path, and
// nothing else of base. limit bounds the memory for written bytes.
func New(base vfs.FS, dir string, limit int64) (*FS, error) {
	s := &FS{base: base, limit: limit}
	for i := range len(dir) {
		if dir[i] == '/' {
			s.entries = append(s.entries, entry{path: dir[:i]})
		}
	}
	if dir != "" {
		s.entries = append(s.entries, entry{path: dir})
	}
	if err := s.take(dir, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return s, nil
}

func (s *FS) take(dir string, depth int) error {
	if depth > maxDepth {
		return failure("list", dir, errTooDeep)
	}
	names, err := s.base.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := strings.TrimPrefix(dir+"/"+name, "/")
		info, err := s.base.Stat(path)
		switch {
		case errors.Is(err, vfs.ErrNotExist):
			continue // gone meanwhile, or a link to nowhere
		case err != nil:
			return err
		case info.IsDir:
			s.entries = append(s.entries, entry{path: path})
			if err := s.take(path, depth+1); err != nil {
				return err
			}
			continue
		}
		s.entries = append(s.entries, entry{path, &node{
			fs: s, below: path, visible: info.Size, size: info.Size, modTime: info.ModTime,
		}})
	}
	return nil
}

// Used is the memory in bytes that written pages take.
func (s *FS) Used() int64 { return s.used }

func (s *FS) find(path string) (int, bool) {
	return slices.BinarySearchFunc(s.entries, path, func(e entry, p string) int { return strings.Compare(e.path, p) })
}

func (s *FS) isDir(path string) bool {
	i, ok := s.find(path)
	return path == "" || ok && s.entries[i].node == nil
}

func (s *FS) insert(e entry) {
	i, _ := s.find(e.path)
	s.entries = slices.Insert(s.entries, i, e)
}

func (s *FS) touch(n *node) {
	s.clock++
	n.modTime = max(n.modTime+1, s.clock)
}

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

func failure(verb, name string, err error) error { return fmt.Errorf("%s %s: %w", verb, name, err) }

// Create implements vfs.FS.
func (s *FS) Create(name string) (vfs.File, error) {
	i, ok := s.find(name)
	switch {
	case s.isDir(name):
		return nil, failure("create", name, vfs.ErrIsDir)
	case ok:
		n := s.entries[i].node
		n.truncate(0)
		s.touch(n)
		return n.open(name), nil
	case !s.isDir(parent(name)):
		return nil, failure("create", name, vfs.ErrNotExist)
	}
	n := &node{fs: s}
	s.touch(n)
	s.insert(entry{name, n})
	return n.open(name), nil
}

// Open implements vfs.FS.
func (s *FS) Open(name string) (vfs.File, error) {
	i, ok := s.find(name)
	switch {
	case s.isDir(name):
		return nil, failure("open", name, vfs.ErrIsDir)
	case !ok:
		return nil, failure("open", name, vfs.ErrNotExist)
	}
	return s.entries[i].node.open(name), nil
}

// Remove implements vfs.FS.
func (s *FS) Remove(name string) error {
	i, ok := s.find(name)
	if !ok {
		return failure("remove", name, vfs.ErrNotExist)
	}
	if s.entries[i].node == nil && s.hasEntries(name) {
		return failure("remove", name, vfs.ErrNotEmpty)
	}
	s.entries = slices.Delete(s.entries, i, i+1)
	return nil
}

func (s *FS) hasEntries(dir string) bool {
	i, _ := s.find(dir + "/")
	return i < len(s.entries) && strings.HasPrefix(s.entries[i].path, dir+"/")
}

// Rename implements vfs.FS. A directory must not replace anything, nor move into
// itself.
func (s *FS) Rename(old, new string) error {
	i, ok := s.find(old)
	if !ok || !s.isDir(parent(new)) {
		return failure("rename", old, vfs.ErrNotExist)
	}
	j, taken := s.find(new)
	isDir := s.entries[i].node == nil
	switch {
	case old == new:
		return nil
	case new == "" || taken && (isDir || s.entries[j].node == nil):
		return failure("rename", new, vfs.ErrExist)
	case isDir && strings.HasPrefix(new, old+"/"):
		return failure("rename", old, errIntoItself)
	case taken:
		s.entries = slices.Delete(s.entries, j, j+1)
	}
	for i, e := range s.entries {
		if rest, ok := strings.CutPrefix(e.path, old); ok && (rest == "" || isDir && rest[0] == '/') {
			s.entries[i].path = new + rest
		}
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return nil
}

// MkdirAll implements vfs.FS.
func (s *FS) MkdirAll(name string) error {
	if s.isDir(name) {
		return nil
	}
	if _, ok := s.find(name); ok {
		return failure("mkdir", name, vfs.ErrExist)
	}
	if err := s.MkdirAll(parent(name)); err != nil {
		return err
	}
	s.insert(entry{path: name})
	return nil
}

// List implements vfs.FS.
func (s *FS) List(dir string) ([]string, error) {
	if !s.isDir(dir) {
		return nil, failure("list", dir, vfs.ErrNotExist)
	}
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	var names []string
	i, _ := s.find(prefix)
	for ; i < len(s.entries) && strings.HasPrefix(s.entries[i].path, prefix); i++ {
		if name := s.entries[i].path[len(prefix):]; !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Stat implements vfs.FS.
func (s *FS) Stat(name string) (vfs.Info, error) {
	if s.isDir(name) {
		return vfs.Info{IsDir: true}, nil
	}
	i, ok := s.find(name)
	if !ok {
		return vfs.Info{}, failure("stat", name, vfs.ErrNotExist)
	}
	n := s.entries[i].node
	return vfs.Info{Size: n.size, ModTime: n.modTime}, nil
}

// SyncDir implements vfs.FS.
func (s *FS) SyncDir(dir string) error {
	if !s.isDir(dir) {
		return failure("syncdir", dir, vfs.ErrNotExist)
	}
	return nil
}
