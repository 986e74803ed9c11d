package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dump prints a tree in full.
func dump(t *tree) string {
	var sb strings.Builder
	var walk func(string)
	walk = func(path string) {
		n := t.nodes[path]
		fmt.Fprintf(&sb, "%s %q v%d c%d/%d z%d m%d p%d owner %d\n", path, n.data, n.version, n.creates, len(n.children), n.czxid, n.mzxid, n.pzxid, n.owner)
		for _, k := range n.children {
			walk(join(path, k))
		}
	}
	walk("/")
	fmt.Fprintf(&sb, "%d nodes, ephemerals %v\n", len(t.nodes), t.ephemerals)
	return sb.String()
}

func drawOp(t *rapid.T) Op {
	path := rapid.SampledFrom([]string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/", "/c"}).Draw(t, "path")
	return Op{
		Type:       rapid.SampledFrom([]OpType{OpCreate, OpCreate, OpDelete, OpSetData, OpCheck}).Draw(t, "type"),
		Path:       path,
		Data:       []byte(rapid.StringMatching("[xyz]?").Draw(t, "data")),
		Version:    rapid.Int32Range(-1, 2).Draw(t, "version"),
		Ephemeral:  rapid.IntRange(0, 3).Draw(t, "ephemeral") == 0,
		Sequential: rapid.IntRange(0, 3).Draw(t, "sequential") == 0,
	}
}

// The twin of a multi applies the operations one by one to a copy and keeps the
// copy only if all went well.
func TestMultiAgreesWithItsTwinOnACopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, replica := newTree(), newTree()
		for zxid := int64(1); zxid <= 12; zxid++ {
			session := int64(rapid.IntRange(1, 2).Draw(t, "session"))
			if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
				checkEnd(t, tr, zxid, session)
				replica.closeSession(zxid, session)
				continue
			}
			req := Request(rapid.SliceOfN(rapid.Custom(drawOp), 1, 5).Draw(t, "ops"))
			twin := tr.clone()
			want := OK
			for _, op := range req {
				if rs, _ := twin.write(Request{op}, zxid, session); rs[0].Code != OK {
					want = rs[0].Code
					twin = tr.clone()
					break
				}
			}
			results, changes := tr.write(req, zxid, session)
			if Outcome(results) != want || dump(tr) != dump(twin) {
				t.Fatalf("%v: %v, want %v\n%swant\n%s", req, Outcome(results), want, dump(tr), dump(twin))
			}
			if want != OK && len(changes) > 0 {
				t.Fatalf("changes of a failed multi: %v", changes)
			}
			again, _ := replica.write(req, zxid, session)
			if fmt.Sprint(again) != fmt.Sprint(results) || dump(replica) != dump(tr) {
				t.Fatalf("a replica differs:\n%s\n%s", dump(replica), dump(tr))
			}
		}
	})
}

func checkEnd(t *rapid.T, tr *tree, zxid, session int64) {
	want := slices.Clone(tr.ephemerals[session])
	var got []string
	for _, c := range tr.closeSession(zxid, session) {
		got = append(got, c.path)
	}
	if !slices.Equal(got, want) || len(tr.ephemerals[session]) != 0 {
		t.Fatalf("end of session %d deleted %v, want %v", session, got, want)
	}
}

func TestWatchTableForgetsAConnection(t *testing.T) {
	var w watchTable
	w.add("/b", 1)
	w.add("/a", 1)
	w.add("/a", 2)
	w.add("/a", 1)
	w.drop(1)
	eq(t, "a", fmt.Sprint(w.take("/a")), "[2]")
	eq(t, "b", fmt.Sprint(w.take("/b"), len(w.entries)), "[] 0")
}
