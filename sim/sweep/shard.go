package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is part Index (from 1) of Of equal parts of a sweep.
type Shard struct{ Index, Of int }

// Whole is the only shard of a sweep that is not divided.
func Whole() Shard { return Shard{1, 1} }

// maxShards bounds the number of shards; more are a mistake.
const maxShards = 100_000

// ParseShard reads i/N, 1 <= i <= N.
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, errI := strconv.Atoi(i)
	of, errN := strconv.Atoi(n)
	if !ok || errI != nil || errN != nil {
		return Shard{}, fmt.Errorf("shard %q: write i/N, such as 3/16, or auto", text)
	}
	s := Shard{index, of}
	return s, s.check()
}

func (s Shard) check() error {
	switch {
	case s.Of < 1 || s.Of > maxShards:
		return fmt.Errorf("shard %s: there are 1 to %d shards", s, maxShards)
	case s.Index < 1 || s.Index > s.Of:
		return fmt.Errorf("shard %s: the index is 1 to %d", s, s.Of)
	}
	return nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Owns reports whether run k is the shard's.
func (s Shard) Owns(k uint64) bool { return k%uint64(s.Of) == uint64(s.Index-1) }

// Runs is how many of the first count runs are the shard's.
func (s Shard) Runs(count uint64) uint64 {
	first := uint64(s.Index - 1)
	if count <= first {
		return 0
	}
	return (count-first-1)/uint64(s.Of) + 1
}

// File is the name of the shard's file.
func (s Shard) File() string { return fmt.Sprintf("shard-%04d-of-%04d.jsonl", s.Index, s.Of) }
