//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simkafka/simkafka/sim/sweep"
)

const shortScenario = `apiVersion: simkafka/v1
name: short
duration: 5s
cluster: {brokers: 1}
topics: [{name: orders, partitions: 1, replication: 1}]
producers: [{name: p, topic: orders, rate: 20/s, size: 100B}]
`

// TestInterruptKeepsTheSweepThatIsDone: Ctrl-C ends the seeds that are running, gives
// exit code 130 and a file that says so, which a resumed sweep completes.
func TestInterruptKeepsTheSweepThatIsDone(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("short.yaml", []byte(shortScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run([]string{"sweep", "short.yaml", "--seeds", "100000", "--out", "o"}, strings.NewReader(""), &stdout, &stderr)
	}()
	name := filepath.Join("o", sweep.Whole().File())
	for begun := false; !begun; time.Sleep(5 * time.Millisecond) {
		f, err := sweep.ReadFile(name)
		begun = err == nil && len(f.Lines) > 0
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d\n%s%s", got, stdout.String(), stderr.String())
	}
	if !strings.HasPrefix(stdout.String(), "INCONCLUSIVE  sweep short") || !strings.Contains(stdout.String(), "\n  interrupted\n") {
		t.Errorf("it printed\n%s", stdout.String())
	}
	f, err := sweep.ReadFile(name)
	if err != nil || f.Footer == nil || f.Footer.State != sweep.Interrupted || len(f.Lines) == 0 {
		t.Fatalf("%v: %+v", err, f)
	}
	code2, out, errs := simkafka([]string{"sweep", "short.yaml", "--seeds", "100000", "--out", "o", "--resume", "auto", "--time", "1ns", "-q"})
	if code2 != exitInconclusive || !strings.Contains(out, "the time ended") {
		t.Errorf("resumed: exit code %d\n%s%s", code2, out, errs)
	}
	if again, err := sweep.ReadFile(name); err != nil || len(again.Lines) != len(f.Lines) || again.Footer.State != sweep.OutOfTime {
		t.Errorf("resumed: %v, %d lines, were %d", err, len(again.Lines), len(f.Lines))
	}
}

func TestBarSaysHowFarAndHowLong(t *testing.T) {
	begin := time.Now()
	s := &sweeper{runner: &runner{app: &app{stderr: new(bytes.Buffer)}}}
	s.plan.Source = namedSource{}
	for _, c := range []struct {
		p      sweep.Progress
		budget time.Duration
		after  time.Duration
		want   string
	}{
		{sweep.Progress{Done: 250, Total: 1000, Now: 250}, 0, 25 * time.Second, "w1: [#####---------------] 250/1000 seeds  10.0/s  0 violated  ETA 1m15s"},
		{sweep.Progress{Done: 500, Total: 1000, Now: 100, Violated: 3, Findings: 2}, 0, 10 * time.Second,
			"w1: [##########----------] 500/1000 seeds  10.0/s  3 violated  2 findings  ETA 50s"},
		{sweep.Progress{Done: 60, Now: 60}, time.Minute, 15 * time.Second, "w1: [#####---------------] 60 seeds  4.0/s  0 violated  ETA 45s"},
		{sweep.Progress{Total: 10}, 0, time.Second, "w1: [--------------------] 0/10 seeds  0.0/s  0 violated"},
	} {
		s.budget = c.budget
		b := s.newBar(begin.Add(c.budget))
		b.begin, b.p = begin, c.p
		if got := b.text(begin.Add(c.after)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

type namedSource struct{ sweep.Source }

func (namedSource) Name() string { return "w1" }
