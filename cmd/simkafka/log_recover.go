package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log/inspect"
	"github.com/simkafka/simkafka/report"
)

type logRecoverFlags struct{ json, dryRun, quiet bool }

func newLogRecover(a *app) *cobra.Command {
	var f logRecoverFlags
	cmd := &cobra.Command{
		Use:   "recover DIR --dry-run",
		Short: "Try a broker's start and say what it would change",
		Long: `Runs the recovery of a start on a data directory, or on one partition, with all
changes kept in memory: which segments are read, where the log is cut, which
files are deleted, where it then ends, and what is lost. Only --dry-run is
offered: the directory is left as it is.

--json prints one document: {"schema": "simkafka.log-recover/v1", "partitions":
[…]}.`,
		Args: oneArg("a directory"),
		RunE: func(_ *cobra.Command, args []string) error { return a.logRecover(args[0], &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "change nothing; it must be given")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

func (a *app) logRecover(arg string, f *logRecoverFlags) error {
	if !f.dryRun {
		return usage("only a trial is offered: add --dry-run; a broker recovers its directory itself when it starts")
	}
	p, err := a.findDir(arg, f.quiet)
	if err != nil {
		return err
	}
	p.meter.total = 0 // what is not recovered is not read
	out := &recoverText{a: a, w: bufio.NewWriter(a.stdout)}
	s := newJSONStream(a.stdout)
	if f.json {
		s.open("{")
		s.key("schema")
		s.value("simkafka.log-recover/v1")
		s.key("partitions")
		s.open("[")
	}
	done := 0
	err = inspect.Recover(inspect.RecoverOptions{
		FS: p.fs, Dir: p.path, Partition: p.partition, Now: kafka.TimestampMs(time.Now().UnixMilli()),
		Done: func(r *inspect.Recovery) {
			p.meter.clear()
			done++
			if r.Error != "" || len(r.Cut)+len(r.Deleted) > 0 {
				a.code = worse(a.code, exitViolated)
			}
			if f.json {
				s.element(r)
			} else {
				out.recovery(r)
			}
		},
	})
	p.meter.clear()
	switch {
	case err != nil:
		return environmentOf(err)
	case done == 0 && !f.json:
		return usage("%s holds no partitions", arg)
	case f.json:
		s.close("]")
		s.close("}")
		err = s.flush()
	default:
		err = out.end()
	}
	if err != nil {
		return environment(err)
	}
	return nil
}

// recoverText is for people.
type recoverText struct {
	a     *app
	w     *bufio.Writer
	table report.Table
}

// recovery prints what is out of the ordinary, and keeps a row for the table.
func (o *recoverText) recovery(r *inspect.Recovery) {
	lost := "0"
	if r.LostRecords+r.Damaged > 0 {
		lost = number(r.LostRecords)
	}
	o.table.Rows = append(o.table.Rows, []string{
		r.Partition, strconv.Itoa(len(r.Scanned)), strconv.Itoa(len(r.Cut)), strconv.Itoa(len(r.Deleted)),
		offset(r.LogStartOffset), offset(r.LogEndOffset), lost,
	})
	var lines []string
	if len(r.Scanned) > 0 {
		lines = append(lines, fmt.Sprintf("reads %s (recovery point %d): %s", plural(int64(len(r.Scanned)), "segment"), r.RecoveryPoint, list(r.Scanned)))
	}
	for _, cut := range r.Cut {
		lines = append(lines, fmt.Sprintf("cuts %s from %d to %d bytes", cut.File, cut.From, cut.To))
	}
	if len(r.Deleted) > 0 {
		lines = append(lines, "deletes "+list(r.Deleted))
	}
	if len(r.Removed) > 0 {
		lines = append(lines, "removes "+list(r.Removed))
	}
	for _, pair := range r.Renamed {
		lines = append(lines, "renames "+pair[0]+" to "+pair[1])
	}
	if r.LostBytes > 0 {
		lines = append(lines, lostText(r))
	}
	if r.Error != "" {
		lines = append(lines, "the start fails, and the data directory goes offline: "+r.Error)
	} else {
		lines = append(lines, fmt.Sprintf("then the log is from %d to %d, leader epoch %d, high watermark %d", r.LogStartOffset, r.LogEndOffset, r.LeaderEpoch, r.HighWatermark))
	}
	if len(lines) > 1 || r.Error != "" {
		// Errors of a buffered writer stay; end tells them.
		_ = paragraph(o.w, o.a.style(o.a.stdout).Bold(r.Partition), lines...)
	}
}

func lostText(r *inspect.Recovery) string {
	text := fmt.Sprintf("loses %d bytes", r.LostBytes)
	if r.LostRecords > 0 {
		text += fmt.Sprintf(", in them %s with %s, offsets %d to %d", batches(r.LostBatches), plural(r.LostRecords, "record"), r.LostFrom, r.LostTo)
	} else {
		text += " without a whole batch"
	}
	if r.Damaged > 0 {
		text += fmt.Sprintf("; damaged before: %d", r.Damaged)
	}
	return text
}

func batches(n int64) string {
	if n == 1 {
		return "1 whole batch"
	}
	return number(n) + " whole batches"
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}

// list is the first names of a list.
func list(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (o *recoverText) end() error {
	o.table.Columns = []report.Column{
		{Name: "partition", Tail: true}, {Name: "scanned", Right: true, Drop: 1}, {Name: "cut", Right: true}, {Name: "deleted", Right: true},
		{Name: "start", Right: true}, {Name: "end", Right: true}, {Name: "lost records", Right: true},
	}
	if o.w.Buffered() > 0 {
		fmt.Fprintln(o.w)
	}
	if err := o.table.Write(o.w, o.a.style(o.a.stdout)); err != nil {
		return err
	}
	return o.w.Flush()
}
