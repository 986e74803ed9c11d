package simdisk

import (
	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// OpKind is a kind of disk operation, for hooks and faults.
type OpKind uint8

// The kinds. OpFlush is the completion of a background flush of one file or
// directory; mkdir counts as OpCreate. Open, Stat, List and Close are no
// operations: nothing strikes there.
const (
	OpRead OpKind = iota
	OpAppend
	OpWrite
	OpTruncate
	OpCreate
	OpRemove
	OpRename
	OpSync
	OpSyncDir
	OpFlush
	opKinds
)

var opNames = [opKinds]string{"read", "append", "write", "truncate", "create", "remove", "rename", "sync", "syncdir", "flush"}

// String is the kind's name in scenario files.
func (k OpKind) String() string { return opNames[k] }

// ParseOpKind finds a kind by its name.
func ParseOpKind(name string) (OpKind, bool) {
	for i := range opNames {
		if opNames[i] == name {
			return OpKind(i), true
		}
	}
	return 0, false
}

// Op is one disk operation. Name is the path by which it was called (the old
// one of a rename); Pos and Size are in bytes, Pos of a truncation its new size.
type Op struct {
	Kind OpKind
	Name string
	Pos  int64
	Size int
	Nth  uint64 // of all operations of this disk, from 1
}

// ActionKind says what happens to an operation.
type ActionKind uint8

const (
	// Proceed lets it run.
	Proceed ActionKind = iota
	// Fail makes it return Err, after Keep bytes if it writes.
	Fail
	// Delay makes it take Delay longer.
	Delay
	// CrashBefore kills the process before the operation has any effect.
	CrashBefore
	// CrashAfter kills it when the operation has had its effect.
	CrashAfter
)

// Action is a Hook's answer. The zero value is Proceed.
type Action struct {
	Kind  ActionKind
	Err   error // of Fail; nil is vfs.ErrIO
	Keep  int   // bytes written all the same, of Fail
	Delay kafka.Nanos
}

// Hook sees each operation in a step, and each flush, before it runs. It must
// not call the disk.
type Hook func(op Op) Action

// SetHook installs the hook; nil removes it.
func (d *Disk) SetHook(h Hook) {
	d.hook = h
	d.rewatch()
}

func (d *Disk) rewatch() {
	d.watched = d.hook != nil || d.points != nil || len(d.faults) > 0
}

// verdict is what hook, failpoints and faults decided about one operation.
type verdict struct {
	err   error // it fails
	keep  int   // after writing that much
	after error // it runs, and then this is returned
	drop  bool  // a failing sync leaves its pages clean
	lie   bool  // a sync makes nothing durable
}

// result is the call's error once it has run.
func (v *verdict) result() error {
	if v.after != nil {
		return v.after
	}
	return v.err
}

// enter admits an operation.
func (d *Disk) enter(kind OpKind, site point.Site, name string, pos int64, size int) verdict {
	if d.dead {
		return verdict{err: vfs.ErrCrashed}
	}
	d.calls++
	if !d.watched || !d.inStep {
		return verdict{}
	}
	return d.judge(site, Op{kind, name, pos, size, d.calls})
}

// judge asks failpoints, faults and the hook, in this order; the first that
// makes the operation fail wins.
func (d *Disk) judge(site point.Site, op Op) (v verdict) {
	if value, ok := d.points.Hit(site); ok {
		v = pointVerdict(value.Action(site))
	}
	if v == (verdict{}) {
		v = d.strike(op)
	}
	if d.hook != nil {
		d.obey(d.hook(op), &v)
	}
	if v.err != nil {
		d.stats.Errors++
	}
	return v
}

func pointVerdict(action string) verdict {
	switch action {
	case point.ENOSPC:
		return verdict{err: vfs.ErrNoSpace}
	case point.Dropped:
		return verdict{err: vfs.ErrIO, drop: true}
	case point.Lie:
		return verdict{lie: true}
	}
	return verdict{err: vfs.ErrIO}
}

func (d *Disk) obey(a Action, v *verdict) {
	switch a.Kind {
	case Fail:
		if v.err == nil {
			v.err, v.keep = a.Err, a.Keep
		}
		if v.err == nil {
			v.err = vfs.ErrIO
		}
	case Delay:
		if err := d.spend(a.Delay); err != nil {
			*v = verdict{err: err}
		}
	case CrashBefore:
		*v = verdict{err: d.die()}
	case CrashAfter:
		v.after = d.die()
	}
}
