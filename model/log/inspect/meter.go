package inspect

import "github.com/simkafka/simkafka/model/vfs"

// Meter is a file system that tells how many bytes were read.
type Meter struct {
	vfs.FS
	Read func(bytes int)
}

// Open implements vfs.FS.
func (m Meter) Open(name string) (vfs.File, error) {
	f, err := m.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return meteredFile{f, m.Read}, nil
}

type meteredFile struct {
	vfs.File
	read func(int)
}

// ReadAt implements vfs.File.
func (f meteredFile) ReadAt(pos int64, n int) ([]byte, error) {
	b, err := f.File.ReadAt(pos, n)
	f.read(len(b))
	return b, err
}

// IsPartition tells whether a directory is that of one partition, by its files; it is
// a data directory else.
func IsPartition(fs vfs.FS, dir string) (bool, error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		switch KindOf(name) {
		case LogKind, IndexKind, TimeIndexKind, EpochKind:
			return true, nil
		}
		if name == metadataFile {
			return true, nil
		}
	}
	return false, nil
}

// IsDataDir tells whether a directory is the data directory of a broker: it has one of the
// files that only such a directory has, or a directory with a partition's name and files.
func IsDataDir(fs vfs.FS, dir string) (bool, error) {
	names, err := fs.List(dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		switch name {
		case recoveryFile, startFile, highFile, propertyFile, cleanFile:
			return true, nil
		}
		if kind, _ := classify(name); kind == badDir || kind == skippedDir {
			continue
		}
		if info, err := fs.Stat(join(dir, name)); err != nil || !info.IsDir {
			continue
		}
		if is, err := IsPartition(fs, join(dir, name)); err == nil && is {
			return true, nil
		}
	}
	return false, nil
}

// DataDirs lists the data directories directly below a directory.
func DataDirs(fs vfs.FS, dir string) (dirs []string, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := join(dir, name)
		if info, err := fs.Stat(path); err != nil || !info.IsDir {
			continue
		}
		if is, err := IsDataDir(fs, path); err == nil && is {
			dirs = append(dirs, path)
		}
	}
	return dirs, nil
}

// Total is the bytes of all files below a directory.
func Total(fs vfs.FS, dir string) (bytes int64, err error) { return total(fs, dir, 0) }

func total(fs vfs.FS, dir string, depth int) (bytes int64, err error) {
	names, err := fs.List(dir)
	if err != nil || depth > maxDepth {
		return 0, err
	}
	for _, name := range names {
		info, err := fs.Stat(join(dir, name))
		if err != nil {
			continue
		}
		if info.IsDir {
			n, err := total(fs, join(dir, name), depth+1)
			if err != nil {
				return 0, err
			}
			bytes += n
			continue
		}
		bytes += info.Size
	}
	return bytes, nil
}
