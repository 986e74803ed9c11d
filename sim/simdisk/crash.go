package simdisk

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// CrashKind is how a process dies.
type CrashKind uint8

const (
	// Kill ends the process; page cache and device live on (P1).
	Kill CrashKind = iota
	// PowerLoss ends the node: unsynced changes survive, are lost or are torn,
	// as drawn (P2, D6 to D8, D10 to D14). The page cache is cold afterwards.
	PowerLoss
)

// Crash makes the disk what the next boot finds. Handles become stale, flushes
// under way never complete, the disk is usable again. now is when it struck.
func (d *Disk) Crash(kind CrashKind, now kafka.Nanos) {
	d.now, d.elapsed, d.crashAt = max(d.now, now), 0, kafka.Forever
	if kind == PowerLoss {
		d.install(d.image(&drawn{d}))
		d.busyUntil = 0
	}
	d.boot++
	d.inStep, d.dead = false, false
	d.flushes = nil
}

// Wipe replaces the disk by an empty one of the same kind (D30). Handles become
// stale.
func (d *Disk) Wipe() {
	d.install(&directory{})
	d.boot++
	d.flushes = nil
}

// Rot changes one stored byte by a mask, unnoticed: in the page cache and on
// the device, except where a later unsynced write will overwrite it (D21). It
// reports whether there was a byte to change; holes have none.
func (d *Disk) Rot(name string, pos int64, mask byte) bool {
	dir, base := d.split(name)
	if dir == nil {
		return false
	}
	f, _ := dir.has(base)
	if f == nil || !f.live.flip(pos, mask) {
		return false
	}
	if f.vol != nil && f.vol.base != nil {
		f.vol.base.flip(pos, mask)
	}
	return true
}

func (d *Disk) install(root *directory) {
	d.root, d.last = root, located{}
	d.used = root.allocated()
	d.agingFiles, d.agingDirs = queue[*file]{}, queue[*directory]{}
}

func (dir *directory) allocated() (n int64) {
	for _, f := range dir.files {
		n += f.live.allocated()
	}
	for _, sub := range dir.dirs {
		n += sub.allocated()
	}
	return n
}

// chooser makes the decisions of a crash image.
type chooser interface {
	// choose picks one of n for decision number decision about change number
	// counter of the file or directory at path.
	choose(stream uint64, path string, counter uint32, decision uint8, n int) int
	// seldom is true rarely, where a state is possible but not likely.
	seldom(stream uint64, path string, counter uint32, decision uint8) bool
	// cut picks how many of a directory's changes, oldest first, survive.
	cut(path string, ops []dirOp) int
}

// drawn decides by draws.
type drawn struct{ *Disk }

func (d *drawn) choose(stream uint64, path string, counter uint32, decision uint8, n int) int {
	return int(d.below(path, d.key(stream, counter, decision), uint64(n)))
}

func (d *drawn) seldom(stream uint64, path string, counter uint32, decision uint8) bool {
	return d.choose(stream, path, counter, decision, 8) == 0
}

// cut draws the moment of the last journal commit rather than a count, so that
// a change to an unrelated entry of the directory does not move it. Its distance
// from the crash has a uniform number of bits: microseconds matter as much as
// seconds. The newest directory changes survive about one time in three.
func (d *drawn) cut(path string, ops []dirOp) int {
	const maxBits = 34 // 8 s in nanoseconds, beyond any journal interval
	bits := d.choose(drawDirImage, path, 0, 0, maxBits)
	distance := kafka.Nanos(1) << bits >> 1 // 0 keeps everything
	distance += kafka.Nanos(d.below(path, d.key(drawDirImage, 0, 1), uint64(distance)))
	n := 0
	for n < len(ops) && d.now-ops[n].time >= distance {
		n++
	}
	return n
}

// image builds what a power loss leaves. The disk itself keeps its state.
func (d *Disk) image(c chooser) *directory { return d.imageDir(d.root, "", c) }

func (d *Disk) imageDir(dir *directory, path string, c chooser) *directory {
	out := &directory{name: dir.name, changes: dir.changes}
	for _, e := range d.survivingEntries(dir, path, c) {
		at := strings.TrimPrefix(path+"/"+e.name, "/")
		if e.file != nil {
			f := d.choosingImage(e.file, at, c)
			f.name = e.name
			out.files = append(out.files, f)
		} else {
			sub := d.imageDir(e.dir, at, c)
			sub.name = e.name
			out.dirs = append(out.dirs, sub)
		}
	}
	return out
}

func (d *Disk) choosingImage(f *file, path string, c chooser) *file {
	if e, ok := c.(*enumerator); ok {
		return e.image(f, path)
	}
	return d.imageFile(f, path, c)
}

// entry is a name in a directory, while an image is built.
type entry struct {
	name string
	file *file
	dir  *directory
}

// survivingEntries is sorted by name.
func (d *Disk) survivingEntries(dir *directory, path string, c chooser) []entry {
	d.journal(dir, d.now)
	var list entries
	for _, f := range dir.files {
		list = append(list, entry{f.name, f, nil})
	}
	for _, sub := range dir.dirs {
		list = append(list, entry{sub.name, nil, sub})
	}
	if dir.pending != nil {
		ops := dir.pending.ops
		survives := d.survivors(ops, path, c)
		first := slices.Index(survives, false)
		if first >= 0 {
			for i := len(ops) - 1; i >= first; i-- {
				list.undo(&ops[i])
			}
			for i := first; i < len(ops); i++ {
				if survives[i] {
					list.redo(&ops[i])
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list
}

// survivors decides which directory changes are durable.
func (d *Disk) survivors(ops []dirOp, path string, c chooser) []bool {
	survives := make([]bool, len(ops))
	if d.config.Personality != PosixMinimum {
		for i := range c.cut(path, ops) {
			survives[i] = true
		}
		return survives
	}
	for i := range ops {
		rank, possible := uint32(0), true // among the changes that share a name
		for j := range i {
			if ops[i].touches(&ops[j]) {
				rank++
				possible = possible && survives[j]
			}
		}
		survives[i] = possible && c.choose(drawDirImage, path+"/"+ops[i].name, rank, 0, 2) == 1
	}
	return survives
}

// touches reports whether two changes share a name; the later then depends on
// the earlier.
func (a *dirOp) touches(b *dirOp) bool {
	return a.name == b.name || a.name == b.newName || a.newName != "" && (a.newName == b.name || a.newName == b.newName)
}

type entries []entry

func (l *entries) remove(name string) {
	i := slices.IndexFunc(*l, func(e entry) bool { return e.name == name })
	*l = slices.Delete(*l, i, i+1)
}

func (l *entries) add(name string, f *file, dir *directory) {
	*l = append(*l, entry{name, f, dir})
}

func (l *entries) undo(op *dirOp) {
	switch op.kind {
	case dirCreate:
		l.remove(op.name)
	case dirRemove:
		l.add(op.name, op.file, op.dir)
	case dirRename:
		l.remove(op.newName)
		l.add(op.name, op.file, op.dir)
		if op.replaced != nil {
			l.add(op.newName, op.replaced, nil)
		}
	}
}

func (l *entries) redo(op *dirOp) {
	switch op.kind {
	case dirCreate:
		l.add(op.name, op.file, op.dir)
	case dirRemove:
		l.remove(op.name)
	case dirRename:
		if op.replaced != nil {
			l.remove(op.newName)
		}
		l.remove(op.name)
		l.add(op.newName, op.file, op.dir)
	}
}
