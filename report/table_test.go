package report

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sampleTable() Table {
	return Table{
		Columns: []Column{{Name: "p99 (ms)", Right: true}, {Name: "throughput_mb_s"}, {Name: "x.y", Drop: 2}, {Name: "leader", Drop: 1}},
		Rows:    [][]string{{"1.0", "a|b", "2 µs", "broker-1"}, {"100.00", "  ab", "", "bröker-12"}},
		Indent:  "  ",
	}
}

func textOf(t rapid.TB, table Table, s Style) string {
	t.Helper()
	var b strings.Builder
	if err := table.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const sampleText = `  p99 (ms)  throughput_mb_s  x.y   leader
       1.0  a|b              2 µs  broker-1
    100.00    ab                   bröker-12
`

func TestTablePrintsHeadersAndCellsAsGiven(t *testing.T) {
	if got := textOf(t, sampleTable(), Style{}); got != sampleText {
		t.Errorf("got\n%s\nwant\n%s", got, sampleText)
	}
}

// The width library decides from the environment when the process starts, hence
// a process of its own (interface 6.3).
func TestTableIsTheSameUnderACJKLocale(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestTablePrintsHeadersAndCellsAsGiven$|^TestSummaryGolden$", "-test.count=1")
	cmd.Env = append(os.Environ(), "LC_ALL=ja_JP.UTF-8", "LANG=ja_JP.UTF-8", "RUNEWIDTH_EASTASIAN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTableDropsColumnsUntilItFits(t *testing.T) {
	want := `  p99 (ms)  throughput_mb_s  leader
       1.0  a|b              broker-1
    100.00    ab             bröker-12
  not shown at this width: x.y
`
	if got := textOf(t, sampleTable(), Style{Width: 40}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableCutsItsWidestTextWhenNoColumnMayGo(t *testing.T) {
	table := Table{Columns: []Column{{Name: "n", Right: true}, {Name: "text"}}, Rows: [][]string{{"1", strings.Repeat("long ", 30)}}}
	got := textOf(t, table, Style{Width: 20})
	if want := "n  text\n1  long long long l…\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableWithoutRowsSaysSo(t *testing.T) {
	if got := textOf(t, Table{Columns: []Column{{Name: "a"}}}, Style{}); got != "no rows\n" {
		t.Errorf("got %q", got)
	}
}

func TestTableStopsAtMaxRowsAndSaysSo(t *testing.T) {
	table := Table{Columns: []Column{{Name: "n", Right: true}}}
	for i := range maxRows + 7 {
		table.Rows = append(table.Rows, []string{fmt.Sprint(i)})
	}
	got := textOf(t, table, Style{})
	if n := strings.Count(got, "\n"); n != maxRows+2 || !strings.HasSuffix(got, "… and 7 more rows\n") {
		t.Errorf("%d lines, the end is %q", n, got[len(got)-40:])
	}
}

func TestMarkdownCellsStayOneCell(t *testing.T) {
	table := Table{Columns: []Column{{Name: "a"}, {Name: "b", Right: true}}, Rows: [][]string{{"x|y\nz", "1"}, {"<b>", "2"}}}
	var b strings.Builder
	if err := table.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		bars := strings.Count(line, "|") - strings.Count(line, `\|`)
		if bars != 3 {
			t.Errorf("%d bars in %q", bars, line)
		}
	}
	if !strings.Contains(b.String(), `x\|y<br>z`) || !strings.Contains(b.String(), "&lt;b&gt;") {
		t.Errorf("not escaped:\n%s", b.String())
	}
}

func TestColouredTablesHaveTheSameLayout(t *testing.T) {
	got := textOf(t, sampleTable(), Style{Color: true})
	if !strings.Contains(got, "\x1b[") {
		t.Fatal("no colour")
	}
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(got, "")
	if plain = regexp.MustCompile(" +\n").ReplaceAllString(plain, "\n"); plain != sampleText {
		t.Errorf("without its colours it is\n%s", plain)
	}
}

// TestTablesFitTheirWidth: no line is wider than asked for, as long as the fixed
// columns leave room for it.
func TestTablesFitTheirWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOfN(rapid.RuneFrom([]rune("aé|µ 世\n")), 0, 30, -1)
		table := Table{Columns: []Column{{Name: "key"}}}
		for i := range rapid.IntRange(0, 6).Draw(t, "columns") {
			table.Columns = append(table.Columns, Column{Name: fmt.Sprint("c", i), Right: i%2 == 0, Drop: i + 1})
		}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			table.Rows = append(table.Rows, rapid.SliceOfN(cell, 0, len(table.Columns)+1).Draw(t, "row"))
		}
		width := rapid.IntRange(leastCell+1, 100).Draw(t, "width")
		for _, line := range strings.Split(textOf(t, table, Style{Width: width}), "\n") {
			if displayWidth(line) > width && !strings.HasPrefix(line, "not shown") {
				t.Fatalf("%d columns wide, %d asked for: %q", displayWidth(line), width, line)
			}
		}
	})
}
