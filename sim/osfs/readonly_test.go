package osfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
)

func TestReadOnlyReadsAndRefusesTheRest(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewReadOnly(dir)
	f, err := s.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := f.ReadAt(1, 10); string(b) != "bc" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	_, createErr := s.Create("b")
	for verb, err := range map[string]error{
		"create": createErr, "append": f.Append([]byte("x")), "write": f.WriteAt(0, []byte("x")), "truncate": f.Truncate(0),
		"remove": s.Remove("a"), "rename": s.Rename("a", "b"), "mkdir": s.MkdirAll("c"), "syncdir": s.SyncDir(""),
	} {
		if err == nil {
			t.Errorf("%s is not refused", verb)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if names, _ := s.List(""); len(names) != 1 || names[0] != "a" {
		t.Errorf("files are %v", names)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "abc" {
		t.Errorf("a holds %q", b)
	}
	if _, err := s.Open("nothing"); !errors.Is(err, vfs.ErrNotExist) {
		t.Errorf("open of nothing: %v", err)
	}
}
