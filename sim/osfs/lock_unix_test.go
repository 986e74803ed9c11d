//go:build unix

package osfs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLockKeepsAnotherProcessOut: a second process asks for the lock while this one holds
// it, and after.
func TestLockKeepsAnotherProcessOut(t *testing.T) {
	if dir := os.Getenv("SIMKAFKA_LOCK"); dir != "" {
		lock, err := New(dir).TryLock(".lock")
		switch {
		case err != nil:
			os.Stdout.WriteString(err.Error() + "\n")
		case lock == nil:
			os.Stdout.WriteString("taken\n")
		default:
			os.Stdout.WriteString("free\n")
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lock, err := New(dir).TryLock(".lock")
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	other := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=TestLockKeepsAnotherProcessOut")
		cmd.Env = append(os.Environ(), "SIMKAFKA_LOCK="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := other(); got != "taken\n" {
		t.Errorf("while it is held: %q", got)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := other(); got != "free\n" {
		t.Errorf("after: %q", got)
	}
	if _, err := New(dir).TryLock("missing"); err == nil {
		t.Error("a file that is not there was locked")
	}
}
