package overlay

import (
	"bytes"
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

const room = 64 << 20

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLawsOfVFS(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) vfs.FS {
		s, err := New(vfstest.NewMem(), "", room)
		check(t, err)
		return s
	})
}

// base holds d/a, three pages of 'a', beside a file that does not show.
func base(t *testing.T) *vfstest.Mem {
	t.Helper()
	m := vfstest.NewMem()
	check(t, m.MkdirAll("d"))
	for _, name := range []string{"d/a", "b"} {
		f, err := m.Create(name)
		check(t, err)
		check(t, f.Append(bytes.Repeat([]byte("a"), 3*pageSize)))
	}
	return m
}

func TestChangesStayAbove(t *testing.T) {
	m := base(t)
	s, err := New(m, "d", room)
	check(t, err)
	f, err := s.Open("d/a")
	check(t, err)
	want := bytes.Repeat([]byte("a"), 3*pageSize)
	held, err := f.ReadAt(0, len(want))
	check(t, err)

	check(t, f.WriteAt(pageSize-2, []byte("wxyz")))
	copy(want[pageSize-2:], "wxyz")
	same(t, f, want)
	check(t, f.Truncate(2*pageSize+5))
	check(t, f.Truncate(3*pageSize))
	clear(want[2*pageSize+5:])
	same(t, f, want)
	check(t, f.Append([]byte("end")))
	want = append(want, "end"...)
	same(t, f, want)
	if !bytes.Equal(held, bytes.Repeat([]byte("a"), 3*pageSize)) {
		t.Error("bytes that a reader holds have changed")
	}
	check(t, s.Rename("d/a", "d/z"))
	check(t, f.Close())

	below, err := m.Open("d/a")
	check(t, err)
	same(t, below, bytes.Repeat([]byte("a"), 3*pageSize))
	if ok, _ := vfs.Exists(s, "b"); ok {
		t.Error("a file outside of the directory shows")
	}
	if names, _ := s.List("d"); len(names) != 1 || names[0] != "z" {
		t.Errorf("files are %v", names)
	}
}

func same(t *testing.T, f vfs.File, want []byte) {
	t.Helper()
	for _, cut := range []int{0, 1, pageSize - 1, pageSize, 2*pageSize + 3} {
		got, err := f.ReadAt(int64(cut), len(want))
		check(t, err)
		if !bytes.Equal(got, want[cut:]) {
			t.Fatalf("the bytes from %d on differ", cut)
		}
	}
}

func TestALongFileCostsWhatWasWritten(t *testing.T) {
	s, err := New(vfstest.NewMem(), "", 2*pageSize)
	check(t, err)
	f, err := s.Create("f")
	check(t, err)
	check(t, f.Truncate(1<<40))
	check(t, f.WriteAt(1<<39, []byte("x")))
	if s.Used() != pageSize {
		t.Errorf("%d bytes are used", s.Used())
	}
	if err := f.WriteAt(0, make([]byte, 3*pageSize)); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("writing beyond the limit: %v", err)
	}
	check(t, f.Truncate(0))
	if s.Used() != 0 {
		t.Errorf("%d bytes are used by an empty file", s.Used())
	}
}

func TestTrackerFollowsFiles(t *testing.T) {
	s, err := New(base(t), "", room)
	check(t, err)
	tracker := s.Track("")
	f, err := s.Open("d/a")
	check(t, err)
	check(t, f.Truncate(10))
	check(t, f.Truncate(20))
	check(t, s.Rename("d/a", "d/a.deleted"))
	check(t, s.Remove("b"))
	got := map[string]State{}
	tracker.Each(func(path string, now State) { got[path] = now })
	if want := (State{Path: "d/a.deleted", Size: 20, Intact: 10, Shrunk: true, Changed: true}); got["d/a"] != want {
		t.Errorf("d/a: %+v, want %+v", got["d/a"], want)
	}
	if got["b"].Path != "" {
		t.Errorf("b: %+v, want it gone", got["b"])
	}
}
