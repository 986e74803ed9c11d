package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// File is a shard's file, open for the next line.
type File struct {
	Header Header
	Lines  []Line  // what it held when it was opened
	Footer *Footer // the last one it held; nil = it was cut off

	f       *os.File
	unsaved int
}

// ErrEmpty is a file without a whole first line: its sweep ended before it began.
var ErrEmpty = errors.New("it holds no sweep")

// syncEvery is how many lines may be lost with the machine.
const syncEvery = 100

// Create begins a plan's file; what stood there is gone.
func Create(name string, plan *Plan) (*File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	file := &File{Header: plan.Header(), f: f}
	if err := errors.Join(file.write(file.Header), file.sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return file, nil
}

// Resume opens a plan's file to go on with it. It refuses the file of any other plan
// or shard, and any line that the plan would not have written, except for a last one
// that was cut off.
func Resume(name string, plan *Plan) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	file, size, err := read(f)
	if err == nil {
		err = file.fits(plan)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	file.f = f
	return file, nil
}

// fits compares a file with the plan that wants to go on with it.
func (f *File) fits(plan *Plan) error {
	want := plan.Header()
	h := &f.Header
	switch {
	case h.Shards == 0:
		return errors.New("it is merged; only a shard's own file can be resumed")
	case h.ID != want.ID:
		return fmt.Errorf("it is another sweep: it has %s, this would be %s", h.about(), want.about())
	case h.Shard != want.Shard || h.Shards != want.Shards:
		return fmt.Errorf("it is shard %d/%d, not %s", h.Shard, h.Shards, plan.Shard)
	}
	return nil
}

// about says what tells sweeps apart.
func (h *Header) about() string {
	return fmt.Sprintf("%s (SHA-256 %.12s), root seed %d, %d seeds, engine %d", h.Name, h.Source, h.Root, h.Count, h.Engine)
}

// ReadFile reads a file that may still be written.
func ReadFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, _, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// maxLine bounds a line.
const maxLine = 1 << 20

// read takes a file apart and checks each line against the header. size is where the
// next line belongs: behind the last whole line that is not a footer.
func read(r io.Reader) (file *File, size int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	file = &File{}
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break // with what was cut off
		}
		if err == nil {
			err = file.take(n, line)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		if file.Footer == nil {
			size += int64(len(line)) + 1
		}
	}
	if file.Header.Schema == "" {
		return nil, 0, ErrEmpty
	}
	return file, size, nil
}

// readLine reads a line without its end. A last line without one is io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxLine:
			return nil, errors.New("it is too long for a sweep's")
		}
	}
}

// take adds line n.
func (f *File) take(n int, line []byte) error {
	if n == 1 {
		return f.takeHeader(line)
	}
	if f.Footer != nil {
		return errors.New("something stands behind the footer")
	}
	if bytes.HasPrefix(line, []byte(`{"done":`)) {
		f.Footer = &Footer{}
		if err := strict(line, f.Footer); err != nil {
			return err
		}
		if f.Footer.Done != uint64(len(f.Lines)) {
			return fmt.Errorf("the footer counts %d runs, there are %d", f.Footer.Done, len(f.Lines))
		}
		return nil
	}
	var l Line
	if err := strict(line, &l); err != nil {
		return err
	}
	if err := f.check(&l); err != nil {
		return err
	}
	f.Lines = append(f.Lines, l)
	return nil
}

func (f *File) takeHeader(line []byte) error {
	h := &f.Header
	if err := strict(line, h); err != nil || h.Schema != Schema {
		return fmt.Errorf("it is not the header of a sweep (%s)", Schema)
	}
	if h.ID != h.id() {
		return errors.New("the header's sweep_id does not belong to the rest of it")
	}
	if _, err := h.digest(); err != nil {
		return err
	}
	if h.Shards == 0 && h.Shard == 0 {
		return nil
	}
	return Shard{h.Shard, h.Shards}.check()
}

// check refuses a line that the header's sweep would not have written here.
func (f *File) check(l *Line) error {
	h := &f.Header
	digest, err := h.digest()
	switch {
	case err != nil:
		return err
	case l.Seed != Seed(h.Root, digest, l.K):
		return fmt.Errorf("run %d has seed %d, not the sweep's", l.K, l.Seed)
	case h.Count > 0 && l.K >= h.Count:
		return fmt.Errorf("run %d of a sweep of %d", l.K, h.Count)
	case h.Shards > 0 && l.K != f.next(Shard{h.Shard, h.Shards}):
		return fmt.Errorf("run %d stands where run %d belongs", l.K, f.next(Shard{h.Shard, h.Shards}))
	case len(f.Lines) > 0 && l.K <= f.Lines[len(f.Lines)-1].K:
		return fmt.Errorf("run %d stands behind run %d", l.K, f.Lines[len(f.Lines)-1].K)
	}
	return nil
}

// next is the first run of the shard that the file does not hold.
func (f *File) next(s Shard) uint64 {
	if n := len(f.Lines); n > 0 {
		return f.Lines[n-1].K + uint64(s.Of)
	}
	return uint64(s.Index - 1)
}

func strict(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one object")
	}
	return nil
}

// add appends a line; Lines keeps what the file held when it was opened.
func (f *File) add(l Line) error {
	if err := f.write(l); err != nil {
		return err
	}
	if f.unsaved++; f.unsaved >= syncEvery {
		return f.sync()
	}
	return nil
}

func (f *File) end(foot Footer) error { return errors.Join(f.write(foot), f.sync()) }

func (f *File) write(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = f.f.Write(b)
	return err
}

// encode is a line with its end. Equal values give equal bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

func (f *File) sync() error {
	f.unsaved = 0
	return f.f.Sync()
}

// Close ends the use of a file.
func (f *File) Close() error { return f.f.Close() }
