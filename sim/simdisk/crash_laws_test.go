package simdisk

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

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
