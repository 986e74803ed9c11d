package simdisk

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// step runs calls in a step of their own that begins at *now.
func step(d *Disk, now *kafka.Nanos, calls func()) {
	d.BeginStep(*now, kafka.Forever)
	calls()
	*now += d.EndStep()
}

func syncedFile(t testing.TB, d *Disk, name, content string) vfs.File {
	t.Helper()
	f := write(t, d, name, content)
	must(t, f.Sync())
	must(t, d.SyncDir(""))
	return f
}

// outcomes runs the workload on 300 seeds, cuts the power, and returns the
// distinct results.
func outcomes(t *testing.T, config Config, workload func(d *Disk, now *kafka.Nanos)) []string {
	t.Helper()
	var out []string
	for seed := range uint64(300) {
		d := New(config, seeded(seed))
		now := kafka.Nanos(0)
		workload(d, &now)
		d.Crash(PowerLoss, now)
		if s := text(t, d); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

func wantOutcomes(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("outcomes are\n%q, want\n%q", got, want)
	}
}

// A created entry may be lost (D11), and the file with it, although its content
// was synced.
func TestAFileWhoseEntryIsLostVanishesAlthoughSynced(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		step(d, now, func() { must(t, write(t, d, "f", "abc").Sync()) })
	}), "", "f=abc ")
}

func TestADirectorySyncMakesItsEntriesDurable(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		step(d, now, func() {
			must(t, write(t, d, "f", "abc").Sync())
			must(t, d.SyncDir(""))
		})
	}), "f=abc ")
}

func TestUnsyncedBytesSurviveOrAreLostOrReadAsZeros(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "abc")
		step(d, now, func() { must(t, f.Append([]byte("def"))) })
	}), "f=abc ", "f=abcdef ", "f=abc\x00\x00\x00 ")
}

func TestRenameIsLostOrWholeNeverHalf(t *testing.T) { // D12
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		syncedFile(t, d, "f", "old")
		syncedFile(t, d, "f.tmp", "new")
		step(d, now, func() { must(t, d.Rename("f.tmp", "f")) })
	}), "f=old f.tmp=new ", "f=new ")
}

func TestRemovalMayBeUndone(t *testing.T) { // D13
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		syncedFile(t, d, "f", "abc")
		step(d, now, func() { must(t, d.Remove("f")) })
	}), "", "f=abc ")
}

func TestTruncationMayBeUndone(t *testing.T) { // D14
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "abcdef")
		step(d, now, func() { must(t, f.Truncate(3)) })
	}), "f=abc ", "f=abcdef ")
}

// Bytes written behind a truncation need it: old bytes never follow new ones.
func TestAppendAfterTruncationNeedsTheTruncation(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "abcdef")
		step(d, now, func() {
			must(t, f.Truncate(2))
			must(t, f.Append([]byte("X")))
		})
	}), "f=abcdef ", "f=ab ", "f=abX ")
}

// A sector that is written after a truncation went through it carries its zeros.
func TestWriteBesideATruncationNeedsTheTruncation(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "ab")
		step(d, now, func() {
			must(t, f.Truncate(1))
			must(t, f.WriteAt(0, []byte("X")))
		})
	}), "f=ab ", "f=a ", "f=X ")
}

func TestTruncationsSurviveInOrder(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "abcdef")
		step(d, now, func() {
			must(t, f.Truncate(2))
			must(t, f.Truncate(4))
		})
	}), "f=abcdef ", "f=ab ", "f=ab\x00\x00 ")
}

// A file that is written all the time in small pieces still becomes durable.
func TestSmallWritesAgeAlthoughMoreFollow(t *testing.T) {
	d := newDisk(1)
	f := syncedFile(t, d, "f", "")
	now := kafka.Nanos(0)
	for range 450 {
		step(d, &now, func() { must(t, f.Append([]byte("x"))) })
		now += 100 * kafka.Millisecond
	}
	if dirty := d.Stats().DirtyBytes; dirty < 290 || dirty > 320 {
		t.Errorf("of 450 bytes in 45 s, %d are dirty; want those of the last 30 s and one second", dirty)
	}
}

