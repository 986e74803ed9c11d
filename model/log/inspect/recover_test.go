package inspect

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/sim/osfs"
)

// copyDir is a copy of a directory tree that may be changed.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	check(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// digest is a hash of every name and byte below a directory.
func digest(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(b))
		h.Write(b)
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

func recoverDir(t testing.TB, root string) []Recovery {
	t.Helper()
	var out []Recovery
	check(t, Recover(RecoverOptions{FS: osfs.NewReadOnly(root), Done: func(r *Recovery) { out = append(out, *r) }}))
	return out
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	list, err := osfs.New(dir).List("")
	check(t, err)
	return list
}

// after is what the file names become by what Recover tells.
func (r *Recovery) after(before []string) []string {
	out := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(r.Removed, name) })
	for i, name := range out {
		if slices.Contains(r.Deleted, name) {
			out[i] = name + ".deleted"
		}
		for _, pair := range r.Renamed {
			if pair[0] == name {
				out[i] = pair[1]
			}
		}
	}
	out = append(out, r.Created...)
	slices.Sort(out)
	return out
}

// What Recover tells of a start is what a start does to a copy of the directory, and
// the directory itself stays as it was.
func TestRecoverTellsWhatAStartDoes(t *testing.T) {
	for _, dir := range []string{"clean", "killed"} {
		root := filepath.Join(goldens, "kafka-4.1", dir)
		before := digest(t, root)
		recoveries := recoverDir(t, root)
		if digest(t, root) != before {
			t.Fatalf("%s was changed", dir)
		}
		copied := copyDir(t, root)
		point := func(name, partition string) kafka.Offset {
			b, err := os.ReadFile(filepath.Join(root, name))
			check(t, err)
			for _, text := range strings.Split(string(b), "\n") {
				var o kafka.Offset
				if _, err := fmt.Sscanf(text, strings.Replace(partition, "-0", " 0", 1)+" %d", &o); err == nil {
					return o
				}
			}
			return 0
		}
		for i := range recoveries {
			r := &recoveries[i]
			was := names(t, filepath.Join(copied, r.Dir))
			cfg := log.DefaultConfig()
			l, err := log.OpenNow(osfs.New(copied), r.Dir, &cfg, log.OpenParams{
				RecoveryPoint: point(recoveryFile, r.Partition), LogStart: point(startFile, r.Partition), Clean: r.Clean,
			})
			check(t, err)
			if r.LogEndOffset != l.LogEndOffset() || r.LogStartOffset != l.LogStartOffset() || r.LeaderEpoch != l.LastEpoch() {
				t.Errorf("%s/%s: %+v, the start has %d to %d, epoch %d", dir, r.Partition, r, l.LogStartOffset(), l.LogEndOffset(), l.LastEpoch())
			}
			check(t, l.Close(false, 0))
			if got, want := r.after(was), names(t, filepath.Join(copied, r.Dir)); !slices.Equal(got, want) {
				t.Errorf("%s/%s: files are %v, the start leaves %v", dir, r.Partition, got, want)
			}
			for _, cut := range r.Cut {
				info, err := os.Stat(filepath.Join(copied, r.Dir, cut.File))
				check(t, err)
				if info.Size() != cut.To {
					t.Errorf("%s/%s: %+v, the start leaves %d bytes", dir, r.Partition, cut, info.Size())
				}
			}
		}
	}
}

// In rotten-0 the byte is in the batch of offset 19; behind it come 357-138 bytes of its
// segment and two segments, up to offset 33. no-index-0 is scanned where the index is
// missing, and from the segment of the recovery point 13 on.
func TestRecoverCountsWhatIsLost(t *testing.T) {
	want := map[string]string{
		"torn-0":         "end 32, scanned 4, cut 00000000000000000029.log 370 to 249, deleted 0, lost 0 records, -1 to -1, damaged 0, 121 bytes",
		"torn-header-0":  "end 32, scanned 4, cut 00000000000000000029.log 317 to 249, deleted 0, lost 0 records, -1 to -1, damaged 0, 68 bytes",
		"zeros-0":        "end 34, scanned 4, cut 00000000000000000029.log 687 to 387, deleted 0, lost 0 records, -1 to -1, damaged 0, 300 bytes",
		"rotten-0":       "end 19, scanned 2, cut 00000000000000000017.log 494 to 137, deleted 6, lost 14 records, 20 to 33, damaged 1, 1239 bytes",
		"no-index-0":     "end 34, scanned 5, deleted 0, lost 0 records, -1 to -1, damaged 0, 0 bytes",
		"preallocated-0": "end 34, scanned 2, cut 00000000000000000031.log 900 to 247, deleted 0, lost 0 records, -1 to -1, damaged 0, 653 bytes",
	}
	for _, release := range releases {
		for _, r := range recoverDir(t, filepath.Join(goldens, release, "killed")) {
			text := fmt.Sprintf("end %d, scanned %d, ", r.LogEndOffset, len(r.Scanned))
			for _, cut := range r.Cut {
				text += fmt.Sprintf("cut %s %d to %d, ", cut.File, cut.From, cut.To)
			}
			text += fmt.Sprintf("deleted %d, lost %d records, %d to %d, damaged %d, %d bytes", len(r.Deleted), r.LostRecords, r.LostFrom, r.LostTo, r.Damaged, r.LostBytes)
			if expected, ok := want[r.Partition]; ok && text != expected {
				t.Errorf("%s/%s: %s", release, r.Partition, text)
			} else if !ok && (len(r.Cut)+len(r.Deleted) > 0 || r.LostBytes > 0) {
				t.Errorf("%s/%s: %s", release, r.Partition, text)
			}
			if r.Error != "" {
				t.Errorf("%s/%s: %s", release, r.Partition, r.Error)
			}
		}
	}
}

// A start loads what was being moved here, and neither strays nor what waits for its
// deletion.
func TestRecoverTriesFutureDirectories(t *testing.T) {
	root := t.TempDir()
	for _, suffix := range []string{"", "." + hex32 + "-future", "." + hex32 + "-stray", "." + hex32 + "-delete"} {
		check(t, os.CopyFS(filepath.Join(root, "codecs-0"+suffix), os.DirFS(filepath.Join(goldens, "kafka-4.1/clean/codecs-0"))))
	}
	var got []string
	for _, r := range recoverDir(t, root) {
		got = append(got, fmt.Sprint(r.Partition, " ", r.LogEndOffset, r.Error))
	}
	if want := []string{"codecs-0 62", "codecs-0." + hex32 + "-future 62"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
