package simdisk

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// change is one change to a file that may not be durable yet: a write of data
// at pos, or, when data is nil, a truncation to size pos.
type change struct {
	pos  int64
	time kafka.Nanos
	data []byte
}

// volatile is what a power loss can undo: the durable content and the changes
// since, in order. The last of them has number file.changes-1.
//
// While all changes only extend the file, the durable content is what live
// holds below baseSize, and base is nil. The first change inside the file
// copies the list of extents to own, which base is from then on.
type volatile struct {
	base     *content
	own      content
	baseSize int64
	ops      []change
	diverged bool // base lacks bytes that no change in ops will bring (D16)
	sealed   bool // the last change belongs to a flush or must stand alone
}

// mergeWithin is how long small writes that follow each other count as one
// change.
const mergeWithin = kafka.Second

// writeFile changes the live content and logs the change.
func (d *Disk) writeFile(f *file, pos int64, b []byte) {
	d.foldWrite(f.name, pos, b)
	v := d.makeVolatile(f)
	if pos < f.live.size {
		v.ownBase(f)
	}
	grown, kept := f.live.write(pos, b)
	if f.linked {
		d.used += grown
	}
	f.modTime = d.wallClock()
	d.cache.store(f, pos, len(b))
	if !v.merge(f, pos, len(b), d.time()) {
		d.log(f, change{pos, d.time(), kept})
	}
}

func (d *Disk) truncateFile(f *file, size int64) {
	if size == f.live.size {
		return
	}
	d.fold(f.name, size, -1, 0)
	v := d.makeVolatile(f)
	if size < f.live.size {
		v.ownBase(f)
	}
	freed := f.live.truncate(size)
	if f.linked {
		d.used -= freed
	}
	f.modTime = d.wallClock()
	d.log(f, change{pos: size, time: d.time()})
}

func (d *Disk) makeVolatile(f *file) *volatile {
	if f.vol != nil {
		return f.vol
	}
	if n := len(d.spare); n > 0 {
		f.vol, d.spare = d.spare[n-1], d.spare[:n-1]
	} else {
		f.vol = new(volatile)
	}
	*f.vol = volatile{baseSize: f.live.size, sealed: true, ops: f.vol.ops}
	return f.vol
}

// maxSpare and maxSpareOps bound what is kept for reuse.
const (
	maxSpare    = 16
	maxSpareOps = 64
)

// durable: nothing of the file is volatile any more.
func (d *Disk) durable(f *file) {
	v := f.vol
	f.vol = nil
	if cap(v.ops) <= maxSpareOps && len(d.spare) < maxSpare {
		clear(v.ops)
		*v = volatile{ops: v.ops[:0]}
		d.spare = append(d.spare, v)
	}
}

// ownBase makes the durable content independent of live, which is about to
// change inside.
func (v *volatile) ownBase(f *file) {
	if v.base == nil {
		v.own = f.live.clone(v.baseSize)
		v.base = &v.own
	}
}

// merge extends the last change by a small write of n bytes that followed it in
// the same tail buffer, and reports whether it could.
func (v *volatile) merge(f *file, pos int64, n int, now kafka.Nanos) bool {
	if v.sealed || n >= smallWrite || len(v.ops) == 0 {
		return false
	}
	last := &v.ops[len(v.ops)-1]
	if last.data == nil || last.pos+int64(len(last.data)) != pos || now-last.time > mergeWithin {
		return false
	}
	e := &f.live.extents[f.live.after(pos)]
	if e.pos > last.pos {
		return false
	}
	end := pos + int64(n) - e.pos
	last.data = e.data[last.pos-e.pos : end : end]
	return true
}

func (d *Disk) log(f *file, c change) {
	f.changes++
	f.vol.ops = append(f.vol.ops, c)
	f.vol.sealed = false
	if len(f.vol.ops)&63 == 0 {
		d.writeBack(f, d.time()) // bounds the list of a file that is never idle
	}
	if !f.queued {
		f.queued = true
		d.agingFiles.push(f, add(d.time(), d.config.WritebackAge))
	}
}

// dirtyBytes is what a sync has to write.
func (f *file) dirtyBytes() (n int64) {
	if f.vol == nil {
		return 0
	}
	for i := range f.vol.ops {
		n += int64(len(f.vol.ops[i].data))
	}
	return n
}

// report moves the error of a failed sync to the next one, where the file system does
// so (D17).
func (d *Disk) report(f *file, v *verdict) {
	switch {
	case d.config.Personality != Ext4Journal:
	case v.drop:
		v.err, f.late = nil, true
	case f.late && v.err == nil:
		v.err, f.late = vfs.ErrIO, false
	}
}

// settle ends a sync or flush of the changes with numbers below upTo, as the
// verdict says.
func (d *Disk) settle(f *file, upTo uint32, v verdict) {
	if f.vol == nil {
		return
	}
	n := len(f.vol.ops) - int(f.changes-upTo)
	switch {
	case v.drop:
		f.drop(n)
		if d.config.Personality == Btrfs {
			d.revert(f)
		}
	case v.err == nil && !v.lie:
		d.commit(f, n)
	}
}

// commit makes the first n changes durable.
func (d *Disk) commit(f *file, n int) {
	v := f.vol
	if n == len(v.ops) && !v.diverged {
		d.durable(f)
		return
	}
	for i := range max(n, 0) {
		v.apply(&v.ops[i])
	}
	v.forget(n)
}