func TestDirectoryChangesSurviveInOrder(t *testing.T) {
	workload := func(d *Disk, now *kafka.Nanos) {
		step(d, now, func() {
			create(t, d, "a")
			create(t, d, "b")
			must(t, d.Rename("a", "c"))
			must(t, d.Remove("b"))
		})
	}
	wantOutcomes(t, outcomes(t, Config{}, workload), "", "a= ", "a= b= ", "b= c= ", "c= ")
	wantOutcomes(t, outcomes(t, Config{Personality: PosixMinimum}, workload),
		"", "a= ", "b= ", "a= b= ", "b= c= ", "c= ")
}

func TestADirectoryThatVanishesTakesItsFiles(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		step(d, now, func() {
			must(t, d.MkdirAll("d"))
			must(t, write(t, d, "d/f", "abc").Sync())
			must(t, d.SyncDir("d"))
		})
	}), "", "d/ d/f=abc ")
}

func TestTopicDeletionMayBeUndone(t *testing.T) { // rename of a directory, then unlinking
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		must(t, d.MkdirAll("t-0"))
		must(t, write(t, d, "t-0/f", "abc").Sync())
		must(t, d.SyncDir("t-0"))
		must(t, d.SyncDir(""))
		step(d, now, func() {
			must(t, d.Rename("t-0", "t-0-delete"))
			must(t, d.Remove("t-0-delete/f"))
			must(t, d.Remove("t-0-delete"))
		})
	}), "t-0/ ", "t-0/ t-0/f=abc ", "t-0-delete/ ", "t-0-delete/ t-0-delete/f=abc ", "")
}

func TestOldChangesAreDurableByThemselves(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		step(d, now, func() { write(t, d, "f", "abc") })
		*now += 5 * kafka.Second // the journal's commit, not yet the data's
		step(d, now, func() { must(t, write(t, d, "g", "x").Sync()) })
		*now += 25 * kafka.Second
	}), "f=abc g=x ")
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "abcdef")
		step(d, now, func() {
			must(t, f.Append([]byte("g")))
			must(t, f.Truncate(3))
		})
		*now += 6 * kafka.Second
	}), "f=abc ")
}

// workload leaves unsynced changes to n files, in fixed time slots.
func workload(t *testing.T, d *Disk, names []string) kafka.Nanos {
	slot := kafka.Nanos(0)
	for i := range 20 {
		for _, name := range names {
			now := slot
			step(d, &now, func() {
				f, err := d.Open(name)
				if err != nil {
					f = create(t, d, name)
				}
				must(t, f.Append(vfstest.Bytes(700, byte(i))))
			})
		}
		slot += kafka.Millisecond
	}
	return slot
}

func TestSameSeedSameImage(t *testing.T) {
	images := map[string]int{}
	for seed := range uint64(20) {
		var twice [2]string
		for i := range twice {
			d := newDisk(seed)
			d.Crash(PowerLoss, workload(t, d, []string{"a", "b", "c"}))
			twice[i] = text(t, d)
		}
		if twice[0] != twice[1] {
			t.Fatalf("seed %d gives two images", seed)
		}
		images[twice[0]]++
	}
	if len(images) < 15 {
		t.Errorf("20 seeds give only %d images", len(images))
	}
}

