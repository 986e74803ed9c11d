package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/simkafka/simkafka/model/outcome"
)

// Files of a run's directory beside the charts.
const (
	ResultFile   = "result.json"
	SummaryFile  = "summary.txt"
	TimelineFile = "timeline.txt"
)

// DirOptions are what WriteDir may vary.
type DirOptions struct {
	// Replay is the command line that repeats the run; see SummaryOptions.
	Replay string
	// NoCharts leaves the pictures out.
	NoCharts bool
}

// WriteDir writes result.json, summary.txt, timeline.txt and each chart as SVG
// and PNG into an existing directory. Equal results give equal files. result.json
// comes last: a directory that has it is complete.
func WriteDir(dir string, r *outcome.Result, o DirOptions) error {
	write := func(name string, render func(io.Writer) error) error {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666)
	}
	err := errors.Join(
		write(SummaryFile, func(w io.Writer) error {
			return WriteSummary(w, r, SummaryOptions{Style: Style{Width: 100}, Replay: o.Replay})
		}),
		write(TimelineFile, func(w io.Writer) error { return WriteTimeline(w, r) }))
	if !o.NoCharts {
		for _, c := range Charts(r) {
			err = errors.Join(err, write(c.Name+".svg", c.WriteSVG), write(c.Name+".png", c.WritePNG))
		}
	}
	if err != nil {
		return err
	}
	return write(ResultFile, func(w io.Writer) error { return WriteJSON(w, r) })
}
