package log

import (
	"encoding/binary"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// TestHashIsMurmur3 has the vectors of the reference implementation.
func TestHashIsMurmur3(t *testing.T) {
	for _, v := range []struct {
		key    string
		hi, lo uint64
	}{
		{"", 0, 0},
		{"hello", 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19},
		{"The quick brown fox jumps over the lazy dog", 0xe34bbc7bbc071b6c, 0x7a433ca9c49a9347},
	} {
		if hi, lo := hash128(0, []byte(v.key)); hi != v.hi || lo != v.lo {
			t.Errorf("%q: %x %x", v.key, lo, hi)
		}
	}
	hi, lo := hash128(1, []byte("hello"))
	if hi == 0xcbd8a7b341bd9b02 || lo == 0x5b1e906a48ae1d19 {
		t.Error("the seed changes nothing")
	}
}

// TestOffsetMapHoldsWhatKafkasDoes: 128 MiB have room for 5 033 164 keys (storage 9.2).
func TestOffsetMapHoldsWhatKafkasDoes(t *testing.T) {
	equal(t, "keys", offsetMapLimit(128<<20, 0), 5_033_164)
	equal(t, "keys of two threads", offsetMapLimit(64<<20, 0), 2_516_581)
	m := newOffsetMap(24*10, 0, 1)
	for i := range 9 {
		equal(t, "put", m.put(m.hash([]byte{byte(i)}), kafka.Offset(i)), true)
	}
	equal(t, "a tenth key", m.put(m.hash([]byte{9}), 9), false)
	equal(t, "a known key", m.put(m.hash([]byte{0}), 10), false)
	o, found := m.get(m.hash([]byte{0}))
	equal(t, "offset", o, 0)
	equal(t, "found", found, true)
	equal(t, "latest", m.latest, 8)
}

// TestOffsetMapAgreesWithAMap: no two of half a million keys share their hash, short
// keys, sequential ones and such as differ in one byte included.
func TestOffsetMapAgreesWithAMap(t *testing.T) {
	m := newOffsetMap(1<<30, 0, 42)
	want := map[string]kafka.Offset{}
	offset := kafka.Offset(0)
	enter := func(key []byte) {
		if !m.put(m.hash(key), offset) {
			t.Fatal("full")
		}
		want[string(key)] = offset
		offset++
	}
	for i := range 250_000 {
		enter(binary.BigEndian.AppendUint32(nil, uint32(i)))
		long := make([]byte, 8+i%33)
		binary.LittleEndian.PutUint32(long[i%5:], uint32(i))
		enter(long)
	}
	equal(t, "keys", m.n, len(want))
	for key, o := range want {
		if got, found := m.get(m.hash([]byte(key))); !found || got != o {
			t.Fatalf("%x: %d %v, want %d", key, got, found, o)
		}
	}
	if _, found := m.get(m.hash([]byte("not there"))); found {
		t.Error("a key that was never put")
	}
}
