package simdisk

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// seeded is a pure function of seed, name and index, as the kernel's draws are.
func seeded(seed uint64) Draws {
	return func(name string, index uint64) uint64 {
		h := seed ^ 0xcbf29ce484222325
		for i := range len(name) {
			h = (h ^ uint64(name[i])) * 0x100000001b3
		}
		h = (h ^ index) * 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		return h ^ h>>31
	}
}

func newDisk(seed uint64) *Disk { return New(Config{}, seeded(seed)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, d *Disk, name string) vfs.File {
	t.Helper()
	f, err := d.Create(name)
	must(t, err)
	return f
}

// write makes a file with content, in the current step or outside any.
func write(t testing.TB, d *Disk, name, content string) vfs.File {
	t.Helper()
	f := create(t, d, name)
	must(t, f.Append([]byte(content)))
	return f
}

func dump(t testing.TB, fs vfs.FS) []vfstest.Entry {
	t.Helper()
	entries, err := vfstest.Dump(fs)
	must(t, err)
	return entries
}

// text is the dump as one line: name=content, directories as name/.
func text(t testing.TB, fs vfs.FS) string {
	t.Helper()
	s := ""
	for _, e := range dump(t, fs) {
		if e.Dir {
			s += e.Name + "/ "
		} else {
			s += e.Name + "=" + string(e.Data) + " "
		}
	}
	return s
}

func TestDiskObeysTheInterface(t *testing.T) {
	for name, config := range map[string]Config{
		"default":     {},
		"small cache": {PageCache: 1 << 17},
		"limited":     {Capacity: 1 << 40},
		"posix":       {Personality: PosixMinimum},
	} {
		t.Run(name, func(t *testing.T) {
			vfstest.Run(t, func(*testing.T) vfs.FS { return New(config, seeded(1)) })
		})
	}
}

func TestDiskInAStepObeysTheInterface(t *testing.T) {
	vfstest.Run(t, func(*testing.T) vfs.FS {
		d := newDisk(1)
		d.BeginStep(1000, kafka.Forever)
		return d
	})
}

func TestAResetDiskObeysTheInterface(t *testing.T) {
	d := newDisk(1)
	vfstest.Run(t, func(t *testing.T) vfs.FS {
		d.Reset(Config{}, seeded(2))
		return d
	})
}

func drawOp(t *rapid.T) vfstest.Op {
	name := rapid.SampledFrom(vfstest.RandomPaths)
	return vfstest.Op{
		Kind: vfstest.Kind(rapid.IntRange(0, int(vfstest.Kinds)-1).Draw(t, "kind")),
		Name: name.Draw(t, "name"),
		New:  name.Draw(t, "new"),
		Slot: rapid.IntRange(0, vfstest.Slots-1).Draw(t, "slot"),
		Pos:  rapid.OneOf(rapid.Int64Range(0, 64), rapid.Int64Range(0, 9000)).Draw(t, "pos"),
		Size: rapid.OneOf(rapid.IntRange(0, 16), rapid.IntRange(0, 5000)).Draw(t, "size"),
		Fill: rapid.Byte().Draw(t, "fill"),
	}
}

// After a kill all that was written is there; handles are gone.
func TestDiskMatchesMemThroughKills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, mem := newDisk(1), vfstest.NewMem()
		fast, slow := vfstest.NewMachine(d), vfstest.NewMachine(mem)
		now := kafka.Nanos(0)
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				for range 8 {
					o := drawOp(t)
					d.BeginStep(now, kafka.Forever)
					if got, want := fast.Do(o), slow.Do(o); got != want {
						t.Fatalf("%s: %s, Mem says %s", o, got, want)
					}
					now += d.EndStep()
				}
			},
			"wait": func(t *rapid.T) { now += kafka.Nanos(rapid.Int64Range(0, int64(40*kafka.Second)).Draw(t, "wait")) },
			"kill": func(*rapid.T) {
				d.Crash(Kill, now)
				fast.Forget()
				slow.Forget()
			},
			"": func(t *rapid.T) {
				got, err := vfstest.Dump(d)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := vfstest.Dump(mem)
				if diff := vfstest.Diff(got, want); diff != "" {
					t.Fatal(diff)
				}
				if live := d.root.allocated(); d.used != live || d.Stats().LiveBytes != live {
					t.Fatalf("used is %d, allocated %d", d.used, live)
				}
			},
		})
	})
}

// When everything is synced, a power loss changes nothing; and what is durable
// follows the twin through any mix of syncs, flushes and time.
func TestSyncedDiskSurvivesPowerLossUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New(Config{}, seeded(rapid.Uint64().Draw(t, "seed")))
		m := vfstest.NewMachine(d)
		now := kafka.Nanos(0)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			d.BeginStep(now, kafka.Forever)
			m.Do(drawOp(t))
			now += d.EndStep()
		}
		want, err := vfstest.Dump(d)
		if err != nil {
			t.Fatal(err)
		}
		syncAll(t, d, want, rapid.SampledFrom([]string{"sync", "flush", "age"}).Draw(t, "how"), &now)
		d.Crash(PowerLoss, now)
		got, err := vfstest.Dump(d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := vfstest.Diff(got, want); diff != "" {
			t.Fatal(diff)
		}
	})
}

func syncAll(t *rapid.T, d *Disk, entries []vfstest.Entry, how string, now *kafka.Nanos) {
	if how == "age" {
		*now += 30 * kafka.Second
		return
	}
	var files []vfs.File
	dirs := []string{""}
	for _, e := range entries {
		if e.Dir {
			dirs = append(dirs, e.Name)
			continue
		}
		f, err := d.Open(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if how == "flush" {
		id, at := d.BeginFlush(files, dirs, *now)
		*now = at
		if err := d.CompleteFlush(id); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, f := range files {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		if err := d.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}
