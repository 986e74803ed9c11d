package simdisk

// The decisions about a file's image. Those about the whole file have the
// number of its first unsynced change.
const (
	decideFate   = iota // of the file
	decidePrefix        // how many changes survive in order
	decideTail          // whether the size outlives the data
	decideTailAt        // and which
	decideChange        // fate of one change
	decideTear          // at which sector it is torn
	decideSide          // which part of it survives
)

// fates of a file's unsynced changes.
const (
	allLost = iota
	allKept
	prefixKept // write-back in order, the next change torn
	anyKept    // each by itself
	numFates
)

// span is a range of bytes, end exclusive.
type span struct{ pos, end int64 }

// imageFile is what a power loss leaves of a file, durable and cold.
func (d *Disk) imageFile(f *file, path string, c chooser) *file {
	d.writeBack(f, d.now)
	out := &file{modTime: f.modTime, changes: f.changes, linked: true}
	out.live = d.imageContent(f, path, c)
	if out.live.size > 0 {
		out.cached = &residency{}
	}
	return out
}

func (d *Disk) imageContent(f *file, path string, c chooser) content {
	if f.vol == nil {
		return f.live.clone(f.live.size)
	}
	v := f.vol
	base := f.live.clone(v.baseSize)
	if v.base != nil {
		base = v.base.clone(v.base.size)
	}
	if len(v.ops) == 0 {
		return base
	}
	im := image{ops: v.ops, first: f.changes - uint32(len(v.ops)), path: path, c: c, kind: d.config.Personality}
	im.draw()
	im.keepOldTruncations(d)
	im.close(base.size)
	im.build(&base)
	return base.clone(base.size) // no tail may grow into bytes that old readers hold
}

// image decides about one file.
type image struct {
	ops   []change
	first uint32 // number of ops[0]
	path  string
	c     chooser
	kind  Personality

	drawn  []span // bytes of each write that survive by themselves
	kept   []bool // for each truncation
	pieces [][]span
}

func (im *image) choose(i int, decision uint8, n int) int {
	return im.c.choose(drawFileImage, im.path, im.first+uint32(i), decision, n)
}

// draw decides about each change by itself.
func (im *image) draw() {
	n := len(im.ops)
	im.drawn, im.kept = make([]span, n), make([]bool, n)
	fates := numFates
	if im.kind == Ext4Journal {
		fates = anyKept // which comes last
	}
	switch im.choose(0, decideFate, fates) {
	case allKept:
		im.keep(n)
	case prefixKept:
		k := im.choose(0, decidePrefix, n)
		im.keep(k)
		if im.kind != Ext4Journal {
			im.tear(k, true)
		}
	case anyKept:
		for i := range im.ops {
			im.drawOne(i)
		}
	}
}

func (im *image) keep(n int) {
	for i := range n {
		im.keepOne(i)
	}
}

func (im *image) keepOne(i int) {
	im.kept[i] = true
	im.drawn[i] = im.ops[i].span()
}

// span of a write; empty for a truncation.
func (c *change) span() span { return span{c.pos, c.pos + int64(len(c.data))} }

// boundaries counts the sector boundaries strictly inside.
func (s span) boundaries() int { return int((s.end-1)/Sector - s.pos/Sector) }

func (im *image) drawOne(i int) {
	options := 3 // lost, kept, torn
	if im.ops[i].data == nil || im.ops[i].span().boundaries() == 0 {
		options = 2
	}
	switch im.choose(i, decideChange, options) {
	case 1:
		im.keepOne(i)
	case 2:
		im.tear(i, im.choose(i, decideSide, 2) == 0)
	}
}

// tear keeps the sectors of a write before a drawn boundary, or those after it.
func (im *image) tear(i int, front bool) {
	s := im.ops[i].span()
	if im.ops[i].data == nil || s.boundaries() == 0 {
		return
	}
	at := (s.pos/Sector + 1 + int64(im.choose(i, decideTear, s.boundaries()))) * Sector
	if front {
		im.drawn[i] = span{s.pos, at}
	} else {
		im.drawn[i] = span{at, s.end}
	}
}

