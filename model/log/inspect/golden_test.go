package inspect

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/sim/osfs"
)

const goldens = "../../../testdata/golden"

var releases = []string{"kafka-3.9", "kafka-4.1"}

// verifyDir collects what Verify has to say about a directory of the operating system.
func verifyDir(t testing.TB, root string, deep bool) (Summary, []Finding, []Partition) {
	t.Helper()
	var findings []Finding
	var partitions []Partition
	sum, err := Verify(Options{
		FS: osfs.NewReadOnly(root), Deep: deep,
		Finding: func(f *Finding) { findings = append(findings, *f) },
		Done:    func(p *Partition) { partitions = append(partitions, *p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, findings, partitions
}

func line(f Finding) string {
	return fmt.Sprintf("%s %s %s@%d offset %d: %s", f.Severity, f.Kind, f.File, f.Pos, f.Offset, f.What)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a real broker leaves behind when it stops cleanly has nothing wrong in it.
func TestCleanDirectoriesOfKafkaHaveNoProblems(t *testing.T) {
	for _, release := range releases {
		sum, findings, partitions := verifyDir(t, filepath.Join(goldens, release, "clean"), true)
		if !sum.Clean || sum.Partitions < 19 || len(partitions) != sum.Partitions {
			t.Errorf("%s: %+v, %d partitions", release, sum, len(partitions))
		}
		for _, f := range findings {
			if f.Severity != Info {
				t.Errorf("%s: %s", release, line(f))
			}
		}
	}
}

// The damage that the manifests of the goldens list, and nothing else, in the place where
// it was done. A recovery ends rotten-0 in the batch of the flipped byte, the others
// behind their last whole batch.
func TestDamageOfTheKilledDirectoriesIsFound(t *testing.T) {
	want := []string{
		"warning index-missing no-index-0/00000000000000000000.index@-1 offset 0",
		"warning index-missing no-index-0/00000000000000000006.timeindex@-1 offset 6",
		"warning tail-zeros preallocated-0/00000000000000000031.log@247 offset 34",
		"error crc rotten-0/00000000000000000017.log@137 offset 19",
		"error tail-torn torn-0/00000000000000000029.log@249 offset 32",
		"warning index-range torn-0/00000000000000000029.index@0 offset 33",
		"warning time-range torn-0/00000000000000000029.timeindex@0 offset 33",
		"warning checkpoint-range replication-offset-checkpoint@LINE offset 34",
		"error tail-torn torn-header-0/00000000000000000029.log@249 offset 32",
		"warning index-range torn-header-0/00000000000000000029.index@0 offset 33",
		"warning time-range torn-header-0/00000000000000000029.timeindex@0 offset 33",
		"warning checkpoint-range replication-offset-checkpoint@LINE offset 34",
		"warning tail-zeros zeros-0/00000000000000000029.log@387 offset 34",
	}
	for _, release := range releases {
		sum, findings, _ := verifyDir(t, filepath.Join(goldens, release, "killed"), true)
		var got []string
		for _, f := range findings {
			if f.Severity != Info {
				text, _, _ := strings.Cut(line(f), ": ")
				got = append(got, checkpointLine.ReplaceAllString(text, "checkpoint@LINE"))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", release, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if sum.Clean || sum.Errors != 3 || sum.Warnings != 10 {
			t.Errorf("%s: %+v", release, sum)
		}
	}
}

// checkpointLine differs between the releases: the lines have the order of a hash map.
var checkpointLine = regexp.MustCompile(`checkpoint@\d+`)
