package vfstest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/vfs"
)

// sizes are around the limits of small writes, sectors, pages and large batches.
var sizes = []int{1, 8, 12, 100, 511, 512, 513, 4095, 4096, 5000, 70000}

func readReturnsWhatWasAppended(k *kit) {
	f := k.create("f")
	var want []byte
	for i, n := range slices.Concat(sizes, sizes) {
		b := Bytes(n, byte(i))
		k.ok(f.Append(b))
		want = append(want, b...)
		k.holds(f, want)
	}
}

func readStopsAtTheEnd(k *kit) {
	f := k.file("f", "abcdef")
	for _, c := range []struct {
		pos  int64
		n    int
		want string
	}{{0, 6, "abcdef"}, {4, 10, "ef"}, {6, 1, ""}, {100, 5, ""}, {2, 0, ""}, {0, 1 << 30, "abcdef"}} {
		if got := k.read(f, c.pos, c.n); string(got) != c.want {
			k.Fatalf("read of %d at %d gives %q, want %q", c.n, c.pos, got, c.want)
		}
	}
}

func readCrossesWrites(k *kit) {
	f := k.create("f")
	var want []byte
	for i := range 40 {
		b := Bytes(sizes[i%7]+i, byte(i*7))
		k.ok(f.Append(b))
		want = append(want, b...)
	}
	for pos := 0; pos < len(want); pos += 97 {
		end := min(pos+1500, len(want))
		if got := k.read(f, int64(pos), 1500); !bytes.Equal(got, want[pos:end]) {
			k.Fatalf("read at %d: %s", pos, diffBytes(got, want[pos:end]))
		}
	}
}

func writeAtOverwritesExactlyItsRange(k *kit) {
	f := k.create("f")
	want := Bytes(6000, 0)
	k.ok(f.Append(slices.Clone(want)))
	for i, w := range []struct{ pos, size int }{{0, 8}, {8, 8}, {4, 8}, {5990, 20}, {100, 600}, {300, 4000}, {299, 1}, {0, 6010}, {2000, 12}, {2012, 12}} {
		b := Bytes(w.size, byte(100+i))
		k.ok(f.WriteAt(int64(w.pos), b))
		want = append(want, make([]byte, max(0, w.pos+w.size-len(want)))...)
		copy(want[w.pos:], b)
		k.holds(f, want)
	}
}

func writeAtPastTheEndLeavesZeros(k *kit) {
	f := k.file("f", "ab")
	k.ok(f.WriteAt(5, []byte("z")))
	k.holds(f, []byte("ab\x00\x00\x00z"))
	k.ok(f.WriteAt(200_000, []byte("end")))
	if got := k.read(f, 6, 199_994); len(got) != 199_994 || strings.Trim(string(got), "\x00") != "" {
		k.Fatal("the gap does not read as zeros")
	}
	if got := k.read(f, 199_999, 10); string(got) != "\x00end" {
		k.Fatalf("end of the gap reads %q", got)
	}
}

func emptyWritesChangeNothing(k *kit) {
	f := k.file("f", "ab")
	k.ok(f.Append(nil))
	k.ok(f.WriteAt(1, []byte{}))
	k.holds(f, []byte("ab"))
}

func truncateCuts(k *kit) {
	f := k.create("f")
	want := Bytes(9000, 0)
	k.ok(f.Append(slices.Clone(want[:5000])))
	k.ok(f.Append(slices.Clone(want[5000:])))
	for _, size := range []int64{8999, 5001, 5000, 4999, 1, 0, 0} {
		k.ok(f.Truncate(size))
		k.holds(f, want[:size])
	}
}

func truncateExtendsWithZeros(k *kit) {
	f := k.file("f", "ab")
	k.ok(f.Truncate(5))
	k.holds(f, []byte("ab\x00\x00\x00"))
	k.ok(f.Truncate(10 << 20)) // an index file as Kafka preallocates it
	if got := k.read(f, 10<<20-3, 10); string(got) != "\x00\x00\x00" {
		k.Fatalf("the end of a sparse file reads %q", got)
	}
	k.ok(f.WriteAt(8, []byte("entry")))
	k.ok(f.Truncate(13))
	k.holds(f, []byte("ab\x00\x00\x00\x00\x00\x00entry"))
}