func TestAnUnrelatedFileLeavesOtherImagesUnchanged(t *testing.T) {
	for seed := range uint64(50) {
		image := func(names ...string) []vfstest.Entry {
			d := newDisk(seed)
			d.Crash(PowerLoss, workload(t, d, names))
			return dump(t, d)
		}
		without := image("a", "b", "d")
		with := slices.DeleteFunc(image("a", "aa", "b", "c", "d"), func(e vfstest.Entry) bool { return e.Name == "aa" || e.Name == "c" })
		if diff := vfstest.Diff(with, without); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestKillKeepsThePageCacheAndDropsHandles(t *testing.T) {
	d := newDisk(1)
	f := write(t, d, "f", "abc")
	d.Crash(Kill, 0)
	if got := text(t, d); got != "f=abc " {
		t.Errorf("after a kill: %q", got)
	}
	if err := f.Append([]byte("x")); err == nil || text(t, d) != "f=abc " {
		t.Errorf("a handle of the dead process writes: %v", err)
	}
}

// What a reader got before a crash stays valid; the image's tails do not grow
// into it.
func TestBytesReadBeforeAPowerLossStayValid(t *testing.T) {
	d := newDisk(3)
	f := syncedFile(t, d, "f", "abc")
	must(t, f.Append([]byte("def")))
	held, err := f.ReadAt(0, 6)
	must(t, err)
	d.Crash(PowerLoss, 0)
	g, err := d.Open("f")
	must(t, err)
	must(t, g.Truncate(3))
	must(t, g.Append([]byte("XYZ")))
	if string(held) != "abcdef" {
		t.Errorf("bytes read before the crash are now %q", held)
	}
}

func TestCrashStatesAreAllAndEachOnce(t *testing.T) {
	d := newDisk(1)
	f := syncedFile(t, d, "f", "abcdef")
	now := kafka.Nanos(0)
	step(d, &now, func() {
		must(t, f.Truncate(2))
		must(t, f.Append([]byte("X")))
		must(t, d.Rename("f", "g"))
	})
	states, all := d.CrashStates(now, 100)
	var got []string
	for _, s := range states {
		got = append(got, text(t, s))
	}
	slices.Sort(got)
	if !all {
		t.Error("the enumeration is not complete")
	}
	wantOutcomes(t, got, "f=abcdef ", "f=ab ", "f=abX ", "g=abcdef ", "g=ab ", "g=abX ")
	if text(t, d) != "g=abX " {
		t.Error("the disk itself changed")
	}
	if some, all := d.CrashStates(now, 2); len(some) != 2 || all {
		t.Errorf("limit 2 gives %d states, all %v", len(some), all)
	}
}

// Every drawn image is among the enumerated ones.
func TestDrawnImagesAreAmongTheEnumerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		personality := Personality(rapid.IntRange(0, 1).Draw(t, "personality"))
		d := New(Config{Personality: personality}, seeded(rapid.Uint64().Draw(t, "seed")))
		m, now := vfstest.NewMachine(d), kafka.Nanos(0)
		for range 3 {
			o := drawOp(t)
			o.Slot, o.Size = 0, o.Size%1500
			d.BeginStep(now, kafka.Forever)
			m.Do(o)
			now += d.EndStep()
		}
		states, all := d.CrashStates(now, 5000)
		if !all {
			t.Fatalf("more than %d states", len(states))
		}
		d.Crash(PowerLoss, now)
		want := fmt.Sprint(vfstest.Dump(d))
		if !slices.ContainsFunc(states, func(s *Disk) bool { return fmt.Sprint(vfstest.Dump(s)) == want }) {
			t.Fatal("the drawn image is not among the enumerated")
		}
	})
}

func TestRotChangesOneByteOnTheDevice(t *testing.T) {
	d := newDisk(1)
	syncedFile(t, d, "f", "abc")
	if !d.Rot("f", 1, 1) || d.Rot("f", 3, 1) || d.Rot("g", 0, 1) {
		t.Error("Rot misjudges what is there")
	}
	d.Crash(PowerLoss, 0)
	if got := text(t, d); got != "f=acc " {
		t.Errorf("after rot: %q", got)
	}
	d.Wipe()
	if got := text(t, d); got != "" {
		t.Errorf("after a wipe: %q", got)
	}
}
