package sweep

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// Part is one file to merge.
type Part struct {
	Name string // for messages
	*File
}

// ErrDisagree is what Merge's error wraps when two files tell different things about
// one run: the simulator is not deterministic, or a file was changed.
var ErrDisagree = errors.New("the simulator is at fault, or a file was changed")

// Merged is a whole sweep, or what there is of it. It is a function of the runs
// alone: neither their division into shards nor the order of the files shows.
type Merged struct {
	Header Header // of no shard
	Lines  []Line // by k
	State  string // Complete or Partial

	Missing    []Range // runs that no file has, where there is a count
	Absent     []Range // shards of which no file is there
	Unfinished []Range // shards whose file does not end with a complete footer
	Duplicates []Range // runs that several files have, and agree on
}

// Range is From to To, both inclusive.
type Range struct{ From, To uint64 }

func (r Range) String() string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Merge puts the files of one sweep together. Files of different sweeps are an error.
func Merge(parts []Part) (*Merged, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is nothing to merge")
	}
	m := &Merged{Header: parts[0].Header}
	var shards, finished []uint64
	for _, p := range parts {
		switch {
		case p.Header.Shards == 0:
			return nil, fmt.Errorf("%s is merged already", p.Name)
		case p.Header.ID != m.Header.ID:
			return nil, fmt.Errorf("%s and %s are of different sweeps: %s, and %s", parts[0].Name, p.Name, parts[0].Header.about(), p.Header.about())
		case p.Header.Shards != m.Header.Shards && m.Header.Count == 0:
			return nil, fmt.Errorf("%s is one of %d shards, %s of %d", parts[0].Name, m.Header.Shards, p.Name, p.Header.Shards)
		}
		m.Header.Replay = min(m.Header.Replay, p.Header.Replay) // the same scenario, perhaps under several names
		m.Header.Name = min(m.Header.Name, p.Header.Name)
		shards = append(shards, uint64(p.Header.Shard))
		if p.Footer != nil && p.Footer.State == Complete {
			finished = append(finished, uint64(p.Header.Shard))
		}
	}
	if err := m.collect(parts); err != nil {
		return nil, err
	}
	m.complete(shards, finished)
	m.Header.Shard, m.Header.Shards = 0, 0
	return m, nil
}

// collect sorts all lines by k and drops equal ones.
func (m *Merged) collect(parts []Part) error {
	type from struct {
		*Line
		part int
	}
	var all []from
	for i, p := range parts {
		for j := range p.Lines {
			all = append(all, from{&p.Lines[j], i})
		}
	}
	slices.SortStableFunc(all, func(a, b from) int { return cmp.Compare(a.K, b.K) })
	var twice []uint64
	for i, l := range all {
		if i == 0 || l.K != all[i-1].K {
			m.Lines = append(m.Lines, *l.Line)
			continue
		}
		a, b := all[i-1], l
		if same, err := equal(a.Line, b.Line); err != nil || !same {
			return errors.Join(fmt.Errorf("run %d (seed %d) is %s %s in %s and %s %s in %s: %w", l.K, l.Seed,
				a.Verdict, a.Fingerprint, parts[a.part].Name, b.Verdict, b.Fingerprint, parts[b.part].Name, ErrDisagree), err)
		}
		twice = append(twice, l.K)
	}
	m.Duplicates = ranges(twice)
	return nil
}

func equal(a, b *Line) (bool, error) {
	x, errX := encode(a)
	y, errY := encode(b)
	return slices.Equal(x, y), errors.Join(errX, errY)
}

// complete finds what is missing. With a count that is a matter of runs alone.
func (m *Merged) complete(shards, finished []uint64) {
	m.State = Complete
	if m.Header.Count > 0 {
		next := uint64(0)
		for i := range m.Lines {
			m.Missing = gap(m.Missing, next, m.Lines[i].K)
			next = m.Lines[i].K + 1
		}
		m.Missing = gap(m.Missing, next, m.Header.Count)
	} else {
		m.Absent = without(uint64(m.Header.Shards), shards)
		for _, r := range without(uint64(m.Header.Shards), finished) {
			for i := r.From; i <= r.To; i++ {
				if slices.Contains(shards, i) {
					m.Unfinished = append(m.Unfinished, Range{i, i})
				}
			}
		}
	}
	if len(m.Missing)+len(m.Absent)+len(m.Unfinished) > 0 {
		m.State = Partial
	}
}

// gap adds [from, end) if there is anything in it.
func gap(list []Range, from, end uint64) []Range {
	if from < end {
		list = append(list, Range{from, end - 1})
	}
	return list
}

// without are the numbers 1 to n that are not in the list.
func without(n uint64, list []uint64) []Range {
	slices.Sort(list)
	var out []Range
	next := uint64(1)
	for _, x := range list {
		out = gap(out, next, x)
		next = max(next, x+1)
	}
	return gap(out, next, n+1)
}

// ranges makes runs of a sorted list.
func ranges(list []uint64) []Range {
	var out []Range
	for _, x := range list {
		if n := len(out); n > 0 && out[n-1].To+1 >= x {
			out[n-1].To = x
		} else {
			out = append(out, Range{x, x})
		}
	}
	return out
}

// Write prints the merged file: header, lines and a footer without timing.
func (m *Merged) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	put := func(v any) error {
		b, err := encode(v)
		if err == nil {
			_, err = out.Write(b)
		}
		return err
	}
	err := put(m.Header)
	for i := 0; i < len(m.Lines) && err == nil; i++ {
		err = put(m.Lines[i])
	}
	return errors.Join(err, put(Footer{Done: uint64(len(m.Lines)), State: m.State}), out.Flush())
}

// Baseline reads a merged file, or any shard's, to compare with.
func Baseline(f *File) *Merged {
	m := &Merged{Header: f.Header, Lines: f.Lines, State: Partial}
	if f.Footer != nil {
		m.State = f.Footer.State
	}
	return m
}

// Totals are sums over all runs.
type Totals struct {
	Runs, Repeated uint64
	Passed         uint64
	Violated       uint64
	Inconclusive   uint64
	Errors         uint64
	LossRuns       uint64 // runs with expected loss
	Events         uint64
	Virtual        kafka.Nanos
	Probes         []ProbeTotal // by name
}

// ProbeTotal says how often a rare state was reached.
type ProbeTotal struct {
	Name string
	Runs uint64 // in how many runs
	Hits int64
}

// Totals adds up.
func (m *Merged) Totals() Totals {
	var t Totals
	probes := make(map[string]*ProbeTotal)
	for i := range m.Lines {
		l := &m.Lines[i]
		t.add(l)
		for name, hits := range l.Probes {
			p := probes[name]
			if p == nil {
				p = &ProbeTotal{Name: name}
				probes[name] = p
			}
			p.Runs++
			p.Hits += hits
		}
	}
	for _, p := range probes {
		t.Probes = append(t.Probes, *p)
	}
	slices.SortFunc(t.Probes, func(a, b ProbeTotal) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

func (t *Totals) add(l *Line) {
	t.Runs++
	t.Events += l.Events
	t.Virtual += l.End
	if l.Runs > 1 {
		t.Repeated++
	}
	if l.Loss > 0 {
		t.LossRuns++
	}
	switch l.Verdict {
	case outcome.Pass:
		t.Passed++
	case outcome.Violated:
		t.Violated++
	case outcome.Inconclusive:
		t.Inconclusive++
	default:
		t.Errors++
	}
}
