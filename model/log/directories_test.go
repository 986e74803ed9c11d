package log

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// brittle is a file system on which everything below one directory fails.
type brittle struct {
	vfs.FS
	bad string // "" is none
}

func (b *brittle) hits(name string) error {
	if b.bad != "" && (name == b.bad || strings.HasPrefix(name, b.bad+"/")) {
		return vfs.ErrIO
	}
	return nil
}

func (b *brittle) Create(name string) (vfs.File, error) {
	if err := b.hits(name); err != nil {
		return nil, err
	}
	f, err := b.FS.Create(name)
	return brittleFile{f, b}, err
}

func (b *brittle) Open(name string) (vfs.File, error) {
	if err := b.hits(name); err != nil {
		return nil, err
	}
	f, err := b.FS.Open(name)
	return brittleFile{f, b}, err
}

func (b *brittle) MkdirAll(name string) error { return errors.Join(b.hits(name), b.FS.MkdirAll(name)) }

type brittleFile struct {
	vfs.File
	fs *brittle
}

func (f brittleFile) Append(b []byte) error {
	if err := f.fs.hits(f.Name()); err != nil {
		return err
	}
	return f.File.Append(b)
}

type dirsRun struct {
	*Directories
	fs     *brittle
	failed []string
}

func (r *dirsRun) fail(e *DirError) error {
	if r.Fail(e.Dir) {
		r.failed = append(r.failed, e.Dir)
	}
	if r.Online() == 0 {
		return e
	}
	return nil
}

func loadDirs(t testingT, fs *brittle, dirs ...string) *dirsRun {
	t.Helper()
	r := &dirsRun{fs: fs}
	r.Directories = NewDirectories(fs, dirs, func(string) *Config { return smallConfig() }, nil, r.fail)
	for _, m := range r.All() {
		check(t, r.Start(m))
	}
	for {
		if _, _, done, err := r.LoadStep(1); err != nil || done {
			check(t, err)
			return r
		}
	}
}

func (r *dirsRun) stop(t testingT) {
	t.Helper()
	check(t, r.WriteHighWatermarks())
	for {
		if done, err := r.StopStep(3, 1); err != nil || done {
			check(t, err)
			return
		}
	}
}

func (r *dirsRun) create(t testingT, p kafka.TopicPartition) *Log {
	t.Helper()
	l, err := r.Create(p, kafka.TopicID{1}, true, 1)
	check(t, err)
	return l
}

func TestNewPartitionsGoWhereTheFewestAre(t *testing.T) {
	r := loadDirs(t, &brittle{FS: vfstest.NewMem()}, "a", "b", "c")
	var got []string
	for i := range int32(7) {
		got = append(got, parentDir(r.create(t, tp("t", i)).Dir()))
	}
	equal(t, "directories", strings.Join(got, " "), "a b c a b c a")
	_, err := r.Delete(tp("t", 1), func() [16]byte { return [16]byte{1} })
	check(t, err)
	equal(t, "after a deletion", parentDir(r.create(t, tp("t", 9)).Dir()), "b")
	r.stop(t)

	r = loadDirs(t, r.fs, "a", "b", "c")
	equal(t, "replicas", len(r.Replicas()), 7)
	for _, m := range r.All() {
		equal(t, "clean", m.CleanStart(), true)
		b, err := readFile(r.fs, m.Dir()+"/"+HighWatermarkCheckpoint)
		check(t, err)
		equal(t, "lines", strings.Count(string(b), "\n")-2, len(m.Replicas()))
	}
	if !slices.IsSortedFunc(r.Replicas(), func(a, b Replica) int { return a.TP.Compare(b.TP) }) {
		t.Fatal("replicas are not sorted")
	}
}

