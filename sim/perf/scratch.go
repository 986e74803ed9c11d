package perf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs"
)

// mark begins the names of whatever a measurement makes in its directory.
const mark = "simkafka-perf-"

// Claim makes a directory ready for Options.Dir: it must be absent, empty, or hold only
// what a measurement that was killed has left, which is removed. The error names a file
// that is another's. made tells that the directory was not there.
func Claim(dir string) (made bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), mark) {
			return false, &ForeignFileError{dir, e.Name()}
		}
	}
	return false, removeOurs(dir)
}

// ForeignFileError is a directory that holds something else.
type ForeignFileError struct{ Dir, Name string }

// Error names both.
func (e *ForeignFileError) Error() string {
	return fmt.Sprintf("%s holds %s: name an empty directory, or one to be made", e.Dir, e.Name)
}

func removeOurs(dir string) error {
	names, err := filepath.Glob(filepath.Join(globEscaped(dir), mark+"*"))
	for _, n := range names {
		err = errors.Join(err, os.RemoveAll(n))
	}
	return err
}

// globEscaped keeps a directory's own wildcards from being any.
func globEscaped(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// clear removes what the measurement made.
func (b *bench) clear() error { return removeOurs(b.o.Dir) }

// place is the name of a log's directory, or of a file, of this measurement.
func place(name string) string { return mark + name }

// path is where a name of the file system is on the machine.
func (b *bench) path(name string) string { return filepath.Join(b.o.Dir, name) }

// fresh opens a new log in an empty directory.
func fresh(fs vfs.FS, dir string, cfg *log.Config) (*log.Log, error) {
	return log.OpenNow(fs, dir, cfg, log.OpenParams{Clean: true, Now: now})
}

// removeLog closes a log and removes its directory.
func (b *bench) removeLog(l *log.Log) error {
	err := l.Close(false, now)
	return errors.Join(err, os.RemoveAll(b.path(l.Dir())))
}
