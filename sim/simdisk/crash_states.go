package simdisk

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// CrashStates enumerates what a power loss now could leave: every image that
// the personality allows, each once, as a disk of its own on which a recovery
// can run. It stops after limit images, or after 64 times as many tries, and
// says whether it saw all. The number grows exponentially with the unsynced
// changes: meant for workloads of up to three. The disk itself is not changed.
func (d *Disk) CrashStates(now kafka.Nanos, limit int) (states []*Disk, all bool) {
	all = d.EachCrashState(now, 64*limit, func(s *Disk) bool {
		if len(states) == limit {
			return false
		}
		states = append(states, s)
		return true
	})
	return states, all
}

// EachCrashState calls visit for each of the images of CrashStates, one at a time,
// until it returns false or after a number of tries. It reports whether all were seen.
func (d *Disk) EachCrashState(now kafka.Nanos, tries int, visit func(*Disk) bool) (all bool) {
	d.now = max(d.now, now)
	seen := map[string]bool{}
	e := &enumerator{disk: d, images: map[*file][]*file{}}
	for range tries {
		root := d.image(e)
		if id := string(root.fingerprint(nil)); !seen[id] {
			seen[id] = true
			s := New(d.config, d.draws)
			s.now, s.boot, s.wallOffset = d.now, d.boot+1, d.wallOffset
			s.install(root)
			if !visit(s) {
				return false
			}
		}
		if !e.next() {
			return true
		}
	}
	return false
}

// Fingerprint identifies what is stored: names, sizes and a hash of each content.
func (d *Disk) Fingerprint() string { return string(d.root.fingerprint(nil)) }

// enumerator walks the tree of decisions depth first: it repeats a path of
// choices and takes the first option beyond it.
type enumerator struct {
	disk  *Disk
	path  []choice
	depth int
	// images are the different ones of each file, so that the choice between them is
	// one, not one for each of its changes.
	images map[*file][]*file
}

// image is one of a file's images, of its own.
func (e *enumerator) image(f *file, path string) *file {
	list, known := e.images[f]
	if !known {
		list = e.disk.fileImages(f, path)
		e.images[f] = list
	}
	chosen := *list[e.pick(len(list))]
	chosen.live = chosen.live.clone(chosen.live.size)
	if chosen.cached != nil {
		chosen.cached = &residency{}
	}
	return &chosen
}

// fileImages are the different images of one file.
func (d *Disk) fileImages(f *file, path string) (list []*file) {
	seen := map[string]bool{}
	for e := (&enumerator{}); ; {
		image := d.imageFile(f, path, e)
		id := string(image.live.hash(binary.LittleEndian.AppendUint64(nil, uint64(image.live.size))))
		if !seen[id] {
			seen[id] = true
			list = append(list, image)
		}
		if !e.next() {
			return list
		}
	}
}

type choice struct{ taken, of int }

func (e *enumerator) pick(n int) int {
	if e.depth == len(e.path) {
		e.path = append(e.path, choice{0, n})
	}
	e.depth++
	return e.path[e.depth-1].taken
}

// next turns to the next path and reports whether there is one.
func (e *enumerator) next() bool {
	e.depth = 0
	for n := len(e.path); n > 0; n = len(e.path) {
		if last := &e.path[n-1]; last.taken+1 < last.of {
			last.taken++
			return true
		}
		e.path = e.path[:n-1]
	}
	return false
}

// choose considers each change by itself: the whole-file fates are shortcuts
// to states that this reaches as well.
func (e *enumerator) choose(stream uint64, _ string, _ uint32, decision uint8, n int) int {
	if stream == drawFileImage && decision == decideFate {
		return anyKept
	}
	return e.pick(n)
}

func (e *enumerator) seldom(uint64, string, uint32, uint8) bool { return e.pick(2) == 1 }

func (e *enumerator) cut(_ string, ops []dirOp) int { return e.pick(len(ops) + 1) }

// fingerprint appends names, sizes and a 128-bit hash of each content.
func (dir *directory) fingerprint(b []byte) []byte {
	for _, f := range dir.files {
		b = appendName(append(b, 'f'), f.name)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.live.size))
		b = f.live.hash(b)
	}
	for _, sub := range dir.dirs {
		b = append(sub.fingerprint(appendName(append(b, 'd'), sub.name)), '.')
	}
	return b
}

func appendName(b []byte, name string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(name))), name...)
}

// hash mixes the bytes that are not zero, so that holes equal written zeros.
func (c *content) hash(b []byte) []byte {
	h, g := uint64(1), uint64(2)
	for i := range c.extents {
		for j, x := range c.extents[i].data {
			if x == 0 {
				continue
			}
			word := uint64(c.extents[i].pos+int64(j))<<8 | uint64(x)
			h = (h ^ word) * 0x9e3779b97f4a7c15
			h ^= h >> 29
			g = (g ^ word) * 0xd6e8feb86659fd93
			g ^= g >> 32
		}
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, h), g)
}
