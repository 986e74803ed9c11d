package replica

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// entry and slowLog are a log as truncation sees it: an epoch for each offset, and
// the epoch cache as a list.
type entry struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
}

type slowLog struct {
	records []kafka.LeaderEpoch
	cache   []entry
}

func (l *slowLog) LogEndOffset() kafka.Offset { return kafka.Offset(len(l.records)) }

// EndOffsetForEpoch is the table of E-2, row by row.
func (l *slowLog) EndOffsetForEpoch(q kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	n := len(l.cache)
	switch {
	case q == -1 || n == 0 || q > l.cache[n-1].epoch:
		return -1, -1
	case q == l.cache[n-1].epoch:
		return q, l.LogEndOffset()
	case q < l.cache[0].epoch:
		return q, l.cache[0].start
	}
	i := n - 1
	for l.cache[i].epoch > q {
		i--
	}
	return l.cache[i].epoch, l.cache[i+1].start
}

func (l *slowLog) latest() kafka.LeaderEpoch {
	if len(l.cache) == 0 {
		return -1
	}
	return l.cache[len(l.cache)-1].epoch
}

func (l *slowLog) assign(e kafka.LeaderEpoch, start kafka.Offset) {
	if l.latest() == e {
		return
	}
	l.cache = append(l.cache, entry{e, start})
}

func (l *slowLog) append(e kafka.LeaderEpoch, n int) {
	for range n {
		l.assign(e, l.LogEndOffset())
		l.records = append(l.records, e)
	}
}

func (l *slowLog) truncate(to kafka.Offset) {
	to = min(to, l.LogEndOffset())
	l.records = l.records[:to]
	l.cache = slices.DeleteFunc(l.cache, func(e entry) bool { return e.start >= to })
}

func commonPrefix(a, b *slowLog) kafka.Offset {
	n := kafka.Offset(0)
	for int(n) < len(a.records) && int(n) < len(b.records) && a.records[n] == b.records[n] {
		n++
	}
	return n
}

// copyFrom makes l what a correct follower of leader would become, up to n records
// more.
func (l *slowLog) copyFrom(leader *slowLog, n int) {
	l.truncate(commonPrefix(l, leader))
	for _, e := range leader.records[len(l.records):min(len(leader.records), len(l.records)+n)] {
		l.append(e, 1)
	}
}

// drawHistory is three replicas after some epochs: in each one leads, enters its
// epoch, appends, and others may follow for a while.
func drawHistory(t *rapid.T) []*slowLog {
	logs := []*slowLog{{}, {}, {}}
	for epoch := range kafka.LeaderEpoch(rapid.IntRange(1, 7).Draw(t, "epochs")) {
		leader := logs[rapid.IntRange(0, 2).Draw(t, "leader")]
		leader.assign(epoch, leader.LogEndOffset())
		leader.append(epoch, rapid.IntRange(0, 3).Draw(t, "append"))
		for _, l := range logs {
			if l != leader && rapid.Bool().Draw(t, "follows") {
				l.copyFrom(leader, rapid.IntRange(0, 9).Draw(t, "copies"))
			}
		}
	}
	return logs
}

// TestT3RoundsEndAtTheLongestCommonPrefix in at most one round an epoch, whatever
// the history; the same for the rounds of T-4, which the leader ends.
func TestT3RoundsEndAtTheLongestCommonPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawHistory(t)
		leader, f := logs[0], logs[1]
		leader.assign(99, leader.LogEndOffset()) // it was elected now
		want := commonPrefix(leader, f)
		if f.latest() == -1 {
			return // truncates to its high watermark
		}
		rounds := len(f.cache)
		for n := 0; ; n++ {
			if n > rounds {
				t.Fatalf("more than %d rounds", rounds)
			}
			epoch, end := leader.EndOffsetForEpoch(f.latest())
			to, done := truncateEpoch279{}.cut(f, 0, epochEnd{epoch, end})
			f.truncate(to)
			if done || f.latest() == -1 {
				break
			}
		}
		if f.LogEndOffset() != want {
			t.Fatalf("cut to %d, the logs agree up to %d", f.LogEndOffset(), want)
		}
	})
}

