package invariant

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// rawBatch is a batch of the naive model, which keeps every log as a list.
type rawBatch struct {
	entry
	epoch kafka.LeaderEpoch
}

// naiveCommon is how far two lists are the same.
func naiveCommon(a, b []rawBatch) kafka.Offset {
	end := kafka.Offset(0)
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		end = a[i].next()
	}
	return end
}

// listOf reads a position back as a list.
func listOf(t *rapid.T, x position) (list []rawBatch) {
	for o := kafka.Offset(0); o < x.end; {
		b := x.holding(o)
		e, _, how := b.find(o)
		if how != found || e.base != o {
			t.Fatalf("no batch at %d of %s: %v %v", o, x, e, how)
		}
		list = append(list, rawBatch{e, b.epoch})
		o = e.next()
	}
	return list
}

// TestGhostLogsAreThoseOfANaiveModel: leaders append, followers copy or go on with
// other batches, logs are cut anywhere; the tree must give back each log batch by
// batch, say how far any two agree, and how each batch relates to the others.
func TestGhostLogsAreThoseOfANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPartition(kafka.TopicPartition{Topic: "orders"}, &topic{Topic: Topic{Name: "orders", MinISR: 1}})
		const nodes = 3
		var logs [nodes][]rawBatch
		var seen []rawBatch // every batch that some replica ever appended
		for n := range nodes {
			p.replica(kafka.NodeID(n))
		}
		end := func(n int) kafka.Offset {
			if len(logs[n]) == 0 {
				return 0
			}
			return logs[n][len(logs[n])-1].next()
		}
		add := func(n int, b rawBatch, asLeader bool) {
			parted := isParted(p, b.epoch)
			how, _ := p.append(p.replicas[n], b.entry, b.epoch, asLeader)
			checkMatch(t, how, b, seen, parted)
			logs[n] = append(logs[n], b)
			seen = append(seen, b)
		}
		epoch, crc := kafka.LeaderEpoch(0), uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"lead": func(t *rapid.T) {
				n := rapid.IntRange(0, nodes-1).Draw(t, "node")
				if rapid.Bool().Draw(t, "new epoch") {
					epoch++
				}
				if l := logs[n]; len(l) > 0 && l[len(l)-1].epoch > epoch {
					return
				}
				crc++
				add(n, rawBatch{entry{end(n), crc, uint32(rapid.IntRange(1, 3).Draw(t, "count"))}, epoch}, true)
			},
			"copy": func(t *rapid.T) {
				n := rapid.IntRange(0, nodes-1).Draw(t, "node")
				m := rapid.IntRange(0, nodes-1).Draw(t, "from")
				i := slices.IndexFunc(logs[m], func(b rawBatch) bool { return b.base == end(n) })
				if i < 0 {
					return
				}
				add(n, logs[m][i], false)
			},
			"cut": func(t *rapid.T) {
				n := rapid.IntRange(0, nodes-1).Draw(t, "node")
				if len(logs[n]) == 0 {
					return
				}
				keep := rapid.IntRange(0, len(logs[n])-1).Draw(t, "keep")
				p.replicas[n].truncated(logs[n][keep].base, p.root)
				logs[n] = logs[n][:keep:keep]
			},
			"": func(t *rapid.T) {
				for n := range nodes {
					if got := listOf(t, p.replicas[n].log); !slices.Equal(got, logs[n]) {
						t.Fatalf("replica %d is %v, ghost %v", n, logs[n], got)
					}
				}
				checkAgreement(t, p, logs[:])
			},
		})
	})
}

// checkAgreement compares every two logs. A log that the tree keeps twice (after a
// divergence that was reported) may count as parting where it was reported.
func checkAgreement(t *rapid.T, p *partition, logs [][]rawBatch) {
	for _, b := range p.branches {
		if b.rewritten {
			return
		}
	}
	for a := range logs {
		for b := range logs {
			x := p.replicas[b].log
			if got, want := p.replicas[a].agrees(x), naiveCommon(logs[a], logs[b]); got != want {
				t.Fatalf("replicas %d and %d agree up to %d, ghost %d", a, b, want, got)
			}
		}
	}
}

