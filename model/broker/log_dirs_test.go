package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// twoDirs is three brokers with two data directories each; the disk of broker 1 can
// fail. Its partitions a and c lie in data/x, b in data/y.
func twoDirs(t *testing.T, profile string) (*world, *brittle) {
	w := newWorld(t, profile).with("log.dirs", "/x,/y")
	disk := &brittle{FS: vfstest.NewMem(), fail: func(string, string) error { return nil }}
	w.parties["broker-1"] = &party{name: "broker-1", fs: disk}
	w.order = append(w.order, w.parties["broker-1"])
	w.cluster(3)
	for _, topic := range []string{"a", "b", "c"} {
		w.create(topic, nil, 1, 2, 3)
	}
	w.until("all are led by broker 1", func() bool {
		return !slices.ContainsFunc([]string{"a", "b", "c"}, func(topic string) bool {
			return w.part(1, topic) == nil || !w.part(1, topic).IsLeader() || len(w.part(1, topic).ISR()) != 3
		})
	})
	return w, disk
}

// breakDir makes everything below a directory fail.
func (b *brittle) breakDir(dir string) {
	b.fail = func(op, name string) error {
		if strings.HasPrefix(name, dir+"/") {
			return fmt.Errorf("%s %s: %w", op, name, vfs.ErrIO)
		}
		return nil
	}
}

func dirOf(w *world, id kafka.NodeID, topic string) string {
	dir := w.part(id, topic).Log().Dir()
	return dir[:strings.LastIndexByte(dir, '/')]
}

// TestOneFailedDirectoryTakesOnlyItsPartitions (KIP-112): the produce that meets it is
// answered KAFKA_STORAGE_ERROR, the controller elects other leaders for what is gone, the
// rest stays with the broker.
func TestOneFailedDirectoryTakesOnlyItsPartitions(t *testing.T) {
	w, disk := twoDirs(t, "zk-3.9")
	if got := dirOf(w, 1, "a") + dirOf(w, 1, "b") + dirOf(w, 1, "c"); got != "data/xdata/ydata/x" {
		t.Fatal(got)
	}
	disk.breakDir("data/x")
	if code, _ := produced(w.client(1).ask(w.produce(-1, "a", 0, batch("lost")))); code != kafka.KafkaStorageError {
		t.Fatalf("the produce that meets the failure: %v", code)
	}
	if w.noted(event.DirectoryOffline, 1) != 1 || w.down(1) {
		t.Fatal("one directory is gone, the broker is not")
	}
	w.until("others lead a and c", func() bool {
		for _, topic := range []string{"a", "c"} {
			led := false
			for id := kafka.NodeID(2); id <= 3; id++ {
				led = led || w.part(id, topic).IsLeader() && len(w.part(id, topic).ISR()) == 2
			}
			if !led {
				return false
			}
		}
		return true
	})
	if !w.part(1, "b").IsLeader() || !w.part(1, "a").Offline() || !w.part(1, "c").Offline() {
		t.Fatal("b is online, a and c are not")
	}
	if code, _ := produced(w.client(1).ask(w.produce(-1, "b", 0, batch("kept")))); code != kafka.None {
		t.Fatalf("the other directory: %v", code)
	}
	// A new partition goes to the directory that is left, of a deleted one nothing is known.
	w.create("d", nil, 1, 2, 3)
	w.until("d is led", func() bool { return w.part(1, "d") != nil && w.part(1, "d").IsLeader() })
	if dirOf(w, 1, "d") != "data/y" {
		t.Fatal(dirOf(w, 1, "d"))
	}

	// The restart finds the directory broken still: the replicas stay offline.
	w.crash(1)
	w.start(1)
	w.until("broker 1 leads b again or follows it", func() bool { return w.part(1, "b") != nil && w.part(1, "b").Log() != nil })
	w.run(5 * kafka.Second)
	if p := w.part(1, "a"); p == nil || !p.Offline() || w.down(1) {
		t.Fatal("a is made anew in the other directory")
	}

	// Mended, it loads what is there.
	disk.fail = func(string, string) error { return nil }
	w.crash(1)
	w.start(1)
	w.until("all are in sync again", func() bool {
		for _, topic := range []string{"a", "b", "c", "d"} {
			inSync := false
			for id := kafka.NodeID(1); id <= 3; id++ {
				inSync = inSync || w.part(id, topic) != nil && w.part(id, topic).IsLeader() && len(w.part(id, topic).ISR()) == 3
			}
			if !inSync {
				return false
			}
		}
		return true
	})
}

