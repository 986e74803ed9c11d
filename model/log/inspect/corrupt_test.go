package inspect

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dataDir is a copy of two partitions that a broker stopped cleanly, with the files of
// their data directory. flushed-0 has segments at 0, 12 and 24 and ends at 27.
type dataDir struct {
	t    testing.TB
	root string
}

func newDataDir(t testing.TB) dataDir {
	t.Helper()
	d := dataDir{t, t.TempDir()}
	from := filepath.Join(goldens, "kafka-4.1", "clean")
	for _, name := range names(t, from) {
		path := filepath.Join(from, name)
		info, err := os.Stat(path)
		check(t, err)
		switch {
		case !info.IsDir():
			b, err := os.ReadFile(path)
			check(t, err)
			d.write(name, string(b))
		case name == "flushed-0", name == "transactions-0":
			check(t, os.CopyFS(filepath.Join(d.root, name), os.DirFS(path)))
		}
	}
	return d
}

func (d dataDir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d dataDir) write(name, content string) {
	d.t.Helper()
	check(d.t, os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
	check(d.t, os.WriteFile(d.path(name), []byte(content), 0o644))
}

func (d dataDir) read(name string) []byte {
	d.t.Helper()
	b, err := os.ReadFile(d.path(name))
	check(d.t, err)
	return b
}

// patch writes over bytes at pos.
func (d dataDir) patch(name string, pos int, with ...byte) {
	d.t.Helper()
	b := d.read(name)
	copy(b[pos:], with)
	d.write(name, string(b))
}

func (d dataDir) flip(name string, pos int) { d.patch(name, pos, d.read(name)[pos]^1) }
func (d dataDir) cut(name string, n int) {
	b := d.read(name)
	d.write(name, string(b[:len(b)-n]))
}
func (d dataDir) remove(name string)   { check(d.t, os.Remove(d.path(name))) }
func (d dataDir) copy(from, to string) { d.write(to, string(d.read(from))) }

func (d dataDir) unclean(recoveryPoint string) {
	d.remove(cleanFile)
	d.write(recoveryFile, "0\n2\nflushed 0 "+recoveryPoint+"\ntransactions 0 56\n")
}

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

const (
	seg0  = "flushed-0/00000000000000000000"
	seg12 = "flushed-0/00000000000000000012"
	seg24 = "flushed-0/00000000000000000024"
	txns  = "transactions-0/000000000000000000"
	hex32 = "0123456789abcdef0123456789abcdef"
)

// Each documented corruption gives its findings and no others; atStart is part of what the
// first of them says about a start.
var corruptions = []struct {
	name    string
	do      func(d dataDir)
	want    []string // severity kind file@pos offset N
	atStart string
}{
	{"nothing", func(dataDir) {}, nil, ""},
	{"a byte of a batch, clean", func(d dataDir) { d.flip(seg12+".log", 600) },
		[]string{"error crc " + seg12 + ".log@496 offset 18"}, "not looked at after a clean stop"},
	{"a byte of a batch, below the recovery point", func(d dataDir) { d.flip(seg12+".log", 600); d.unclean("27") },
		[]string{"error crc " + seg12 + ".log@496 offset 18"}, "before the recovery point 27"},
	{"a byte of a batch, recovered", func(d dataDir) { d.flip(seg12+".log", 600); d.unclean("13") },
		[]string{"error crc " + seg12 + ".log@496 offset 18"}, "cuts the segment to 496 bytes and deletes the segments after it"},
	{"a cut tail, clean", func(d dataDir) { d.cut(seg24+".log", 10) }, []string{
		"error tail " + seg24 + ".log@110 offset 25",
		"error time-range " + seg24 + ".timeindex@0 offset 26",
		"warning snapshot-ahead flushed-0/00000000000000000027.snapshot@-1 offset 27",
		"warning checkpoint-range recovery-point-offset-checkpoint@LINE offset 27",
		"warning checkpoint-range replication-offset-checkpoint@LINE offset 27",
		"warning epoch-range flushed-0/leader-epoch-checkpoint@13 offset 27",
	}, "not looked at after a clean stop"},
	{"zeros behind the end", func(d dataDir) {
		d.write(seg24+".log", string(d.read(seg24+".log"))+strings.Repeat("\x00", 40))
		d.unclean("24")
	},
		[]string{"warning tail-zeros " + seg24 + ".log@247 offset 27"}, "cuts the segment to 247 bytes"},
	{"an index entry points into a batch", func(d dataDir) { d.patch(seg0+".index", 12, be32(500)...) },
		[]string{"error index-target " + seg0 + ".index@8 offset 6"}, "does not check it"},
	{"an index entry points to a later batch", func(d dataDir) { d.patch(seg0+".index", 12, be32(604)...) },
		[]string{"error index-target " + seg0 + ".index@8 offset 6"}, "does not check it"},
	{"an index entry is out of order", func(d dataDir) { d.patch(seg0+".index", 16, be32(2)...) },
		[]string{"error index-order " + seg0 + ".index@16 offset 2"}, "does not check it"},
	{"an index entry is behind the log", func(d dataDir) { d.patch(seg0+".index", 20, be32(100_000)...) },
		[]string{"error index-range " + seg0 + ".index@16 offset 9"}, "does not check it"},
	{"an index is cut inside an entry", func(d dataDir) { d.cut(seg0+".index", 3) },
		[]string{"warning index-length " + seg0 + ".index@16"}, ""},
	{"an index kept the length of an active segment (KAFKA-20979)", func(d dataDir) { d.write(seg24+".index", strings.Repeat("\x00", 1<<20)) },
		[]string{"error index-preallocated " + seg24 + ".index@0"}, "zeros are taken for entries"},
	{"an unclean stop leaves such an index", func(d dataDir) { d.write(seg24+".index", strings.Repeat("\x00", 1<<20)); d.unclean("24") }, nil, ""},
	{"an index is missing", func(d dataDir) { d.remove(seg0 + ".index") },
		[]string{"warning index-missing " + seg0 + ".index@-1 offset 0"}, "the segment is recovered"},
	{"a time index is missing", func(d dataDir) { d.remove(seg0 + ".timeindex") },
		[]string{"warning index-missing " + seg0 + ".timeindex@-1 offset 0"}, "an empty one is made"},
	{"a time index entry is too old", func(d dataDir) { d.patch(seg0+".timeindex", 12, be64(1_700_000_003_000)...) },
		[]string{"error time-target " + seg0 + ".timeindex@12 offset 6"}, "skip records"},
	{"a time index entry is out of order", func(d dataDir) { d.patch(seg0+".timeindex", 12, be64(1_700_000_001_000)...) },
		[]string{"error time-order " + seg0 + ".timeindex@12 offset 6"}, ""},
	{"a time index lost its closing entry", func(d dataDir) { d.cut(seg0+".timeindex", 12) },
		[]string{"warning time-closing " + seg0 + ".timeindex@36 offset 11"}, ""},
	{"offsets reach into the next segment", func(d dataDir) { d.patch(seg0+".log", 851, be64(11)...) },
		[]string{"error offset-overlap " + seg0 + ".log@851 offset 11"}, "not noticed"},
	{"an offset comes twice", func(d dataDir) { d.patch(seg0+".log", 110, be64(0)...) },
		[]string{"error offset-order " + seg0 + ".log@110 offset 0"}, "not noticed"},
	{"an offset is before its segment", func(d dataDir) { d.patch(seg12+".log", 0, be64(3)...) },
		[]string{"error offset-range " + seg12 + ".log@0 offset 3"}, "not noticed"},
	{"a leader epoch goes back", func(d dataDir) { d.patch(seg24+".log", 110+12, be32(1)...) }, []string{
		"error epoch-order " + seg24 + ".log@110 offset 25",
		"error epoch-mismatch flushed-0/leader-epoch-checkpoint@8 offset 25",
	}, "not noticed"},
	{"an epoch is missing from the checkpoint, clean", func(d dataDir) { d.write("flushed-0/leader-epoch-checkpoint", "0\n1\n0 0\n") },
		[]string{"error epoch-mismatch flushed-0/leader-epoch-checkpoint@4 offset 21"}, "does not check it"},
	{"an epoch is missing from the checkpoint, recovered", func(d dataDir) {
		d.write("flushed-0/leader-epoch-checkpoint", "0\n1\n0 0\n")
		d.unclean("12")
	}, []string{"warning epoch-mismatch flushed-0/leader-epoch-checkpoint@4 offset 21"}, "recovery enters the epoch"},
	{"the epoch checkpoint is no text of its kind", func(d dataDir) { d.write("flushed-0/leader-epoch-checkpoint", "0\n2\n0 0\n") },
		[]string{"error epoch-checkpoint flushed-0/leader-epoch-checkpoint@2"}, "goes offline"},
	{"the epoch checkpoint is missing", func(d dataDir) { d.remove("flushed-0/leader-epoch-checkpoint") },
		[]string{"error epoch-missing flushed-0/leader-epoch-checkpoint@-1 offset 0"}, "an empty one is made"},
	{"a snapshot is stale", func(d dataDir) { d.copy(txns+"54.snapshot", txns+"56.snapshot") },
		[]string{"error snapshot-stale " + txns + "56.snapshot@56 offset 56"}, "compares it with nothing"},
	{"an older snapshot is stale", func(d dataDir) { d.copy(txns+"12.snapshot", txns+"18.snapshot") },
		[]string{"error snapshot-stale " + txns + "18.snapshot@56 offset 18"}, "unless newer snapshots are damaged"},
	{"a byte of a snapshot", func(d dataDir) { d.flip(txns+"56.snapshot", 20) },
		[]string{"error snapshot " + txns + "56.snapshot@2 offset 56"}, "the next older one is loaded"},
	{"a snapshot that was not cut (trap 58)", func(d dataDir) { d.write(txns+"56.snapshot", string(d.read(txns+"56.snapshot"))+"tail") },
		[]string{"error snapshot " + txns + "56.snapshot@2 offset 56"}, "the next older one is loaded"},
	{"no snapshots after a clean stop", func(d dataDir) {
		for _, name := range names(d.t, d.path("transactions-0")) {
			if strings.HasSuffix(name, ".snapshot") {
				d.remove("transactions-0/" + name)
			}
		}
	}, []string{"error snapshot-missing transactions-0@-1 offset 56"}, "taken for one without producers"},
	{"an aborted transaction of another producer", func(d dataDir) { d.patch(txns+"05.txnindex", 2, be64(9)...) },
		[]string{"error txn-target " + txns + "05.txnindex@0 offset 5"}, "does not check it"},
	{"an aborted transaction that begins too late", func(d dataDir) { d.patch(txns+"05.txnindex", 10, be64(4)...) },
		[]string{"error txn-target " + txns + "05.txnindex@0 offset 4"}, "does not check it"},
	{"a transaction index is missing", func(d dataDir) { d.remove(txns + "26.txnindex") },
		[]string{"error txn-missing " + txns + "26.txnindex@-1 offset 26"}, "does not check it"},
	{"a transaction index is of a later version", func(d dataDir) { d.patch(txns+"26.txnindex", 0, 1) }, []string{
		"error txn-version " + txns + "26.txnindex@0 offset 26",
		"error txn-missing " + txns + "26.txnindex@-1 offset 26",
	}, "made anew"},
	{"a recovery point that is no number", func(d dataDir) { d.write(recoveryFile, "0\n1\nflushed 0 x\n") },
		[]string{"error checkpoint recovery-point-offset-checkpoint@4"}, "taken for empty"},
	{"a recovery point below the end of a clean log", func(d dataDir) { d.write(recoveryFile, "0\n1\nflushed 0 20\n") },
		[]string{"warning checkpoint-recovery recovery-point-offset-checkpoint@4 offset 20"}, "the marker is believed"},
	{"a log start behind the end", func(d dataDir) { d.write(startFile, "0\n1\nflushed 0 28\n") }, []string{
		"error checkpoint-range log-start-offset-checkpoint@4 offset 28",
	}, "all segments are deleted"},
	{"a high watermark behind the end", func(d dataDir) { d.write(highFile, "0\n1\nflushed 0 28\n") },
		[]string{"warning checkpoint-range replication-offset-checkpoint@4 offset 28"}, "lowered"},
	{"partition.metadata without an id", func(d dataDir) { d.write("flushed-0/partition.metadata", "version: 0\ntopic_id: \n") },
		[]string{"error partition-metadata flushed-0/partition.metadata@11"}, "goes offline"},
	{"partition.metadata that is empty", func(d dataDir) { d.write("flushed-0/partition.metadata", "") },
		[]string{"error partition-metadata flushed-0/partition.metadata@0"}, "the broker does not start"},
	{"partition.metadata that ends too early", func(d dataDir) { d.write("flushed-0/partition.metadata", "version: 0\n") },
		[]string{"error partition-metadata flushed-0/partition.metadata@11"}, "the broker does not start"},
	{"partition.metadata with half an id", func(d dataDir) { d.write("flushed-0/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAA") },
		[]string{"error partition-metadata flushed-0/partition.metadata@11"}, "the broker does not start"},
	{"epochs below zero", func(d dataDir) { d.write("flushed-0/leader-epoch-checkpoint", "0\n1\n0 -1\n") },
		[]string{"error epoch-checkpoint flushed-0/leader-epoch-checkpoint@4"}, "the broker does not start"},
	{"meta.properties of another version", func(d dataDir) { d.write("meta.properties", "version=7\n") },
		[]string{"error meta-properties meta.properties@0"}, "refuses to start"},
	{"what was interrupted", func(d dataDir) {
		d.write(seg0+".log.deleted", "")
		d.write(seg12+".log.cleaned", "")
		d.write(seg24+".log.swap", "")
		d.write("flushed-0/leader-epoch-checkpoint.tmp", "")
		d.write("flushed-0/00000000000000000099.index", "")
	}, []string{
		"warning leftover " + seg0 + ".log.deleted@-1",
		"warning leftover " + seg12 + ".log.cleaned@-1",
		"warning leftover " + seg24 + ".log.swap@-1",
		"warning orphan-index flushed-0/00000000000000000099.index@-1 offset 99",
		"warning leftover flushed-0/leader-epoch-checkpoint.tmp@-1",
	}, "deleted"},
	{"directories that are no partitions", func(d dataDir) {
		for _, name := range []string{"a-0." + hex32 + "-delete", "b-0." + hex32 + "-stray", "c-0." + hex32 + "-future", "d-0-delete", "noname"} {
			check(d.t, os.Mkdir(d.path(name), 0o755))
		}
	}, []string{
		"warning dir-delete a-0." + hex32 + "-delete@-1", "warning dir-stray b-0." + hex32 + "-stray@-1",
		"warning dir-future c-0." + hex32 + "-future@-1", "error dir-name d-0-delete@-1", "error dir-name noname@-1",
	}, "queued for deletion"},
}

func TestCorruptionsAreFound(t *testing.T) {
	for _, c := range corruptions {
		t.Run(c.name, func(t *testing.T) {
			d := newDataDir(t)
			c.do(d)
			before := digest(t, d.root)
			sum, findings, _ := verifyDir(t, d.root, true)
			var got []string
			atStart := ""
			for _, f := range findings {
				// The copy has two of the partitions that the checkpoints list.
				if f.Severity == Info || f.Kind == "checkpoint-partition" {
					continue
				}
				text, _, _ := strings.Cut(line(f), ": ")
				text = strings.TrimSuffix(text, " offset -1")
				if !slices.Contains(c.want, text) {
					text = checkpointLine.ReplaceAllString(text, "checkpoint@LINE")
				}
				if got = append(got, text); len(got) == 1 {
					atStart = f.AtStart
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("findings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if !strings.Contains(atStart, c.atStart) {
				t.Errorf("at start: %s", atStart)
			}
			if _, err := os.Stat(d.path(cleanFile)); sum.Clean == errors.Is(err, fs.ErrNotExist) {
				t.Errorf("clean is %v", sum.Clean)
			}
			_ = recoverDir(t, d.root)
			if digest(t, d.root) != before {
				t.Error("the directory was changed")
			}
		})
	}
}

func TestRecoveryOfACorruptBatchEndsTheLogBeforeIt(t *testing.T) {
	d := newDataDir(t)
	d.flip(seg12+".log", 600)
	d.unclean("13")
	for _, r := range recoverDir(t, d.root) {
		if r.Partition != "flushed-0" {
			continue
		}
		if r.LogEndOffset != 18 || r.LostRecords != 8 || r.LostFrom != 19 || r.LostTo != 26 || r.Damaged != 1 || len(r.Deleted) == 0 {
			t.Errorf("%+v", r)
		}
	}
}
