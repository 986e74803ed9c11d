package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// driver is one of the Java programs of testdata/conformance: the Driver, which holds
// clients, or Logs, which holds Kafka's log classes.
type driver struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// answer is what a command said.
type answer struct {
	words string
	lines []string
}

func startDriver(t *testing.T, r release, dir, bootstrap string) *driver {
	t.Helper()
	return drive(t, r.java(t, "128m", "simkafka.Driver", bootstrap), filepath.Join(dir, "driver.out"))
}

// drive starts a program; what it complains of goes to a file.
func drive(t *testing.T, cmd *exec.Cmd, log string) *driver {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errFile, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = errFile
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		errFile.Close()
	})
	d := &driver{t: t, in: in, out: bufio.NewScanner(out)}
	d.out.Buffer(nil, 16<<20)
	return d
}

// try runs a command.
func (d *driver) try(words ...string) (answer, error) {
	if _, err := fmt.Fprintln(d.in, strings.Join(words, " ")); err != nil {
		return answer{}, err
	}
	var a answer
	for d.out.Scan() {
		line := d.out.Text()
		if data, isData := strings.CutPrefix(line, "\t"); isData {
			a.lines = append(a.lines, data)
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch a.words = rest; verb {
		case "ok":
			return a, nil
		case "error":
			return a, fmt.Errorf("%s: %s", words[0], rest)
		}
		return a, fmt.Errorf("%s: the driver says %q", words[0], line)
	}
	return a, errors.New("the driver has ended")
}

// do is try for commands that must succeed.
func (d *driver) do(words ...string) answer {
	d.t.Helper()
	a, err := d.try(words...)
	if err != nil {
		d.t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	return a
}

// offsets are the ends of a topic's log as its broker knows them.
type offsets struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Epoch int32 `json:"epoch"`
}

func (d *driver) offsets(topic string) offsets {
	d.t.Helper()
	words := strings.Fields(d.do("offsets", topic).words)
	var n [3]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(words[i], 10, 64)
	}
	return offsets{n[0], n[1], int32(n[2])}
}
