package zookeeper

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/step"
)

// watchTable holds the one-shot watches of one kind at one endpoint: paths in
// order, each with the connections that wait, in the order of their asking.
type watchTable struct{ entries []watchEntry }

type watchEntry struct {
	path  string
	conns []step.ConnID
}

func (w *watchTable) find(path string) (int, bool) {
	return slices.BinarySearchFunc(w.entries, path, func(e watchEntry, p string) int { return strings.Compare(e.path, p) })
}

// add leaves a watch; a second one of the same connection is the same watch.
func (w *watchTable) add(path string, c step.ConnID) {
	i, found := w.find(path)
	if !found {
		w.entries = slices.Insert(w.entries, i, watchEntry{path: path})
	}
	if e := &w.entries[i]; !slices.Contains(e.conns, c) {
		e.conns = append(e.conns, c)
	}
}

// take removes the watches of a path and returns who waited.
func (w *watchTable) take(path string) []step.ConnID {
	i, found := w.find(path)
	if !found {
		return nil
	}
	conns := w.entries[i].conns
	w.entries = slices.Delete(w.entries, i, i+1)
	return conns
}

// drop forgets a connection that is gone.
func (w *watchTable) drop(c step.ConnID) {
	w.entries = slices.DeleteFunc(w.entries, func(e watchEntry) bool {
		return len(e.conns) == 1 && e.conns[0] == c
	})
	for i := range w.entries {
		e := &w.entries[i]
		if at := slices.Index(e.conns, c); at >= 0 {
			e.conns = slices.Delete(e.conns, at, at+1)
		}
	}
}

// fire pushes the events of one change (Z-5). A connection that watches a deleted
// node both for data and for children hears of it once.
func (v *view) fire(out *step.Effects, ch *change) {
	data := v.data.take(ch.path)
	push(out, data, ch.kind, ch.path)
	if ch.kind == DataChanged {
		return
	}
	if ch.kind == Deleted {
		both := v.child.take(ch.path)
		push(out, slices.DeleteFunc(both, func(c step.ConnID) bool { return slices.Contains(data, c) }), Deleted, ch.path)
	}
	parent := parentOf(ch.path)
	push(out, v.child.take(parent), ChildrenChanged, parent)
}

func push(out *step.Effects, conns []step.ConnID, t EventType, path string) {
	if len(conns) == 0 {
		return
	}
	ev := &WatchEvent{Type: t, Path: path}
	for _, c := range conns {
		out.Push(c, ev)
	}
}

// watch leaves the watch of a read that was executed with result r. A read of a
// node that is not there leaves one only with exists.
func (v *view) watch(op *Op, r *Result, c step.ConnID) {
	if !op.Watch {
		return
	}
	switch {
	case op.Type == OpExists || op.Type == OpGetData && r.Code == OK:
		v.data.add(op.Path, c)
	case op.Type == OpGetChildren && r.Code == OK:
		v.child.add(op.Path, c)
	}
}

// setWatches restores watches: nodes that changed after the client's last zxid
// fire at once (Z-4).
func (v *view) setWatches(out *step.Effects, m *SetWatchesRequest, c step.ConnID) {
	one := []step.ConnID{c}
	for _, p := range m.Data {
		switch n := v.tree.nodes[p]; {
		case n == nil:
			push(out, one, Deleted, p)
		case n.mzxid > m.Zxid:
			push(out, one, DataChanged, p)
		default:
			v.data.add(p, c)
		}
	}
	for _, p := range m.Exists {
		if v.tree.nodes[p] != nil {
			push(out, one, Created, p)
		} else {
			v.data.add(p, c)
		}
	}
	for _, p := range m.Child {
		switch n := v.tree.nodes[p]; {
		case n == nil:
			push(out, one, Deleted, p)
		case n.pzxid > m.Zxid:
			push(out, one, ChildrenChanged, p)
		default:
			v.child.add(p, c)
		}
	}
}
