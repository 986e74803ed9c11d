package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/explain"
	"github.com/simkafka/simkafka/sim/shrink"
	"github.com/simkafka/simkafka/sim/sweep"
)

// Files of a failing seed's directory, beside those of any run.
const (
	ScenarioFile = "scenario.yaml" // as it was run, complete
	TraceFile    = "trace.txt"     // every fact that was noted
	ErrorFile    = "error.txt"     // in place of a result, where the simulator failed
	ReplayFile   = "replay.txt"    // one line, the command, to be run in the directory
	ExplainFile  = "explanation.txt"
)

// FailureOptions vary what WriteFailure writes.
type FailureOptions struct {
	// Shrink adds the shrunk scenario, as ShrunkFile, and the needed faults to the
	// explanation; nil leaves both out, as they take many runs.
	Shrink *shrink.Options
}

// WriteFailure runs a failing seed once more and writes all that can be said about it
// into an existing directory, which needs nothing else to repeat the run. ReplayFile
// comes last: a directory that has it is complete.
func WriteFailure(dir string, f *sweep.Failure, o FailureOptions) error {
	write := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	replay := fmt.Sprintf("simkafka run %s --seed %d", ScenarioFile, f.Seed)
	trace, err := os.Create(filepath.Join(dir, TraceFile))
	if err != nil {
		return err
	}
	w := NewTrace(trace)
	r, stack, failed := f.Run(w)
	if err := errors.Join(w.Flush(), trace.Close()); err != nil {
		return err
	}
	if f.Spec != nil {
		err = write(ScenarioFile, f.Spec.YAML())
	}
	if failed != nil {
		err = errors.Join(err, write(ErrorFile, failed.Error()+"\n"+stack))
	}
	if r != nil {
		err = errors.Join(err, WriteDir(dir, r, DirOptions{Replay: replay}))
	}
	if r != nil && failed == nil && r.Verdict == outcome.Violated {
		err = errors.Join(err, writeWhy(f, o.Shrink, write))
	}
	return errors.Join(err, write(ReplayFile, replay+"\n"))
}

// writeWhy writes the explanation and the shrunk scenario.
func writeWhy(f *sweep.Failure, shrinking *shrink.Options, write func(name, text string) error) error {
	story, err := explain.Explain(f.Spec, f.Seed, explain.Options{NoCauses: shrinking == nil})
	if err != nil {
		return unexplained(err)
	}
	var why, small bytes.Buffer
	if err := WriteExplanation(&why, story, Style{}); err != nil || shrinking == nil {
		return errors.Join(err, write(ExplainFile, why.String()))
	}
	found, err := shrink.Run(f.Spec, f.Seed, *shrinking)
	if err == nil {
		err = writeShrunk(&small, found)
	}
	if err != nil {
		fmt.Fprintf(&why, "\nnot shrunk: %v\n", err)
		return write(ExplainFile, why.String())
	}
	return errors.Join(write(ExplainFile, why.String()), write(ShrunkFile, small.String()))
}

// writeShrunk writes a shrunk scenario as it stands in a directory.
func writeShrunk(w *bytes.Buffer, found *shrink.Shrunk) error {
	story, err := explain.Explain(found.Spec, found.Seed, explain.Options{Invariant: found.Target.Invariant, Lines: ShrunkStory, NoCauses: true})
	if err != nil {
		return err
	}
	return WriteShrunk(w, found, story, fmt.Sprintf("simkafka run %s --seed %d", ShrunkFile, found.Seed))
}

// unexplained lets a failure that no invariant and no metric has be without explanation.
func unexplained(err error) error {
	var fine *shrink.NotFailing
	if errors.As(err, &fine) {
		return nil
	}
	return err
}
