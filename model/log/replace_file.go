package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/vfs"
)

// replaceFile writes dir/name by way of a .tmp file, so that after a crash it has
// either its old content or the new one (storage 5.1): write, fsync, rename, fsync
// of the directory, which happens even if the rename failed.
func replaceFile(fs vfs.FS, dir, name string, content []byte) error {
	path := dir + "/" + name
	tmp := path + tmpSuffix
	if err := writeFile(fs, tmp, content); err != nil {
		return err
	}
	renameErr := fs.Rename(tmp, path)
	syncErr := fs.SyncDir(dir)
	if renameErr != nil {
		return fmt.Errorf("log: rename %s: %w", tmp, renameErr)
	}
	if syncErr != nil {
		return fmt.Errorf("log: sync directory %s: %w", dir, syncErr)
	}
	return nil
}

// overwriteFile replaces a file's content in place and syncs nothing
// (quirk.EpochFileUnsynced).
func overwriteFile(fs vfs.FS, path string, content []byte) error {
	f, err := fs.Create(path)
	if err != nil {
		return fmt.Errorf("log: create %s: %w", path, err)
	}
	if err = f.Append(content); err != nil {
		err = fmt.Errorf("log: write %s: %w", path, err)
	}
	return errors.Join(err, f.Close())
}

// writeFile makes or replaces a file in place and syncs it, not its directory.
func writeFile(fs vfs.FS, path string, content []byte) error {
	f, err := fs.Create(path)
	if err != nil {
		return fmt.Errorf("log: create %s: %w", path, err)
	}
	if len(content) > 0 {
		err = f.Append(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("log: write %s: %w", path, err)
	}
	return nil
}

// readFile is the whole content of a file; vfs.ErrNotExist if there is none.
func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("log: open %s: %w", path, err)
	}
	size := int(f.Size())
	b, err := f.ReadAt(0, size)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(b) != size {
		err = vfs.ErrIO
	}
	if err != nil {
		return nil, fmt.Errorf("log: read %s: %w", path, err)
	}
	return b, nil
}

// readOrCreate is readFile for files that are made empty when they are opened.
func readOrCreate(fs vfs.FS, path string) ([]byte, error) {
	b, err := readFile(fs, path)
	if !errors.Is(err, vfs.ErrNotExist) {
		return b, err
	}
	f, err := fs.Create(path)
	if err != nil {
		return nil, fmt.Errorf("log: create %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("log: close %s: %w", path, err)
	}
	return nil, nil
}

// removeFile removes a file that may be gone already.
func removeFile(fs vfs.FS, path string) error {
	if err := fs.Remove(path); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return fmt.Errorf("log: remove %s: %w", path, err)
	}
	return nil
}

// removeSegmentFiles removes what there is of a segment's files. stem is their path
// without a suffix, mark what follows the suffix.
func removeSegmentFiles(fs vfs.FS, stem, mark string) error {
	for _, suffix := range segmentSuffixes {
		if err := removeFile(fs, stem+suffix+mark); err != nil {
			return err
		}
	}
	return nil
}

// renameFile renames a file that may be missing; it reports whether it was there.
func renameFile(fs vfs.FS, from, to string) (bool, error) {
	err := fs.Rename(from, to)
	if errors.Is(err, vfs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("log: rename %s: %w", from, err)
	}
	return true, nil
}