func truncatedBytesNeverReturn(k *kit) {
	f := k.file("f", "abcdef")
	k.ok(f.Truncate(2))
	k.ok(f.Truncate(6))
	k.holds(f, []byte("ab\x00\x00\x00\x00"))
	k.ok(f.Truncate(1))
	k.ok(f.WriteAt(4, []byte("z")))
	k.holds(f, []byte("a\x00\x00\x00z"))
}

func appendAfterTruncateGoesToTheNewEnd(k *kit) {
	f := k.file("f", "abcdef")
	k.ok(f.Truncate(2))
	k.ok(f.Append([]byte("X")))
	k.holds(f, []byte("abX"))
	k.ok(f.Truncate(5))
	k.ok(f.Append([]byte("Y")))
	k.holds(f, []byte("abX\x00\x00Y"))
}

func bytesReadStayValidForEver(k *kit) {
	type held struct{ got, want []byte }
	var all []held
	f := k.create("f")
	hold := func() {
		for _, pos := range []int64{0, 3, f.Size() / 2, f.Size() - 9} {
			got := k.read(f, max(pos, 0), 64)
			all = append(all, held{got, slices.Clone(got)})
		}
	}
	k.ok(f.Append(Bytes(8, 1)))
	hold()
	for i := range 30 {
		k.ok(f.Append(Bytes(8+i*i, byte(i))))
		hold()
		k.ok(f.WriteAt(int64(i*5), Bytes(12, byte(200+i))))
		hold()
		if i%7 == 3 {
			k.ok(f.Truncate(f.Size() - 20))
			k.ok(f.Append(Bytes(8, byte(50+i))))
			hold()
		}
	}
	k.create("f") // truncates
	k.ok(f.Append(Bytes(6000, 9)))
	k.ok(k.fs.Remove("f"))
	for i, h := range all {
		if !bytes.Equal(h.got, h.want) {
			k.Fatalf("read %d of %d changed later: %s", i, len(all), diffBytes(h.got, h.want))
		}
	}
}

func growingAReadResultDoesNotTouchTheFile(k *kit) {
	f := k.file("f", "abcdef")
	k.ok(f.Append(Bytes(600, 0)))
	want := slices.Clone(k.read(f, 0, 606))
	_ = append(k.read(f, 1, 2), "XXXX"...)
	_ = append(k.read(f, 600, 6), "XXXX"...)
	k.holds(f, want)
	k.ok(f.Append([]byte("end")))
	k.holds(f, append(want, "end"...))
}

func handlesOfOneFileShareItsContent(k *kit) {
	f := k.file("f", "ab")
	g := k.open("f")
	k.ok(g.Append([]byte("cd")))
	k.holds(f, []byte("abcd"))
	k.ok(f.Truncate(1))
	k.holds(g, []byte("a"))
	k.ok(f.Close())
	k.holds(g, []byte("a"))
}

func reopenedFilesKeepTheirContent(k *kit) {
	f := k.file("f", "ab")
	k.ok(f.Truncate(4))
	k.ok(f.Sync())
	k.ok(f.Close())
	g := k.open("f")
	k.ok(g.Append([]byte("e")))
	k.holds(g, []byte("ab\x00\x00e"))
}

func closedHandlesFail(k *kit) {
	f := k.file("f", "ab")
	k.ok(f.Close())
	_, err := f.ReadAt(0, 1)
	k.is(err, vfs.ErrClosed)
	for _, err := range []error{f.Append([]byte("x")), f.WriteAt(0, []byte("x")), f.Truncate(0), f.Sync(), f.Close()} {
		k.is(err, vfs.ErrClosed)
	}
	k.holds(k.open("f"), []byte("ab"))
}

func negativePositionsFail(k *kit) {
	f := k.file("f", "ab")
	_, err := f.ReadAt(-1, 1)
	k.refused(err)
	k.refused(f.WriteAt(-1, []byte("x")))
	k.refused(f.Truncate(-1))
	k.holds(f, []byte("ab"))
}

func errorsNameTheFile(k *kit) {
	f := k.file("some-file", "ab")
	k.ok(f.Close())
	_, openErr := k.fs.Open("other-file")
	for _, c := range []struct {
		err  error
		name string
	}{{f.Sync(), "some-file"}, {openErr, "other-file"}, {k.fs.Remove("third"), "third"}, {k.fs.SyncDir("nowhere"), "nowhere"}} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.name) {
			k.Fatalf("error %v does not name %s", c.err, c.name)
		}
	}
}
