package simdisk

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Words and personalities belong together.
func TestPersonalitiesHaveWords(t *testing.T) {
	for p := range numPersonalities {
		if got, ok := ParsePersonality(p.String()); !ok || got != p {
			t.Errorf("%s is personality %d, not %d", p, got, p)
		}
	}
	if _, ok := ParsePersonality("fat"); ok {
		t.Error("a file system that is not modelled has a word")
	}
}

// An append that lost its power leaves zeros on ext4, where the size may outlive the
// data (D10), and none on XFS and btrfs, which set the size when the data are written.
func TestOnlySomeFilesystemsLeaveAFileLongerThanItsData(t *testing.T) {
	workload := func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "ab")
		step(d, now, func() { must(t, f.Append([]byte("c"))) })
	}
	wantOutcomes(t, outcomes(t, Config{Personality: Ext4Ordered}, workload), "f=ab ", "f=abc ", "f=ab\x00 ")
	for _, p := range []Personality{XFS, Btrfs, Ext4Journal} {
		wantOutcomes(t, outcomes(t, Config{Personality: p}, workload), "f=ab ", "f=abc ")
	}
}

// After a failed sync btrfs reads what is durable; the others what was written (D16).
func TestBtrfsRevertsWhatItCouldNotSync(t *testing.T) {
	for p := range numPersonalities {
		d := New(Config{Profile: flat(), Personality: p}, seeded(1))
		f := syncedFile(t, d, "f", "ab")
		must(t, f.Append([]byte("cd")))
		d.Inject(SyncDrop{Match{Nth: 1}})
		now := kafka.Nanos(0)
		step(d, &now, func() { _ = f.Sync() })
		want := "abcd"
		if p == Btrfs {
			want = "ab"
		}
		if b, err := f.ReadAt(0, 9); err != nil || string(b) != want {
			t.Errorf("%s: the file reads %q (%v), want %q", p, b, err, want)
		}
		d.Crash(PowerLoss, now)
		if got := text(t, d); p == Btrfs && got != "f=ab " {
			t.Errorf("btrfs: after a power loss %q", got)
		}
	}
}

// With data=journal the sync that fails succeeds, and the next one fails (D17). Nothing
// that it dropped is durable.
func TestADataJournalReportsAFailedSyncLate(t *testing.T) {
	wantOutcomes(t, outcomes(t, Config{Personality: Ext4Journal}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "ab")
		d.Inject(SyncDrop{Match{Pattern: "f", Nth: 1}})
		step(d, now, func() {
			must(t, f.Append([]byte("cd")))
			must(t, f.Sync())
			if err := f.Sync(); !errors.Is(err, vfs.ErrIO) {
				t.Fatalf("the sync after the failed one gives %v", err)
			}
			must(t, f.Sync())
		})
	}), "f=ab ")
}

// A power loss tears no write of a data journal: of a file's changes a prefix is left.
func TestADataJournalKeepsAPrefixOfChanges(t *testing.T) {
	a, b := make([]byte, 2*Sector), make([]byte, 2*Sector)
	for i := range a {
		a[i], b[i] = 'a', 'b'
	}
	for _, got := range outcomes(t, Config{Personality: Ext4Journal}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "")
		step(d, now, func() {
			must(t, f.Append(a))
		})
		*now += 2 * mergeWithin
		step(d, now, func() { must(t, f.Append(b)) })
	}) {
		if n := len(got) - len("f= "); n != 0 && n != len(a) && n != len(a)+len(b) {
			t.Errorf("a power loss left %d bytes", n)
		}
	}
}
