package simdisk

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// flat is a profile with round prices and no jitter.
func flat() Profile {
	return Profile{
		Append: 1000, AppendPerKiB: 10,
		Read: 500, ReadPerKiB: 5,
		ReadMiss: 100_000, ReadMissPerKiB: 100,
		Sync: 1_000_000, SyncPerKiB: 1000,
		Metadata: 7000,
	}
}

func flatDisk() *Disk { return New(Config{Profile: flat()}, seeded(1)) }

// price runs calls in a step at now.
func price(d *Disk, now kafka.Nanos, calls func()) kafka.Nanos {
	d.BeginStep(now, kafka.Forever)
	calls()
	return d.EndStep()
}

func wantPrice(t *testing.T, what string, got, want kafka.Nanos) {
	t.Helper()
	if got != want {
		t.Errorf("%s takes %d ns, want %d", what, got, want)
	}
}

func TestEachCallHasItsPrice(t *testing.T) {
	d := flatDisk()
	f := create(t, d, "f")
	wantPrice(t, "append of 64 KiB", price(d, 0, func() { must(t, f.Append(make([]byte, 64<<10))) }), 1000+640)
	wantPrice(t, "write of 8 bytes", price(d, 0, func() { must(t, f.WriteAt(0, make([]byte, 8))) }), 1001)
	wantPrice(t, "cached read of 4 KiB", price(d, 0, func() { f.ReadAt(0, 4096) }), 520)
	wantPrice(t, "sync of 64 KiB and 8 bytes", price(d, 0, func() { must(t, f.Sync()) }), 1_000_000+64_000+8)
	wantPrice(t, "sync of nothing", price(d, 1e9, func() { must(t, f.Sync()) }), 1_000_000)
	wantPrice(t, "directory sync", price(d, 2e9, func() { must(t, d.SyncDir("")) }), 1_000_000)
	wantPrice(t, "create, open, stat, list, rename, remove, truncate, mkdir", price(d, 3e9, func() {
		create(t, d, "g")
		d.Open("g")
		d.Stat("g")
		d.List("")
		must(t, d.Rename("g", "h"))
		must(t, d.Remove("h"))
		must(t, f.Truncate(0))
		must(t, d.MkdirAll("d"))
	}), 8*7000)
	wantPrice(t, "nothing", price(d, 4e9, func() { f.Size(); f.Name() }), 0)
}

func TestDefaultPricesArePlausible(t *testing.T) {
	d := newDisk(1)
	f := create(t, d, "f")
	if p := price(d, 0, func() { must(t, f.Append(make([]byte, 64<<10))) }); p < 15*kafka.Microsecond || p > 25*kafka.Microsecond {
		t.Errorf("append of 64 KiB takes %s", p)
	}
	if p := price(d, kafka.Second, func() { must(t, f.Sync()) }); p < kafka.Millisecond || p > 3*kafka.Millisecond {
		t.Errorf("sync of 64 KiB takes %s", p)
	}
}

func TestCallsOutsideAStepAreFreeAndMeetNoFaults(t *testing.T) {
	d := flatDisk()
	d.Inject(IOError{})
	d.SetHook(func(Op) Action { return Action{Kind: Fail} })
	f := write(t, d, "f", "abc")
	must(t, f.Sync())
	wantPrice(t, "the step after", price(d, 0, func() {}), 0)
}

func TestSyncWaitsBehindABigFlush(t *testing.T) {
	d := flatDisk()
	big, small := create(t, d, "big"), write(t, d, "small", "x")
	must(t, big.Append(make([]byte, 10<<20)))
	_, at := d.BeginFlush([]vfs.File{big}, nil, 0)
	wantPrice(t, "flush of 10 MiB", at, 1_000_000+10<<10*1000)
	wantPrice(t, "sync behind it", price(d, 1_000_000, func() { must(t, small.Sync()) }), at-1_000_000+1_000_001)
	wantPrice(t, "append beside it", price(d, 1_000_000, func() { must(t, small.Append([]byte("y"))) }), 1001)
}

// Several lanes: a step that begins while another lane's sync is at the device.
func TestSyncsOfTwoLanesQueue(t *testing.T) {
	d := flatDisk()
	f, g := create(t, d, "f"), create(t, d, "g")
	wantPrice(t, "first sync", price(d, 0, func() { must(t, f.Sync()) }), 1_000_000)
	wantPrice(t, "second sync", price(d, 400_000, func() { must(t, g.Sync()) }), 600_000+1_000_000)
}

