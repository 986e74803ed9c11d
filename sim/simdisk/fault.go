package simdisk

import (
	"fmt"
	"path"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Fault is something wrong with the disk, until it is healed: Slow, Stall,
// Full, IOError, SyncDrop or SyncLie. String is its form in traces.
type Fault interface{ String() string }

// FaultID names an injected fault.
type FaultID uint32

// Slow multiplies the price of every call and flush made in [From, Until), as far as
// it falls before Until (D1, D2).
type Slow struct {
	Times       int64
	From, Until kafka.Nanos
}

// Stall makes every call and flush begun in [From, Until) wait until Until;
// with kafka.Forever the lane hangs (D3, D4).
type Stall struct{ From, Until kafka.Nanos }

// Full leaves Free bytes, counted from its injection, whatever the capacity
// (D26, D27). An append writes what fits and fails with vfs.ErrNoSpace.
type Full struct{ Free int64 }

// IOError makes matching operations fail with Err, nil meaning vfs.ErrIO
// (D18 to D20). They have no effect.
type IOError struct {
	Match
	Err error
}

// SyncDrop makes matching syncs and flushes fail with vfs.ErrIO and marks the
// pages clean all the same: a later sync succeeds without writing them (D16).
// The bytes can still be read until the next power loss, as on ext4 and XFS.
type SyncDrop struct{ Match }

// SyncLie makes matching syncs, directory syncs and flushes succeed without
// making anything durable (D15).
type SyncLie struct{ Match }

// Match selects operations. Its zero value selects all.
type Match struct {
	Ops     Ops    // none is all
	Pattern string // see MatchName
	// Pos and End, exclusive, select operations that touch these bytes; End 0
	// is the whole file.
	Pos, End int64
	// Nth selects only the nth operation that passed the conditions above, from
	// 1; 0 is each.
	Nth uint64
	// PerMillion is a probability, drawn by file name and count; 0 is always.
	PerMillion uint32
}

// Ops is a set of operation kinds.
type Ops uint16

// OpsOf builds a set.
func OpsOf(kinds ...OpKind) Ops {
	var s Ops
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether the set contains k; the empty set contains all.
func (s Ops) Has(k OpKind) bool { return s == 0 || s&(1<<k) != 0 }

// String lists the kinds.
func (s Ops) String() string {
	if s == 0 {
		return "any operation"
	}
	var names []string
	for k := range opKinds {
		if s&(1<<k) != 0 {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, "|")
}

// MatchName reports whether a path matches a glob pattern (*, ?, [a-z]): as many of its
// last components as the pattern has. So orders-0/*.log is meant in whatever data
// directory. The empty pattern matches all; a malformed one, see ValidPattern, nothing.
func MatchName(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, lastParts(name, strings.Count(pattern, "/")+1))
	return ok && err == nil
}

// lastParts is the last n components of a path, or all of it.
func lastParts(name string, n int) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] != '/' {
			continue
		}
		if n--; n == 0 {
			return name[i+1:]
		}
	}
	return name
}

// ValidPattern reports a malformed pattern.
func ValidPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("file pattern %q: %w", pattern, err)
	}
	return nil
}

func (m *Match) selects(op *Op) bool {
	return m.Ops.Has(op.Kind) && MatchName(m.Pattern, op.Name) &&
		(m.End == 0 || op.Pos < m.End && op.Pos+int64(op.Size) > m.Pos)
}

// String says what is selected.
func (m Match) String() string {
	s := m.Ops.String()
	if m.Pattern != "" {
		s += " of " + m.Pattern
	}
	if m.End != 0 {
		s += fmt.Sprintf(" touching [%d,%d)", m.Pos, m.End)
	}
	if m.Nth != 0 {
		s += fmt.Sprintf(" number %d", m.Nth)
	}
	if m.PerMillion != 0 {
		s += fmt.Sprintf(" with probability %d/1000000", m.PerMillion)
	}
	return s
}

func (f Slow) String() string {
	return fmt.Sprintf("slow %dx from %s until %s", f.Times, f.From, f.Until)
}
func (f Stall) String() string { return fmt.Sprintf("stall from %s until %s", f.From, f.Until) }
func (f Full) String() string  { return fmt.Sprintf("full, %d bytes free", f.Free) }
func (f IOError) String() string {
	return fmt.Sprintf("error %q on %s", f.error(), f.Match)
}
func (f SyncDrop) String() string { return "sync fails and drops pages: " + f.Match.String() }
func (f SyncLie) String() string  { return "sync lies: " + f.Match.String() }

func (f IOError) error() error {
	if f.Err != nil {
		return f.Err
	}
	return vfs.ErrIO
}

