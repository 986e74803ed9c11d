package sweep

import (
	"crypto/sha256"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// The vectors were made by another program from the words of interface 4.3.1.
func TestSeedIsTheHashThatInterface431Says(t *testing.T) {
	source := Digest(sha256.Sum256([]byte("a scenario")))
	for _, c := range []struct{ root, k, want uint64 }{
		{1, 0, 1325430856041913411},
		{1, 1, 12168040652538569067},
		{7, 1, 4307381572171856609},
		{18446744073709551615, 1099511627776, 9819301362941268687},
	} {
		if got := Seed(c.root, source, c.k); got != c.want {
			t.Errorf("root %d, k %d: %d, want %d", c.root, c.k, got, c.want)
		}
	}
}

func TestSeedsOfDifferentSweepsDiffer(t *testing.T) {
	seen := make(map[uint64]bool)
	for _, name := range []string{"a", "b"} {
		for root := range uint64(3) {
			for k := range uint64(2000) {
				s := Seed(root, sha256.Sum256([]byte(name)), k)
				if s == 0 || seen[s] {
					t.Fatalf("seed %d of %s, %d, %d", s, name, root, k)
				}
				seen[s] = true
			}
		}
	}
}

// Every run belongs to exactly one shard, and shards differ by one run at most.
func TestShardsDivideTheRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		count := rapid.Uint64Range(0, 300).Draw(t, "count")
		owned := make([]uint64, n+1)
		for k := range count {
			for i := 1; i <= n; i++ {
				if (Shard{i, n}).Owns(k) {
					owned[i]++
				}
			}
		}
		sum := uint64(0)
		for i := 1; i <= n; i++ {
			if got := (Shard{i, n}).Runs(count); got != owned[i] {
				t.Fatalf("shard %d/%d has %d runs of %d, counted %d", i, n, got, count, owned[i])
			}
			if owned[i] > owned[1] || owned[1]-owned[i] > 1 {
				t.Fatalf("shard %d has %d runs, the first %d", i, owned[i], owned[1])
			}
			sum += owned[i]
		}
		if sum != count {
			t.Fatalf("%d runs of %d are owned", sum, count)
		}
	})
}

func TestShardIsWrittenFromOne(t *testing.T) {
	for _, text := range []string{"1/1", "3/16", "16/16"} {
		if s, err := ParseShard(text); err != nil || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/4/2", "1/1000000"} {
		if _, err := ParseShard(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// What a scenario is asked for decides its seeds, not how its file is laid out.
func TestScenarioIsNamedByItsCanonicalText(t *testing.T) {
	a, b := scenario1(t, "# a comment\n"), scenario1(t, "")
	if Scenario(a).Digest() != Scenario(b).Digest() {
		t.Error("a comment changed the digest")
	}
	if Scenario(a).Digest().String() != a.Digest() {
		t.Error("the digest is not the one that result.json shows")
	}
	b.Duration++
	if Scenario(a).Digest() == Scenario(b).Digest() {
		t.Error("another duration has the same digest")
	}
}

// A generator is named by what it draws.
func TestDigestOfAGeneratorChangesWithWhatItDraws(t *testing.T) {
	digest := func(name string, more kafka.Nanos) Digest {
		s, err := Drawn(name, func(seed uint64) (*scenarios.Spec, error) {
			spec := scenario1(t, "")
			spec.Duration += kafka.Nanos(seed) + more
			return spec, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if spec, err := s.Spec(100); err != nil || spec.Duration != 6*kafka.Second+100+more || s.Name() != name {
			t.Errorf("%v, %v", spec, err)
		}
		return s.Digest()
	}
	a := digest("a", 0)
	if digest("a", 0) != a || digest("b", 0) == a || digest("a", 1) == a {
		t.Error("the digest is not that of the name and the draws")
	}
	if _, err := Drawn("bad", func(uint64) (*scenarios.Spec, error) { return nil, errors.New("bad") }); err == nil {
		t.Error("a generator that fails is taken")
	}
}

const small = `apiVersion: simkafka/v1
name: small
duration: 6s
cluster: {brokers: 3, config: {min.insync.replicas: 2, zookeeper.session.timeout.ms: 4000}}
topics: [{name: orders, partitions: 1, replication: 3}]
producers: [{name: p, topic: orders, rate: 20/s, size: 100B, config: {acks: all}}]
chaos:
  from: 3500ms
  to: 5s
  count: 1..2
  of:
    - {kill: random(brokers), restart_after: 500ms..1s}
    - {pause: "leader(orders/0)", for: 500ms}
`

func scenario1(t testing.TB, before string) *scenarios.Spec {
	t.Helper()
	s, err := scenarios.Load("small.yaml", []byte(before+small), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
