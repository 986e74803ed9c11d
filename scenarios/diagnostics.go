package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Diagnostic is one finding about a scenario file, with its place.
type Diagnostic struct {
	Line, Col int // from 1
	Warning   bool
	Message   string
}

// Diagnostics are all findings of one file, as an error.
type Diagnostics struct {
	File  string
	lines []string
	List  []Diagnostic
}

// Errors counts the findings that are not warnings.
func (d *Diagnostics) Errors() int {
	n := 0
	for _, x := range d.List {
		if !x.Warning {
			n++
		}
	}
	return n
}

func (d *Diagnostics) add(line, col int, warning bool, format string, args ...any) {
	d.List = append(d.List, Diagnostic{max(line, 1), max(col, 1), warning, fmt.Sprintf(format, args...)})
}

func (d *Diagnostics) sort() {
	slices.SortStableFunc(d.List, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// Error lists every finding as file:line:col with the source line and a caret.
func (d *Diagnostics) Error() string {
	var b strings.Builder
	for _, x := range d.List {
		word := "error"
		if x.Warning {
			word = "warning"
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s\n", d.File, x.Line, x.Col, word, x.Message)
		if x.Line <= len(d.lines) {
			source, caret := excerpt(d.lines[x.Line-1], x.Col)
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", x.Line, source, strings.Repeat(" ", caret))
		}
	}
	errs, warnings := d.Errors(), len(d.List)-d.Errors()
	fmt.Fprintf(&b, "%s, %s", plural(errs, "error"), plural(warnings, "warning"))
	return b.String()
}

// excerptWidth keeps a long line readable.
const excerptWidth = 70

// excerpt cuts a source line around a column, and says where the caret goes.
func excerpt(line string, col int) (text string, caret int) {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line))
	at := min(col-1, len(runes))
	from := 0
	if at > excerptWidth-10 {
		from = at - excerptWidth/2
	}
	return string(runes[from:min(from+excerptWidth, len(runes))]), at - from
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// nearest is the known word closest to one that is not known, if it is close.
func nearest(word string, known []string) (string, bool) {
	best, bestD := "", len(word)/2+1
	for _, k := range known {
		if d := distance(word, k); d < bestD || d == bestD && best == "" {
			best, bestD = k, d
		}
	}
	return best, best != "" && bestD <= max(2, len(word)/3)
}

// suggest is a did-you-mean, or the list of what there is.
func suggest(word string, known []string) string {
	if k, ok := nearest(word, known); ok {
		return fmt.Sprintf("; did you mean %q?", k)
	}
	switch {
	case len(known) == 1:
		return "; there is " + known[0]
	case len(known) > 1 && len(known) <= 12:
		return "; there are " + strings.Join(known, ", ")
	}
	return ""
}

// distance is the Damerau-Levenshtein distance (adjacent swaps count once).
func distance(a, b string) int {
	prev2, prev, cur := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, make([]int, len(b)+1)
	}
	return prev[len(b)]
}