// TestT4FetchesEndAtTheLongestCommonPrefix: the leader's test of L-17.5 and the
// follower's table together.
func TestT4FetchesEndAtTheLongestCommonPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawHistory(t)
		leader, f := logs[0], logs[1]
		leader.assign(99, leader.LogEndOffset())
		want := commonPrefix(leader, f)
		rounds := len(f.cache) + 1
		for n := 0; f.latest() != -1; n++ {
			if n > rounds {
				t.Fatalf("more than %d rounds", rounds)
			}
			epoch, end := leader.EndOffsetForEpoch(f.latest())
			if epoch >= f.latest() && end >= f.LogEndOffset() {
				break
			}
			to, _ := truncateOnFetch{}.cut(f, 0, epochEnd{epoch, end})
			f.truncate(to)
		}
		if f.LogEndOffset() != want {
			t.Fatalf("cut to %d, the logs agree up to %d", f.LogEndOffset(), want)
		}
	})
}

// TestTruncationTables: each row of T-1 to T-4. The follower has 0..4 of epoch 2,
// 5..9 of epoch 5; its high watermark is 3.
func TestTruncationTables(t *testing.T) {
	l := &slowLog{}
	l.append(2, 5)
	l.append(5, 5)
	for _, c := range []struct {
		name   string
		rule   config.Truncation
		answer epochEnd
		to     kafka.Offset
		done   bool
	}{
		{"T-1", config.TruncateToHW, epochEnd{5, 8}, 3, true},
		{"T-2 undefined", config.TruncateEpoch101, epochEnd{-1, -1}, 3, true},
		{"T-2 shorter", config.TruncateEpoch101, epochEnd{-1, 7}, 7, true},
		{"T-2 longer", config.TruncateEpoch101, epochEnd{-1, 70}, 10, true},
		{"T-2 ignores the epoch", config.TruncateEpoch101, epochEnd{3, 7}, 7, true},
		{"T-3 undefined", config.TruncateEpoch279, epochEnd{-1, -1}, 3, true},
		{"T-3 old leader", config.TruncateEpoch279, epochEnd{-1, 7}, 7, true},
		{"T-3 old leader, longer", config.TruncateEpoch279, epochEnd{-1, 70}, 10, true},
		{"T-3 the follower knows no epoch", config.TruncateEpoch279, epochEnd{6, 4}, 4, true},
		{"T-3 same epoch, leader shorter", config.TruncateEpoch279, epochEnd{5, 8}, 8, true},
		{"T-3 same epoch, leader longer", config.TruncateEpoch279, epochEnd{5, 80}, 10, true},
		{"T-3 older common epoch", config.TruncateEpoch279, epochEnd{2, 4}, 4, true},
		{"T-3 older common epoch, follower's is shorter", config.TruncateEpoch279, epochEnd{2, 9}, 5, true},
		{"T-3 unknown to the follower", config.TruncateEpoch279, epochEnd{4, 9}, 5, false},
		{"T-4 unknown to the follower", config.TruncateOnFetch, epochEnd{4, 9}, 5, false},
		{"T-4 same epoch", config.TruncateOnFetch, epochEnd{5, 8}, 8, true},
	} {
		to, done := truncatorOf(c.rule).cut(l, 3, c.answer)
		if to != c.to || done != c.done {
			t.Errorf("%s: cut at %d, done %v", c.name, to, done)
		}
	}
	short := &slowLog{}
	short.append(2, 2)
	for _, rule := range []config.Truncation{config.TruncateToHW, config.TruncateEpoch101, config.TruncateEpoch279} {
		if to, _ := truncatorOf(rule).cut(short, 3, epochEnd{-1, -1}); to != 2 {
			t.Errorf("rule %d cuts a log of 2 at %d", rule, to)
		}
	}
}
