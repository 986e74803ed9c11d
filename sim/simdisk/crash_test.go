package simdisk

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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

// Sectors of 512 bytes are atomic: each of the image is one that the file had
// at some moment since the last sync, or zeros from some size on.
func TestPowerLossTearsOnlyAtSectors(t *testing.T) {
	torn := 0
	rapid.Check(t, func(t *rapid.T) {
		d := New(Config{}, seeded(rapid.Uint64().Draw(t, "seed")))
		f, err := d.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		must2(t, f.Append(vfstest.Bytes(rapid.IntRange(0, 3000).Draw(t, "synced"), 1)))
		must2(t, f.Sync())
		must2(t, d.SyncDir(""))
		history := [][]byte{whole(t, f)}
		now := kafka.Nanos(0)
		for i := range rapid.IntRange(1, 6).Draw(t, "changes") {
			d.BeginStep(now, kafka.Forever)
			change1(t, f, byte(100+20*i))
			now += d.EndStep()
			history = append(history, whole(t, f))
		}
		d.Crash(PowerLoss, now)
		g, err := d.Open("f")
		if err != nil {
			t.Fatal(err)
		}
		got := whole(t, g)
		sizes := checkSectors(t, got, history)
		if !slices.Contains(sizes, len(got)) && len(got)%Sector != 0 {
			t.Fatalf("size %d is none of %v and no sector boundary", len(got), sizes)
		}
		if !slices.ContainsFunc(history, func(h []byte) bool { return bytes.Equal(h, got) }) {
			torn++
		}
	})
	if torn == 0 {
		t.Error("no image differs from all states of the file")
	}
}

func must2(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func whole(t *rapid.T, f vfs.File) []byte {
	b, err := f.ReadAt(0, int(f.Size()))
	must2(t, err)
	return bytes.Clone(b)
}

func change1(t *rapid.T, f vfs.File, fill byte) {
	n := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 2500)).Draw(t, "n")
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		must2(t, f.Append(bytes.Repeat([]byte{fill}, n)))
	case 1:
		must2(t, f.WriteAt(rapid.Int64Range(0, f.Size()).Draw(t, "pos"), bytes.Repeat([]byte{fill}, n)))
	case 2:
		must2(t, f.Truncate(rapid.Int64Range(0, f.Size()+2000).Draw(t, "size")))
	}
}

func checkSectors(t *rapid.T, got []byte, history [][]byte) (sizes []int) {
	for s := 0; s < len(got); s += Sector {
		have := sector(got, s)
		if !slices.ContainsFunc(history, func(h []byte) bool { return cutOf(have, sector(h, s)) }) {
			t.Fatalf("sector at %d of the image never existed", s)
		}
	}
	for _, h := range history {
		sizes = append(sizes, len(h))
	}
	return sizes
}

// sector is 512 bytes, zeros past the end.
func sector(b []byte, at int) []byte {
	out := make([]byte, Sector)
	if at < len(b) {
		copy(out, b[at:])
	}
	return out
}

// cutOf reports whether got is want up to some byte and zeros from there.
func cutOf(got, want []byte) bool {
	i := 0
	for i < len(got) && got[i] == want[i] {
		i++
	}
	return len(bytes.Trim(got[i:], "\x00")) == 0
}

// The slow twin of dependency closure in a directory: the journal commits in
// order, so the image is the directory at some moment since its last sync.
func TestADirectoryImageIsAMomentOfItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New(Config{}, seeded(rapid.Uint64().Draw(t, "seed")))
		m, now := vfstest.NewMachine(d), kafka.Nanos(0)
		names := func() string {
			l, err := d.List("")
			must2(t, err)
			return strings.Join(l, " ")
		}
		history := []string{names()}
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			o := drawOp(t)
			o.Kind = []vfstest.Kind{vfstest.Create, vfstest.Remove, vfstest.Rename, vfstest.MkdirAll, vfstest.SyncDir}[int(o.Kind)%5]
			o.Name, o.New = o.Name[:1], o.New[:1]
			if o.Kind == vfstest.SyncDir {
				o.Name = ""
				history = nil
			}
			d.BeginStep(now, kafka.Forever)
			m.Do(o)
			now += d.EndStep()
			history = append(history, names())
		}
		d.Crash(PowerLoss, now)
		if got := names(); !slices.Contains(history, got) {
			t.Fatalf("image %q is none of %q", got, history)
		}
	})
}

func TestWhatWasSyncedIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New(Config{Personality: Personality(rapid.IntRange(0, 1).Draw(t, "personality"))}, seeded(rapid.Uint64().Draw(t, "seed")))
		f, err := d.Create("f")
		must2(t, err)
		must2(t, d.SyncDir(""))
		now := kafka.Nanos(0)
		var synced []byte
		for i := range rapid.IntRange(1, 30).Draw(t, "calls") {
			d.BeginStep(now, kafka.Forever)
			must2(t, f.Append(vfstest.Bytes(rapid.IntRange(1, 1200).Draw(t, "n"), byte(i))))
			if rapid.IntRange(0, 3).Draw(t, "sync") == 0 {
				must2(t, f.Sync())
				synced = whole(t, f)
			}
			now += d.EndStep()
		}
		d.Crash(PowerLoss, now)
		g, err := d.Open("f")
		must2(t, err)
		if !bytes.HasPrefix(whole(t, g), synced) {
			t.Fatal("synced bytes are gone")
		}
		d.Crash(PowerLoss, now) // the image is durable
		h, err := d.Open("f")
		must2(t, err)
		if !bytes.HasPrefix(whole(t, h), synced) || h.Size() != g.Size() {
			t.Fatal("a second power loss changes the image")
		}
	})
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
