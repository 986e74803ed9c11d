package report

import (
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// columnGap is the space between two columns.
const columnGap = 2

// fit drops columns, then cuts text, until a line fits width.
func (t Table) fit(width int) (fitted Table, dropped []string) {
	t = t.clean()
	widths := t.widths()
	for total(widths) > width {
		drop := -1
		for i, c := range t.Columns {
			if c.Drop > 0 && (drop < 0 || c.Drop >= t.Columns[drop].Drop) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		dropped = append(dropped, t.Columns[drop].Name)
		t = t.without(drop)
		widths = slices.Delete(widths, drop, drop+1)
	}
	slices.Reverse(dropped)
	if over := total(widths) - width; over > 0 {
		t.Rows = t.cut(widths, over)
	}
	return t, dropped
}

// clean copies the rows, each with exactly one cell a column and no line end in it.
func (t Table) clean() Table {
	rows := make([][]string, len(t.Rows))
	oneLine := strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")
	for i, r := range t.Rows {
		rows[i] = make([]string, len(t.Columns))
		for j := range min(len(r), len(t.Columns)) {
			rows[i][j] = oneLine.Replace(r[j])
		}
	}
	t.Rows = rows
	t.Columns = slices.Clone(t.Columns)
	return t
}

func (t Table) widths() []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = displayWidth(c.Name)
		for _, r := range t.Rows {
			out[i] = max(out[i], displayWidth(r[i]))
		}
	}
	return out
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w + columnGap
	}
	return sum - columnGap
}

func (t Table) without(column int) Table {
	t.Columns = slices.Delete(t.Columns, column, column+1)
	for i := range t.Rows {
		t.Rows[i] = slices.Delete(t.Rows[i], column, column+1)
	}
	return t
}

// leastCell is the narrowest that a cut column becomes.
const leastCell = 8

// maxCellLines bounds the lines of a wrapped cell.
const maxCellLines = 4

// cut shortens text columns by over in all, the widest first, none below leastCell.
func (t Table) cut(widths []int, over int) (rows [][]string) {
	for over > 0 {
		widest, next := -1, leastCell
		for i, c := range t.Columns {
			switch {
			case c.Right || widths[i] <= leastCell:
			case widest < 0 || widths[i] > widths[widest]:
				if widest >= 0 {
					next = widths[widest]
				}
				widest = i
			default:
				next = max(next, widths[i])
			}
		}
		if widest < 0 {
			break
		}
		by := min(over, max(widths[widest]-next, 1))
		widths[widest] -= by
		over -= by
	}
	for _, r := range t.Rows {
		rows = append(rows, t.lines(r, widths)...)
	}
	return rows
}

// lines is a row in as many lines as its wrapped cells need.
func (t Table) lines(row []string, widths []int) [][]string {
	lines := [][]string{make([]string, len(row))}
	for i, c := range t.Columns {
		switch {
		case c.Right:
			lines[0][i] = row[i]
		case c.Tail:
			lines[0][i] = clipFront(row[i], widths[i])
		case c.Wrap:
			cell := Wrap(row[i], widths[i])
			if len(cell) > maxCellLines {
				rest := strings.Join(cell[maxCellLines-1:], " ")
				cell = append(cell[:maxCellLines-1], rest)
			}
			for n, text := range cell {
				if n == len(lines) {
					lines = append(lines, make([]string, len(row)))
				}
				lines[n][i] = clip(text, widths[i])
			}
		default:
			lines[0][i] = clip(row[i], widths[i])
		}
	}
	return lines
}

// clip cuts text to a display width; a cut ends in "…".
func clip(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	return twwidth.Truncate(s, width-1) + "…"
}

// clipFront cuts the beginning of a text.
func clipFront(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && displayWidth(string(runes)) > width-1 {
		runes = runes[1:]
	}
	return "…" + string(runes)
}