// TestAFailedDirectoryTakesOnlyItsPartitions: appends in the others go on; no file is
// written below it; a replica that may lie there is not made anew.
func TestAFailedDirectoryTakesOnlyItsPartitions(t *testing.T) {
	r := loadDirs(t, &brittle{FS: vfstest.NewMem()}, "a", "b")
	inA, inB := r.create(t, tp("t", 0)), r.create(t, tp("t", 1))
	r.create(t, tp("t", 2))
	r.fs.bad = "a"
	_, _, err := inA.AppendAsLeader(batchOf(t, 10, 1), 0, 1)
	var failed *DirError
	if !errors.As(err, &failed) || !errors.Is(err, vfs.ErrIO) {
		t.Fatalf("error %v", err)
	}
	equal(t, "directory", failed.Dir, "a")
	check(t, r.fail(failed))
	gone := r.TakeOffline()
	equal(t, "gone", len(gone), 2)
	equal(t, "left", len(r.Replicas()), 1)
	equal(t, "none a second time", len(r.TakeOffline()), 0)
	appendLeader(t, inB, batchOf(t, 10, 1), 0, 1)
	check(t, r.WriteRecoveryPoints())
	check(t, r.WriteLogStartOffsets())
	equal(t, "log", r.Get(tp("t", 0)) == nil, true)
	if _, err := r.Create(tp("t", 0), kafka.TopicID{1}, false, 1); !errors.Is(err, ErrDirsOffline) {
		t.Fatalf("an old replica: %v", err)
	}
	if _, err := r.Delete(tp("t", 0), nil); !errors.Is(err, ErrDirsOffline) {
		t.Fatalf("its deletion: %v", err)
	}
	equal(t, "a new one", parentDir(r.create(t, tp("new", 0)).Dir()), "b")
	r.stop(t)

	// The disk works again: the failed directory had no clean stop.
	r.fs.bad = ""
	r = loadDirs(t, r.fs, "a", "b")
	equal(t, "clean a", r.All()[0].CleanStart(), false)
	equal(t, "clean b", r.All()[1].CleanStart(), true)
	equal(t, "replicas", len(r.Replicas()), 4)
}

func TestADirectoryThatFailsAtTheStartIsLeftOut(t *testing.T) {
	fs := &brittle{FS: vfstest.NewMem()}
	r := loadDirs(t, fs, "a", "b")
	for i := range int32(4) {
		r.create(t, tp("t", i))
	}
	fs.bad = "b"
	r = loadDirs(t, fs, "a", "b")
	equal(t, "failed", strings.Join(r.failed, " "), "b")
	equal(t, "replicas", len(r.Replicas()), 2)

	// Or while a log is loaded.
	fs.bad = "a/t-0"
	r = loadDirs(t, fs, "a", "b")
	equal(t, "failed", strings.Join(r.failed, " "), "a")
	r.TakeOffline()
	equal(t, "replicas", len(r.Replicas()), 2)

	// A directory in which no partition can be made is passed over.
	fs.bad = "a/new-0"
	r = loadDirs(t, fs, "a", "b")
	equal(t, "directory", parentDir(r.create(t, tp("new", 0)).Dir()), "b")
	equal(t, "failed", strings.Join(r.failed, " "), "a")
}

func TestAllDirectoriesMayFail(t *testing.T) {
	r := loadDirs(t, &brittle{FS: vfstest.NewMem()}, "a", "b")
	check(t, r.fail(&DirError{"a", vfs.ErrIO}))
	r.fs.bad = "b"
	if err := r.WriteRecoveryPoints(); !errors.Is(err, vfs.ErrIO) {
		t.Fatalf("the last directory: %v", err)
	}
	equal(t, "online", r.Online(), 0)
	if _, err := r.Create(tp("t", 0), kafka.TopicID{1}, true, 1); !errors.Is(err, ErrDirsOffline) {
		t.Fatalf("a new partition: %v", err)
	}
}

// TestFutureAndStrayDirectories: what was being moved here is loaded, is in the
// checkpoints and goes with its partition; strays are named and left alone.
func TestFutureAndStrayDirectories(t *testing.T) {
	fs := &brittle{FS: vfstest.NewMem()}
	r := loadDirs(t, fs, "a", "b")
	for i := range int32(2) {
		appendLeader(t, r.create(t, tp("t", i)), sizedBatch(t, 300, 1), 0, 1)
	}
	r.stop(t)
	const unique = ".0123456789abcdef0123456789abcdef"
	check(t, fs.MkdirAll("b/t-0"+unique+"-future"))
	for _, name := range []string{fileName(0, logSuffix), fileName(0, indexSuffix)} {
		b, err := readFile(fs, "a/t-0/"+name)
		check(t, err)
		check(t, writeFile(fs, "b/t-0"+unique+"-future/"+name, slices.Clone(b)))
	}
	check(t, fs.MkdirAll("b/old-7"+unique+"-stray"))

	r = loadDirs(t, fs, "a", "b")
	b := r.All()[1]
	equal(t, "replicas", len(r.Replicas()), 2)
	equal(t, "futures", len(b.Futures()), 1)
	equal(t, "its end", b.Futures()[0].Log.LogEndOffset(), 1)
	equal(t, "strays", strings.Join(b.Strays(), " "), "b/old-7"+unique+"-stray")
	check(t, r.WriteRecoveryPoints())
	text, err := readFile(fs, "b/"+RecoveryPointCheckpoint)
	check(t, err)
	equal(t, "recovery points", string(text), "0\n2\nt 1 1\nt 0 1\n")
	dirs, err := r.Delete(tp("t", 0), func() [16]byte { return [16]byte{9} })
	check(t, err)
	equal(t, "deleted", len(dirs), 2)
	for _, dir := range dirs {
		check(t, r.RemoveDir(dir))
	}
	equal(t, "futures", len(b.Futures()), 0)
	r.stop(t)
	names, err := fs.List("b")
	check(t, err)
	if !slices.Contains(names, "old-7"+unique+"-stray") {
		t.Fatalf("the stray is gone: %v", names)
	}
}