func TestFlushCoversOnlyEarlierBytes(t *testing.T) {
	for _, small := range []bool{true, false} {
		d := flatDisk()
		f := syncedFile(t, d, "f", "")
		n := 1000
		if small {
			n = 4
		}
		must(t, f.Append(vfstest.Bytes(n, 1)))
		create(t, d, "covered")
		id, at := d.BeginFlush([]vfs.File{f}, []string{"", "gone"}, 0)
		must(t, f.Append(vfstest.Bytes(n, 50)))
		create(t, d, "later")
		must(t, d.CompleteFlush(id))
		if s := d.Stats(); s.DirtyBytes != int64(n) || s.Flushes != 1 {
			t.Errorf("after the flush %d bytes are dirty, want %d", s.DirtyBytes, n)
		}
		states, _ := d.CrashStates(at, 1000)
		lost, kept := false, false
		for _, s := range states {
			entries := dump(t, s)
			if entries[0].Name != "covered" {
				t.Fatal("a flushed directory entry is lost")
			}
			size := len(entries[1].Data)
			if size < n {
				t.Fatalf("a state has only %d bytes of %d flushed", size, n)
			}
			lost, kept = lost || size == n && len(entries) == 2, kept || size == 2*n && len(entries) == 3
		}
		if !lost || !kept {
			t.Errorf("bytes and entries later than the flush: lost in some state %v, kept in some %v", lost, kept)
		}
		if d.CompleteFlush(id) == nil {
			t.Error("a flush completes twice")
		}
	}
}

func TestTheDeviceQueueOutlivesAKillButNotAPowerLoss(t *testing.T) {
	for kind, want := range map[CrashKind]kafka.Nanos{Kill: 1_000_000 + 10<<10*1000 + 1_000_000, PowerLoss: 1_000_000} {
		d := flatDisk()
		f := create(t, d, "f")
		must(t, f.Append(make([]byte, 10<<20)))
		d.BeginFlush([]vfs.File{f}, nil, 0)
		d.Crash(kind, 0)
		wantPrice(t, "a directory sync after the crash", price(d, 0, func() { must(t, d.SyncDir("")) }), want)
	}
}

func TestFlushDiesWithTheProcess(t *testing.T) {
	d := flatDisk()
	f := write(t, d, "f", "abc")
	id, at := d.BeginFlush([]vfs.File{f}, nil, 0)
	d.Crash(Kill, at)
	if err := d.CompleteFlush(id); err == nil {
		t.Error("a flush of a dead process completes")
	}
}

func TestACallThatWouldPassTheCrashFails(t *testing.T) {
	d := flatDisk()
	f := write(t, d, "f", "abc")
	d.BeginStep(0, 2500)
	must(t, f.Append([]byte("1"))) // until 1001
	must(t, f.Append([]byte("2"))) // until 2002
	if err := f.Append([]byte("3")); !errors.Is(err, vfs.ErrCrashed) {
		t.Errorf("an append until 3003 with a crash at 2500: %v", err)
	}
	for _, call := range []func() error{
		func() error { return f.Append([]byte("x")) },
		func() error { return f.Sync() },
		func() error { return f.Truncate(0) },
		func() error { return f.Close() },
		func() error { _, err := f.ReadAt(0, 1); return err },
		func() error { _, err := d.Create("g"); return err },
		func() error { _, err := d.Open("f"); return err },
		func() error { _, err := d.Stat("f"); return err },
		func() error { _, err := d.List(""); return err },
		func() error { return d.Remove("f") },
		func() error { return d.Rename("f", "g") },
		func() error { return d.MkdirAll("d") },
		func() error { return d.SyncDir("") },
	} {
		if err := call(); !errors.Is(err, vfs.ErrCrashed) {
			t.Errorf("after the crash a call gives %v", err)
		}
	}
	wantPrice(t, "the step", d.EndStep(), 2500)
	if !d.Crashed() {
		t.Error("the disk does not know of the crash")
	}
	d.Crash(Kill, 2500)
	if got := text(t, d); got != "f=abc12 " || d.Crashed() {
		t.Errorf("after the crash: %q", got)
	}
}

func TestACallThatEndsAtTheCrashSucceeds(t *testing.T) {
	d := flatDisk()
	f := create(t, d, "f")
	d.BeginStep(0, 1001)
	must(t, f.Append([]byte("1")))
}

