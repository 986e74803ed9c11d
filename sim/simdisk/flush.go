package simdisk

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// FlushID names a background flush of one disk.
type FlushID uint64

type flush struct {
	id    FlushID
	at    kafka.Nanos
	files []flushFile
	dirs  []flushDir
}

// flushFile covers the file's changes with numbers below upTo.
type flushFile struct {
	file *file
	name string
	upTo uint32
}

type flushDir struct {
	dir  *directory
	name string
	upTo uint32
}

// BeginFlush queues a background fsync of files, then of directories, at the
// device. It covers what was written before the call. Closed handles are
// welcome; directories that do not exist are skipped. The caller calls
// CompleteFlush at completesAt, unless the node has crashed.
func (d *Disk) BeginFlush(files []vfs.File, dirs []string, now kafka.Nanos) (id FlushID, completesAt kafka.Nanos) {
	d.lastFlush++
	fl := flush{id: d.lastFlush}
	if n := len(d.spareFlushes); n > 0 {
		fl.files, fl.dirs = d.spareFlushes[n-1].files, d.spareFlushes[n-1].dirs
		d.spareFlushes = d.spareFlushes[:n-1]
	}
	price := kafka.Nanos(0)
	for _, file := range files {
		h := file.(*handle)
		f := h.file
		d.writeBack(f, now)
		if f.vol != nil {
			f.vol.sealed = true
		}
		price += d.syncPrice(h.name, f.changes, f.dirtyBytes())
		fl.files = append(fl.files, flushFile{f, h.name, f.changes})
	}
	for _, name := range dirs {
		if dir := d.lookup(name); dir != nil {
			price += d.syncPrice(name, dir.changes, 0)
			fl.dirs = append(fl.dirs, flushDir{dir, name, dir.changes})
		}
	}
	fl.at = d.queue(now, price)
	d.flushes = append(d.flushes, fl)
	return fl.id, fl.at
}

// CompleteFlush makes durable what the flush covers and nothing later. At the
// first file or directory that an injected fault strikes it stops and returns
// the error.
func (d *Disk) CompleteFlush(id FlushID) error {
	for i := range d.flushes {
		if d.flushes[i].id == id {
			fl := d.flushes[i]
			d.flushes = slices.Delete(d.flushes, i, i+1)
			err := d.complete(&fl)
			d.flushed(&fl)
			return err
		}
	}
	return fmt.Errorf("flush %d: %w", id, vfs.ErrClosed)
}

// flushed keeps the memory of a flush that is over.
func (d *Disk) flushed(fl *flush) {
	if len(d.spareFlushes) == maxSpare || cap(fl.files) > maxSpareOps || cap(fl.dirs) > maxSpareOps {
		return
	}
	clear(fl.files)
	clear(fl.dirs)
	d.spareFlushes = append(d.spareFlushes, flush{files: fl.files[:0], dirs: fl.dirs[:0]})
}

func (d *Disk) complete(fl *flush) error {
	d.now = max(d.now, fl.at)
	d.stats.Flushes++
	for _, ff := range fl.files {
		v := d.admitFlush(ff.name)
		d.report(ff.file, &v)
		if !d.dead || v.after != nil {
			d.settle(ff.file, ff.upTo, v)
		}
		if err := v.result(); err != nil {
			return fmt.Errorf("flush %s: %w", ff.name, err)
		}
	}
	for _, fd := range fl.dirs {
		v := d.admitFlush(fd.name)
		if v.err == nil && !v.lie {
			d.commitDir(fd.dir, fd.upTo)
		}
		if err := v.result(); err != nil {
			return fmt.Errorf("flush %s: %w", fd.name, err)
		}
	}
	return nil
}

// admitFlush is enter for work outside any step.
func (d *Disk) admitFlush(name string) verdict {
	if d.dead {
		return verdict{err: vfs.ErrCrashed}
	}
	d.calls++
	if !d.watched {
		return verdict{}
	}
	return d.judge(point.DiskFlush, Op{Kind: OpFlush, Name: name, Nth: d.calls})
}
