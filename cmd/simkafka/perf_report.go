package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/perf"
)

// Files of --out beside the charts.
const (
	perfJSONFile  = "perf.json"
	perfTableFile = "perf.txt"
)

// perfReport prints a report and writes its files.
func (a *app) perfReport(r *perf.Report, asJSON bool, out perfOut) error {
	if err := out.write(r); err != nil {
		return environment(err)
	}
	if asJSON {
		return environmentOf(writePerfJSON(a.stdout, r))
	}
	return environmentOf(writePerfText(a.stdout, r, a.style(a.stdout)))
}

func writePerfJSON(w io.Writer, r *perf.Report) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writePerfText is the table for people.
func writePerfText(w io.Writer, r *perf.Report, s report.Style) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s  %s a run, %s\n", s.Bold(r.Workload), sizeText(r.Size), plural(int64(r.Runs), "round"))
	for _, line := range report.Wrap(perfPlace(r), 78) {
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
	t := perfTable(r)
	if err := t.Write(&b, s); err != nil {
		return err
	}
	b.WriteByte('\n')
	for _, n := range append([]string{perfLegend}, r.Notes...) {
		for _, line := range report.Wrap(n, 78) {
			b.WriteString(line + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

const perfLegend = "MB/s and the like are medians, min-max the least and the greatest round. real: the log " +
	"on this file system; sim: the same code on the simulated disk; raw: system calls alone."

func perfPlace(r *perf.Report) string {
	e := r.Env
	text := fmt.Sprintf("%s, %s %s, %s, %s, %s", e.FileSystem, e.OS, e.Kernel, e.Arch, plural(int64(e.CPUs), "CPU"), e.Go)
	if e.Load >= 0 {
		text += fmt.Sprintf(", load %d.%02d", e.Load/100, e.Load%100)
	}
	if e.Load > int64(100*e.CPUs)+50 {
		text += " (a busy machine: compare rows only)"
	}
	return text
}

// perfColumn is a column of the table; rows without a value leave it empty, and a column
// without any value is left out.
type perfColumn struct {
	report.Column
	cell func(*perf.Row) string
}

func perfColumns() []perfColumn {
	right := func(name string, drop int, cell func(*perf.Row) string) perfColumn {
		return perfColumn{report.Column{Name: name, Right: true, Drop: drop}, cell}
	}
	return []perfColumn{
		{report.Column{Name: "case"}, func(r *perf.Row) string { return r.Title }},
		{report.Column{Name: "disk", Drop: 1}, func(r *perf.Row) string { return r.Disk }},
		right("MB/s", 0, func(r *perf.Row) string { return spreadText(r.Rate, 1e6, 0) }),
		right("min-max", 2, func(r *perf.Row) string { return rangeText(r.Rate, 1e6) }),
		right("each", 4, eachText),
		right("min-max", 3, eachRange),
		right("k records/s", 6, func(r *perf.Row) string { return spreadText(r.Recs, 1e3, 0) }),
		right("CPU s/GB", 0, func(r *perf.Row) string { return spreadText(r.CPU, 1e9, 2) }),
		right("reader", 0, func(r *perf.Row) string { return spreadText(r.Reader, 1e9, 2) }),
		{report.Column{Name: "bytes went by", Drop: 5}, pathText},
	}
}

func perfTable(r *perf.Report) report.Table {
	var t report.Table
	t.Rows = make([][]string, len(r.Rows))
	for _, c := range perfColumns() {
		cells, any := make([]string, len(r.Rows)), false
		for i := range r.Rows {
			cells[i] = c.cell(&r.Rows[i])
			any = any || cells[i] != ""
		}
		if !any {
			continue
		}
		t.Columns = append(t.Columns, c.Column)
		for i := range cells {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	return t
}

func spreadText(s *perf.Spread, unit float64, digits int) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%.*f", digits, float64(s.Median)/unit)
}

func rangeText(s *perf.Spread, unit float64) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%.0f-%.0f", float64(s.Min)/unit, float64(s.Max)/unit)
}

// eachText is the time of one lookup, load, fetch or append; of a record it says less than
// records a second.
func eachText(r *perf.Row) string {
	if r.OpPs == nil || r.Recs != nil && r.Ops == r.Records {
		return ""
	}
	return picoseconds(r.OpPs.Median)
}

func eachRange(r *perf.Row) string {
	if eachText(r) == "" || r.Rate != nil {
		return ""
	}
	return picoseconds(r.OpPs.Min) + "-" + picoseconds(r.OpPs.Max)
}

// picoseconds prints a duration with three digits.
func picoseconds(ps int64) string {
	f, units := float64(ps)/1000, []string{"ns", "µs", "ms", "s"}
	i := 0
	for f >= 999.5 && i+1 < len(units) {
		f /= 1000
		i++
	}
	switch {
	case f < 9.995:
		return fmt.Sprintf("%.2f %s", f, units[i])
	case f < 99.95:
		return fmt.Sprintf("%.1f %s", f, units[i])
	}
	return fmt.Sprintf("%.0f %s", f, units[i])
}

// pathText is the share of each way, the largest first.
func pathText(r *perf.Row) string {
	total := int64(0)
	for _, p := range r.Paths {
		total += p.Bytes
	}
	var words []string
	for _, p := range r.Paths {
		if share := 100 * p.Bytes / max(total, 1); share > 0 {
			words = append(words, fmt.Sprintf("%s %d%%", p.Path, share))
		}
	}
	return strings.Join(words, ", ")
}

// perfCharts are the pictures of a report.
func perfCharts(r *perf.Report) []report.Chart {
	var rate, cpu, each []report.Bar
	for i := range r.Rows {
		row := &r.Rows[i]
		bar := func(s *perf.Spread, unit float64) report.Bar {
			return report.Bar{Label: row.Title, Group: row.Disk, Value: float64(s.Median) / unit, Least: float64(s.Min) / unit, Biggest: float64(s.Max) / unit}
		}
		if row.Rate != nil {
			rate, cpu = append(rate, bar(row.Rate, 1e6)), append(cpu, bar(row.CPU, 1e9))
			if row.Reader != nil {
				b := bar(row.Reader, 1e9)
				b.Label, b.Group = "", "reader"
				cpu[len(cpu)-1].Group = "sender"
				cpu = append(cpu, b)
			}
		} else if row.OpPs != nil {
			each = append(each, bar(row.OpPs, 1e3))
		}
	}
	about := perfPlace(r)
	var out []report.Chart
	add := func(name, title, axis string, rows []report.Bar) {
		if len(rows) > 0 {
			out = append(out, report.Bars(report.BarChart{
				Name: name, Title: r.Workload + ": " + title, About: about, Axis: axis, Rows: rows,
				Notes: append([]string{fmt.Sprintf("median of %d rounds; the whiskers reach from the least to the greatest", r.Runs)}, r.Notes...),
			}))
		}
	}
	add("rate", "throughput", "MB/s", rate)
	add("cpu", "CPU time", "CPU seconds per GB", cpu)
	add("time", "time of one", "ns", each)
	return out
}

// perfOut is the directory of --out.
type perfOut struct{ path string }

// check refuses, before the measurement, what holds something else.
func (d perfOut) check() error {
	if d.path == "" {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		if info, statErr := os.Stat(d.path); statErr == nil && !info.IsDir() {
			return usage("%s is a file; --out names a directory", d.path)
		}
		return environment(err)
	}
	b, err := os.ReadFile(filepath.Join(d.path, perfJSONFile))
	var head struct {
		Schema string `json:"schema"`
	}
	if err != nil || json.Unmarshal(b, &head) != nil || head.Schema != perf.Schema {
		return usage("%s exists and holds no result of simkafka perf; it is left alone, choose another --out", d.path)
	}
	return nil
}

// write makes the files; the JSON comes last: a directory that has it is complete.
func (d perfOut) write(r *perf.Report) error {
	if d.path == "" {
		return nil
	}
	if err := os.MkdirAll(d.path, 0o777); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.path, perfJSONFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	write := func(name string, render func(io.Writer) error) error {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(filepath.Join(d.path, name), b.Bytes(), 0o666)
	}
	err := write(perfTableFile, func(w io.Writer) error { return writePerfText(w, r, report.Style{Width: 120}) })
	for _, c := range perfCharts(r) {
		name := r.Workload + "-" + c.Name
		err = errors.Join(err, write(name+".svg", c.WriteSVG), write(name+".png", c.WritePNG))
	}
	if err != nil {
		return err
	}
	return write(perfJSONFile, func(w io.Writer) error { return writePerfJSON(w, r) })
}
