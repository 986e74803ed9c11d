package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// Kafka writes the lines of an offset checkpoint in the order of a hash map; ours are
// sorted. Apart from that the bytes are the same (storage 5.1, 5.2).
func TestOffsetCheckpointsOfKafkaComeBack(t *testing.T) {
	names := []string{log.HighWatermarkCheckpoint, log.RecoveryPointCheckpoint, log.LogStartOffsetCheckpoint, "cleaner-offset-checkpoint"}
	eachRelease(t, func(t *testing.T, r release) {
		for _, dir := range []string{cleanDir, killedDir, recoveredDir} {
			fs := vfstest.NewMem()
			copyIn(t, filepath.Join(r.golden(), dir), fs, "data")
			for _, name := range names {
				entries, err := log.ReadOffsetCheckpoint(fs, "data", name)
				check(t, err)
				if len(entries) == 0 {
					t.Errorf("%s/%s is empty", dir, name)
				}
				check(t, log.WriteOffsetCheckpoint(fs, "data", name, entries))
				want, err := os.ReadFile(filepath.Join(r.golden(), dir, name))
				check(t, err)
				if got := read(t, fs, "data/"+name); !bytes.Equal(got, sortedLines(want)) {
					t.Errorf("%s/%s became %q, want %q", dir, name, got, want)
				}
			}
		}
	})
}

// sortedLines sorts the entries of a checkpoint, all of them of partition 0.
func sortedLines(b []byte) []byte {
	lines := strings.SplitAfter(string(b), "\n")
	slices.Sort(lines[2 : len(lines)-1])
	return []byte(strings.Join(lines, ""))
}

// A clean stop of ours writes the checkpoints that Kafka's clean stop wrote.
func TestCheckpointsAfterACleanStopAreKafkas(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m := readManifest(t, r)
		fs := vfstest.NewMem()
		copyIn(t, filepath.Join(r.golden(), cleanDir), fs, "data")
		stopClean(t, load(t, fs, "data", m.configs(t), clockOf(t, r)), 0)
		for _, name := range []string{log.HighWatermarkCheckpoint, log.RecoveryPointCheckpoint, log.LogStartOffsetCheckpoint} {
			want, err := os.ReadFile(filepath.Join(r.golden(), cleanDir, name))
			check(t, err)
			if got := read(t, fs, "data/"+name); !bytes.Equal(got, sortedLines(want)) {
				t.Errorf("%s is %q, want %q", name, got, sortedLines(want))
			}
		}
	})
}

// The marker of a clean stop is a line of JSON (storage 5.5); in ZooKeeper mode it
// names no broker epoch.
func TestMarkerOfACleanStopIsKafkas(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		for _, dir := range []string{cleanDir, recoveredDir} {
			want, err := os.ReadFile(filepath.Join(r.golden(), dir, ".kafka_cleanshutdown"))
			check(t, err)
			fs := vfstest.NewMem()
			m := log.NewManager(fs, "data", (&manifest{}).configs(t), nil)
			check(t, m.Start())
			_, _, err = m.LoadStep(0)
			check(t, err)
			epoch := kafka.BrokerEpoch(-1)
			if r.kraft {
				epoch = epochIn(t, string(want))
			}
			for done := false; !done; {
				done, err = m.StopStep(epoch, 0)
				check(t, err)
			}
			if got := read(t, fs, "data/.kafka_cleanshutdown"); !bytes.Equal(got, want) {
				t.Errorf("%s: the marker is %q, want %q", dir, got, want)
			}
		}
	})
}

// epochIn is the number before the last brace.
func epochIn(t testing.TB, marker string) kafka.BrokerEpoch {
	t.Helper()
	number := strings.TrimSuffix(marker[strings.LastIndexByte(marker, ':')+1:], "}")
	n, err := strconv.ParseInt(number, 10, 64)
	check(t, err)
	return kafka.BrokerEpoch(n)
}

// ZooKeeper mode writes version 0 of meta.properties, whose lines come in the order of
// Java's hash map (storage 5.7).
func TestMetaPropertiesOfKafkaComesBack(t *testing.T) {
	for _, r := range releases {
		if r.kraft {
			continue // version 1 is not modelled
		}
		path := filepath.Join(r.golden(), cleanDir, "meta.properties")
		want, err := os.ReadFile(path)
		check(t, err)
		fs := vfstest.NewMem()
		copyIn(t, filepath.Join(r.golden(), cleanDir), fs, "data")
		p, found, err := log.ReadMetaProperties(fs, "data")
		check(t, err)
		if !found || p.BrokerID != 0 || len(p.ClusterID) != 22 {
			t.Errorf("%s is read as %+v", path, p)
		}
		date := strings.TrimPrefix(strings.Split(string(want), "\n")[1], "#")
		check(t, log.WriteMetaProperties(fs, "data", p, date))
		if got := read(t, fs, "data/meta.properties"); !bytes.Equal(got, want) {
			t.Errorf("meta.properties is\n%s\nwant\n%s", got, want)
		}
	}
}
