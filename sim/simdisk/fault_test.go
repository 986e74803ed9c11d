package simdisk

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// What a slow episode has begun goes on at the usual pace when it ends: a disk that is
// healed does not stay busy for what it would have taken.
func TestFaultD1ASlowEpisodeEndsForCallsUnderWay(t *testing.T) {
	d := flatDisk()
	d.Inject(Slow{Times: 1000, From: 0, Until: kafka.Second})
	d.Inject(Slow{Times: 10, From: 0, Until: 2 * kafka.Second})
	f := create(t, d, "f")
	// 10,000 times slower for a second does 100 µs of the sync's millisecond, 10 times
	// slower for another one the rest.
	wantPrice(t, "sync", price(d, 0, func() { must(t, f.Sync()) }), kafka.Second+9*kafka.Millisecond)
	wantPrice(t, "sync after that", price(d, 1_500*kafka.Millisecond, func() { must(t, f.Sync()) }), 10*kafka.Millisecond)
	wantPrice(t, "sync that runs out of it", price(d, 1_995*kafka.Millisecond, func() { must(t, f.Sync()) }), 5*kafka.Millisecond+kafka.Millisecond/2)
}

func TestSlowEpisodeMultipliesPrices(t *testing.T) { // D2
	d := flatDisk()
	f := create(t, d, "f")
	id := d.Inject(Slow{Times: 10, From: 1e9, Until: 2e9})
	appendOne := func() { must(t, f.Append([]byte("x"))) }
	wantPrice(t, "before", price(d, 0, appendOne), 1001)
	wantPrice(t, "during", price(d, 1e9, appendOne), 10010)
	wantPrice(t, "sync during", price(d, 1e9, func() { must(t, f.Sync()) }), 10*1_000_002)
	wantPrice(t, "after", price(d, 2e9, appendOne), 1001)
	if _, at := d.BeginFlush([]vfs.File{f}, nil, 1.5e9); at != 1.5e9+10*1_000_001 {
		t.Errorf("a flush during it completes at %d", at)
	}
	if !d.Heal(id) || d.Heal(id) {
		t.Error("a fault is not healed exactly once")
	}
	wantPrice(t, "healed", price(d, 1e9, appendOne), 1001)
}

func TestStallEndsWhenItSays(t *testing.T) { // D3, D4
	d := flatDisk()
	f := create(t, d, "f")
	d.Inject(Stall{From: 1e9, Until: 3e9})
	wantPrice(t, "append", price(d, 2e9, func() { must(t, f.Append([]byte("x"))) }), 1e9+1001)
	wantPrice(t, "sync", price(d, 2e9, func() { must(t, f.Sync()) }), 1e9+1_000_001)
	d.Inject(Stall{From: 5e9, Until: kafka.Forever})
	wantPrice(t, "two appends into a hang", price(d, 6e9, func() {
		must(t, f.Append([]byte("x")))
		must(t, f.Append([]byte("x")))
		must(t, f.Sync())
	}), kafka.Forever-6e9)
	d.BeginStep(6e9, 7e9)
	if err := f.Append([]byte("x")); !errors.Is(err, vfs.ErrCrashed) {
		t.Errorf("a hanging process dies at the crash: %v", err)
	}
	wantPrice(t, "the hang", d.EndStep(), 1e9)
}

func TestIOErrorStrikesWhatMatches(t *testing.T) { // D18 to D20
	d := flatDisk()
	must(t, d.MkdirAll("t-0"))
	log, index := write(t, d, "t-0/0.log", "abc"), write(t, d, "t-0/0.index", "abc")
	now := kafka.Nanos(0)
	strikes := func(f Fault, call func() error) (hit []int) {
		id := d.Inject(f)
		defer d.Heal(id)
		step(d, &now, func() {
			for i := 1; i <= 4; i++ {
				if err := call(); errors.Is(err, vfs.ErrIO) {
					hit = append(hit, i)
				} else if err != nil {
					t.Fatal(err)
				}
			}
		})
		return hit
	}
	appendTo := func(f vfs.File) func() error { return func() error { return f.Append([]byte("x")) } }
	readLog := func() error { _, err := log.ReadAt(0, 2); return err }
	for _, c := range []struct {
		name  string
		fault Fault
		call  func() error
		want  []int
	}{
		{"all", IOError{}, appendTo(log), []int{1, 2, 3, 4}},
		{"by base name", IOError{Match: Match{Pattern: "*.log"}}, appendTo(log), []int{1, 2, 3, 4}},
		{"other name", IOError{Match: Match{Pattern: "*.log"}}, appendTo(index), nil},
		{"by path", IOError{Match: Match{Pattern: "t-*/*.index"}}, appendTo(index), []int{1, 2, 3, 4}},
		{"by kind", IOError{Match: Match{Ops: OpsOf(OpRead, OpSync)}}, appendTo(log), nil},
		{"sync", IOError{Match: Match{Ops: OpsOf(OpRead, OpSync)}}, log.Sync, []int{1, 2, 3, 4}},
		{"nth", IOError{Match: Match{Nth: 3}}, appendTo(log), []int{3}},
		{"latent sector", IOError{Match: Match{Ops: OpsOf(OpRead), Pos: 1, End: 2}}, readLog, []int{1, 2, 3, 4}},
		{"other sector", IOError{Match: Match{Ops: OpsOf(OpRead), Pos: 2, End: 3}}, readLog, nil},
		{"certain", IOError{Match: Match{PerMillion: 1_000_000}}, readLog, []int{1, 2, 3, 4}},
	} {
		size := log.Size()
		if got := strikes(c.fault, c.call); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s strikes %v, want %v", c.name, c.fault, got, c.want)
		}
		if c.name == "all" && log.Size() != size {
			t.Error("a failed append wrote something")
		}
	}
}

