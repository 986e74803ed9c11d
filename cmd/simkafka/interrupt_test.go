//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const longScenario = `apiVersion: simkafka/v1
name: long
duration: 1000h
cluster: {brokers: 1}
topics:
  - {name: orders, partitions: 1, replication: 1}
producers:
  - {name: p, topic: orders, rate: 10/s, size: 100B}
`

// TestInterruptEndsTheRunWithWhatItHas: Ctrl-C gives a result that says so, files
// and exit code 130.
func TestInterruptEndsTheRunWithWhatItHas(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("long.yaml", []byte(longScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run([]string{"run", "long.yaml", "--json", "--no-charts", "--trace", "t.txt"}, strings.NewReader(""), &stdout, &stderr)
	}()
	// The trace is opened when the run begins, behind the signal handler.
	for started := false; !started; time.Sleep(5 * time.Millisecond) {
		_, err := os.Stat(partial("t.txt"))
		started = err == nil
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d\n%s", got, stderr.String())
	}
	var r struct{ Verdict, Scenario string }
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Verdict != "inconclusive" || r.Scenario != "long" {
		t.Errorf("%v: %+v", err, r)
	}
	if !strings.Contains(stdout.String(), `"interrupted"`) {
		t.Error("the result does not say that it was interrupted")
	}
	for _, name := range []string{filepath.Join("out", "long-1", "result.json"), "t.txt"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
