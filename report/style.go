package report

// Style says how text for one writer looks; the caller decides it per writer, as
// stdout may be a file while stderr is a terminal (interface 3.1 rule 3).
type Style struct {
	// Width is the number of columns that tables and lines may take; 0 means 80.
	Width int
	// Color allows ANSI colours.
	Color bool
}

const defaultWidth = 80

func (s Style) width() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return s.Width
}

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

func (s Style) dim(text string) string  { return s.paint("2", text) }
func (s Style) good(text string) string { return s.paint("1;32", text) }
func (s Style) bad(text string) string  { return s.paint("1;31", text) }
func (s Style) warn(text string) string { return s.paint("33", text) }
