package simdisk

import (
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Profile prices the calls: durations in nanoseconds, rates in nanoseconds per
// KiB. A measured profile of a real disk may replace the default.
type Profile struct {
	Append, AppendPerKiB     kafka.Nanos // copy to the page cache
	Read, ReadPerKiB         kafka.Nanos // copy from the page cache
	Send, SendPerKiB         kafka.Nanos // sendfile, for ReadToSend; both 0 stand for Read
	ReadMiss, ReadMissPerKiB kafka.Nanos // device, per call with a miss
	Sync, SyncPerKiB         kafka.Nanos // device: barrier and bandwidth
	SyncJitter               kafka.Nanos // a uniform draw below this is added
	Metadata                 kafka.Nanos // create, open, remove, rename, truncate, list, stat
}

// DefaultProfile is a data-centre NVMe drive under ext4: 64 KiB appended in
// about 20 µs, an fsync in 1 to 2 ms, 1 GB/s to and 2 GB/s from the device.
func DefaultProfile() Profile {
	return Profile{
		Append: 2 * kafka.Microsecond, AppendPerKiB: 280,
		Read: 1 * kafka.Microsecond, ReadPerKiB: 120, // also for Send
		ReadMiss: 90 * kafka.Microsecond, ReadMissPerKiB: 500,
		Sync: 1 * kafka.Millisecond, SyncPerKiB: 1000, SyncJitter: 1 * kafka.Millisecond,
		Metadata: 8 * kafka.Microsecond,
	}
}

// rate prices n bytes, rounded up.
func rate(n int64, perKiB kafka.Nanos) kafka.Nanos {
	return (kafka.Nanos(n)*perKiB + 1023) / 1024
}

// BeginStep starts an actor's step at virtual time now. crashAt is when an
// already scheduled crash of the node strikes, or kafka.Forever: the call that
// would complete after it fails with vfs.ErrCrashed, as do all later ones until
// Crash.
func (d *Disk) BeginStep(now, crashAt kafka.Nanos) {
	d.now, d.elapsed, d.crashAt = now, 0, crashAt
	d.inStep = true
	if d.agingFiles.isDue(now) || d.agingDirs.isDue(now) {
		d.age()
	}
}

// EndStep ends the step and returns the time that its calls took.
func (d *Disk) EndStep() (elapsed kafka.Nanos) {
	elapsed = d.elapsed
	d.inStep, d.elapsed, d.crashAt = false, 0, kafka.Forever
	return elapsed
}

// Crashed reports whether the process died at a call since the last Crash.
func (d *Disk) Crashed() bool { return d.dead }

// charge advances the lane by the price of a call that needs no device. It
// fails if the crash comes first; the time spent is then the time to the crash.
func (d *Disk) charge(price kafka.Nanos) error {
	if !d.inStep {
		return nil
	}
	if len(d.faults) > 0 {
		wait := d.faults.stalled(d.time())
		price = add(wait, d.faults.slowed(price, d.time()+wait))
	}
	return d.spend(price)
}

// device charges a request that waits for its turn at the device.
func (d *Disk) device(price kafka.Nanos) error {
	if !d.inStep {
		return nil
	}
	return d.spend(d.queue(d.time(), price) - d.time())
}

// queue gives the device a request at time start, and returns when it is done.
func (d *Disk) queue(start, price kafka.Nanos) kafka.Nanos {
	start = max(d.busyUntil, start)
	if len(d.faults) > 0 {
		start += d.faults.stalled(start)
		price = d.faults.slowed(price, start)
	}
	d.busyUntil = add(start, price)
	return d.busyUntil
}

func (d *Disk) spend(price kafka.Nanos) error {
	left := d.crashAt - d.time()
	if price <= left {
		d.elapsed += price
		return nil
	}
	d.elapsed += max(left, 0)
	if d.crashAt == kafka.Forever {
		return nil // hangs for ever
	}
	return d.die()
}

func (d *Disk) die() error {
	d.dead = true
	return vfs.ErrCrashed
}

// add saturates at kafka.Forever.
func add(a, b kafka.Nanos) kafka.Nanos {
	if a > kafka.Forever-b {
		return kafka.Forever
	}
	return a + b
}

func (d *Disk) syncPrice(name string, counter uint32, bytes int64) kafka.Nanos {
	p := &d.config.Profile
	price := p.Sync + rate(bytes, p.SyncPerKiB)
	if p.SyncJitter > 0 {
		price += kafka.Nanos(d.below(name, d.key(drawJitter, counter, 0), uint64(p.SyncJitter)))
	}
	return price
}

// below draws a number in [0, n).
func (d *Disk) below(name string, index, n uint64) uint64 {
	hi, _ := bits.Mul64(d.draws(name, index), n)
	return hi
}
