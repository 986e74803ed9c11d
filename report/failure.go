package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/simkafka/simkafka/sim/sweep"
)

// Files of a failing seed's directory, beside those of any run.
const (
	ScenarioFile = "scenario.yaml" // as it was run, complete
	TraceFile    = "trace.txt"     // every fact that was noted
	ErrorFile    = "error.txt"     // in place of a result, where the simulator failed
	ReplayFile   = "replay.txt"    // one line, the command, to be run in the directory
)

// WriteFailure runs a failing seed once more and writes all that can be said about it
// into an existing directory, which needs nothing else to repeat the run. ReplayFile
// comes last: a directory that has it is complete.
func WriteFailure(dir string, f *sweep.Failure) error {
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
	return errors.Join(err, write(ReplayFile, replay+"\n"))
}