// keepOldTruncations keeps those that the journal has committed by itself.
func (im *image) keepOldTruncations(d *Disk) {
	for i := range im.ops {
		if im.ops[i].data == nil && d.now-im.ops[i].time >= d.config.JournalAge {
			im.kept[i] = true
		}
	}
}

// close adds what the survivors depend on. A sector is written as the cache
// held it: with all earlier writes to it, and with what an earlier truncation
// zeroed or made room for, so that it needs the truncation. A truncation needs
// the ones before it.
func (im *image) close(durableSize int64) {
	im.pieces = make([][]span, len(im.ops))
	var written spans // whole sectors
	for i := len(im.ops) - 1; i >= 0; i-- {
		if im.ops[i].data == nil {
			continue
		}
		if s := im.drawn[i]; s.end > s.pos {
			written.add(span{s.pos / Sector * Sector, (s.end + Sector - 1) / Sector * Sector})
		}
		im.pieces[i] = written.within(im.ops[i].span())
	}
	im.keepNeededTruncations(durableSize)
}

func (im *image) keepNeededTruncations(durableSize int64) {
	size := durableSize
	bound := make([]int64, len(im.ops)) // later writes to sectors that reach past it need the truncation
	for i := range im.ops {
		if op := &im.ops[i]; op.data == nil {
			bound[i] = min(size, op.pos)
			size = op.pos
		} else {
			size = max(size, op.span().end)
		}
	}
	end := int64(-1) // of what survives of later writes
	needed := false
	for i := len(im.ops) - 1; i >= 0; i-- {
		if im.ops[i].data == nil {
			needed = needed || im.kept[i] || end > bound[i]
			im.kept[i] = needed
		}
		for _, s := range im.pieces[i] {
			end = max(end, (s.end+Sector-1)/Sector*Sector)
		}
	}
}

// build applies what survives, in order.
func (im *image) build(c *content) {
	truncated := false
	for i := range im.ops {
		op := &im.ops[i]
		if op.data == nil {
			truncated = true
			if im.kept[i] {
				c.truncate(op.pos)
			}
		}
		for _, s := range im.pieces[i] {
			c.write(s.pos, op.data[s.pos-op.pos:s.end-op.pos])
		}
	}
	if !truncated && (im.kind == Ext4Ordered || im.kind == PosixMinimum) {
		im.extend(c)
	}
}

// extend lets the size of a lost append survive: zeros at the end (D10). ext4
// updates the size when it starts to write, and unwritten blocks read as zeros.
func (im *image) extend(c *content) {
	var sizes []int64 // that the file had, beyond what survived
	size := c.size
	for i := range im.ops {
		if end := im.ops[i].span().end; end > size {
			size = end
			sizes = append(sizes, size)
		}
	}
	if len(sizes) > 0 && im.c.seldom(drawFileImage, im.path, im.first, decideTail) {
		c.size = sizes[im.choose(0, decideTailAt, len(sizes))]
	}
}

// spans is a sorted list of disjoint ranges.
type spans []span

func (l *spans) add(s span) {
	i := 0
	for i < len(*l) && (*l)[i].end < s.pos {
		i++
	}
	j := i
	for ; j < len(*l) && (*l)[j].pos <= s.end; j++ {
		s.pos, s.end = min(s.pos, (*l)[j].pos), max(s.end, (*l)[j].end)
	}
	*l = append((*l)[:i:i], append([]span{s}, (*l)[j:]...)...)
}

// within is the list's intersection with s.
func (l spans) within(s span) (out []span) {
	for _, r := range l {
		if lo, hi := max(r.pos, s.pos), min(r.end, s.end); lo < hi {
			out = append(out, span{lo, hi})
		}
	}
	return out
}
