package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/report"
)

// benchSummary is a bench in numbers.
type benchSummary struct {
	benchHeader
	Bugs []benchRow `json:"bugs"`
	All  benchRow   `json:"all"`
}

// benchRow sums up the starts of one bug, or of all. A start that did not find the bug
// counts as later than any that did: its rank gives "more than".
type benchRow struct {
	Bug        string         `json:"bug"`
	Beyond     bool           `json:"beyond_budget"` // its worlds
	Starts     int            `json:"starts"`
	Found      int            `json:"found"`
	WorldsP50  benchRank      `json:"worlds_p50"`
	WorldsP90  benchRank      `json:"worlds_p90"`
	SecondsP50 float64        `json:"cpu_seconds_p50"`
	SecondsP90 float64        `json:"cpu_seconds_p90"`
	Invariants []invariantHit `json:"first_to_fail"`
	Drawn      guidance       `json:"drawn"`
}

// benchRank is the number of worlds at a rank; if the start there did not find the bug
// it is how many it drew.
type benchRank struct {
	Worlds int  `json:"worlds"`
	Found  bool `json:"found"`
}

func (r benchRank) String() string {
	if !r.Found {
		return fmt.Sprintf("> %d", r.Worlds)
	}
	return fmt.Sprint(r.Worlds)
}

// invariantHit is how often an invariant was the first to fail.
type invariantHit struct {
	Name  string `json:"name"`
	Finds int    `json:"finds"`
}

// summarize puts the bugs in the order of their table.
func summarize(head benchHeader, finds []find) *benchSummary {
	s := &benchSummary{benchHeader: head}
	var all guidance
	keys := quirk.Keys()
	for _, m := range quirk.Mutations() {
		keys = append(keys, m.Key)
	}
	for _, key := range keys {
		var own []find
		for _, f := range finds {
			if f.Bug == key {
				own = append(own, f)
			}
		}
		if len(own) > 0 {
			r := rowOf(key, own)
			if id, ok := quirk.ParseSwitch(key); ok {
				row := id.Row()
				r.Beyond = row.Beyond
			}
			r.Drawn = head.guidanceOf(own, r.Beyond)
			all.add(r.Drawn)
			s.Bugs = append(s.Bugs, r)
		}
	}
	if len(finds) > 0 {
		s.All = rowOf("all", slices.Clone(finds))
		s.All.Drawn = all
	}
	return s
}

func rowOf(name string, finds []find) benchRow {
	slices.SortStableFunc(finds, func(a, c find) int {
		if a.found() != c.found() {
			if a.found() {
				return -1
			}
			return 1
		}
		return a.Worlds - c.Worlds
	})
	r := benchRow{Bug: name, Starts: len(finds)}
	for i := range finds {
		if finds[i].found() {
			r.Found++
			r.hit(finds[i].Invariant)
		}
	}
	slices.SortStableFunc(r.Invariants, func(a, b invariantHit) int { return b.Finds - a.Finds })
	r.WorldsP50, r.WorldsP90 = rankOf(finds, 50), rankOf(finds, 90)
	slices.SortStableFunc(finds, func(a, c find) int {
		if a.found() != c.found() {
			if a.found() {
				return -1
			}
			return 1
		}
		return int(a.CPU - c.CPU)
	})
	r.SecondsP50, r.SecondsP90 = secondsOf(finds, 50), secondsOf(finds, 90)
	return r
}

func (r *benchRow) hit(invariant string) {
	for i := range r.Invariants {
		if r.Invariants[i].Name == invariant {
			r.Invariants[i].Finds++
			return
		}
	}
	r.Invariants = append(r.Invariants, invariantHit{invariant, 1})
}

// at is the start at a rank in percent.
func at(finds []find, percent int) *find { return &finds[(len(finds)*percent+99)/100-1] }

func rankOf(finds []find, percent int) benchRank {
	f := at(finds, percent)
	return benchRank{f.Worlds, f.found()}
}

func secondsOf(finds []find, percent int) float64 {
	return float64(at(finds, percent).CPU.Round(100*time.Millisecond)) / float64(time.Second)
}

func (s *benchSummary) table() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "bug"}, {Name: "found"}, {Name: "worlds p50", Right: true}, {Name: "worlds p90", Right: true},
		{Name: "cpu s p50", Right: true}, {Name: "cpu s p90", Right: true}, {Name: "first to fail"}}}
	t.Rows = s.rows()
	return t
}

func (s *benchSummary) rows() (rows [][]string) {
	list := s.Bugs
	if len(list) > 1 {
		list = append(slices.Clone(list), s.All)
	}
	for i := range list {
		rows = append(rows, list[i].cells(list[i].Bug != "all"))
	}
	return rows
}

func (r *benchRow) cells(invariants bool) []string {
	var names []string
	for _, h := range r.Invariants {
		if invariants {
			names = append(names, h.Name)
		}
	}
	more := func(x float64, k benchRank) string {
		if !k.Found {
			return fmt.Sprintf("> %.1f", x)
		}
		return fmt.Sprintf("%.1f", x)
	}
	bug := r.Bug
	if r.Beyond {
		bug += " (beyond budget)"
	}
	return []string{bug, fmt.Sprintf("%d of %d", r.Found, r.Starts), r.WorldsP50.String(), r.WorldsP90.String(),
		more(r.SecondsP50, r.WorldsP50), more(r.SecondsP90, r.WorldsP90), strings.Join(names, ", ")}
}

func (s *benchSummary) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
