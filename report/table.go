package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Column describes a column of a Table.
type Column struct {
	Name string
	// Right aligns numbers. Cells are printed as given: format them first.
	Right bool
	// Drop says in which order columns go when the table is too wide: the highest
	// first; 0 is never dropped.
	Drop int
	// Tail keeps the end of a cell that is cut: names that differ in their number.
	Tail bool
	// Wrap gives a long cell several lines, at most maxCellLines, before it is cut.
	Wrap bool
}

// Table is the one place where tables are laid out (interface 6.3). A table never
// has more lines than maxRows and fits the writer's width by dropping columns,
// then by cutting its widest text column; it says what it left out.
type Table struct {
	Columns []Column
	Rows    [][]string
	// Indent stands before each line.
	Indent string
}

// maxRows bounds what is printed; the library needs seconds for 100,000 rows.
const maxRows = 1000

// narrow makes widths the same under every locale. The setting is the library's
// own global one.
var narrow = sync.OnceFunc(func() {
	twwidth.SetOptions(twwidth.Options{EastAsianWidth: false, ForceNarrowBorders: true})
})

func displayWidth(s string) int {
	narrow()
	return twwidth.Width(s)
}

// Write prints the table as text.
func (t Table) Write(w io.Writer, s Style) error {
	if len(t.Rows) == 0 {
		_, err := fmt.Fprintf(w, "%sno rows\n", t.Indent)
		return err
	}
	hidden := 0
	if len(t.Rows) > maxRows {
		hidden = len(t.Rows) - maxRows
		t.Rows = t.Rows[:maxRows]
	}
	t, dropped := t.fit(s.width() - displayWidth(t.Indent))
	var b strings.Builder
	err := t.render(&b, renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
	}), s)
	for line := range strings.Lines(b.String()) {
		err = errors.Join(err, put(w, t.Indent+strings.TrimRight(line, " \n")+"\n"))
	}
	if hidden > 0 {
		err = errors.Join(err, put(w, fmt.Sprintf("%s… and %s\n", t.Indent, plural(int64(hidden), "more row"))))
	}
	if len(dropped) > 0 {
		err = errors.Join(err, put(w, s.dim(fmt.Sprintf("%snot shown at this width: %s", t.Indent, strings.Join(dropped, ", ")))+"\n"))
	}
	return err
}

func put(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

// Markdown prints the table as Markdown, all columns, cells escaped.
func (t Table) Markdown(w io.Writer) error {
	if len(t.Rows) == 0 {
		return put(w, "no rows\n")
	}
	rows := t.Rows[:min(len(t.Rows), maxRows)]
	escaped := Table{Columns: t.Columns, Rows: make([][]string, len(rows))}
	for i, r := range rows {
		cells := make([]string, len(r))
		for j, c := range r {
			cells[j] = escapeMarkdown(c)
		}
		escaped.Rows[i] = cells
	}
	if err := escaped.render(w, renderer.NewMarkdown(), Style{}); err != nil {
		return err
	}
	if hidden := len(t.Rows) - len(rows); hidden > 0 {
		return put(w, fmt.Sprintf("\n… and %s\n", plural(int64(hidden), "more row")))
	}
	return nil
}

// escapeMarkdown keeps a cell one cell: the library escapes neither bars nor line ends.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "<", "&lt;", ">", "&gt;").Replace(s)
}

func (t Table) render(w io.Writer, r tw.Renderer, s Style) error {
	narrow()
	align := make([]tw.Align, len(t.Columns))
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		align[i] = tw.AlignLeft
		if c.Right {
			align[i] = tw.AlignRight
		}
		names[i] = s.dim(c.Name)
	}
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: align},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: "", Right: "  ", Overwrite: true}},
	}
	if _, markdown := r.(*renderer.Markdown); markdown {
		cells.Padding.Global = tw.PaddingDefault
	}
	table := tablewriter.NewTable(w, tablewriter.WithRenderer(r), tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithTrimSpace(tw.Off))
	table.Header(names)
	for _, row := range t.Rows {
		if err := table.Append(row); err != nil {
			return fmt.Errorf("table: %w", err)
		}
	}
	return table.Render()
}
