package osfs

import "sync/atomic"

// Paths counts bytes by the way that they really took, so that a report need not
// believe in what was asked for. All counts only grow.
type Paths struct {
	Read   Path // pread into the process's memory
	Write  Path // pwrite from it
	Mapped Path // mmap: length of the mappings made

	Sendfile Path // file to socket inside the kernel
	Combined Path // read behind the header, one write of both
	Copied   Path // read and written to the socket piece by piece
	MapWrite Path // written to the socket out of a mapping
	TLS      Path // read, encrypted and written
}

// Path counts the calls that took one way, and their bytes.
type Path struct{ calls, bytes atomic.Int64 }

func (p *Path) add(n int) {
	p.calls.Add(1)
	p.bytes.Add(int64(n))
}

// Calls is the number of calls; a call that the kernel cut short counts each time.
func (p *Path) Calls() int64 { return p.calls.Load() }

// Bytes is the sum of the bytes moved.
func (p *Path) Bytes() int64 { return p.bytes.Load() }
