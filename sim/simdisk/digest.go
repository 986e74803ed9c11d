package simdisk

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digestBytes is how much of a write enters the digest: a whole index entry, the
// header of a record batch, whose own CRC covers the rest.
const digestBytes = 64

// Digest is a running hash of what was done to the disk: writes by file name,
// position, length and checksum, truncations by size, and changes of names.
func (d *Disk) Digest() uint64 { return d.digest }

func (d *Disk) fold(name string, pos int64, size int, sum uint32) {
	h := d.digest ^ uint64(pos)<<24 ^ uint64(size)<<1
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h ^= uint64(sum)
	d.digest = (h ^ h>>31) * 0x94d049bb133111eb
}

func (d *Disk) foldWrite(name string, pos int64, b []byte) {
	d.fold(name, pos, len(b), crc32.Checksum(b[:min(len(b), digestBytes)], castagnoli))
}
