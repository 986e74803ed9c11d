package vfstest

import "math/bits"

// randomOperationsMatchMem makes the same 4,000 calls, drawn from a fixed
// seed, on the implementation and on Mem.
func randomOperationsMatchMem(k *kit) {
	twin := NewMem()
	subject, slow := NewMachine(k.fs), NewMachine(twin)
	k.Cleanup(func() {
		for i := range Slots {
			subject.Do(Op{Kind: Close, Slot: i})
		}
	})
	r := splitmix(1)
	for i := range 4000 {
		o := r.op()
		if subject.slots[o.Slot] != nil && o.Kind <= Open {
			o = Op{Kind: Close, Slot: o.Slot} // no handle is leaked
		}
		got, want := subject.Do(o), slow.Do(o)
		if o.Kind == Close {
			subject.slots[o.Slot], slow.slots[o.Slot] = nil, nil
		}
		if got != want {
			k.Fatalf("call %d, %s: %s, Mem says %s", i, o, got, want)
		}
	}
	got, err := Dump(k.fs)
	k.ok(err)
	want, err := Dump(twin)
	k.ok(err)
	if d := Diff(got, want); d != "" {
		k.Fatal(d)
	}
}

type splitmix uint64

func (s *splitmix) below(n int) int {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(z^z>>31, uint64(n))
	return int(hi)
}

// RandomPaths are the names that random operations use: few, so that they meet.
var RandomPaths = []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "c", "c/a"}

// op keeps to calls on which every file system agrees: files have even and
// directories odd places in the rename pairs, so that neither replaces the other.
func (s *splitmix) op() Op {
	o := Op{Kind: Kind(s.below(int(Kinds))), Slot: s.below(Slots), Fill: byte(s.below(256))}
	if s.below(2) == 0 {
		o.Kind = ReadAt + Kind(s.below(4))
	}
	o.Name = RandomPaths[s.below(len(RandomPaths))]
	files := []string{"a", "b", "d/a", "d/b", "d/e/a", "c/a"}
	dirs := []string{"d", "c", "d/e"}
	switch o.Kind {
	case Create:
		o.Name = files[s.below(len(files))]
	case MkdirAll:
		o.Name = dirs[s.below(len(dirs))]
	case Rename:
		o.Name, o.New = files[s.below(len(files))], files[s.below(len(files))]
	case List, SyncDir:
		o.Name = dirs[s.below(len(dirs))]
	}
	o.Size = s.below([]int{16, 600, 6000}[s.below(3)])
	o.Pos = int64(s.below([]int{64, 2000, 20000}[s.below(3)]))
	return o
}