// What Kafka's loadLogs takes for an IOException costs a directory; what it does not ends the start
// (KAFKA-13773, PartitionMetadataReadBuffer.read, UnifiedLog.parseTopicPartitionName).
func TestSomeTextsThatCannotBeReadCostADirectoryAndSomeEndTheStart(t *testing.T) {
	for _, c := range []struct {
		file, text string
		ends       bool
	}{
		{"b/t-1/leader-epoch-checkpoint", "0\n2\n0 0\n", false},
		{"b/t-1/leader-epoch-checkpoint", "0\n1\n0 -1\n", true},
		{"b/t-1/partition.metadata", "version: 0\ntopic_id: \n", false},
		{"b/t-1/partition.metadata", "", true},
		{"b/replication-offset-checkpoint", "0\n1\n", false},
		{"b/recovery-point-offset-checkpoint", "0\n1\n", false},
		{"b/lost+found/file", "", true},
	} {
		fs := &brittle{FS: vfstest.NewMem()}
		r := loadDirs(t, fs, "a", "b")
		for i := range int32(2) {
			r.create(t, tp("t", i))
		}
		check(t, fs.FS.MkdirAll(parentDir(c.file)))
		check(t, writeFile(fs.FS, c.file, []byte(c.text)))
		r = &dirsRun{fs: fs}
		r.Directories = NewDirectories(fs, []string{"a", "b"}, func(string) *Config { return smallConfig() }, nil, r.fail)
		var err error
		for _, m := range r.All() {
			err = errors.Join(err, r.Start(m))
		}
		for done := false; err == nil && !done; {
			_, _, done, err = r.LoadStep(1)
		}
		equal(t, c.file+" ends the start", err != nil, c.ends)
		if lenient := strings.Contains(c.file, "recovery"); err == nil {
			equal(t, c.file+" costs", strings.Join(r.failed, " ") == "b", !lenient)
			r.TakeOffline()
			equal(t, "replicas", len(r.Replicas()) == 1, !lenient)
		}
	}
}

func TestAPartitionInTwoDirectoriesStopsTheStart(t *testing.T) {
	fs := &brittle{FS: vfstest.NewMem()}
	loadDirs(t, fs, "a", "b").create(t, tp("t", 0))
	check(t, fs.MkdirAll("b/t-0"))
	r := &dirsRun{fs: fs}
	r.Directories = NewDirectories(fs, []string{"a", "b"}, func(string) *Config { return smallConfig() }, nil, r.fail)
	for _, m := range r.All() {
		check(t, r.Start(m))
	}
	for {
		_, _, done, err := r.LoadStep(1)
		if duplicate := (*DuplicateError)(nil); errors.As(err, &duplicate) {
			equal(t, "second", duplicate.Second, "b/t-0")
			return
		}
		if err != nil || done {
			t.Fatalf("done %v, error %v", done, err)
		}
	}
}

type lockable struct {
	vfs.FS
	held map[string]bool
}

type held struct {
	fs   *lockable
	name string
}

func (h held) Unlock() error { delete(h.fs.held, h.name); return nil }

func (l *lockable) TryLock(name string) (vfs.Lock, error) {
	if l.held[name] {
		return nil, nil
	}
	l.held[name] = true
	return held{l, name}, nil
}

func TestALockedDirectoryIsNotStarted(t *testing.T) {
	fs := &lockable{vfstest.NewMem(), map[string]bool{}}
	m := loadManager(t, fs, "data", smallConfig())
	other := NewManager(fs, "data", func(string) *Config { return smallConfig() }, nil)
	if err := other.Start(); !errors.Is(err, ErrLocked) {
		t.Fatalf("error %v", err)
	}
	stop(t, m)
	check(t, other.Start())
}
