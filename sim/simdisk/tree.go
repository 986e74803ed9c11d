package simdisk

import (
	"errors"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// directory holds its entries in bytewise order of name. Kept small: a broker
// has one per replica.
type directory struct {
	name    string
	files   []*file
	dirs    []*directory
	pending *dirPending // nil when all entries are durable
	changes uint32      // changes ever made to the entries
	queued  bool        // in the aging queue
	near    uint16      // where the last file was looked for
}

var errIntoItself = errors.New("cannot move a directory into itself")

// pathError says which operation on which path failed. Programs look for files that
// are not there, and only few want to read about it.
type pathError struct {
	verb, name string
	err        error
}

func (e *pathError) Error() string { return e.verb + " " + e.name + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// renameError is pathError of a rename.
type renameError struct {
	old, new string
	err      error
}

func (e *renameError) Error() string {
	return "rename " + e.old + " to " + e.new + ": " + e.err.Error()
}
func (e *renameError) Unwrap() error { return e.err }

func opError(verb, name string, err error) error { return &pathError{verb, name, err} }

// findFile looks first where the last one was: a name is looked for several times
// before a file of it is made or removed.
func (dir *directory) findFile(name string) (int, bool) {
	files := dir.files
	i := int(dir.near)
	if i > len(files) || i > 0 && files[i-1].name >= name || i < len(files) && files[i].name < name {
		i, _ = slices.BinarySearchFunc(files, name, func(f *file, n string) int { return strings.Compare(f.name, n) })
		dir.near = uint16(i)
	}
	return i, i < len(files) && files[i].name == name
}

func (dir *directory) findDir(name string) (int, bool) {
	return slices.BinarySearchFunc(dir.dirs, name, func(d *directory, n string) int { return strings.Compare(d.name, n) })
}

func (dir *directory) addFile(f *file) {
	i, _ := dir.findFile(f.name)
	dir.files = slices.Insert(dir.files, i, f)
}

func (dir *directory) addDir(sub *directory) {
	i, _ := dir.findDir(sub.name)
	dir.dirs = slices.Insert(dir.dirs, i, sub)
}

// lookup finds the directory at a path; "" is the root. Mostly it is the one that was
// looked up last.
func (d *Disk) lookup(path string) *directory {
	if d.last.dir != nil && path == d.last.path {
		return d.last.dir
	}
	dir := d.root
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		i, ok := dir.findDir(name)
		if !ok {
			return nil
		}
		dir = dir.dirs[i]
	}
	d.last = located{path, dir}
	return dir
}

// located is the last directory that was looked up; nil after one was removed or moved.
type located struct {
	path string
	dir  *directory
}

// split finds the directory of a path, nil if absent, and the last component.
func (d *Disk) split(path string) (*directory, string) {
	if base, ok := strings.CutPrefix(path, d.last.path); ok && d.last.dir != nil && len(base) > 0 && base[0] == '/' {
		if base = base[1:]; strings.IndexByte(base, '/') < 0 {
			return d.last.dir, base
		}
	}
	i := strings.LastIndexByte(path, '/')
	return d.lookup(path[:max(i, 0)]), path[i+1:]
}

// has reports what stands at a name.
func (dir *directory) has(name string) (f *file, sub *directory) {
	if i, ok := dir.findFile(name); ok {
		return dir.files[i], nil
	}
	if i, ok := dir.findDir(name); ok {
		return nil, dir.dirs[i]
	}
	return nil, nil
}

var metadataSites = [opKinds]point.Site{OpCreate: point.DiskCreate, OpRemove: point.DiskRemove, OpRename: point.DiskRename}

// metadata runs a call that changes the tree: admitted, priced, then done.
func (d *Disk) metadata(kind OpKind, name string, do func() error) error {
	v := d.enter(kind, metadataSites[kind], name, 0, 0)
	if v.err == nil {
		v.err = d.charge(d.config.Profile.Metadata)
	}
	if v.err == nil {
		v.err = do()
	}
	return v.result()
}

// Create implements vfs.FS.
func (d *Disk) Create(name string) (vfs.File, error) {
	var f *file
	err := d.metadata(OpCreate, name, func() (err error) {
		f, err = d.create(name)
		return err
	})
	if err != nil {
		return nil, opError("create", name, err)
	}
	return d.handle(f, name), nil
}

func (d *Disk) create(name string) (*file, error) {
	dir, base := d.split(name)
	if dir == nil {
		return nil, vfs.ErrNotExist
	}
	f, sub := dir.has(base)
	switch {
	case sub != nil || name == "":
		return nil, vfs.ErrIsDir
	case f != nil:
		d.truncateFile(f, 0)
		return f, nil
	}
	f = &file{name: d.names.intern(base), modTime: d.wallClock(), linked: true}
	dir.addFile(f)
	d.changed(dir, dirOp{kind: dirCreate, name: f.name, file: f})
	return f, nil
}

// Open implements vfs.FS.
func (d *Disk) Open(name string) (vfs.File, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, opError("open", name, err)
	}
	return d.handle(f, name), nil
}

func (d *Disk) open(name string) (*file, error) {
	if err := d.peek(); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, vfs.ErrIsDir
	}
	dir, base := d.split(name)
	if dir == nil {
		return nil, vfs.ErrNotExist
	}
	f, sub := dir.has(base)
	switch {
	case sub != nil:
		return nil, vfs.ErrIsDir
	case f == nil:
		return nil, vfs.ErrNotExist
	}
	return f, nil
}

// peek prices the calls that change nothing and that no fault strikes.
func (d *Disk) peek() error {
	if d.dead {
		return vfs.ErrCrashed
	}
	return d.charge(d.config.Profile.Metadata)
}

