package vfstest

import (
	"bytes"

	"github.com/simkafka/simkafka/model/vfs"
)

// What only some file systems offer; the others pass.

func readIntoIsReadAt(k *kit) {
	f, ok := k.file("a", "0123456789").(vfs.Copier)
	if !ok {
		return
	}
	b := []byte("......")
	for _, pos := range []int64{0, 3, 8, 10, 12} {
		n, err := f.ReadInto(pos, b)
		k.ok(err)
		if want := k.read(f, pos, len(b)); !bytes.Equal(b[:n], want) {
			k.Fatalf("ReadInto %d: %q, ReadAt %q", pos, b[:n], want)
		}
	}
	_, err := f.ReadInto(-1, b)
	k.refused(err)
}

func readToSendIsReadAt(k *kit) {
	f, ok := k.file("a", "0123456789").(vfs.Lender)
	if !ok {
		return
	}
	for _, pos := range []int64{0, 3, 8, 10, 12} {
		b, err := f.ReadToSend(pos, 6)
		k.ok(err)
		if want := k.read(f, pos, 6); !bytes.Equal(b, want) {
			k.Fatalf("ReadToSend %d: %q, ReadAt %q", pos, b, want)
		}
	}
	k.ok(f.Close())
	_, err := f.ReadToSend(0, 1)
	k.is(err, vfs.ErrClosed)
}

func copiersKeepNoMemory(k *kit) {
	f, ok := k.create("a").(vfs.Copier)
	if !ok {
		return
	}
	b := []byte("abc")
	k.ok(f.Append(b))
	copy(b, "def")
	k.ok(f.WriteAt(3, b))
	copy(b, "xyz")
	if got := k.read(f, 0, 9); string(got) != "abcdef" {
		k.Fatalf("content is %q", got)
	}
}

func mappingsAreTheFile(k *kit) {
	f, ok := k.file("a", "0123456789").(vfs.Mapper)
	if !ok {
		return
	}
	m, err := f.Map()
	if err != nil {
		return // not on this system
	}
	if string(m) != "0123456789" {
		k.Fatalf("mapped %q", m)
	}
	m[2] = 'x'
	k.ok(f.WriteAt(4, []byte("y")))
	if got := k.read(f, 0, 10); string(got) != "01x3y56789" || string(m) != "01x3y56789" {
		k.Fatalf("file %q, mapping %q", got, m)
	}
	k.ok(f.Sync())
	k.ok(f.Truncate(20))
	m, err = f.Map()
	k.ok(err)
	m[19] = 'z'
	k.ok(f.Close())
	if got := k.read(k.open("a"), 18, 2); string(got) != "\x00z" {
		k.Fatalf("tail is %q", got)
	}
}

func emptyFilesCannotBeMapped(k *kit) {
	if f, ok := k.create("a").(vfs.Mapper); ok {
		_, err := f.Map()
		k.refused(err)
	}
}