// faults lists what is injected, in order of injection.
type faults []injected

type injected struct {
	id      FaultID
	fault   Fault
	seen    uint64            // operations selected
	byName  map[string]uint32 // the same per file, for draws
	fullEnd int64             // of Full: used bytes at which the disk is full
}

// Inject adds a fault.
func (d *Disk) Inject(f Fault) FaultID {
	in := injected{id: 1, fault: f}
	if n := len(d.faults); n > 0 {
		in.id = d.faults[n-1].id + 1
	}
	if full, ok := f.(Full); ok {
		in.fullEnd = d.used + full.Free
	}
	d.faults = append(d.faults, in)
	d.rewatch()
	return in.id
}

// Selected counts the operations that a fault's conditions chose so far, those
// before its Nth included.
func (d *Disk) Selected(id FaultID) uint64 {
	for i := range d.faults {
		if d.faults[i].id == id {
			return d.faults[i].seen
		}
	}
	return 0
}

// Heal ends a fault and reports whether it was there.
func (d *Disk) Heal(id FaultID) bool {
	for i := range d.faults {
		if d.faults[i].id == id {
			d.faults = append(d.faults[:i:i], d.faults[i+1:]...)
			d.rewatch()
			return true
		}
	}
	return false
}

// HealAll ends all faults.
func (d *Disk) HealAll() {
	d.faults = nil
	d.rewatch()
}

// strike is what the injected faults do to an operation.
func (d *Disk) strike(op Op) (v verdict) {
	for i := range d.faults {
		in := &d.faults[i]
		syncs := op.Kind == OpSync || op.Kind == OpFlush
		switch f := in.fault.(type) {
		case IOError:
			if v.err == nil && d.hits(in, &f.Match, &op) {
				v.err = f.error()
			}
		case SyncDrop:
			if v.err == nil && syncs && d.hits(in, &f.Match, &op) {
				v.err, v.drop = vfs.ErrIO, true
			}
		case SyncLie:
			if (syncs || op.Kind == OpSyncDir) && d.hits(in, &f.Match, &op) {
				v.lie = true
			}
		}
	}
	return v
}

// hits counts a selected operation and decides whether this one is struck.
func (d *Disk) hits(in *injected, m *Match, op *Op) bool {
	if !m.selects(op) {
		return false
	}
	in.seen++
	if m.Nth != 0 && in.seen != m.Nth {
		return false
	}
	if m.PerMillion == 0 {
		return true
	}
	if in.byName == nil {
		in.byName = map[string]uint32{}
	}
	in.byName[op.Name]++
	return d.below(op.Name, d.key(drawError, in.byName[op.Name], uint8(in.id)), 1e6) < uint64(m.PerMillion)
}

// stalled is how long a call at time at waits for stalls to end.
func (fs faults) stalled(at kafka.Nanos) kafka.Nanos {
	until := at
	for i := range fs {
		if f, ok := fs[i].fault.(Stall); ok && f.From <= at && at < f.Until {
			until = max(until, f.Until)
		}
	}
	return until - at
}

// slowed is what a price becomes by the slow episodes at time at, up to
// kafka.Forever. An episode that ends takes hold of no more than the work that was
// done until then: the rest goes at the pace that comes after it.
func (fs faults) slowed(price, at kafka.Nanos) (took kafka.Nanos) {
	for {
		times, until := fs.pace(at)
		span := until - at
		switch {
		case times == 1:
			return add(took, price)
		case until == kafka.Forever && price > kafka.Forever/times:
			return kafka.Forever
		case until == kafka.Forever || price <= span/times:
			return add(took, price*times)
		}
		price -= span / times
		took, at = took+span, until
	}
}

// pace is how many times slower the disk is at time at, and until when.
func (fs faults) pace(at kafka.Nanos) (times, until kafka.Nanos) {
	times, until = 1, kafka.Forever
	for i := range fs {
		f, ok := fs[i].fault.(Slow)
		if !ok || at < f.From || at >= f.Until || f.Times <= 1 {
			continue
		}
		until = min(until, f.Until)
		if times > kafka.Forever/kafka.Nanos(f.Times) {
			times = kafka.Forever
			continue
		}
		times *= kafka.Nanos(f.Times)
	}
	return times, until
}

// room is the number of bytes that still fit.
func (d *Disk) room() int64 {
	end := int64(kafka.Forever)
	if d.config.Capacity > 0 {
		end = d.config.Capacity
	}
	if d.inStep {
		for i := range d.faults {
			if _, ok := d.faults[i].fault.(Full); ok {
				end = min(end, d.faults[i].fullEnd)
			}
		}
	}
	return max(end-d.used, 0)
}
