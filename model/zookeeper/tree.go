package zookeeper

import (
	"fmt"
	"slices"
	"strings"
)

// node is one znode.
type node struct {
	data     []byte
	czxid    int64
	mzxid    int64
	pzxid    int64 // last change of the set of children
	owner    int64 // session, 0 = persistent
	version  int32
	creates  int32 // children ever created; numbers the sequential ones
	children []string
}

// stat counts child creations and deletions in CVersion, as ZooKeeper reports it.
func (n *node) stat() Stat {
	kids := int32(len(n.children))
	return Stat{Czxid: n.czxid, Mzxid: n.mzxid, Version: n.version, CVersion: 2*n.creates - kids,
		EphemeralOwner: n.owner, NumChildren: kids}
}

// tree is one copy of the data. Executing the same requests in the same order
// gives the same tree and the same results on every copy.
type tree struct {
	nodes map[string]*node // for lookup only
	// ephemerals lists a session's nodes in the order of their creation.
	ephemerals map[int64][]string
}

// change is one applied operation: what fires watches, makes notes, and can be
// taken back within a multi.
type change struct {
	kind EventType // Created, Deleted, DataChanged
	path string
	node *node
	// oldData and oldMzxid are from before a DataChanged; oldPzxid is the parent's
	// from before a Created or Deleted.
	oldData  []byte
	oldMzxid int64
	oldPzxid int64
	// place is where a deleted ephemeral stood among those of its session.
	place int
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{"/": {}}, ephemerals: map[int64][]string{}}
}

// read executes a plain read.
func (t *tree) read(op *Op) Result {
	n := t.nodes[op.Path]
	if n == nil {
		return Result{Code: NoNode, Path: op.Path}
	}
	r := Result{Path: op.Path, Stat: n.stat()}
	switch op.Type {
	case OpGetData:
		r.Data = n.data
	case OpGetChildren:
		r.Children = slices.Clone(n.children)
	}
	return r
}

// write executes a write or an atomic multi. If an operation fails, nothing is
// changed and changes is empty.
func (t *tree) write(req Request, zxid, session int64) (results []Result, changes []change) {
	results = make([]Result, len(req))
	for i := range req {
		var code Code
		results[i], code, changes = t.apply(&req[i], zxid, session, changes)
		if code != OK {
			t.undo(changes)
			return failed(req, i, code), nil
		}
	}
	return results, changes
}

// failed are the results of a multi whose operation i failed.
func failed(req Request, i int, code Code) []Result {
	results := make([]Result, len(req))
	for j := range results {
		results[j].Path = req[j].Path
		if j > i {
			results[j].Code = RuntimeInconsistency
		}
	}
	results[i].Code = code
	return results
}

func (t *tree) apply(op *Op, zxid, session int64, changes []change) (Result, Code, []change) {
	switch op.Type {
	case OpCreate:
		return t.create(op, zxid, session, changes)
	case OpDelete:
		return t.delete(op, zxid, changes)
	case OpSetData:
		return t.setData(op, zxid, changes)
	case OpCheck:
		_, code := t.versioned(op)
		return Result{Path: op.Path}, code, changes
	}
	return Result{}, BadArguments, changes
}

func (t *tree) create(op *Op, zxid, session int64, changes []change) (Result, Code, []change) {
	path := op.Path
	if !validPath(path, op.Sequential) {
		return Result{}, BadArguments, changes
	}
	parent := t.nodes[parentOf(path)]
	if parent == nil {
		return Result{}, NoNode, changes
	}
	if op.Sequential {
		path = fmt.Sprintf("%s%010d", path, parent.creates)
	}
	if t.nodes[path] != nil {
		return Result{}, NodeExists, changes
	}
	if parent.owner != 0 {
		return Result{}, NoChildrenForEphemerals, changes
	}
	n := &node{data: op.Data, czxid: zxid, mzxid: zxid, pzxid: zxid}
	if op.Ephemeral {
		n.owner = session
	}
	changes = append(changes, change{kind: Created, path: path, node: n, oldPzxid: parent.pzxid})
	t.link(path, n, len(t.ephemerals[n.owner]))
	parent.creates++
	parent.pzxid = zxid
	return Result{Path: path, Stat: n.stat()}, OK, changes
}