func TestErrorProbabilityIsDrawnByFileAndCount(t *testing.T) {
	count := func(files ...string) map[string]string {
		d := flatDisk()
		d.Inject(IOError{Match: Match{PerMillion: 250_000}})
		hits := map[string]string{}
		for range 400 {
			for _, name := range files {
				f, err := d.Open(name)
				if err != nil {
					f = create(t, d, name)
				}
				price(d, 0, func() {
					mark := "."
					if f.Append([]byte("x")) != nil {
						mark = "E"
					}
					hits[name] += mark
				})
			}
		}
		return hits
	}
	alone, beside := count("f")["f"], count("a", "f", "g")["f"]
	if alone != beside {
		t.Error("other files move the errors of this one")
	}
	if n := strings.Count(alone, "E"); n < 60 || n > 140 {
		t.Errorf("%d errors in 400 calls with probability 1/4", n)
	}
}

func TestDroppedSyncLosesItsPagesForGood(t *testing.T) { // D16
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "ab")
		must(t, f.Append([]byte("cd")))
		id := d.Inject(SyncDrop{Match{Pattern: "f", Nth: 1}})
		step(d, now, func() {
			if err := f.Sync(); !errors.Is(err, vfs.ErrIO) {
				t.Fatalf("sync gives %v", err)
			}
			must(t, f.Sync())
			if b, _ := f.ReadAt(0, 9); string(b) != "abcd" {
				t.Fatalf("the page cache holds %q", b)
			}
			must(t, f.Append([]byte("ef")))
			must(t, f.Sync())
		})
		d.Heal(id)
	}), "f=ab\x00\x00ef ")
}

func TestLyingSyncMakesNothingDurable(t *testing.T) { // D15
	wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
		f := syncedFile(t, d, "f", "ab")
		d.Inject(SyncLie{})
		step(d, now, func() {
			must(t, f.Append([]byte("c")))
			must(t, f.Sync())
			create(t, d, "g")
			must(t, d.SyncDir(""))
		})
	}), "f=ab ", "f=abc ", "f=ab\x00 ", "f=ab g= ", "f=abc g= ", "f=ab\x00 g= ")
}

func TestFullDiskTakesWhatFits(t *testing.T) { // D26, D27
	d := New(Config{Profile: flat(), Capacity: 1000}, seeded(1))
	f := create(t, d, "f")
	must(t, f.Append(make([]byte, 900)))
	if err := f.Append(make([]byte, 300)); !errors.Is(err, vfs.ErrNoSpace) || f.Size() != 1000 {
		t.Errorf("append beyond the capacity: %v, size %d", err, f.Size())
	}
	must(t, f.WriteAt(10, make([]byte, 500)))
	must(t, f.Truncate(1<<30))
	if err := f.WriteAt(5000, []byte("x")); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("write into a hole: %v", err)
	}
	must(t, f.Truncate(800))
	must(t, f.Append(make([]byte, 200)))
	must(t, d.Remove("f"))
	must(t, create(t, d, "g").Append(make([]byte, 1000)))

	d = flatDisk()
	f = write(t, d, "f", "abc")
	id := d.Inject(Full{Free: 2})
	price(d, 0, func() {
		if err := f.Append([]byte("defg")); !errors.Is(err, vfs.ErrNoSpace) {
			t.Errorf("append to a full disk: %v", err)
		}
	})
	d.Heal(id)
	price(d, 0, func() { must(t, f.Append([]byte("!"))) })
	if got := text(t, d); got != "f=abcde! " {
		t.Errorf("content is %q", got)
	}
}