// Remove implements vfs.FS.
func (d *Disk) Remove(name string) error {
	if err := d.metadata(OpRemove, name, func() error { return d.remove(name) }); err != nil {
		return opError("remove", name, err)
	}
	return nil
}

func (d *Disk) remove(name string) error {
	dir, base := d.split(name)
	if dir == nil || name == "" {
		return vfs.ErrNotExist
	}
	f, sub := dir.has(base)
	switch {
	case f != nil:
		dir.unlinkFile(base)
		d.unlinked(f)
		d.changed(dir, dirOp{kind: dirRemove, name: f.name, file: f})
	case sub == nil:
		return vfs.ErrNotExist
	case len(sub.files)+len(sub.dirs) > 0:
		return vfs.ErrNotEmpty
	default:
		dir.unlinkDir(base)
		d.last = located{}
		d.changed(dir, dirOp{kind: dirRemove, name: sub.name, dir: sub})
	}
	return nil
}

func (dir *directory) unlinkFile(name string) {
	i, _ := dir.findFile(name)
	dir.files = slices.Delete(dir.files, i, i+1)
}

func (dir *directory) unlinkDir(name string) {
	i, _ := dir.findDir(name)
	dir.dirs = slices.Delete(dir.dirs, i, i+1)
}

// unlinked gives the file's space back, as if no handle held it.
func (d *Disk) unlinked(f *file) {
	f.linked = false
	d.used -= f.live.allocated()
}

// Rename implements vfs.FS. A directory never replaces anything.
func (d *Disk) Rename(old, new string) error {
	if err := d.metadata(OpRename, old, func() error { return d.rename(old, new) }); err != nil {
		return &renameError{old, new, err}
	}
	return nil
}

func (d *Disk) rename(old, new string) error {
	from, oldBase := d.split(old)
	to, newBase := d.split(new)
	if from == nil || to == nil || old == "" {
		return vfs.ErrNotExist
	}
	f, sub := from.has(oldBase)
	replaced, taken := to.has(newBase)
	switch {
	case f == nil && sub == nil:
		return vfs.ErrNotExist
	case old == new:
		return nil
	case new == "" || taken != nil || sub != nil && replaced != nil:
		return vfs.ErrExist
	case sub != nil && strings.HasPrefix(new, old+"/"):
		return errIntoItself
	}
	op := dirOp{kind: dirRename, name: d.names.intern(oldBase), newName: d.names.intern(newBase), file: f, dir: sub, replaced: replaced}
	if replaced != nil {
		to.unlinkFile(newBase)
		d.unlinked(replaced)
	}
	if f != nil {
		from.unlinkFile(oldBase)
		f.name = op.newName
		to.addFile(f)
	} else {
		from.unlinkDir(oldBase)
		d.last = located{}
		sub.name = op.newName
		to.addDir(sub)
	}
	if from != to {
		from.pending, to.pending = nil, nil // one transaction commits both
		return nil
	}
	d.changed(from, op)
	return nil
}

// MkdirAll implements vfs.FS.
func (d *Disk) MkdirAll(name string) error {
	if err := d.metadata(OpCreate, name, func() error { return d.mkdirAll(name) }); err != nil {
		return opError("mkdir", name, err)
	}
	return nil
}

func (d *Disk) mkdirAll(name string) error {
	dir := d.root
	for name != "" {
		var base string
		base, name, _ = strings.Cut(name, "/")
		f, sub := dir.has(base)
		if f != nil {
			return vfs.ErrExist
		}
		if sub == nil {
			sub = &directory{name: strings.Clone(base)} // rarely shared, unlike file names
			dir.addDir(sub)
			d.changed(dir, dirOp{kind: dirCreate, name: sub.name, dir: sub})
		}
		dir = sub
	}
	return nil
}

// List implements vfs.FS.
func (d *Disk) List(name string) ([]string, error) {
	err := d.peek()
	dir := d.lookup(name)
	if err == nil && dir == nil {
		err = vfs.ErrNotExist
	}
	if err != nil {
		return nil, opError("list", name, err)
	}
	names := make([]string, 0, len(dir.files)+len(dir.dirs))
	for _, f := range dir.files {
		names = append(names, f.name)
	}
	for _, sub := range dir.dirs {
		names = append(names, sub.name)
	}
	slices.Sort(names)
	return names, nil
}

// Stat implements vfs.FS. A directory has size and time 0.
func (d *Disk) Stat(name string) (vfs.Info, error) {
	f, err := d.open(name)
	switch {
	case err == nil:
		return vfs.Info{Size: f.live.size, ModTime: f.modTime}, nil
	case errors.Is(err, vfs.ErrIsDir):
		return vfs.Info{IsDir: true}, nil
	}
	return vfs.Info{}, opError("stat", name, err)
}

// SetModTime implements vfs.ModTimer. It is free, like Stat, and durable at once: the
// file was synced just before.
func (d *Disk) SetModTime(name string, t kafka.TimestampMs) error {
	f, err := d.open(name)
	if err != nil {
		return opError("set time of", name, err)
	}
	f.modTime = t
	return nil
}

// SyncDir implements vfs.FS.
func (d *Disk) SyncDir(name string) error {
	if err := d.syncDir(name); err != nil {
		return opError("syncdir", name, err)
	}
	return nil
}

func (d *Disk) syncDir(name string) error {
	v := d.enter(OpSyncDir, point.DiskSyncDir, name, 0, 0)
	dir := d.lookup(name)
	switch {
	case v.err != nil:
		return v.err
	case dir == nil:
		return vfs.ErrNotExist
	}
	if err := d.device(d.syncPrice(name, dir.changes, 0)); err != nil {
		return err
	}
	d.stats.DirSyncs++
	if !v.lie {
		d.commitDir(dir, dir.changes)
	}
	return v.result()
}
