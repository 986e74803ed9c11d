package log

import (
	"errors"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// FuzzSnapshot: a producer snapshot decodes or is corrupt; what decodes is written
// with the same producers again.
func FuzzSnapshot(f *testing.F) {
	f.Add(unhex(f, vectorR7))
	f.Add(unhex(f, vectorS8))
	f.Add(unhex(f, "000148674bc700000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeSnapshot("f", b)
		if err != nil {
			if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
				t.Fatalf("error %v", err)
			}
			return
		}
		table := tableOf(list)
		again, err := decodeSnapshot("f", encodeSnapshot(table))
		check(t, err)
		if table == nil {
			equal(t, "producers", len(again), 0)
			return
		}
		equal(t, "producers", len(again), len(table.byID))
		for i := range again {
			e := *table.find(again[i].id)
			e.inserted = 0
			equal(t, "producer", again[i], e)
		}
	})
}

// FuzzTxnIndex: entries decode or the version is refused; they are written with the
// same bytes again, apart from a fragment and the second byte of the version.
func FuzzTxnIndex(f *testing.F) {
	f.Add(unhex(f, "00000000000000000fa0000000000000007800000000000000870000000000000083"), int64(120), int64(130))
	f.Fuzz(func(t *testing.T, b []byte, from, upper int64) {
		entries, err := parseTxnIndex("f", b)
		if err != nil {
			if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
				t.Fatalf("error %v", err)
			}
			return
		}
		equal(t, "entries", len(entries), len(b)/abortedTxnSize)
		var out []byte
		for i := range entries {
			out = entries[i].appendTo(out)
			got, ok := parseAbortedTxn(out[i*abortedTxnSize:])
			equal(t, "known", ok, true)
			equal(t, "entry", got, entries[i])
		}
		var want []AbortedTxn
		stop := slices.IndexFunc(entries, func(a AbortedTxn) bool { return int64(a.LastStableOffset) >= upper })
		for i, a := range entries {
			if int64(a.LastOffset) >= from && int64(a.FirstOffset) < upper && (stop < 0 || i <= stop) {
				want = append(want, a)
			}
		}
		x := txnIndex{entries: entries}
		got, complete := x.collect(nil, kafka.Offset(from), kafka.Offset(upper))
		equal(t, "complete", complete, stop >= 0)
		equal(t, "found", slices.Equal(got, want), true)
	})
}

// FuzzProducerFiles: whatever snapshots and transaction indexes hold, the load ends,
// and the log either is refused or works.
func FuzzProducerFiles(f *testing.F) {
	l, fs := newLog(f, smallConfig())
	for i := range int32(6) {
		appendLeader(f, l, txnOf(f, 1, 0, 20*i, 20), 0, 1)
		appendMarker(f, l, 1, 0, false, 0)
	}
	check(f, l.Close(true, 1))
	names, err := fs.List(testDir)
	check(f, err)
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = fileOf(f, fs, name)
	}
	f.Add([]byte{}, []byte{}, uint8(0), false)
	f.Add([]byte{0, 3, 1}, []byte{0, 20, 0xff}, uint8(3), true)
	f.Fuzz(func(t *testing.T, snapshot, index []byte, drop uint8, clean bool) {
		fs := vfstest.NewMem()
		for i, name := range names {
			b := slices.Clone(files[name])
			switch {
			case drop > 0 && i == int(drop)%len(names) && !isLogFile(name):
				continue
			case isSnapshotFile(name):
				b = damage(b, snapshot)
			case isIndexFile(name) && name[len(name)-len(txnIndexSuffix):] == txnIndexSuffix:
				b = damage(b, index)
			}
			setFile(t, fs, name, b)
		}
		useLoaded(t, fs, clean)
	})
}