// TestAFollowersDirectoryMayFail: the fetcher drops what is gone and copies the rest.
func TestAFollowersDirectoryMayFail(t *testing.T) {
	w, disk := twoDirs(t, "zk-3.9")
	w.create("e", nil, 2, 1, 3) // in data/y
	w.create("f", nil, 2, 1, 3) // in data/x
	w.until("broker 1 follows", func() bool {
		return w.part(1, "f") != nil && w.part(1, "f").Log() != nil && w.part(1, "e").Log() != nil
	})
	if dirOf(w, 1, "e") != "data/y" || dirOf(w, 1, "f") != "data/x" {
		t.Fatal(dirOf(w, 1, "e"), dirOf(w, 1, "f"))
	}
	disk.breakDir("data/x")
	if code, _ := produced(w.client(2).ask(w.produce(-1, "f", 0, batch("1")))); code != kafka.None {
		t.Fatal(code)
	}
	w.until("the failure is known", func() bool { return w.noted(event.DirectoryOffline, 1) == 1 })
	w.until("f has lost broker 1", func() bool { return !slices.Contains(w.part(2, "f").ISR(), 1) })
	if code, _ := produced(w.client(2).ask(w.produce(-1, "e", 0, batch("2")))); code != kafka.None {
		t.Fatal(code)
	}
	if len(w.part(2, "e").ISR()) != 3 || w.down(1) {
		t.Fatal("e is copied on")
	}
}

// TestTheLastDirectoryHaltsTheBroker, and before Kafka 1.0 the first.
func TestTheLastDirectoryHaltsTheBroker(t *testing.T) {
	w, disk := twoDirs(t, "zk-3.9")
	disk.breakDir("data/x")
	w.client(1).ask(w.produce(-1, "a", 0, batch("1")))
	disk.breakDir("data")
	w.client(1).send(w.produce(-1, "b", 0, batch("1")))
	w.until("broker 1 is down", func() bool { return w.down(1) })
	if why := w.parties["broker-1"].exit; why != "all log directories offline" || w.noted(event.DirectoryOffline, 1) != 2 {
		t.Fatal(why)
	}

	w, disk = twoDirs(t, "zk-0.11")
	disk.breakDir("data/x")
	w.client(1).send(w.produce(-1, "a", 0, batch("1")))
	w.until("broker 1 is down", func() bool { return w.down(1) })
	if why := w.parties["broker-1"].exit; why != "log directory data/x failed" || w.noted(event.DirectoryOffline, 1) != 1 {
		t.Fatal(why)
	}
}

// TestADirectoryThatFailsAtAStopHasNoMarker: the others have.
func TestADirectoryThatFailsAtAStopHasNoMarker(t *testing.T) {
	w, disk := twoDirs(t, "zk-3.9")
	disk.fail = func(op, name string) error {
		if op == "sync" && strings.HasPrefix(name, "data/x/") && strings.HasSuffix(name, ".log") {
			return vfs.ErrIO
		}
		return nil
	}
	w.client(1).ask(w.produce(-1, "a", 0, batch("1")))
	w.term(1)
	w.until("broker 1 is down", func() bool { return w.down(1) })
	if !w.exists(1, "y/"+cleanMarker) || w.exists(1, "x/"+cleanMarker) {
		t.Fatal("the marker stands where the stop failed, or not where it did not")
	}
}