func TestFlushMeetsFaults(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		err   error
		dirty int64
	}{
		{IOError{Match: Match{Ops: OpsOf(OpFlush)}}, vfs.ErrIO, 3},
		{SyncDrop{}, vfs.ErrIO, 0},
		{SyncLie{}, nil, 3},
		{IOError{Match: Match{Ops: OpsOf(OpSync)}}, nil, 0},
	} {
		d := flatDisk()
		f := write(t, d, "f", "abc")
		d.Inject(c.fault)
		id, _ := d.BeginFlush([]vfs.File{f}, []string{""}, 0)
		if err := d.CompleteFlush(id); !errors.Is(err, c.err) {
			t.Errorf("%s: flush gives %v", c.fault, err)
		}
		if dirty := d.Stats().DirtyBytes; dirty != c.dirty {
			t.Errorf("%s: %d bytes are dirty, want %d", c.fault, dirty, c.dirty)
		}
	}
}

func TestHookDecidesOnEachOperation(t *testing.T) {
	d := flatDisk()
	must(t, d.MkdirAll("d"))
	f := write(t, d, "d/f", "abc")
	var seen []Op
	var answer Action
	d.SetHook(func(op Op) Action {
		seen = append(seen, op)
		return answer
	})
	now := kafka.Nanos(0)
	step(d, &now, func() {
		must(t, f.Append([]byte("def")))
		must(t, f.WriteAt(1, []byte("x")))
		f.ReadAt(2, 100)
		must(t, f.Truncate(4))
		must(t, f.Sync())
		create(t, d, "d/g")
		must(t, d.Rename("d/g", "d/h"))
		must(t, d.Remove("d/h"))
		must(t, d.SyncDir("d"))
	})
	id, _ := d.BeginFlush([]vfs.File{f}, nil, now)
	must(t, d.CompleteFlush(id))
	first := seen[0].Nth
	for i, want := range []Op{
		{OpAppend, "d/f", 3, 3, 0}, {OpWrite, "d/f", 1, 1, 0}, {OpRead, "d/f", 2, 4, 0}, {OpTruncate, "d/f", 4, 0, 0},
		{OpSync, "d/f", 0, 0, 0}, {OpCreate, "d/g", 0, 0, 0}, {OpRename, "d/g", 0, 0, 0}, {OpRemove, "d/h", 0, 0, 0},
		{OpSyncDir, "d", 0, 0, 0}, {OpFlush, "d/f", 0, 0, 0},
	} {
		if want.Nth = first + uint64(i); seen[i] != want {
			t.Errorf("operation %d is %+v, want %+v", i, seen[i], want)
		}
	}

	answer = Action{Kind: Fail, Err: vfs.ErrNoSpace, Keep: 1}
	step(d, &now, func() {
		if err := f.Append([]byte("XY")); !errors.Is(err, vfs.ErrNoSpace) {
			t.Errorf("a failed append gives %v", err)
		}
	})
	answer = Action{Kind: Fail}
	step(d, &now, func() {
		if err := d.Remove("d/f"); !errors.Is(err, vfs.ErrIO) {
			t.Errorf("a failed removal gives %v", err)
		}
	})
	answer = Action{Kind: Delay, Delay: 5000}
	wantPrice(t, "a delayed append", price(d, now, func() { must(t, f.Append([]byte("Z"))) }), 6001)
	if got := text(t, d); got != "d/ d/f=axcdXZ " {
		t.Errorf("content is %q", got)
	}
}

func TestHookCrashesBeforeOrAfterTheEffect(t *testing.T) {
	for _, c := range []struct {
		kind ActionKind
		call func(d *Disk, f vfs.File) error
		want string
	}{
		{CrashBefore, func(_ *Disk, f vfs.File) error { return f.Append([]byte("d")) }, "f=abc "},
		{CrashAfter, func(_ *Disk, f vfs.File) error { return f.Append([]byte("d")) }, "f=abcd "},
		{CrashBefore, func(d *Disk, _ vfs.File) error { return d.Rename("f", "g") }, "f=abc "},
		{CrashAfter, func(d *Disk, _ vfs.File) error { return d.Rename("f", "g") }, "g=abc "},
		{CrashAfter, func(_ *Disk, f vfs.File) error { return f.Truncate(1) }, "f=a "},
		{CrashAfter, func(d *Disk, _ vfs.File) error { _, err := d.Create("e"); return err }, "e= f=abc "},
	} {
		d := flatDisk()
		f := write(t, d, "f", "abc")
		d.SetHook(func(Op) Action { return Action{Kind: c.kind} })
		d.BeginStep(0, kafka.Forever)
		if err := c.call(d, f); !errors.Is(err, vfs.ErrCrashed) || !d.Crashed() {
			t.Errorf("the call gives %v", err)
		}
		if err := f.Append([]byte("z")); !errors.Is(err, vfs.ErrCrashed) {
			t.Errorf("the call after it gives %v", err)
		}
		d.EndStep()
		d.Crash(Kill, 0)
		if got := text(t, d); got != c.want {
			t.Errorf("content is %q, want %q", got, c.want)
		}
	}
}

