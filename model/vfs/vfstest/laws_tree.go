package vfstest

import (
	"slices"

	"github.com/simkafka/simkafka/model/vfs"
)

func createNeedsItsDirectory(k *kit) {
	_, err := k.fs.Create("d/f")
	k.is(err, vfs.ErrNotExist)
	k.ok(k.fs.MkdirAll("d"))
	k.create("d/f")
	_, err = k.fs.Create("d")
	k.is(err, vfs.ErrIsDir)
	k.tree("d/", "d/f")
}

func createTruncatesWhatIsThere(k *kit) {
	old := k.file("f", "old bytes")
	k.create("f")
	k.holds(old, nil)
}

func openNeedsAFile(k *kit) {
	_, err := k.fs.Open("f")
	k.is(err, vfs.ErrNotExist)
	k.ok(k.fs.MkdirAll("d"))
	_, err = k.fs.Open("d")
	k.is(err, vfs.ErrIsDir)
}

func nothingLivesBelowAFile(k *kit) {
	k.file("f", "x")
	_, err := k.fs.Create("f/g")
	k.refused(err)
	_, err = k.fs.Open("f/g")
	k.refused(err)
	k.refused(k.fs.MkdirAll("f"))
	k.refused(k.fs.MkdirAll("f/d"))
	_, err = k.fs.List("f")
	k.refused(err)
	k.tree("f")
}

func removeUnlinksAndHandlesStayUsable(k *kit) {
	k.is(k.fs.Remove("f"), vfs.ErrNotExist)
	f := k.file("f", "abc")
	k.ok(k.fs.Remove("f"))
	k.tree()
	k.ok(f.Append([]byte("def")))
	k.ok(f.Sync())
	k.holds(f, []byte("abcdef"))
	k.is(k.fs.Remove("f"), vfs.ErrNotExist)
}

func removeTakesOnlyEmptyDirectories(k *kit) {
	k.ok(k.fs.MkdirAll("d"))
	k.file("d/f", "x")
	k.is(k.fs.Remove("d"), vfs.ErrNotEmpty)
	k.ok(k.fs.Remove("d/f"))
	k.ok(k.fs.Remove("d"))
	k.tree()
}

func aRecreatedFileIsAnotherFile(k *kit) {
	old := k.file("f", "old")
	k.ok(k.fs.Remove("f"))
	fresh := k.file("f", "fresh")
	k.ok(old.Append([]byte("er")))
	k.holds(old, []byte("older"))
	k.holds(fresh, []byte("fresh"))
}

func renameReplacesAFile(k *kit) {
	k.file("new", "new content")
	replaced := k.file("old", "replaced")
	k.ok(k.fs.Rename("new", "old"))
	k.tree("old")
	k.holds(k.open("old"), []byte("new content"))
	k.holds(replaced, []byte("replaced"))
}

func renameNeedsSourceAndTargetDirectory(k *kit) {
	k.is(k.fs.Rename("f", "g"), vfs.ErrNotExist)
	k.file("f", "x")
	k.is(k.fs.Rename("f", "d/f"), vfs.ErrNotExist)
	k.tree("f")
}

func renameToItselfChangesNothing(k *kit) {
	f := k.file("f", "x")
	k.ok(k.fs.Rename("f", "f"))
	k.tree("f")
	k.holds(f, []byte("x"))
}

func renameMovesADirectoryWithItsFiles(k *kit) {
	k.ok(k.fs.MkdirAll("a/sub"))
	k.ok(k.fs.MkdirAll("b"))
	f := k.file("a/sub/f", "x")
	k.file("ab", "not below a")
	k.ok(k.fs.Rename("a", "c"))
	k.tree("ab", "b/", "c/", "c/sub/", "c/sub/f")
	k.ok(f.Append([]byte("y")))
	k.ok(k.fs.Rename("c/sub", "b/sub"))
	k.tree("ab", "b/", "b/sub/", "b/sub/f", "c/")
	k.holds(k.open("b/sub/f"), []byte("xy"))
	k.refused(k.fs.Rename("b", "b/sub/b"))
	k.tree("ab", "b/", "b/sub/", "b/sub/f", "c/")
}

func renameNeverMixesFilesAndDirectories(k *kit) {
	k.ok(k.fs.MkdirAll("d/sub"))
	k.file("f", "x")
	k.refused(k.fs.Rename("f", "d"))
	k.refused(k.fs.Rename("d", "f"))
	k.tree("d/", "d/sub/", "f")
}

func handlesFollowARenameAndKeepTheirName(k *kit) {
	f := k.file("f", "x")
	k.ok(k.fs.Rename("f", "g"))
	k.ok(f.Append([]byte("y")))
	k.holds(k.open("g"), []byte("xy"))
	if f.Name() != "f" {
		k.Fatalf("name is %q, want the one under which it was opened", f.Name())
	}
}

func mkdirAllMakesParentsAndRepeats(k *kit) {
	k.ok(k.fs.MkdirAll("a/b/c"))
	k.ok(k.fs.MkdirAll("a/b/c"))
	k.ok(k.fs.MkdirAll("a/d"))
	k.ok(k.fs.MkdirAll(""))
	k.tree("a/", "a/b/", "a/b/c/", "a/d/")
}

func listIsSortedBytewise(k *kit) {
	k.ok(k.fs.MkdirAll("d/b"))
	for _, name := range []string{"d/a", "d/B", "d/a.b", "d/a-b", "d/b/inner", "d/10", "d/9"} {
		k.file(name, "x")
	}
	got, err := k.fs.List("d")
	k.ok(err)
	if want := []string{"10", "9", "B", "a", "a-b", "a.b", "b"}; !slices.Equal(got, want) {
		k.Fatalf("list is %q, want %q", got, want)
	}
	_, err = k.fs.List("e")
	k.is(err, vfs.ErrNotExist)
}

func statTellsSizeAndKind(k *kit) {
	_, err := k.fs.Stat("f")
	k.is(err, vfs.ErrNotExist)
	k.ok(k.fs.MkdirAll("d"))
	f := k.file("f", "abc")
	info, err := k.fs.Stat("f")
	k.ok(err)
	if info.Size != 3 || info.IsDir {
		k.Fatalf("stat of a file of 3 bytes: %+v", info)
	}
	k.ok(f.Truncate(10))
	later, err := k.fs.Stat("f")
	k.ok(err)
	if later.Size != 10 || later.ModTime < info.ModTime {
		k.Fatalf("stat after a truncation to 10: %+v, before %+v", later, info)
	}
	info, err = k.fs.Stat("d")
	k.ok(err)
	if !info.IsDir {
		k.Fatal("a directory is not one")
	}
}

func syncDirNeedsADirectory(k *kit) {
	k.is(k.fs.SyncDir("d"), vfs.ErrNotExist)
	k.ok(k.fs.MkdirAll("d"))
	k.ok(k.fs.SyncDir("d"))
	k.ok(k.fs.SyncDir(""))
}
