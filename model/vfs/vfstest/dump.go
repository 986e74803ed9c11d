package vfstest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/vfs"
)

// Entry is one file or directory of a Dump.
type Entry struct {
	Name string // path
	Dir  bool
	Data []byte // whole content; nil for a directory
}

// Dump lists everything below the root, parents before children, the names of
// one directory in bytewise order.
func Dump(fs vfs.FS) ([]Entry, error) { return dump(fs, "", nil) }

func dump(fs vfs.FS, dir string, out []Entry) ([]Entry, error) {
	names, err := fs.List(dir)
	for _, name := range names {
		path := strings.TrimPrefix(dir+"/"+name, "/")
		info, statErr := fs.Stat(path)
		if statErr != nil {
			return out, statErr
		}
		if info.IsDir {
			out, err = dump(fs, path, append(out, Entry{Name: path, Dir: true}))
		} else {
			var data []byte
			data, err = readFile(fs, path, info.Size)
			out = append(out, Entry{Name: path, Data: data})
		}
		if err != nil {
			return out, err
		}
	}
	return out, err
}

func readFile(fs vfs.FS, path string, size int64) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := f.ReadAt(0, int(size))
	if err != nil {
		return nil, err
	}
	return data, f.Close()
}

// Diff describes the first difference of two dumps, or is empty.
func Diff(got, want []Entry) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%s is missing", want[i].Name)
		case i >= len(want):
			return fmt.Sprintf("%s is there and should not be", got[i].Name)
		case got[i].Name != want[i].Name || got[i].Dir != want[i].Dir:
			return fmt.Sprintf("entry %d is %s, want %s", i, got[i].Name, want[i].Name)
		case !bytes.Equal(got[i].Data, want[i].Data):
			return fmt.Sprintf("%s: %s", got[i].Name, diffBytes(got[i].Data, want[i].Data))
		}
	}
	return ""
}

func diffBytes(got, want []byte) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d is %#x, want %#x", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
}
