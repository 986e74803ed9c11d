package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// Digest names what a source gives: equal digests, equal runs.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Source gives the scenario of each run. It is asked by several goroutines at once.
type Source interface {
	// Name is for people and for names of files.
	Name() string
	// Digest covers everything that Spec depends on besides the seed: the text of a
	// scenario; the name and version of a generator.
	Digest() Digest
	// Spec gives the scenario of a seed, which the caller does not change.
	Spec(seed uint64) (*scenarios.Spec, error)
}

// Scenario is the source that runs one scenario under every seed.
func Scenario(spec *scenarios.Spec) Source {
	return &scenario{spec: spec, digest: sha256.Sum256([]byte(spec.YAML()))}
}

type scenario struct {
	spec   *scenarios.Spec
	digest Digest
}

func (s *scenario) Name() string                         { return s.spec.Name }
func (s *scenario) Digest() Digest                       { return s.digest }
func (s *scenario) Spec(uint64) (*scenarios.Spec, error) { return s.spec, nil }

// samples is how many draws of a generator go into its digest.
const samples = 8

// Drawn is the source that draws a scenario for each seed. draw is a pure function.
// The digest is taken from the name and what draw gives for the seeds 1 to 8, so that
// a generator that was changed has another one without anybody counting versions.
func Drawn(name string, draw func(seed uint64) (*scenarios.Spec, error)) (Source, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s generator %s\n", namespace, name)
	for seed := range uint64(samples) {
		spec, err := draw(seed + 1)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%s\n", spec.YAML())
	}
	return &drawn{name, Digest(h.Sum(nil)), draw}, nil
}

type drawn struct {
	name   string
	digest Digest
	draw   func(uint64) (*scenarios.Spec, error)
}

func (d *drawn) Name() string                              { return d.name }
func (d *drawn) Digest() Digest                            { return d.digest }
func (d *drawn) Spec(seed uint64) (*scenarios.Spec, error) { return d.draw(seed) }

// Plan is what is to be run. It says nothing about how: cores, time, places.
type Plan struct {
	Source Source
	Root   uint64 // root seed
	Count  uint64 // number of runs over all shards; 0 = as many as the time allows
	Shard  Shard
	// Replay is the command that repeats a run, without its seed.
	Replay string
}

// namespace keeps our hashes apart from all others.
const namespace = "simkafka/v1"

// Seed is the seed of run k: the first eight bytes, big-endian, of SHA-256 over
// "simkafka/v1", the root seed, the source's digest and k (numbers of eight bytes,
// big-endian). It is never 0 and does not depend on the number of shards.
func Seed(root uint64, source Digest, k uint64) uint64 {
	b := make([]byte, 0, len(namespace)+8+len(source)+8)
	b = append(b, namespace...)
	b = binary.BigEndian.AppendUint64(b, root)
	b = append(b, source[:]...)
	b = binary.BigEndian.AppendUint64(b, k)
	sum := sha256.Sum256(b)
	return max(binary.BigEndian.Uint64(sum[:8]), 1)
}

// repeatEvery is the share of passing runs that are run twice: one of twenty.
const repeatEvery = 20

// Repeated reports whether a passing run of this seed is run twice.
func Repeated(seed uint64) bool { return seed%repeatEvery == 0 }

// Header is the first line of a plan's file.
func (p *Plan) Header() Header {
	d := p.Source.Digest()
	h := Header{Schema: Schema, Name: p.Source.Name(), Source: d.String(), Root: p.Root, Count: p.Count, Engine: cluster.Engine,
		Shard: p.Shard.Index, Shards: p.Shard.Of, Replay: p.Replay}
	h.ID = h.id()
	return h
}

// id is the hash of all that decides the runs: equal for the shards of one sweep.
func (h *Header) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s sweep root=%d source=%s count=%d engine=%d", namespace, h.Root, h.Source, h.Count, h.Engine))
	return hex.EncodeToString(sum[:16])
}

// digest is the source's digest as the header has it.
func (h *Header) digest() (d Digest, err error) {
	n, err := hex.Decode(d[:], []byte(h.Source))
	if err != nil || n != len(d) || len(h.Source) != 2*len(d) {
		return d, fmt.Errorf("source_sha256 %q is no SHA-256", h.Source)
	}
	return d, nil
}