// isParted: the epoch has two histories, which was reported; what is written on is
// not reported again.
func isParted(p *partition, epoch kafka.LeaderEpoch) bool {
	return slices.ContainsFunc(p.branches, func(b *branch) bool { return b.rewritten && b.epoch == epoch })
}

// checkMatch: a batch conflicts if the offset and epoch were used for other bytes
// and never for these.
func checkMatch(t *rapid.T, how match, b rawBatch, seen []rawBatch, parted bool) {
	same, other, epoch := false, false, false
	for _, s := range seen {
		same = same || s == b
		other = other || s.epoch == b.epoch && s != b && s.base < b.next() && b.base < s.next()
		epoch = epoch || s.epoch == b.epoch && s != b
	}
	switch how {
	case extended:
		if same || other && !parted {
			t.Fatalf("%v counts as new; it was seen: %v, others at its place: %v", b, same, other)
		}
	case matched, diverging:
		if !same {
			t.Fatalf("%v counts as seen", b)
		}
	case conflicting:
		if !epoch {
			t.Fatalf("%v counts as conflicting", b)
		}
	default:
		t.Fatalf("%v: %v", b, how)
	}
}

func TestIntervalsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b intervals
		var inA, inB [64]bool
		add := func(s *intervals, in *[64]bool, name string) {
			lo := rapid.Int64Range(0, 62).Draw(t, name+" lo")
			hi := rapid.Int64Range(lo+1, 63).Draw(t, name+" hi")
			fresh := int64(0)
			for i := lo; i < hi; i++ {
				if !in[i] {
					fresh++
				}
				in[i] = true
			}
			if got := s.add(lo, hi); got != fresh {
				t.Fatalf("add [%d,%d) to %v: %d new, want %d", lo, hi, *s, got, fresh)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"a": func(*rapid.T) { add(&a, &inA, "a") },
			"b": func(*rapid.T) { add(&b, &inB, "b") },
			"": func(t *rapid.T) {
				for i := 1; i < len(a); i++ {
					if a[i-1].hi >= a[i].lo {
						t.Fatalf("%v", a)
					}
				}
				var minus [64]bool
				for _, s := range a.minus(b) {
					for i := s.lo; i < s.hi; i++ {
						minus[i] = true
					}
				}
				common := int64(0)
				for i := range inA {
					if has := a.has(int64(i), int64(i)+1); has != inA[i] {
						t.Fatalf("has %d: %v", i, has)
					}
					if minus[i] != (inA[i] && !inB[i]) {
						t.Fatalf("%v minus %v: %d", a, b, i)
					}
					if inA[i] && inB[i] {
						common++
					}
				}
				if a.common(b) != common {
					t.Fatalf("common of %v and %v: %d", a, b, a.common(b))
				}
			},
		})
	})
}

// TestCommittedPrefixIsThatOfTheIncumbent: only the leader in office moves it.
func TestCommittedPrefixIsThatOfTheIncumbent(t *testing.T) {
	x := newScript(t, "")
	x.play(`
start
append node=1,2,3 base=0 count=10
hw node=1 hw=10
state leader=2 epoch=1 isr=2,3
append node=1 base=10 count=5
hw node=1 hw=15 isr=1
`)
	p := x.s.g.partition(kafka.TopicPartition{Topic: "orders"})
	if p.committed.end != 10 {
		t.Errorf("committed up to %d", p.committed.end)
	}
}

// TestOldBatchesAreReadBackByHash: what the ghost has forgotten is compared chunk by
// chunk.
func TestOldBatchesAreReadBackByHash(t *testing.T) {
	for _, spoil := range []bool{false, true} {
		x := newSteady(t)
		n := (keptChunks + 3) * chunkSize
		for range n {
			x.produce(0)
		}
		p := x.s.g.partition(x.tp[0])
		c := stableRead{findings: x.s.byName("repeatable-read")}
		for i := range n {
			e := entry{kafka.Offset(2 * i), uint32(2 * i), 2}
			if spoil && i == 100 {
				e.crc++
			}
			c.readBack(&readBatch{p: p, entry: e, node: 1})
		}
		if got := c.violated > 0; got != spoil {
			t.Errorf("spoilt %v: violated %v", spoil, got)
		}
	}
}
