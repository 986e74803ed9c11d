package main

import (
	"io"
	"os"
	"strconv"

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