func TestAKillInsideAnAppendLeavesWholePages(t *testing.T) {
	d := flatDisk()
	f := create(t, d, "f")
	must(t, f.Append(make([]byte, 100)))
	d.BeginStep(0, 1000+500) // of 1000+1000
	if err := f.Append(make([]byte, 100<<10)); !errors.Is(err, vfs.ErrCrashed) {
		t.Fatal(err)
	}
	if size := f.Size(); size != (100+75<<10)/4096*4096 {
		t.Errorf("three quarters of the time left %d bytes", size)
	}
}

func TestASyncThatTheCrashInterruptsPromisesNothing(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{Profile: flat()}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "a")
		d.BeginStep(0, 5000)
		must(t, f.Append([]byte("b")))
		if err := f.Sync(); !errors.Is(err, vfs.ErrCrashed) {
			t.Fatal(err)
		}
		*now = d.EndStep()
	}), "f=a ", "f=ab ", "f=a\x00 ")
}

func TestReadsMissAfterAPowerLossAndHitAgain(t *testing.T) { // D35
	d := flatDisk()
	f := syncedFile(t, d, "f", "")
	must(t, f.Append(make([]byte, 200<<10)))
	must(t, f.Sync())
	wantPrice(t, "a cached read", price(d, 0, func() { f.ReadAt(0, 4096) }), 520)
	d.Crash(PowerLoss, 0)
	g, err := d.Open("f")
	must(t, err)
	miss := kafka.Nanos(100_000 + 64*100)
	wantPrice(t, "a cold read", price(d, 0, func() { g.ReadAt(0, 4096) }), 520+miss)
	wantPrice(t, "the same again", price(d, 1e9, func() { g.ReadAt(100, 4096) }), 520)
	wantPrice(t, "the rest", price(d, 2e9, func() { g.ReadAt(0, 200<<10) }), 500+1000+100_000+136*100)
	wantPrice(t, "all again", price(d, 3e9, func() { g.ReadAt(0, 200<<10) }), 1500)
	must(t, g.Append(make([]byte, 1<<20)))
	wantPrice(t, "what was written since", price(d, 4e9, func() { g.ReadAt(1<<20, 1024) }), 505)
	if s := d.Stats(); s.ReadMisses != 2 {
		t.Errorf("%d misses counted, want 2", s.ReadMisses)
	}
}

func TestASmallPageCacheEvictsTheOldest(t *testing.T) {
	d := New(Config{Profile: flat(), PageCache: 128 << 10}, seeded(1))
	f := create(t, d, "f")
	must(t, f.Append(make([]byte, 256<<10)))
	read := func(pos int64) bool { return price(d, 1e12, func() { f.ReadAt(pos, 1024) }) > 505 }
	if read(192<<10) || read(128<<10) {
		t.Error("the newest 128 KiB are not cached")
	}
	if !read(0) || read(0) {
		t.Error("an evicted granule hits, or misses twice")
	}
	if !read(128 << 10) {
		t.Error("the oldest granule was not evicted")
	}
}

func TestModTimeIsTheNodesWallClock(t *testing.T) {
	d := flatDisk()
	d.SetWallOffset(1_700_000_000_000)
	price(d, 5*kafka.Second, func() { write(t, d, "f", "abc") })
	info, err := d.Stat("f")
	must(t, err)
	if info.ModTime != 1_700_000_005_000 {
		t.Errorf("modification time is %d", info.ModTime)
	}
}

// A read to send is priced as one, and as any read where the profile tells no price.
func TestReadToSendHasItsOwnPrice(t *testing.T) {
	for _, c := range []struct {
		p    Profile
		want kafka.Nanos
	}{
		{Profile{Read: 100, ReadPerKiB: 10, Send: 7, SendPerKiB: 3}, 7 + 4*3},
		{Profile{Read: 100, ReadPerKiB: 10}, 100 + 4*10},
	} {
		d := New(Config{Profile: c.p}, func(string, uint64) uint64 { return 0 })
		f, err := d.Create("a")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
		d.BeginStep(0, kafka.Forever)
		if _, err := f.(vfs.Lender).ReadToSend(0, 4096); err != nil {
			t.Fatal(err)
		}
		if got := d.EndStep(); got != c.want {
			t.Errorf("%+v: %d ns, want %d", c.p, got, c.want)
		}
	}
}