func (v *volatile) apply(c *change) {
	switch {
	case v.base != nil && c.data == nil:
		v.base.truncate(c.pos)
	case v.base != nil:
		v.base.write(c.pos, c.data)
	default:
		v.baseSize = max(v.baseSize, c.pos+int64(len(c.data)))
	}
}

// drop forgets the first n changes without making them durable.
func (f *file) drop(n int) {
	if n <= 0 {
		return
	}
	f.vol.ownBase(f)
	f.vol.diverged = true
	f.vol.forget(n)
}

// revert makes a file what is durable of it and forgets what was written since.
func (d *Disk) revert(f *file) {
	if f.vol.base == nil {
		return
	}
	was := f.live.allocated()
	f.live = f.vol.base.clone(f.vol.base.size)
	if f.linked {
		d.used += f.live.allocated() - was
	}
	d.durable(f)
}

func (v *volatile) forget(n int) {
	if n > 0 {
		clear(v.ops[:n])
		v.ops = v.ops[n:]
	}
}

// writeBack commits the changes that are old enough to be durable by themselves.
func (d *Disk) writeBack(f *file, now kafka.Nanos) {
	if f.vol == nil {
		return
	}
	n := 0
	for ; n < len(f.vol.ops); n++ {
		c := &f.vol.ops[n]
		if now-c.time < d.config.WritebackAge && (c.data != nil || now-c.time < d.config.JournalAge) {
			break
		}
	}
	if n > 0 {
		d.commit(f, n)
	}
}

// dirOp is one change to a directory's entries. A removal keeps what it
// removed, a rename what it replaced, so that a power loss can undo it.
type dirOp struct {
	kind          dirOpKind
	name, newName string
	file          *file      // or
	dir           *directory // the entry created, removed or renamed
	replaced      *file
	time          kafka.Nanos
}

type dirOpKind uint8

const (
	dirCreate dirOpKind = iota
	dirRemove
	dirRename
)

// dirPending is a directory's unsynced changes, in order. The last of them has
// number directory.changes-1.
type dirPending struct{ ops []dirOp }

func (d *Disk) changed(dir *directory, op dirOp) {
	d.fold(op.name, 0, -2, 0)
	op.time = d.time()
	d.journal(dir, d.time())
	dir.changes++
	if dir.pending == nil {
		dir.pending = d.makePending()
	}
	dir.pending.ops = append(dir.pending.ops, op)
	if !dir.queued {
		dir.queued = true
		d.agingDirs.push(dir, add(d.time(), d.config.JournalAge))
	}
}

func (d *Disk) makePending() (p *dirPending) {
	if n := len(d.spareDirs); n > 0 {
		p, d.spareDirs = d.spareDirs[n-1], d.spareDirs[:n-1]
		return p
	}
	return &dirPending{}
}

// commitDir makes the changes with numbers below upTo durable.
func (d *Disk) commitDir(dir *directory, upTo uint32) {
	if dir.pending == nil {
		return
	}
	n := len(dir.pending.ops) - int(dir.changes-upTo)
	d.forget(dir, n)
}

func (d *Disk) forget(dir *directory, n int) {
	switch ops := dir.pending.ops; {
	case n >= len(ops):
		if cap(ops) <= maxSpareOps && len(d.spareDirs) < maxSpare {
			clear(ops)
			dir.pending.ops = ops[:0]
			d.spareDirs = append(d.spareDirs, dir.pending)
		}
		dir.pending = nil
	case n > 0:
		clear(ops[:n])
		dir.pending.ops = ops[n:]
	}
}

// journal commits the changes older than the journal's interval.
func (d *Disk) journal(dir *directory, now kafka.Nanos) {
	if dir.pending == nil {
		return
	}
	n := 0
	for n < len(dir.pending.ops) && now-dir.pending.ops[n].time >= d.config.JournalAge {
		n++
	}
	d.forget(dir, n)
}

// queue holds what has unsynced changes, so that idle files and directories
// give their memory back. It only saves memory: ages are checked again where
// they matter.
type queue[T any] struct {
	items []queued[T]
	head  int
}

type queued[T any] struct {
	item T
	due  kafka.Nanos
}

func (q *queue[T]) push(item T, due kafka.Nanos) {
	if q.head > 64 && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, queued[T]{item, due})
}

func (q *queue[T]) isDue(now kafka.Nanos) bool {
	return q.head < len(q.items) && q.items[q.head].due <= now
}

// pop takes the first item if it is due.
func (q *queue[T]) pop(now kafka.Nanos) (item T, ok bool) {
	if !q.isDue(now) {
		return item, false
	}
	item = q.items[q.head].item
	q.items[q.head] = queued[T]{}
	if q.head++; q.head == len(q.items) {
		*q = queue[T]{}
	}
	return item, true
}

// agePerStep bounds the work of one step.
const agePerStep = 8

func (d *Disk) age() {
	for range agePerStep {
		f, ok := d.agingFiles.pop(d.now)
		if !ok {
			break
		}
		d.writeBack(f, d.now)
		if f.queued = f.vol != nil && len(f.vol.ops) > 0; f.queued {
			d.agingFiles.push(f, add(d.now, d.config.WritebackAge))
		}
	}
	for range agePerStep {
		dir, ok := d.agingDirs.pop(d.now)
		if !ok {
			break
		}
		d.journal(dir, d.now)
		if dir.queued = dir.pending != nil; dir.queued {
			d.agingDirs.push(dir, add(d.now, d.config.JournalAge))
		}
	}
}
