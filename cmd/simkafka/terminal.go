package main

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/simkafka/simkafka/report"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colored decides for one writer (interface 3.1 rule 3): --color, then NO_COLOR,
// CLICOLOR_FORCE, TERM=dumb, and last whether it is a terminal.
func (a *app) colored(w io.Writer) bool {
	switch {
	case a.color == "always":
		return true
	case a.color == "never", os.Getenv("NO_COLOR") != "":
		return false
	case os.Getenv("CLICOLOR_FORCE") != "" && os.Getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return isTerminal(w) && os.Getenv("TERM") != "dumb"
}

// style is how text for a writer looks. The width is that of COLUMNS where a
// terminal sets it, else 80.
func (a *app) style(w io.Writer) report.Style {
	s := report.Style{Color: a.colored(w)}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 && n <= 400 && isTerminal(w) {
		s.Width = n
	}
	return s
}

// excerptLine is a line of a scenario as a message quotes it, or the caret below it.
var excerptLine = regexp.MustCompile(`^ {0,6}\d* \| `)

// folded breaks long lines of a message at the terminal's width; what follows the
// first line is indented. Elsewhere each message stays one line, for grep and editors.
func (a *app) folded(w io.Writer, text string) string {
	if !isTerminal(w) {
		return text
	}
	width := a.style(w).Width
	if width == 0 {
		width = 80
	}
	return fold(text, width)
}

func fold(text string, width int) string {
	const indent = "    "
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if len([]rune(line)) <= width || excerptLine.MatchString(line) {
			out = append(out, line)
			continue
		}
		lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for i, l := range report.Wrap(line, width-len(lead)-len(indent)) {
			if i > 0 {
				l = indent + l
			}
			out = append(out, lead+l)
		}
	}
	return strings.Join(out, "\n")
}
