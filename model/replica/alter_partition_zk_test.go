package replica

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// znodeWriter records what ZkAlterPartitionManager writes.
type znodeWriter struct {
	writes []ISRChange
	told   [][]kafka.TopicPartition
}

func (z *znodeWriter) WriteISR(_ *step.Input, _ *step.Effects, c ISRChange) {
	z.writes = append(z.writes, c)
}
func (z *znodeWriter) NotifyISRChange(_ *step.Input, _ *step.Effects, tps []kafka.TopicPartition) {
	z.told = append(z.told, tps)
}

func newDirect(t *testing.T) (*broker, *ZkAlterPartitionManager, *znodeWriter) {
	t.Helper()
	w := newWorld(t, "zk-2.6", 3)
	b := w.broker(1)
	z := new(znodeWriter)
	m := NewZkAlterPartitionManager(b.input(step.Boot), &b.env, managerLane, managerKind, z)
	b.env.ISR = m
	fill(w, b, 10, 10)
	b.lead(0, 1, 1, ids(1, 2), ids(1, 2, 3))
	b.fetchFrom(3, 10)
	return b, m, z
}

// TestL27AWriteCommitsAtTheNewVersion.
func TestL27AWriteCommitsAtTheNewVersion(t *testing.T) {
	b, m, z := newDirect(t)
	c := z.writes[0]
	if c.LeaderEpoch != 1 || c.PartitionEpoch != 1 || c.ControllerEpoch != 1 || !slices.Equal(c.ISR, ids(1, 2, 3)) {
		t.Fatalf("%+v", c)
	}
	m.Written(b.input(step.Response), b.out, c, WriteResult{Written: true, Version: 2})
	b.settle()
	if p := b.partition(0); !slices.Equal(p.ISR(), ids(1, 2, 3)) || p.PartitionEpoch() != 2 {
		t.Errorf("isr %v at %d", p.ISR(), p.PartitionEpoch())
	}
}

// TestL27AConflictByContent: our own write whose answer was lost, or another's.
func TestL27AConflictByContent(t *testing.T) {
	ours := State{Leader: 1, LeaderEpoch: 1, ISR: ids(1, 2, 3), ControllerEpoch: 1}
	for _, c := range []struct {
		name    string
		change  func(s *State)
		found   bool
		success bool
	}{
		{"ours", func(*State) {}, true, true},
		{"unreadable", func(*State) {}, false, false},
		{"other isr", func(s *State) { s.ISR = ids(1, 2) }, true, false},
		{"other order", func(s *State) { s.ISR = ids(1, 3, 2) }, true, false},
		{"other leader", func(s *State) { s.Leader = 2 }, true, false},
		{"other leader epoch", func(s *State) { s.LeaderEpoch = 2 }, true, false},
		{"other controller", func(s *State) { s.ControllerEpoch = 2 }, true, false},
	} {
		b, m, z := newDirect(t)
		s := ours
		c.change(&s)
		m.Written(b.input(step.Response), b.out, z.writes[0], WriteResult{Found: c.found, Stored: s, Version: 7})
		b.settle()
		p := b.partition(0)
		if c.success != !p.ISRInFlight() || c.success != (p.PartitionEpoch() == 7) {
			t.Errorf("%s: in flight %v at %d", c.name, p.ISRInFlight(), p.PartitionEpoch())
		}
		if !c.success && !slices.Equal(p.MaximalISR(), ids(1, 2, 3)) {
			t.Errorf("%s: maximal %v", c.name, p.MaximalISR())
		}
	}
}

// TestL27PropagationWaitsForQuietOrAMinute.
func TestL27PropagationWaitsForQuietOrAMinute(t *testing.T) {
	b, m, z := newDirect(t)
	start := b.w.now
	var told []kafka.Nanos
	fire := func(until kafka.Nanos) {
		for len(b.timers) > 0 && b.timers[0].At <= until {
			op := b.timers[0]
			b.timers = b.timers[1:]
			b.out.Timers.Release(op.TimerRef)
			b.w.now = op.At
			in := b.input(step.Timer)
			in.Timer = op.Timer
			before := len(z.told)
			m.Handle(in, b.out)
			b.settle()
			if len(z.told) > before {
				told = append(told, b.w.now-start)
			}
		}
		b.w.now = until
	}
	change := func(at kafka.Nanos) {
		fire(start + at)
		m.Written(b.input(step.Response), b.out, z.writes[0], WriteResult{Written: true, Version: 2})
		b.settle()
	}
	change(1 * kafka.Second)
	fire(start + 20*kafka.Second)
	if want := []kafka.Nanos{7500 * kafka.Millisecond}; !slices.Equal(told, want) {
		t.Fatalf("told at %v, want %v", told, want)
	}
	if !slices.Equal(z.told[0], []kafka.TopicPartition{tp(0)}) {
		t.Errorf("%v", z.told[0])
	}
	for s := kafka.Nanos(21); s <= 80; s += 4 { // never quiet for 5 s
		change(s * kafka.Second)
	}
	fire(start + 81*kafka.Second)
	if len(told) != 2 || told[1] != 70*kafka.Second {
		t.Errorf("told at %v", told)
	}
}
