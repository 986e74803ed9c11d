package cluster

import (
	"encoding/binary"
	"path"

	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// LieAboutSyncs implements faults.Target.
func (c *Cluster) LieAboutSyncs(actor, match string) func() {
	return c.inject(actor, simdisk.SyncLie{Match: simdisk.Match{Pattern: match}})
}

// Wipe implements faults.Target.
func (c *Cluster) Wipe(actor string) bool {
	h := c.names[actor]
	if h == nil || h.disk == nil || c.k.State(h.id) == kernel.Running {
		return false
	}
	h.disk.Wipe()
	return true
}

// Damage implements faults.Target. Calls outside of a step are free.
func (c *Cluster) Damage(fault int, actor, match, how string) int {
	h := c.names[actor]
	if h == nil || h.disk == nil || c.k.State(h.id) == kernel.Running {
		return 0
	}
	x := damaging{fs: h.disk.Disk, match: match, how: how, draw: func(name string) uint64 { return c.Draw(fault, "damage:"+name, 0) }}
	x.dir(dataDir, "")
	return x.count
}

// damaging walks a directory.
type damaging struct {
	fs         vfs.FS
	match, how string
	draw       func(name string) uint64
	count      int
}

func (x *damaging) dir(dir, below string) {
	names, err := x.fs.List(dir)
	if err != nil {
		return // the broker never made it
	}
	for _, name := range names {
		info, err := x.fs.Stat(dir + "/" + name)
		switch inside := path.Join(below, name); {
		case err != nil:
		case info.IsDir:
			x.dir(dir+"/"+name, inside)
		default:
			if simdisk.MatchName(x.match, inside) && x.file(dir, dir+"/"+name) == nil {
				x.count++
			}
		}
	}
}

// file spoils one file, durably.
func (x *damaging) file(dir, name string) error {
	if x.how == "remove" {
		if err := x.fs.Remove(name); err != nil {
			return err
		}
		return x.fs.SyncDir(dir)
	}
	f, err := x.fs.Open(name)
	if err != nil {
		return err
	}
	if err := x.spoil(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func (x *damaging) spoil(f vfs.File) error {
	size := f.Size()
	switch x.how {
	case "empty":
		return f.Truncate(0)
	case "half":
		return f.Truncate(size / 2)
	case "zeros":
		return f.Append(make([]byte, 4096))
	case "garbage":
		b := make([]byte, 64)
		for i := range 8 {
			binary.BigEndian.PutUint64(b[8*i:], x.draw(f.Name()+string(rune('0'+i))))
		}
		return f.WriteAt(0, b)
	}
	if size == 0 {
		return nil
	}
	at := int64(x.draw(f.Name()) % uint64(size))
	b, err := f.ReadAt(at, 1)
	if err != nil {
		return err
	}
	return f.WriteAt(at, []byte{b[0] ^ 1<<(x.draw(f.Name()+"bit")%8)})
}
