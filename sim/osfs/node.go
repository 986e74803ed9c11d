package osfs

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// node is what the handles of one file share. Its size spares each append a system
// call; it is read anew whenever a handle is opened.
type node struct {
	id   fileID
	size atomic.Int64
	open int // handles
}

// nodes are the open files of a file system. Different files may be used by different
// goroutines, so the table has a lock; one file may not, apart from reading it.
type nodes struct {
	mu   sync.Mutex
	byID map[fileID]*node
}

// of is the node of a file that was just opened; nil if the system cannot tell files
// apart.
func (t *nodes) of(f *os.File) (*node, error) {
	if t == nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, nil
	}
	id, ok := identify(info)
	if !ok {
		return nil, nil
	}
	return t.enter(id, info), nil
}

func (t *nodes) enter(id fileID, info fs.FileInfo) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byID[id]
	if n == nil {
		n = &node{id: id}
		t.byID[id] = n
	}
	n.open++
	n.size.Store(info.Size())
	return n
}

func (t *nodes) release(n *node) {
	if n == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.open--; n.open == 0 {
		delete(t.byID, n.id)
	}
}
