package simdisk

import (
	"bytes"
	"testing"
)

func TestReadsOfOneRunKeepTheirBytes(t *testing.T) {
	var c content
	for i := range 3 { // writers' memory, not tails
		c.write(int64(i)*5000, bytes.Repeat([]byte{byte('a' + i)}, 5000))
	}
	want := c.read(4000, 7000, nil)
	var r Reads
	first := c.read(4000, 7000, &r)
	second := c.read(0, 15000, &r)
	if !bytes.Equal(first, want) || len(second) != 15000 || cap(first) != len(first) {
		t.Error("a read gave other bytes, or room for more")
	}
	r.Reuse()
	if again := c.read(4000, 7000, &r); &again[0] != &first[0] || !bytes.Equal(again, want) {
		t.Error("the memory of an earlier run was not used again")
	}
}

func TestReadsBeyondTheKeptMemoryMakeTheirOwn(t *testing.T) {
	r := Reads{used: readsSize - 1}
	if got := r.join([][]byte{{1}, {2}}, 2); !bytes.Equal(got, []byte{1, 2}) || r.room != nil {
		t.Errorf("read %v", got)
	}
}
