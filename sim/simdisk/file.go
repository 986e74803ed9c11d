package simdisk

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// file is one file, linked or not. Kept small (80 bytes): a broker has several
// per replica.
type file struct {
	name    string // last component, also after unlinking
	live    content
	vol     *volatile  // nil when all of live is durable
	cached  *residency // nil when all of it is in the page cache
	modTime kafka.TimestampMs
	changes uint32 // changes ever logged
	linked  bool
	queued  bool // in the aging queue
	late    bool // the next sync reports that the one before failed
}

// handle is an open file.
type handle struct {
	disk   *Disk
	file   *file
	name   string
	boot   uint32
	closed bool
}

var (
	_ vfs.File   = (*handle)(nil)
	_ vfs.Lender = (*handle)(nil)
)

var errNegative = errors.New("negative position or size")

func (d *Disk) handle(f *file, name string) *handle {
	return &handle{disk: d, file: f, name: name, boot: d.boot}
}

// check admits a call on the handle. A handle of a process that died is closed.
func (h *handle) check(pos int64) error {
	switch {
	case h.disk.dead:
		return vfs.ErrCrashed
	case h.closed || h.boot != h.disk.boot:
		return vfs.ErrClosed
	case pos < 0:
		return errNegative
	}
	return nil
}

func (h *handle) fail(verb string, pos int64, err error) error {
	return fmt.Errorf("%s %s at %d: %w", verb, h.name, pos, err)
}

// Name implements vfs.File.
func (h *handle) Name() string { return h.name }

// Size implements vfs.File. It is free: a process knows the size of its files.
func (h *handle) Size() int64 { return h.file.live.size }

// ReadAt implements vfs.File.
func (h *handle) ReadAt(pos int64, n int) ([]byte, error) {
	p := &h.disk.config.Profile
	b, err := h.read(pos, n, p.Read, p.ReadPerKiB)
	if err != nil {
		return nil, h.fail("read", pos, err)
	}
	return b, nil
}

// ReadToSend implements vfs.Lender.
func (h *handle) ReadToSend(pos int64, n int) ([]byte, error) {
	p := &h.disk.config.Profile
	b, err := h.read(pos, n, p.Send, p.SendPerKiB)
	if err != nil {
		return nil, h.fail("read", pos, err)
	}
	return b, nil
}

// read is priced as told where no device is needed.
func (h *handle) read(pos int64, n int, call, perKiB kafka.Nanos) ([]byte, error) {
	if err := h.check(min(pos, int64(n))); err != nil {
		return nil, err
	}
	d, f := h.disk, h.file
	n = int(min(int64(n), max(f.live.size-pos, 0)))
	v := d.enter(OpRead, point.DiskRead, h.name, pos, n)
	if v.err != nil {
		return nil, v.err
	}
	if err := d.chargeRead(f, pos, n, call, perKiB); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, v.after
	}
	d.stats.Reads++
	d.stats.BytesRead += int64(n)
	return f.live.read(pos, n, h.disk.config.Reads), v.after
}

func (d *Disk) chargeRead(f *file, pos int64, n int, call, perKiB kafka.Nanos) error {
	p := &d.config.Profile
	if missed := d.cache.load(f, pos, n); missed > 0 {
		d.stats.ReadMisses++
		if err := d.device(p.ReadMiss + rate(missed, p.ReadMissPerKiB)); err != nil {
			return err
		}
	}
	return d.charge(call + rate(int64(n), perKiB))
}

// Append implements vfs.File.
func (h *handle) Append(b []byte) error {
	pos := h.file.live.size
	if err := h.write(OpAppend, point.DiskAppend, pos, b); err != nil {
		return h.fail("append", pos, err)
	}
	return nil
}

// WriteAt implements vfs.File.
func (h *handle) WriteAt(pos int64, b []byte) error {
	if err := h.write(OpWrite, point.DiskWrite, pos, b); err != nil {
		return h.fail("write", pos, err)
	}
	return nil
}

// write puts as much of b at pos as fits, faults allow and time before the
// crash suffices for.
func (h *handle) write(kind OpKind, site point.Site, pos int64, b []byte) error {
	if err := h.check(pos); err != nil {
		return err
	}
	d := h.disk
	v := d.enter(kind, site, h.name, pos, len(b))
	keep := len(b)
	if v.err != nil {
		keep = min(v.keep, keep)
	} else if d.config.Capacity > 0 || len(d.faults) > 0 {
		if keep = d.fits(h.file, pos, len(b)); keep < len(b) {
			v.err = vfs.ErrNoSpace
		}
	}
	if d.dead && v.after == nil {
		return v.err
	}
	p := &d.config.Profile
	price, left := p.Append+rate(int64(keep), p.AppendPerKiB), d.crashAt-d.time()
	if err := d.charge(price); err != nil {
		v.err, keep = err, pagesWritten(pos, keep, left, price)
	}
	if keep > 0 {
		d.stats.Writes++
		d.stats.BytesWritten += int64(keep)
		d.writeFile(h.file, pos, b[:keep])
	}
	return v.result()
}

// fits is how many of n bytes at pos the disk has room for. A write inside the
// file has room for all or nothing.
func (d *Disk) fits(f *file, pos int64, n int) int {
	room := d.room()
	need := f.live.holes(pos, pos+int64(n))
	switch {
	case need <= room:
		return n
	case pos >= f.live.size:
		return int(room)
	}
	return 0
}

const page = 4096

// pagesWritten is how many of n bytes at pos a process had copied to the page
// cache when it was killed after left of the time that all would have taken.
func pagesWritten(pos int64, n int, left, price kafka.Nanos) int {
	if left <= 0 || price <= left {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(left))
	done, _ := bits.Div64(hi, lo, uint64(price)) // left < price, so done < n
	end := (pos + int64(done)) / page * page
	return int(max(end-pos, 0))
}

// Truncate implements vfs.File.
func (h *handle) Truncate(size int64) error {
	if err := h.truncate(size); err != nil {
		return h.fail("truncate", size, err)
	}
	return nil
}

func (h *handle) truncate(size int64) error {
	if err := h.check(size); err != nil {
		return err
	}
	d := h.disk
	v := d.enter(OpTruncate, point.DiskTruncate, h.name, size, 0)
	if v.err != nil {
		return v.err
	}
	if err := d.charge(d.config.Profile.Metadata); err != nil {
		return err
	}
	d.truncateFile(h.file, size)
	return v.after
}

// Sync implements vfs.File.
func (h *handle) Sync() error {
	if err := h.sync(); err != nil {
		return h.fail("sync", h.Size(), err)
	}
	return nil
}

func (h *handle) sync() error {
	if err := h.check(0); err != nil {
		return err
	}
	d, f := h.disk, h.file
	v := d.enter(OpSync, point.DiskSync, h.name, 0, 0)
	if v.err != nil && d.dead {
		return v.err
	}
	d.writeBack(f, d.time())
	if err := d.device(d.syncPrice(h.name, f.changes, f.dirtyBytes())); err != nil {
		return err
	}
	d.stats.Syncs++
	d.report(f, &v)
	d.settle(f, f.changes, v)
	return v.result()
}

// Close implements vfs.File. It is free.
func (h *handle) Close() error {
	if err := h.check(0); err != nil {
		return h.fail("close", h.Size(), err)
	}
	h.closed = true
	return nil
}