// TestCleanerThreadsShareTheLogs: no two clean one log, and all logs are cleaned in
// fewer looks than one thread has.
func TestCleanerThreadsShareTheLogs(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("log.cleaner.threads", "3")
	w.cluster(1)
	topics := []string{"orders", "b", "c", "d"}
	for _, topic := range topics {
		w.create(topic, map[string]string{"segment.bytes": "500", "cleanup.policy": "compact"}, 1)
		for i := range 20 {
			b := keyed(fmt.Sprint("k", i%3), strings.Repeat("v", 30))
			if code, _ := produced(w.client(1).ask(w.produce(-1, topic, 0, b))); code != kafka.None {
				t.Fatal(code)
			}
		}
	}
	w.until("all are cleaned", func() bool { return w.noted(event.LogCleaned, 1) >= len(topics) })
	open, most := map[string]bool{}, 0
	for _, e := range w.notes {
		switch e.Kind {
		case event.CleaningBegan:
			if open[e.TP.Topic] {
				t.Fatalf("two threads clean %s", e.TP.Topic)
			}
			open[e.TP.Topic] = true
			most = max(most, len(open))
		case event.LogCleaned:
			delete(open, e.TP.Topic)
		}
	}
	if most < 2 {
		t.Fatal("never two at a time")
	}
}

// TestCleanerIsThrottled: log.cleaner.io.max.bytes.per.second spreads a cleaning over
// time, in periods of 300 ms (Throttler).
func TestCleanerIsThrottled(t *testing.T) {
	cleaning := func(rate string) kafka.Nanos {
		w := newWorld(t, "zk-3.9").with("log.cleaner.io.max.bytes.per.second", rate).with("log.cleaner.io.buffer.size", "1000")
		disk := &brittle{FS: vfstest.NewMem(), fail: func(op, name string) error {
			if op == "append" && strings.HasSuffix(name, ".cleaned") {
				w.parties["broker-1"].out.Charge(100 * kafka.Millisecond)
			}
			return nil
		}}
		w.parties["broker-1"] = &party{name: "broker-1", fs: disk}
		w.order = append(w.order, w.parties["broker-1"])
		w.cluster(1)
		w.create("orders", map[string]string{"segment.bytes": "500", "cleanup.policy": "compact"}, 1)
		for i := range 60 { // each with a key of its own: all are copied
			b := keyed(fmt.Sprint("k", i), strings.Repeat("v", 30))
			if code, _ := produced(w.client(1).ask(w.produce(-1, "orders", 0, b))); code != kafka.None {
				t.Fatal(code)
			}
		}
		w.until("it begins", func() bool { return w.noted(event.CleaningBegan, 1) > 0 })
		begin := w.now
		w.until("it ends", func() bool { return w.noted(event.LogCleaned, 1) > 0 })
		return w.now - begin
	}
	if fast, slow := cleaning("1e9"), cleaning("2000"); fast < kafka.Second/2 || slow < fast+2*kafka.Second {
		t.Fatalf("%v at 2000 bytes a second, %v without limit", slow, fast)
	}
}

func TestThrottlerKeepsTheRate(t *testing.T) {
	th := &throttler{}
	now := kafka.Nanos(0)
	total := int64(0)
	for range 2000 {
		th.observed += 1000
		total += 1000
		now += kafka.Millisecond
		if wait := th.wait(now, 100_000); wait > 0 {
			if again := th.wait(now, 100_000); again != wait {
				t.Fatalf("another thread goes on after %v of %v", again, wait)
			}
			now += wait
		}
	}
	if least := kafka.Nanos(total*9/10) * kafka.Second / 100_000; now < least {
		t.Fatalf("%d bytes in %v", total, now)
	}
	if th.wait(now+kafka.Second, 1<<63-1) != 0 {
		t.Fatal("without a limit nobody waits")
	}
}

func TestLogDirsAreLaidOutBelowTheDisksDirectory(t *testing.T) {
	for value, want := range map[string]string{
		"": "data", "/tmp/kafka-logs": "data", "/a, /mnt/b": "data/a data/mnt/b",
	} {
		p, _ := config.ProfileByName("zk-3.9")
		var set []config.Setting
		if value != "" {
			set = append(set, config.Setting{Key: "log.dirs", Value: value})
		}
		cfg, errs := config.NewBroker(p, 1, "", set)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := strings.Join(DataDirs("data", cfg.LogDirs), " "); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
	p, _ := config.ProfileByName("zk-3.9")
	for _, bad := range []string{"a,,b", "a,/a", "../x", "a/../b"} {
		if _, errs := config.NewBroker(p, 1, "", []config.Setting{{Key: "log.dirs", Value: bad}}); len(errs) != 1 {
			t.Errorf("%q is taken", bad)
		}
	}
}
