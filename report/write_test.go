package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWriteDirWritesEveryFileEqually(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := WriteDir(dir, crashRun(), DirOptions{Replay: "simkafka run leader-crash --seed 1"}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		x, errA := os.ReadFile(filepath.Join(a, e.Name()))
		y, errB := os.ReadFile(filepath.Join(b, e.Name()))
		if errA != nil || errB != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two writes (%v, %v)", e.Name(), errA, errB)
		}
		if bytes.Contains(x, []byte(a)) {
			t.Errorf("%s holds the path of its directory", e.Name())
		}
	}
	want := []string{"lag.png", "lag.svg", "latency-e2e.png", "latency-e2e.svg", "latency-produce.png", "latency-produce.svg", "partitions.png",
		"partitions.svg", "result.json", "summary.txt", "throughput.png", "throughput.svg", "timeline.txt"}
	if !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestWriteDirReportsAMissingDirectory(t *testing.T) {
	if WriteDir(filepath.Join(t.TempDir(), "no", "where"), crashRun(), DirOptions{NoCharts: true}) == nil {
		t.Error("nothing was written and nobody was told")
	}
}
