package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log/inspect"
	"github.com/simkafka/simkafka/report"
)

type logVerifyFlags struct{ json, all, deep, quiet bool }

func newLogVerify(a *app) *cobra.Command {
	var f logVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Say what is wrong in a data directory",
		Long: `Reads every file of a data directory, or of one partition, and checks CRCs,
offsets, leader epochs, the indexes against the log, transaction indexes against
the markers, producer snapshots, checkpoints, and what was left behind. Each
finding names file, byte position and offset, what a broker would do at its
start (cleanly or not, as the marker of the directory says), and what would be
lost. A table of the partitions ends it.

Memory does not grow with the size of the log. Facts that are no problem, such as
open and aborted transactions, are shown with --all.

--json prints one document: {"schema": "simkafka.log-verify/v1", "findings": […],
"partitions": […], "summary": {…}}. Facts are always in it.`,
		Example: `  simkafka log verify /var/lib/kafka/data
  simkafka log verify /var/lib/kafka/data/orders-0 --deep`,
		Args: oneArg("a directory"),
		RunE: func(_ *cobra.Command, args []string) error { return a.logVerify(args[0], &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.BoolVar(&f.all, "all", false, "show facts too, not only problems")
	flags.BoolVar(&f.deep, "deep", false, "decode every record; counts tombstones")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

func (a *app) logVerify(arg string, f *logVerifyFlags) error {
	p, err := a.findDir(arg, f.quiet)
	if err != nil {
		return err
	}
	var out verifyOutput = &verifyText{a: a, w: bufio.NewWriter(a.stdout), meter: p.meter, all: f.all}
	if f.json {
		out = newVerifyJSON(newJSONStream(a.stdout))
	}
	sum, err := inspect.Verify(inspect.Options{
		FS: p.fs, Dir: p.path, Partition: p.partition, Deep: f.deep, Finding: out.finding, Done: out.partition,
	})
	p.meter.clear()
	if err == nil && !sum.Known && sum.Errors == 0 && sum.Warnings == 0 {
		return usage("%s holds neither partitions nor the checkpoints of a broker", arg)
	}
	if sum.Errors+sum.Warnings > 0 {
		a.code = worse(a.code, exitViolated)
	}
	if endErr := out.end(&sum, err); err == nil && endErr != nil {
		return environment(endErr)
	}
	return environmentOf(err)
}

// verifyOutput is where findings go.
type verifyOutput interface {
	finding(*inspect.Finding)
	partition(*inspect.Partition)
	end(sum *inspect.Summary, failure error) error
}

// verifyJSON prints findings as they come, then the partitions.
type verifyJSON struct {
	s          *jsonStream
	begun      bool
	partitions []inspect.Partition
}

func newVerifyJSON(s *jsonStream) *verifyJSON {
	return &verifyJSON{s: s, partitions: []inspect.Partition{}}
}

func (o *verifyJSON) begin() {
	if o.begun {
		return
	}
	o.begun = true
	o.s.open("{")
	o.s.key("schema")
	o.s.value("simkafka.log-verify/v1")
	o.s.key("findings")
	o.s.open("[")
}

func (o *verifyJSON) finding(f *inspect.Finding) {
	o.begin()
	o.s.element(f)
}

func (o *verifyJSON) partition(p *inspect.Partition) { o.partitions = append(o.partitions, *p) }

func (o *verifyJSON) end(sum *inspect.Summary, failure error) error {
	o.begin()
	o.s.close("]")
	o.s.key("partitions")
	o.s.value(o.partitions)
	o.s.key("summary")
	o.s.value(sum)
	if failure != nil {
		o.s.key("error")
		o.s.value(failure.Error())
	}
	o.s.close("}")
	return o.s.flush()
}

// verifyText is for people.
type verifyText struct {
	a     *app
	w     *bufio.Writer
	meter *meter
	all   bool
	table report.Table
}

func (o *verifyText) finding(f *inspect.Finding) {
	if f.Severity == inspect.Info && !o.all && f.Kind != "more" {
		return
	}
	o.meter.clear()
	s := o.a.style(o.a.stdout)
	var place []string
	if f.Pos >= 0 {
		place = append(place, "at byte "+number(f.Pos))
	}
	if f.Offset >= 0 {
		place = append(place, "offset "+offset(f.Offset))
	}
	lines := []string{strings.Join(place, ", ") + ": " + f.What}
	if len(place) == 0 {
		lines[0] = f.What
	}
	if f.AtStart != "" {
		lines = append(lines, "at start: "+f.AtStart)
	}
	if f.Lost != "" {
		lines = append(lines, "lost: "+f.Lost)
	}
	// Errors of a buffered writer stay; end tells them.
	_ = paragraph(o.w, s.Bold(fmt.Sprintf("%s [%s]", f.Severity, f.Kind))+" "+f.File, lines...)
}

func (o *verifyText) partition(p *inspect.Partition) {
	o.table.Rows = append(o.table.Rows, []string{
		p.Name, strconv.Itoa(p.Segments), sizeText(p.Bytes), number(p.Batches), number(p.Records),
		offset(p.LogStartOffset), offset(p.LogEndOffset), epochs(p), number(p.Errors + p.Warnings),
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func offset(o kafka.Offset) string { return strconv.FormatInt(int64(o), 10) }

func epochs(p *inspect.Partition) string {
	switch {
	case p.FirstEpoch < 0:
		return "-"
	case p.FirstEpoch == p.LastEpoch:
		return strconv.Itoa(int(p.FirstEpoch))
	}
	return fmt.Sprintf("%d to %d", p.FirstEpoch, p.LastEpoch)
}

func (o *verifyText) end(sum *inspect.Summary, _ error) error {
	o.table.Columns = []report.Column{
		{Name: "partition", Tail: true}, {Name: "segments", Right: true, Drop: 1}, {Name: "size", Right: true},
		{Name: "batches", Right: true, Drop: 3}, {Name: "records", Right: true}, {Name: "start", Right: true}, {Name: "end", Right: true},
		{Name: "epochs", Drop: 2}, {Name: "problems", Right: true},
	}
	if o.w.Buffered() > 0 || sum.Errors+sum.Warnings > 0 {
		fmt.Fprintln(o.w)
	}
	if err := o.table.Write(o.w, o.a.style(o.a.stdout)); err != nil {
		return err
	}
	stop := "was not clean: the next start recovers"
	switch {
	case !sum.Checkpoints:
		stop = "is unknown, as there are no checkpoints: taken for unclean"
	case sum.Clean:
		stop = "was clean: the next start trusts it"
	}
	fmt.Fprintf(o.w, "\n%s, %s, %s, %s\nThe last stop %s.\n", plural(int64(sum.Partitions), "partition"),
		plural(sum.Errors, "error"), plural(sum.Warnings, "warning"), plural(sum.Infos, "fact"), stop)
	return o.w.Flush()
}