func (t *tree) delete(op *Op, zxid int64, changes []change) (Result, Code, []change) {
	n, code := t.versioned(op)
	switch {
	case op.Path == "/":
		code = BadArguments
	case code == OK && len(n.children) > 0:
		code = NotEmpty
	}
	if code != OK {
		return Result{}, code, changes
	}
	parent := t.nodes[parentOf(op.Path)]
	changes = append(changes, change{kind: Deleted, path: op.Path, node: n, oldPzxid: parent.pzxid,
		place: slices.Index(t.ephemerals[n.owner], op.Path)})
	t.unlink(op.Path, n)
	parent.pzxid = zxid
	return Result{Path: op.Path}, OK, changes
}

func (t *tree) setData(op *Op, zxid int64, changes []change) (Result, Code, []change) {
	n, code := t.versioned(op)
	if code != OK {
		return Result{}, code, changes
	}
	changes = append(changes, change{kind: DataChanged, path: op.Path, node: n, oldData: n.data, oldMzxid: n.mzxid})
	n.data, n.mzxid = op.Data, zxid
	n.version++
	return Result{Path: op.Path, Stat: n.stat()}, OK, changes
}

// versioned finds a node and compares its version (Z-5).
func (t *tree) versioned(op *Op) (*node, Code) {
	n := t.nodes[op.Path]
	if n == nil {
		return nil, NoNode
	}
	if op.Version != AnyVersion && op.Version != n.version {
		return nil, BadVersion
	}
	return n, OK
}

// closeSession deletes the session's ephemerals in the order of their creation
// (Z-1). An ephemeral has no children, so none is in the way of another.
func (t *tree) closeSession(zxid, session int64) (changes []change) {
	for _, path := range slices.Clone(t.ephemerals[session]) {
		_, _, changes = t.delete(&Op{Type: OpDelete, Path: path, Version: AnyVersion}, zxid, changes)
	}
	return changes
}

// link puts a node into the tree, an ephemeral at a place of its session's list.
func (t *tree) link(path string, n *node, place int) {
	t.nodes[path] = n
	parent := t.nodes[parentOf(path)]
	parent.children = insertSorted(parent.children, baseOf(path))
	if n.owner != 0 {
		t.ephemerals[n.owner] = slices.Insert(t.ephemerals[n.owner], place, path)
	}
}

func (t *tree) unlink(path string, n *node) {
	delete(t.nodes, path)
	parent := t.nodes[parentOf(path)]
	parent.children = removeSorted(parent.children, baseOf(path))
	if n.owner == 0 {
		return
	}
	left := slices.DeleteFunc(t.ephemerals[n.owner], func(p string) bool { return p == path })
	if len(left) == 0 {
		delete(t.ephemerals, n.owner)
		return
	}
	t.ephemerals[n.owner] = left
}

// undo takes back the changes of a multi, last first.
func (t *tree) undo(changes []change) {
	for i := len(changes) - 1; i >= 0; i-- {
		c := &changes[i]
		switch c.kind {
		case Created:
			t.unlink(c.path, c.node)
			parent := t.nodes[parentOf(c.path)]
			parent.creates--
			parent.pzxid = c.oldPzxid
		case Deleted:
			t.link(c.path, c.node, c.place)
			t.nodes[parentOf(c.path)].pzxid = c.oldPzxid
		case DataChanged:
			c.node.data, c.node.mzxid = c.oldData, c.oldMzxid
			c.node.version--
		}
	}
}

// clone copies the tree; node data is shared, as it is immutable.
func (t *tree) clone() *tree {
	c := newTree()
	c.copyFrom(t, "/")
	return c
}

func (t *tree) copyFrom(from *tree, path string) {
	n := *from.nodes[path]
	n.children = slices.Clone(n.children)
	t.nodes[path] = &n
	if n.owner != 0 {
		t.ephemerals[n.owner] = slices.Clone(from.ephemerals[n.owner])
	}
	for _, name := range n.children {
		t.copyFrom(from, join(path, name))
	}
}

func join(path, name string) string {
	if path == "/" {
		return "/" + name
	}
	return path + "/" + name
}

// validPath refuses relative paths and empty elements; only the prefix of a
// sequential node may end in '/'.
func validPath(path string, sequential bool) bool {
	return len(path) > 1 && path[0] == '/' && !strings.Contains(path, "//") &&
		(sequential || path[len(path)-1] != '/')
}

func insertSorted(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if found {
		return names
	}
	return slices.Insert(names, i, name)
}

func removeSorted(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if !found {
		return names
	}
	return slices.Delete(names, i, i+1)
}
