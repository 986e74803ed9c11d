package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/sweep"
)

// benchSchema is that of a file of starts: a header, then a line for each start.
const benchSchema = "simkafka.bugs-bench/v1"

// benchHeader says what the starts depend on.
type benchHeader struct {
	Schema    string `json:"schema"`
	Generator string `json:"generator"`
	Digest    string `json:"generator_sha256"`
	// Beyond drew the worlds for the bugs that need more than the budget.
	Beyond       string `json:"beyond_generator"`
	BeyondDigest string `json:"beyond_sha256"`
	Engine       int    `json:"engine"`
	MaxSeeds     int    `json:"max_seeds"`
	MaxCPU       int64  `json:"max_cpu_ns"`
}

// How a start ends.
const (
	foundIt    = "found"
	outOfSeeds = "out-of-seeds"
	outOfCPU   = "out-of-cpu"
)

// find is how one start ended.
type find struct {
	Bug       string        `json:"bug"`
	Start     int           `json:"start"`
	Worlds    int           `json:"worlds"` // drawn
	Ended     string        `json:"ended"`  // "" = interrupted, which no file holds
	CPU       time.Duration `json:"cpu_ns"`
	Seed      uint64        `json:"seed,omitempty"`      // of the world that showed it
	Generator string        `json:"generator,omitempty"` // that drew it
	Invariant string        `json:"invariant,omitempty"` // that failed first there
}

func (f *find) found() bool { return f.Ended == foundIt }

func (f find) String() string {
	if !f.found() {
		return fmt.Sprintf("not found in %d worlds", f.Worlds)
	}
	return fmt.Sprintf("%s after %d worlds, %s seed %d", f.Invariant, f.Worlds, f.Generator, f.Seed)
}

func (b *bench) header() (benchHeader, error) {
	h := benchHeader{Schema: benchSchema, Engine: cluster.Engine, MaxSeeds: b.maxSeeds, MaxCPU: int64(b.perStart)}
	var err error
	if h.Generator, h.Digest, err = digestOf(b.gens); err != nil {
		return benchHeader{}, err
	}
	h.Beyond, h.BeyondDigest, err = digestOf(b.beyond)
	return h, err
}

// digestOf names generators and what they draw.
func digestOf(gens []scenarios.Generator) (names, digest string, err error) {
	for i := range gens {
		names += "," + gens[i].Name
	}
	names = names[1:]
	source, err := sweep.Drawn(names, func(seed uint64) (*scenarios.Spec, error) { return ofSeed(gens, seed).Draw(seed) })
	if err != nil {
		return "", "", err
	}
	return names, source.Digest().String(), nil
}

// benchFile is the starts that are done, in memory and in a file if there is one.
type benchFile struct {
	finds []find
	f     *os.File // nil without --out
}

// openBench takes a file up again, or makes it. One of other worlds is refused.
func openBench(name string, head benchHeader) (*benchFile, error) {
	if name == "" {
		return &benchFile{}, nil
	}
	b := &benchFile{}
	whole := int64(0) // of the file, without a last line that was cut off
	old, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, environment(err)
	default:
		had, finds, size, err := parseBench(old)
		if err == nil && size > 0 && had != head {
			err = fmt.Errorf("it is of generator %s (%.8s), engine %d, at most %d worlds; this would be %s (%.8s), %d, %d",
				had.Generator, had.Digest, had.Engine, had.MaxSeeds, head.Generator, head.Digest, head.Engine, head.MaxSeeds)
		}
		if err != nil {
			return nil, usage("--out %s: %w", name, err)
		}
		b.finds, whole = finds, size
	}
	if b.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, environment(err)
	}
	if err := b.f.Truncate(whole); err != nil {
		return nil, environment(err)
	}
	if _, err := b.f.Seek(whole, 0); err != nil {
		return nil, environment(err)
	}
	if whole == 0 {
		if err := b.write(head); err != nil {
			return nil, environment(err)
		}
	}
	return b, nil
}

// parseBench reads a file; size is that of its whole lines.
func parseBench(data []byte) (head benchHeader, finds []find, size int64, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 0; lines.Scan(); n++ {
		end := size + int64(len(lines.Bytes())) + 1
		if end > int64(len(data)) {
			break
		}
		if n == 0 {
			err = json.Unmarshal(lines.Bytes(), &head)
			if err == nil && head.Schema != benchSchema {
				err = fmt.Errorf("it is no %s", benchSchema)
			}
		} else {
			var f find
			err = json.Unmarshal(lines.Bytes(), &f)
			finds = append(finds, f)
		}
		if err != nil {
			return head, nil, 0, fmt.Errorf("line %d: %w", n+1, err)
		}
		size = end
	}
	return head, finds, size, lines.Err()
}

func (b *benchFile) has(bug string, start int) bool {
	for i := range b.finds {
		if b.finds[i].Bug == bug && b.finds[i].Start == start {
			return true
		}
	}
	return false
}

func (b *benchFile) add(f find) error {
	b.finds = append(b.finds, f)
	if b.f == nil {
		return nil
	}
	return b.write(f)
}

func (b *benchFile) write(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = b.f.Write(append(data, '\n'))
	return err
}

func (b *benchFile) close() error {
	if b.f == nil {
		return nil
	}
	return b.f.Close()
}
