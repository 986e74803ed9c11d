package vfstest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
)

// Run checks every law of model/vfs, one subtest each, on file systems made by
// newFS. Each must be empty and of its own.
func Run(t *testing.T, newFS func(t *testing.T) vfs.FS) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.check(&kit{T: t, fs: newFS(t)}) })
	}
}

type law struct {
	name  string
	check func(*kit)
}

var laws = []law{
	{"CreateNeedsItsDirectory", createNeedsItsDirectory},
	{"CreateTruncatesWhatIsThere", createTruncatesWhatIsThere},
	{"OpenNeedsAFile", openNeedsAFile},
	{"NothingLivesBelowAFile", nothingLivesBelowAFile},
	{"RemoveUnlinksAndHandlesStayUsable", removeUnlinksAndHandlesStayUsable},
	{"RemoveTakesOnlyEmptyDirectories", removeTakesOnlyEmptyDirectories},
	{"ARecreatedFileIsAnotherFile", aRecreatedFileIsAnotherFile},
	{"RenameReplacesAFile", renameReplacesAFile},
	{"RenameNeedsSourceAndTargetDirectory", renameNeedsSourceAndTargetDirectory},
	{"RenameToItselfChangesNothing", renameToItselfChangesNothing},
	{"RenameMovesADirectoryWithItsFiles", renameMovesADirectoryWithItsFiles},
	{"RenameNeverMixesFilesAndDirectories", renameNeverMixesFilesAndDirectories},
	{"HandlesFollowARenameAndKeepTheirName", handlesFollowARenameAndKeepTheirName},
	{"MkdirAllMakesParentsAndRepeats", mkdirAllMakesParentsAndRepeats},
	{"ListIsSortedBytewise", listIsSortedBytewise},
	{"StatTellsSizeAndKind", statTellsSizeAndKind},
	{"SyncDirNeedsADirectory", syncDirNeedsADirectory},
	{"ReadReturnsWhatWasAppended", readReturnsWhatWasAppended},
	{"ReadStopsAtTheEnd", readStopsAtTheEnd},
	{"ReadCrossesWrites", readCrossesWrites},
	{"WriteAtOverwritesExactlyItsRange", writeAtOverwritesExactlyItsRange},
	{"WriteAtPastTheEndLeavesZeros", writeAtPastTheEndLeavesZeros},
	{"EmptyWritesChangeNothing", emptyWritesChangeNothing},
	{"TruncateCuts", truncateCuts},
	{"TruncateExtendsWithZeros", truncateExtendsWithZeros},
	{"TruncatedBytesNeverReturn", truncatedBytesNeverReturn},
	{"AppendAfterTruncateGoesToTheNewEnd", appendAfterTruncateGoesToTheNewEnd},
	{"BytesReadStayValidForEver", bytesReadStayValidForEver},
	{"GrowingAReadResultDoesNotTouchTheFile", growingAReadResultDoesNotTouchTheFile},
	{"HandlesOfOneFileShareItsContent", handlesOfOneFileShareItsContent},
	{"ReopenedFilesKeepTheirContent", reopenedFilesKeepTheirContent},
	{"ClosedHandlesFail", closedHandlesFail},
	{"NegativePositionsFail", negativePositionsFail},
	{"ErrorsNameTheFile", errorsNameTheFile},
	{"ReadIntoIsReadAt", readIntoIsReadAt},
	{"ReadToSendIsReadAt", readToSendIsReadAt},
	{"CopiersKeepNoMemory", copiersKeepNoMemory},
	{"MappingsAreTheFile", mappingsAreTheFile},
	{"EmptyFilesCannotBeMapped", emptyFilesCannotBeMapped},
	{"RandomOperationsMatchMem", randomOperationsMatchMem},
}

// kit is one law's test with its file system; its methods fail the test at once.
type kit struct {
	*testing.T
	fs vfs.FS
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatalf("unexpected error: %v", err)
	}
}

func (k *kit) is(err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Fatalf("error is %v, want %v", err, want)
	}
}

func (k *kit) refused(err error) {
	k.Helper()
	if err == nil {
		k.Fatal("no error")
	}
}

func (k *kit) create(name string) vfs.File {
	k.Helper()
	f, err := k.fs.Create(name)
	k.ok(err)
	k.Cleanup(func() { f.Close() })
	return f
}

func (k *kit) open(name string) vfs.File {
	k.Helper()
	f, err := k.fs.Open(name)
	k.ok(err)
	k.Cleanup(func() { f.Close() })
	return f
}

// file makes a file with content.
func (k *kit) file(name, content string) vfs.File {
	k.Helper()
	f := k.create(name)
	k.ok(f.Append([]byte(content)))
	return f
}

func (k *kit) read(f vfs.File, pos int64, n int) []byte {
	k.Helper()
	b, err := f.ReadAt(pos, n)
	k.ok(err)
	return b
}

// holds checks the whole content through a handle.
func (k *kit) holds(f vfs.File, want []byte) {
	k.Helper()
	if f.Size() != int64(len(want)) {
		k.Fatalf("size is %d, want %d", f.Size(), len(want))
	}
	if got := k.read(f, 0, len(want)+10); !bytes.Equal(got, want) {
		k.Fatalf("content: %s", diffBytes(got, want))
	}
}

// tree checks the paths of all files and directories (a directory ends in "/").
func (k *kit) tree(want ...string) {
	k.Helper()
	entries, err := Dump(k.fs)
	k.ok(err)
	var got []string
	for _, e := range entries {
		if e.Dir {
			e.Name += "/"
		}
		got = append(got, e.Name)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		k.Fatalf("tree is %q, want %q", got, want)
	}
}
