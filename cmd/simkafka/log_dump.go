package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/log/inspect"
)

type logDumpFlags struct{ json, jsonLines, records, quiet bool }

func newLogDump(a *app) *cobra.Command {
	var f logDumpFlags
	cmd := &cobra.Command{
		Use:   "dump FILE|DIR",
		Short: "Print what a broker's files hold",
		Long: `Prints log segments batch by batch, indexes, transaction indexes, producer
snapshots, checkpoints and the other files of a broker; of a directory every file
below it, in order. The lines resemble those of Kafka's DumpLogSegments. With
--records each record follows its batch: key and value as text if they are
printable, else in hex.

--json prints one document: {"schema": "simkafka.log-dump/v1", "files": [{"file",
"kind", "size", "base_offset", "entries": […]}]}. --json-lines prints an object a
line: first {"file": …} of each file, then its entries.`,
		Example: `  simkafka log dump /var/lib/kafka/data/orders-0/00000000000000000000.log
  simkafka log dump --records --json-lines /var/lib/kafka/data/orders-0`,
		Args: oneArg("a file or a directory"),
		RunE: func(_ *cobra.Command, args []string) error { return a.logDump(args[0], &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.records, "records", false, "print the records of each batch")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	flags.BoolVar(&f.jsonLines, "json-lines", false, "print a JSON object a line")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	cmd.MarkFlagsMutuallyExclusive("json", "json-lines")
	return cmd
}

func (a *app) logDump(arg string, f *logDumpFlags) error {
	p, err := a.findPlace(arg, f.quiet)
	if err != nil {
		return err
	}
	var out dumpOutput
	switch {
	case f.json:
		out = newDumpJSON(newJSONStream(a.stdout))
	case f.jsonLines:
		out = &dumpLines{w: bufio.NewWriter(a.stdout)}
	default:
		out = &dumpText{w: bufio.NewWriter(a.stdout)}
	}
	problems, err := inspect.Dump(inspect.DumpOptions{FS: p.fs, Path: p.path, Records: f.records, File: out.file, Entry: out.entry})
	p.meter.clear()
	if problems > 0 {
		a.code = worse(a.code, exitViolated)
	}
	if endErr := out.end(); err == nil && endErr != nil {
		return environment(endErr)
	}
	return environmentOf(err)
}

// dumpOutput is where entries go; an error of the writer ends the dump.
type dumpOutput interface {
	file(*inspect.FileInfo) error
	entry(*inspect.Entry) error
	end() error
}

type dumpJSON struct {
	s    *jsonStream
	open bool // a file is
}

func newDumpJSON(s *jsonStream) *dumpJSON {
	s.open("{")
	s.key("schema")
	s.value("simkafka.log-dump/v1")
	s.key("files")
	s.open("[")
	return &dumpJSON{s: s}
}

func (o *dumpJSON) closeFile() {
	if o.open {
		o.s.close("]")
		o.s.close("}")
	}
}

func (o *dumpJSON) file(f *inspect.FileInfo) error {
	o.closeFile()
	o.open = true
	o.s.next()
	o.s.open("{")
	for _, member := range []struct {
		key   string
		value any
	}{{"file", f.File}, {"kind", f.Kind}, {"size", f.Size}, {"base_offset", f.Base}} {
		o.s.key(member.key)
		o.s.value(member.value)
	}
	o.s.key("entries")
	o.s.open("[")
	return o.s.err
}

func (o *dumpJSON) entry(e *inspect.Entry) error {
	o.s.element(e)
	return o.s.err
}

func (o *dumpJSON) end() error {
	o.closeFile()
	o.s.close("]")
	o.s.close("}")
	return o.s.flush()
}

type dumpLines struct{ w *bufio.Writer }

func (o *dumpLines) put(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = o.w.Write(append(b, '\n'))
	return err
}

func (o *dumpLines) file(f *inspect.FileInfo) error { return o.put(f) }
func (o *dumpLines) entry(e *inspect.Entry) error   { return o.put(e) }
func (o *dumpLines) end() error                     { return o.w.Flush() }

// dumpText prints a line an entry, like DumpLogSegments.
type dumpText struct {
	w    *bufio.Writer
	kind inspect.Kind
}

func (o *dumpText) file(f *inspect.FileInfo) error {
	o.kind = f.Kind
	_, err := fmt.Fprintf(o.w, "Dumping %s (%d bytes)\n", f.File, f.Size)
	if err == nil && f.Kind == inspect.LogKind {
		_, err = fmt.Fprintf(o.w, "Log starting offset: %d\n", f.Base)
	}
	return err
}

func (o *dumpText) end() error { return o.w.Flush() }

func (o *dumpText) entry(e *inspect.Entry) error {
	var err error
	switch {
	case e.Batch != nil:
		err = batchLine(o.w, e.Position, e.Batch)
	case e.Record != nil:
		err = recordLine(o.w, e.Record)
	case e.Index != nil:
		_, err = fmt.Fprintf(o.w, "offset: %d position: %d\n", e.Index.Offset, e.Index.Position)
	case e.Time != nil:
		_, err = fmt.Fprintf(o.w, "timestamp: %d offset: %d\n", e.Time.Timestamp, e.Time.Offset)
	case e.Txn != nil:
		x := e.Txn
		_, err = fmt.Fprintf(o.w, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
			x.Version, x.ProducerID, x.FirstOffset, x.LastOffset, x.LastStableOffset)
	case e.Snapshot != nil:
		_, err = fmt.Fprintf(o.w, "version: %d crc: %d producers: %d\n", e.Snapshot.Version, e.Snapshot.CRC, e.Snapshot.Count)
	case e.Producer != nil:
		x := e.Producer
		_, err = fmt.Fprintf(o.w, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %d lastTimestamp: %d lastSequence: %d lastOffset: %d offsetDelta: %d\n",
			x.ProducerID, x.Epoch, x.CoordinatorEpoch, x.CurrentTxnFirstOffset, x.Timestamp, x.LastSequence, x.LastOffset, x.OffsetDelta)
	case e.Line != nil:
		_, err = fmt.Fprintf(o.w, "%s\n", inspect.Data(*e.Line))
	case e.Problem != nil:
		_, err = fmt.Fprintf(o.w, "problem at %d: %s\n", e.Position, *e.Problem)
	}
	return err
}

func batchLine(w io.Writer, pos int64, b *inspect.Batch) error {
	horizon := "none"
	if b.DeleteHorizonMs != nil {
		horizon = number(int64(*b.DeleteHorizonMs))
	}
	_, err := fmt.Fprintf(w, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		b.BaseOffset, b.LastOffset, b.Count, b.BaseSequence, b.LastSequence, b.ProducerID, b.ProducerEpoch,
		b.PartitionLeaderEpoch, b.IsTransactional, b.IsControl, horizon, pos, b.TimestampType, b.MaxTimestamp, b.Size, b.Magic, b.Codec, b.CRC, b.Valid)
	return err
}

func recordLine(w io.Writer, r *inspect.Record) error {
	headers := make([]string, 0, len(r.Headers))
	for _, h := range r.Headers {
		headers = append(headers, inspect.Data(h.Key).String()+"="+h.Value.String())
	}
	control := ""
	if r.Control != "" {
		control = " control: " + r.Control
	}
	_, err := fmt.Fprintf(w, "| offset: %d timestamp: %d sequence: %d headers: [%s]%s key: %s value: %s\n",
		r.Offset, r.Timestamp, r.Sequence, strings.Join(headers, ","), control, r.Key, r.Value)
	return err
}
