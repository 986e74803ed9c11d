package vfstest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/simkafka/simkafka/model/vfs"
)

// Kind is the call that an Op makes.
type Kind uint8

// The calls of vfs.FS and vfs.File.
const (
	Create Kind = iota
	Open
	Remove
	Rename
	MkdirAll
	List
	Stat
	SyncDir
	ReadAt
	Append
	WriteAt
	Truncate
	Sync
	Close
	Kinds // their number
)

var kindNames = [Kinds]string{
	"create", "open", "remove", "rename", "mkdir", "list", "stat", "syncdir",
	"read", "append", "write", "truncate", "sync", "close",
}

// Op is one call, as data. File calls use the handle in slot Slot; Create and
// Open put their handle there.
type Op struct {
	Kind Kind
	Name string // also the old name of Rename
	New  string
	Slot int
	Pos  int64 // also the size of Truncate
	Size int
	Fill byte // first byte written; the next ones count up
}

func (o Op) String() string {
	switch {
	case o.Kind == Rename:
		return fmt.Sprintf("rename %s %s", o.Name, o.New)
	case o.Kind < ReadAt:
		return fmt.Sprintf("%s %q slot %d", kindNames[o.Kind], o.Name, o.Slot)
	}
	return fmt.Sprintf("%s slot %d pos %d size %d fill %d", kindNames[o.Kind], o.Slot, o.Pos, o.Size, o.Fill)
}

// Slots is the number of handles that a Machine keeps.
const Slots = 6

// Machine applies Ops to one file system.
type Machine struct {
	fs    vfs.FS
	slots [Slots]vfs.File
}

// NewMachine drives fs.
func NewMachine(fs vfs.FS) *Machine { return &Machine{fs: fs} }

// Forget drops all handles, as a dying process does.
func (m *Machine) Forget() { m.slots = [Slots]vfs.File{} }

// Do makes the call and describes its outcome, so that two implementations can
// be compared.
func (m *Machine) Do(o Op) string {
	if o.Kind >= ReadAt {
		return m.doFile(o)
	}
	switch o.Kind {
	case Create, Open:
		f, err := m.open(o)
		if err == nil {
			m.slots[o.Slot] = f
		}
		return outcome(err)
	case Remove:
		return outcome(m.fs.Remove(o.Name))
	case Rename:
		return outcome(m.fs.Rename(o.Name, o.New))
	case MkdirAll:
		return outcome(m.fs.MkdirAll(o.Name))
	case List:
		names, err := m.fs.List(o.Name)
		return strings.Join(names, " ") + " " + outcome(err)
	case Stat:
		info, err := m.fs.Stat(o.Name)
		return fmt.Sprint(info.Size, info.IsDir, outcome(err))
	}
	return outcome(m.fs.SyncDir(o.Name))
}

func (m *Machine) open(o Op) (vfs.File, error) {
	if o.Kind == Create {
		return m.fs.Create(o.Name)
	}
	return m.fs.Open(o.Name)
}

func (m *Machine) doFile(o Op) string {
	f := m.slots[o.Slot]
	if f == nil {
		return "no handle"
	}
	var err error
	var got []byte
	switch o.Kind {
	case ReadAt:
		got, err = f.ReadAt(o.Pos, o.Size)
	case Append:
		err = f.Append(Bytes(o.Size, o.Fill))
	case WriteAt:
		err = f.WriteAt(o.Pos, Bytes(o.Size, o.Fill))
	case Truncate:
		err = f.Truncate(o.Pos)
	case Sync:
		err = f.Sync()
	case Close:
		err = f.Close()
	}
	if errors.Is(err, vfs.ErrClosed) {
		return outcome(err)
	}
	return fmt.Sprintf("%d bytes %08x, size %d, %s", len(got), crc32.ChecksumIEEE(got), f.Size(), outcome(err))
}

// Bytes is n bytes counting up from first.
func Bytes(n int, first byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

// outcome names the sentinel, so that texts may differ.
func outcome(err error) string {
	for _, s := range []error{vfs.ErrNotExist, vfs.ErrExist, vfs.ErrIsDir, vfs.ErrNotEmpty, vfs.ErrIO, vfs.ErrNoSpace, vfs.ErrClosed, vfs.ErrCrashed} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	if err != nil {
		return "error"
	}
	return "ok"
}
