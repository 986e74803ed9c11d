package simdisk

// granule is the unit of the page cache's accounting, in bytes. One granule is
// read from the device at once, as by read-ahead.
const granule = 64 << 10

// pageCache evicts in order of insertion.
type pageCache struct {
	limit uint32 // granules; 0 keeps everything
	clock uint32 // granules ever inserted
}

// residency says which granules of a file are cached: by the clock at their
// insertion, 0 for never. Granules past the end of the list are not.
type residency struct{ stamps []uint32 }

func (c *pageCache) init(size int64) {
	*c = pageCache{}
	if size > 0 {
		c.limit = uint32(max(size/granule, 1))
	}
}

// store notes that bytes were written, which puts them into the cache.
func (c *pageCache) store(f *file, pos int64, n int) {
	if f.cached == nil {
		if c.limit == 0 {
			return
		}
		f.cached = &residency{}
	}
	c.touch(f, pos, n)
}

// load notes that bytes were read, and returns how many had to come from the
// device, in whole granules.
func (c *pageCache) load(f *file, pos int64, n int) (missed int64) {
	if f.cached == nil || n == 0 {
		return 0
	}
	missed = c.touch(f, pos, n)
	if c.limit == 0 && f.cached.complete(f.live.size) {
		f.cached = nil
	}
	return missed
}

func (c *pageCache) touch(f *file, pos int64, n int) (missed int64) {
	first, last := pos/granule, (pos+int64(n)-1)/granule
	r := f.cached
	if need := int(last) + 1 - len(r.stamps); need > 0 {
		r.stamps = append(r.stamps, make([]uint32, need)...)
	}
	for g := first; g <= last; g++ {
		if s := r.stamps[g]; s == 0 || c.limit > 0 && c.clock-s >= c.limit {
			c.clock++
			r.stamps[g] = c.clock
			missed += min(granule, f.live.size-g*granule)
		}
	}
	return missed
}

func (r *residency) complete(size int64) bool {
	if int64(len(r.stamps)) < (size+granule-1)/granule {
		return false
	}
	for _, s := range r.stamps {
		if s == 0 {
			return false
		}
	}
	return true
}