func TestCrashAfterASyncKeepsWhatItMadeDurable(t *testing.T) {
	for kind, want := range map[ActionKind][]string{
		CrashAfter:  {"f=ab "},
		CrashBefore: {"f=a ", "f=a\x00 ", "f=ab "},
	} {
		wantOutcomes(t, outcomes(t, Config{}, func(d *Disk, now *kafka.Nanos) {
			f := syncedFile(t, d, "f", "a")
			must(t, f.Append([]byte("b")))
			d.SetHook(func(Op) Action { return Action{Kind: kind} })
			step(d, now, func() {
				if err := f.Sync(); !errors.Is(err, vfs.ErrCrashed) {
					t.Fatal(err)
				}
			})
		}), want...)
	}
}

func TestFailpointsFireAtDiskOperations(t *testing.T) {
	var r point.Registry
	d := flatDisk()
	d.SetPoints(&r)
	f := write(t, d, "f", "abc")
	must(t, r.Arm(point.DiskAppend, `1*off->1*return("ENOSPC")`))
	must(t, r.Arm(point.DiskSync, `1*return("dropped")->1*return("lie")->1*return`))
	must(t, r.Arm(point.DiskRename, "return"))
	price(d, 0, func() {
		must(t, f.Append([]byte("d")))
		if err := f.Append([]byte("e")); !errors.Is(err, vfs.ErrNoSpace) {
			t.Errorf("append: %v", err)
		}
		must(t, f.Append([]byte("f")))
		if err := f.Sync(); !errors.Is(err, vfs.ErrIO) || d.Stats().DirtyBytes != 0 {
			t.Errorf("dropped sync: %v, %d bytes dirty", err, d.Stats().DirtyBytes)
		}
		must(t, f.Append([]byte("g")))
		if err := f.Sync(); err != nil || d.Stats().DirtyBytes != 1 {
			t.Errorf("lying sync: %v, %d bytes dirty", err, d.Stats().DirtyBytes)
		}
		if err := f.Sync(); !errors.Is(err, vfs.ErrIO) || d.Stats().DirtyBytes != 1 {
			t.Errorf("failed sync: %v, %d bytes dirty", err, d.Stats().DirtyBytes)
		}
		if err := d.Rename("f", "g"); !errors.Is(err, vfs.ErrIO) {
			t.Errorf("rename: %v", err)
		}
	})
	if got := text(t, d); got != "f=abcdfg " {
		t.Errorf("content is %q", got)
	}
}

func TestFaultsAndKindsPrintTheirSource(t *testing.T) {
	for want, f := range map[string]Fault{
		"slow 10x from 1.000000s until 2.000000s":                     Slow{10, kafka.Second, 2 * kafka.Second},
		"full, 5 bytes free":                                          Full{5},
		`error "input/output error" on append|sync of *.log number 2`: IOError{Match: Match{Ops: OpsOf(OpAppend, OpSync), Pattern: "*.log", Nth: 2}},
		"sync lies: any operation":                                    SyncLie{},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for k := range opKinds {
		if back, ok := ParseOpKind(k.String()); !ok || back != k {
			t.Errorf("kind %d does not parse back", k)
		}
	}
	if ValidPattern("[") == nil || ValidPattern("*.log") != nil || MatchName("[", "x") {
		t.Error("malformed patterns are not told apart")
	}
}

// A pattern is meant in whatever data directory: it is compared with the end of a path.
func TestPatternsMatchTheEndOfAPath(t *testing.T) {
	for _, x := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "data/a", true}, {"*.log", "data/orders-0/0.log", true}, {"orders-*/*.log", "data/orders-0/0.log", true},
		{"orders-*/*.log", "data/d1/orders-0/0.log", true}, {"d1/*/*.log", "data/d1/orders-0/0.log", true}, {"d2/*/*.log", "data/d1/orders-0/0.log", false},
		{"orders-*/*.log", "0.log", false}, {"orders-*", "data/orders-0/0.log", false}, {"data/d1/orders-0/0.log", "data/d1/orders-0/0.log", true},
		{"x/data/d1/orders-0/0.log", "data/d1/orders-0/0.log", false},
	} {
		if got := MatchName(x.pattern, x.name); got != x.want {
			t.Errorf("%q, %q: %v", x.pattern, x.name, got)
		}
	}
}
