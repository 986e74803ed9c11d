package simdisk

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// heap is the live heap in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// replicaFiles are the files of an idle replica; log and indexes stay open.
var replicaFiles = []string{
	"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
	"00000000000000000042.snapshot", "leader-epoch-checkpoint", "partition.metadata",
}

func TestAnIdleReplicaCostsLessThanOneKiB(t *testing.T) {
	const replicas = 1000
	paths := make([][]string, replicas) // the caller's own, as a log has them
	for i := range paths {
		dir := fmt.Sprintf("topic-%d", i)
		for _, name := range replicaFiles {
			paths[i] = append(paths[i], dir+"/"+name)
		}
		paths[i] = append(paths[i], dir)
	}
	handles := make([]vfs.File, 0, 3*replicas)
	d := newDisk(1)
	before := heap()
	now := kafka.Nanos(0)
	for i := range replicas {
		step(d, &now, func() { handles = makeReplica(t, d, paths[i], handles) })
	}
	for range 2000 {
		now += kafka.Second
		step(d, &now, func() {})
	}
	per := (heap() - before) / replicas
	t.Logf("%d bytes per idle replica of %d files, 3 open", per, len(replicaFiles))
	if per > 1024 {
		t.Errorf("an idle replica costs %d bytes", per)
	}
	runtime.KeepAlive(d)
	runtime.KeepAlive(handles)
	runtime.KeepAlive(paths)
}

func makeReplica(t *testing.T, d *Disk, paths []string, handles []vfs.File) []vfs.File {
	must(t, d.MkdirAll(paths[6]))
	for i, path := range paths[:6] {
		f := create(t, d, path)
		switch {
		case i == 1 || i == 2:
			must(t, f.Truncate(10<<20)) // preallocated index
		case i > 2:
			must(t, f.Append([]byte("version: 0, some thirty bytes")))
		}
		if i < 3 {
			handles = append(handles, f)
		} else {
			must(t, f.Sync())
			must(t, f.Close())
		}
	}
	return handles
}

func TestAppendedBytesAreKeptOnce(t *testing.T) {
	const mib, chunk = 64, 16 << 10
	d := newDisk(1)
	f := create(t, d, "f")
	before := heap()
	for i := range mib << 20 / chunk {
		b := make([]byte, chunk)
		b[0] = byte(i)
		must(t, f.Append(b))
	}
	used := heap() - before
	t.Logf("%d MiB appended and not synced cost %.3f MiB", mib, float64(used)/(1<<20))
	if used > mib<<20*102/100 {
		t.Errorf("%d MiB cost %d bytes", mib, used)
	}
	must(t, f.Sync())
	if used := heap() - before; used > mib<<20*101/100 {
		t.Errorf("%d MiB synced cost %d bytes", mib, used)
	}
	runtime.KeepAlive(d)
}

func TestReadsAliasWhatWasAppended(t *testing.T) {
	d := newDisk(1)
	f := create(t, d, "f")
	b := make([]byte, 16<<10)
	must(t, f.Append(b))
	got, err := f.ReadAt(100, 5000)
	must(t, err)
	if unsafe.SliceData(got) != unsafe.SliceData(b[100:]) || cap(got) != 5000 {
		t.Error("a read inside one append is a copy, or can grow")
	}
	if n := testing.AllocsPerRun(100, func() { f.ReadAt(100, 5000) }); n != 0 {
		t.Errorf("such a read makes %v allocations", n)
	}
}

// Two replicas that append the same slice share it.
func TestReplicasShareBytes(t *testing.T) {
	leader, follower := newDisk(1), newDisk(1)
	f, g := create(t, leader, "f"), create(t, follower, "f")
	must(t, f.Append(make([]byte, 4096)))
	b, _ := f.ReadAt(0, 4096)
	must(t, g.Append(b))
	c, _ := g.ReadAt(0, 4096)
	if unsafe.SliceData(b) != unsafe.SliceData(c) {
		t.Error("the follower keeps a copy")
	}
}

func TestUnsyncedChangesDoNotPileUp(t *testing.T) {
	d := newDisk(1)
	f, index := create(t, d, "f"), create(t, d, "index")
	must(t, index.Truncate(10<<20))
	now := kafka.Nanos(0)
	batch := make([]byte, 1024)
	for i := range 200_000 { // 1,000 s at 200 appends/s
		step(d, &now, func() {
			must(t, f.Append(batch))
			must(t, index.WriteAt(int64(8*i), batch[:8]))
		})
		now += 5 * kafka.Millisecond
	}
	if n := len(f.(*handle).file.vol.ops); n > 31*200 {
		t.Errorf("%d unsynced appends are kept, want at most 30 s of them", n)
	}
	if n := len(index.(*handle).file.vol.ops); n > 64+32 {
		t.Errorf("%d unsynced index writes are kept, want about one a second", n)
	}
}

func BenchmarkAppend16KiB(b *testing.B) {
	d := newDisk(1)
	f := create(b, d, "f")
	data := make([]byte, 16<<10)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	now := kafka.Nanos(0)
	for b.Loop() {
		d.BeginStep(now, kafka.Forever)
		if err := f.Append(data); err != nil {
			b.Fatal(err)
		}
		now += d.EndStep() + kafka.Millisecond
		if f.Size() > 1<<30 {
			must(b, f.Truncate(0))
		}
	}
}

func BenchmarkRead64KiB(b *testing.B) {
	for _, c := range []struct {
		name  string
		chunk int
	}{{"one extent", 1 << 20}, {"four extents", 16 << 10}} {
		b.Run(c.name, func(b *testing.B) {
			d := newDisk(1)
			f := create(b, d, "f")
			for f.Size() < 64<<20 {
				must(b, f.Append(make([]byte, c.chunk)))
			}
			b.SetBytes(64 << 10)
			b.ReportAllocs()
			d.BeginStep(0, kafka.Forever)
			pos := int64(0)
			for b.Loop() {
				if _, err := f.ReadAt(pos, 64<<10); err != nil {
					b.Fatal(err)
				}
				pos = (pos + 1<<20) & (64<<20 - 1)
			}
		})
	}
}

func BenchmarkIndexEntryWriteAt(b *testing.B) {
	d := newDisk(1)
	f := create(b, d, "f")
	must(b, f.Truncate(10<<20))
	must(b, f.Sync())
	entry := make([]byte, 8)
	b.ReportAllocs()
	now, pos := kafka.Nanos(0), int64(0)
	for b.Loop() {
		d.BeginStep(now, kafka.Forever)
		if err := f.WriteAt(pos, entry); err != nil {
			b.Fatal(err)
		}
		now += d.EndStep() + kafka.Millisecond
		if pos += 8; pos == 10<<20 {
			pos = 0
			must(b, f.Truncate(0))
			must(b, f.Truncate(10<<20))
		}
	}
}
