// Package simdisk is one node's simulated disk: a file system with a page
// cache, a device queue, injected faults and crashes. It mirrors no Kafka class;
// it stands where FileChannel, MappedByteBuffer and the kernel stand under a
// broker.
//
// Bytes. Each file is a list of immutable extents that alias what the caller
// wrote and what readers get; small writes grow a tail buffer; holes are free.
//
// Crashes. Beside the live state the disk knows what is durable: per file and
// per directory an ordered list of changes that are not synced yet. A kill keeps
// the live state. A power loss draws for each change whether it survived, was
// lost, or (data) was torn at a 512-byte sector, over the subsets that the
// Personality allows. Draws are keyed by file name and change number, so that
// the same seed gives the same image and an unrelated file changes nothing.
//
// Time. Between BeginStep and EndStep each call has a price; syncs, cache
// misses and background flushes queue for one device. Outside a step calls are
// free and meet no faults.
//
// Left out: write-back takes no device time, metadata blocks take no space,
// read-ahead, garbage in torn tails and misdirected writes. One directory's
// journal does not wait for another's, nor for an fsync of a file in it: a file
// may vanish although its content was synced, which ext4 in practice prevents.
// A rename from one directory to another is durable at once.
package simdisk

import (
	"strings"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Sector is the unit that a power loss writes whole or not at all, in bytes.
const Sector = 512

// Personality says which combinations of unsynced changes a power loss leaves, and
// what is left of a file whose sync failed with its pages dropped (SyncDrop; Rebello
// et al., "Can Applications Recover from fsync Failures?").
type Personality uint8

const (
	// Ext4Ordered journals metadata in order: of one directory's changes a
	// prefix survives, as of one file's truncations; data may survive in any
	// combination, and a file may be longer than its data (zeros).
	Ext4Ordered Personality = iota
	// PosixMinimum promises only what POSIX does: directory changes survive in
	// any combination in which each one's predecessors on the same names do.
	PosixMinimum
	// XFS logs metadata in order, as ext4 does, and sets a file's size only when its
	// data are written: a file is not longer than its data.
	XFS
	// Btrfs is as XFS, but after a failed sync reads give what was durable.
	Btrfs
	// Ext4Journal is ext4 with data=journal: of one file's changes a prefix survives,
	// none torn, and a failed sync is reported by the next one (D17).
	Ext4Journal
	numPersonalities
)

var personalityNames = [numPersonalities]string{"ext4", "posix", "xfs", "btrfs", "ext4-journal"}

// String is the word in scenario files.
func (p Personality) String() string { return personalityNames[p] }

// ParsePersonality finds a personality by its word.
func ParsePersonality(word string) (Personality, bool) {
	for i, name := range personalityNames {
		if name == word {
			return Personality(i), true
		}
	}
	return 0, false
}

// Config describes a disk. The zero value is an unlimited default disk.
type Config struct {
	// Profile prices the calls; the zero value is DefaultProfile.
	Profile Profile
	// Capacity in bytes of file content, holes not counted; 0 is unlimited.
	Capacity int64
	// PageCache in bytes; 0 keeps everything that was written or read.
	PageCache int64
	// WritebackAge is the age at which unsynced data is durable by itself, at
	// the latest. 0 is 30 s (vm.dirty_expire_centisecs).
	WritebackAge kafka.Nanos
	// JournalAge is the same for truncations and directory entries. 0 is 5 s
	// (ext4's commit interval).
	JournalAge  kafka.Nanos
	Personality Personality
	// Names may be shared with other disks of one thread, whose files mostly have the
	// same names; nil: the disk has its own.
	Names *Names
	// Reads may be shared in the same way; nil: each read makes its own memory.
	Reads *Reads
}

// Names are interned path components. The zero value is ready.
type Names struct{ known map[string]string }

// Draws is a pure function of (seed, node, name, index). The disk's index has
// its stream in the top byte, see key.
type Draws func(name string, index uint64) uint64

// Disk is one node's disk. Not safe for concurrent use.
type Disk struct {
	config Config
	draws  Draws
	root   *directory
	last   located
	names  *Names

	now, elapsed, crashAt kafka.Nanos
	wallOffset            kafka.TimestampMs
	inStep, dead          bool
	busyUntil             kafka.Nanos // the device serves one request at a time
	boot                  uint32      // counts crashes; handles of earlier boots are stale
	calls                 uint64
	digest                uint64

	watched bool // a hook, points or a fault must see each call
	hook    Hook
	points  *point.Registry
	faults  faults

	flushes    []flush
	lastFlush  FlushID
	agingFiles queue[*file]
	agingDirs  queue[*directory]

	spare        []*volatile   // of files that became durable, for reuse
	spareDirs    []*dirPending // of directories
	spareFlushes []flush
	used         int64 // bytes allocated to linked files
	cache        pageCache
	stats        Stats
}

var _ vfs.FS = (*Disk)(nil)

// New is an empty disk. draws must not be nil.
func New(config Config, draws Draws) *Disk {
	d := &Disk{}
	d.Reset(config, draws)
	return d
}

// Reset makes the disk new and empty, for reuse by the next simulation.
func (d *Disk) Reset(config Config, draws Draws) {
	if config.Profile == (Profile{}) {
		config.Profile = DefaultProfile()
	}
	if p := &config.Profile; p.Send == 0 && p.SendPerKiB == 0 {
		p.Send, p.SendPerKiB = p.Read, p.ReadPerKiB
	}
	if config.WritebackAge == 0 {
		config.WritebackAge = 30 * kafka.Second
	}
	if config.JournalAge == 0 {
		config.JournalAge = 5 * kafka.Second
	}
	names := d.names
	if config.Names != nil {
		names = config.Names
	} else if names == nil {
		names = new(Names)
	}
	*d = Disk{config: config, draws: draws, root: &directory{}, names: names, crashAt: kafka.Forever}
	d.cache.init(config.PageCache)
}

// SetWallOffset sets the node's wall clock: virtual time plus offset, which is the time
// since 1970 of virtual time zero and the clock's error.
// ModTime follows it.
func (d *Disk) SetWallOffset(offset kafka.TimestampMs) { d.wallOffset = offset }

// SetPoints connects the simulation's failpoints; nil disconnects them.
func (d *Disk) SetPoints(r *point.Registry) {
	d.points = r
	d.rewatch()
}

// time is the calling lane's clock.
func (d *Disk) time() kafka.Nanos { return d.now + d.elapsed }

func (d *Disk) wallClock() kafka.TimestampMs {
	return kafka.TimestampMs(d.time()/kafka.Millisecond) + d.wallOffset
}

// maxNames bounds the interned names.
const maxNames = 1 << 12

// intern returns a copy of a path component that does not pin the path, shared
// with other files of that name.
func (n *Names) intern(name string) string {
	if known, ok := n.known[name]; ok {
		return known
	}
	if n.known == nil || len(n.known) >= maxNames {
		n.known = map[string]string{}
	}
	known := strings.Clone(name)
	n.known[known] = known
	return known
}

// The streams of draws.
const (
	drawJitter uint64 = iota + 1
	drawError
	drawFileImage
	drawDirImage
)

// key builds the index of a draw: stream, crash number, the object's own
// counter and the number of the decision about it.
func (d *Disk) key(stream uint64, counter uint32, decision uint8) uint64 {
	return stream<<56 | uint64(uint16(d.boot))<<40 | uint64(counter)<<8 | uint64(decision)
}

// Stats counts what happened since New or Reset, and measures what is there.
type Stats struct {
	Reads, ReadMisses, Writes, Syncs, DirSyncs, Flushes uint64 // calls
	Errors                                              uint64 // injected
	BytesRead, BytesWritten                             int64

	Files, Directories int   // linked; the root is not counted
	LiveBytes          int64 // allocated to linked files
	DirtyBytes         int64 // written and not yet durable
}

// Stats walks the tree to measure dirty bytes.
func (d *Disk) Stats() Stats {
	s := d.stats
	s.LiveBytes = d.used
	d.root.measure(&s, d)
	return s
}

func (dir *directory) measure(s *Stats, d *Disk) {
	for _, f := range dir.files {
		s.Files++
		d.writeBack(f, d.time())
		if f.vol != nil {
			for i := range f.vol.ops {
				s.DirtyBytes += int64(len(f.vol.ops[i].data))
			}
		}
	}
	for _, sub := range dir.dirs {
		s.Directories++
		sub.measure(s, d)
	}
}
