package overlay

import "strings"

// State tells what has become of a file.
type State struct {
	// Path is where it is now; "" if it was removed or replaced by another file.
	Path string
	Size int64 // in bytes, now or when it was removed
	// Intact is how many bytes from the start show as they do below, apart from what
	// was written over.
	Intact int64
	// Shrunk: it was cut at some time.
	Shrunk bool
	// Changed: content that shows differs from what is below, or may.
	Changed bool
}

// Tracker remembers the files below a directory of an overlay by the paths that they
// have now.
type Tracker struct {
	fs    *FS
	paths []string // sorted
	nodes []*node
}

// Track begins to follow all files below dir.
func (s *FS) Track(dir string) *Tracker {
	t := &Tracker{fs: s}
	for _, e := range s.entries {
		if e.node != nil && (dir == "" || strings.HasPrefix(e.path, dir+"/")) {
			t.paths = append(t.paths, e.path)
			t.nodes = append(t.nodes, e.node)
		}
	}
	return t
}

// Each calls f for every file that was there when the tracker was made, by the path of
// then.
func (t *Tracker) Each(f func(path string, now State)) {
	now := make(map[*node]string, len(t.nodes))
	for _, e := range t.fs.entries {
		if e.node != nil {
			now[e.node] = e.path
		}
	}
	for i, n := range t.nodes {
		f(t.paths[i], State{Path: now[n], Size: n.size, Intact: n.visible, Shrunk: n.shrunk, Changed: n.visible < n.size || len(n.pages) > 0})
	}
}
