package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// loaded is the last time that a broker opened the log of orders-0.
func (w *world) loaded(id kafka.NodeID) event.Event {
	for i := len(w.notes) - 1; i >= 0; i-- {
		if e := w.notes[i]; e.Kind == event.ReplicaLoaded && e.Node == id && e.TP.Topic == "orders" {
			return e
		}
	}
	w.t.Fatal("never loaded")
	return event.Event{}
}

func (w *world) exists(id kafka.NodeID, name string) bool {
	there, err := vfs.Exists(w.parties[kafka.BrokerHost(id)].fs, "data/"+name)
	if err != nil {
		w.t.Fatal(err)
	}
	return there
}

const cleanMarker = ".kafka_cleanshutdown"

func TestL35CleanStopLeavesTheMarkerAndTheNextStartTakesIt(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.client(1).ask(w.produce(-1, "orders", 0, batch("a", "b")))
	w.run(kafka.Second)
	w.term(2)
	w.until("it is down", func() bool { return w.down(2) })
	if why := w.parties["broker-2"].exit; why != "terminated" || !w.exists(2, cleanMarker) {
		t.Fatalf("exit %q, marker %v", why, w.exists(2, cleanMarker))
	}
	w.start(2)
	w.until("it runs", func() bool { return w.broker(2).State() == Running })
	if e := w.loaded(2); e.Flag || e.LEO != 2 || e.HW != 2 || w.exists(2, cleanMarker) {
		t.Fatalf("%+v", e)
	}
	w.isrOf(1, 3)
}

func TestL35CrashLeavesNoMarkerAndTheLogIsRecovered(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.client(1).ask(w.produce(-1, "orders", 0, batch("a", "b")))
	w.run(6 * kafka.Second) // past a checkpoint of the high watermark
	w.crash(2)
	if w.exists(2, cleanMarker) {
		t.Fatal("marker")
	}
	w.start(2)
	w.until("it runs", func() bool { return w.broker(2).State() == Running })
	if e := w.loaded(2); !e.Flag || e.LEO != 2 || e.HW != 2 {
		t.Fatalf("%+v", e)
	}
	w.isrOf(1, 3)
}

func TestL35CrashWhileLoadingIsUnclean(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.client(1).ask(w.produce(-1, "orders", 0, batch("a")))
	w.term(2)
	w.until("it is down", func() bool { return w.down(2) })
	w.start(2)
	w.until("it loads", func() bool { return w.broker(2).State() == Recovering })
	w.crash(2)
	w.start(2)
	w.until("it runs", func() bool { return w.broker(2).State() == Running })
	if !w.loaded(2).Flag {
		t.Fatal("clean")
	}
}

func TestStopWithParkedRequestsIsClean(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(1)
	w.create("orders", nil, 1)
	c := w.client(1)
	c.ask(w.produce(-1, "orders", 0, batch("a")))
	for range 3 {
		w.client(1).send(w.fetch("orders", 0, 1, 20_000))
	}
	w.run(kafka.Second)
	w.term(1)
	w.until("it is down", func() bool { return w.down(1) })
	if why := w.parties["broker-1"].exit; why != "terminated" || !w.exists(1, cleanMarker) || w.noted(event.DirectoryOffline, 1) != 0 {
		t.Fatal(why)
	}
}

func TestTerminateWhileStartingHalts(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.start(1)
	w.run(3 * kafka.Millisecond)
	w.term(1)
	w.run(kafka.Second)
	if why := w.parties["broker-1"].exit; why != "halted while starting up" {
		t.Fatal(why)
	}
}

func TestZ6QuickRestartWaitsForTheOldSession(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	w.crash(3)
	epoch := w.broker(3).BrokerEpoch()
	w.start(3)
	w.run(5 * kafka.Second)
	if s := w.broker(3).State(); s != Recovering || w.broker(3).BrokerEpoch() != unknownEpoch {
		t.Fatalf("%v beside its old session", s)
	}
	w.until("it runs", func() bool { return w.broker(3).State() == Running })
	if w.broker(3).BrokerEpoch() <= epoch {
		t.Fatal("the broker epoch has not grown")
	}
	w.isrOf(1, 3)
}

func TestZ27ControlledShutdownHandsLeadershipOver(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			w := trio(t, profile, nil)
			w.client(1).ask(w.produce(-1, "orders", 0, batch("a")))
			w.run(kafka.Second)
			begin := w.now
			w.term(1)
			w.until("another leads", func() bool { return w.part(2, "orders").IsLeader() })
			if w.down(1) {
				t.Fatal("it went before its leadership")
			}
			w.until("it is down", func() bool { return w.down(1) })
			if w.now-begin > 2*kafka.Second || w.noted(event.BrokerUnregistered, 1) != 1 {
				t.Fatalf("%v, and its session is not closed", w.now-begin)
			}
			code, base := produced(w.client(2).ask(w.produce(-1, "orders", 0, batch("b"))))
			if code != kafka.None || base != 1 || len(w.part(2, "orders").ISR()) != 2 {
				t.Fatalf("%v at %d, ISR %v", code, base, w.part(2, "orders").ISR())
			}
		})
	}
}

func TestZ27ControlledShutdownGivesUpAfterItsRetries(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	c := w.controller()
	leaver := kafka.NodeID(1)
	if c == leaver {
		leaver = 2
	}
	w.cut(kafka.BrokerHost(leaver), kafka.BrokerHost(c))
	w.broker(leaver).cfg.ControllerSocketTimeout = kafka.Second
	begin := w.now
	w.term(leaver)
	w.run(20 * kafka.Second)
	if w.broker(leaver).State() != ShuttingDown || w.down(leaver) {
		t.Fatal("it did not wait")
	}
	for !w.down(leaver) && w.now-begin < 200*kafka.Second {
		w.run(kafka.Second)
	}
	if !w.down(leaver) || !w.exists(leaver, cleanMarker) {
		t.Fatalf("after %v: down %v", w.now-begin, w.down(leaver))
	}
}

func TestLeaderCrashMovesLeadershipWhenTheSessionExpires(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-0.11", "zk-2.0", "zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			w := trio(t, profile, nil)
			w.client(1).ask(w.produce(-1, "orders", 0, batch("a")))
			w.run(kafka.Second)
			w.crash(1)
			w.until("broker 2 leads", func() bool { return w.part(2, "orders").IsLeader() })
			code, base := produced(w.client(2).ask(w.produce(-1, "orders", 0, batch("b"))))
			if code != kafka.None || base != 1 {
				t.Fatalf("%v at %d", code, base)
			}
			w.start(1)
			w.until("broker 1 is in sync again", func() bool { return len(w.part(2, "orders").ISR()) == 3 })
			w.run(kafka.Second)
			for id := range kafka.NodeID(3) {
				if p := w.part(id+1, "orders"); p.PublishedLEO() != 2 || p.HighWatermark() != 2 {
					t.Errorf("broker %d: end %d, high watermark %d", id+1, p.PublishedLEO(), p.HighWatermark())
				}
			}
		})
	}
}

func TestL22L23SilentFollowerLeavesTheISRAndComesBack(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-2.6", "zk-3.9"} {
		t.Run(profile, func(t *testing.T) {
			w := trio(t, profile, nil)
			w.run(kafka.Second)
			silent := kafka.NodeID(3)
			if w.controller() == silent { // it commits the change
				silent = 2
			}
			w.cut("broker-1", kafka.BrokerHost(silent))
			c := w.client(1)
			req := w.produce(-1, "orders", 0, batch("a"))
			req.TimeoutMillis = 59_000
			if code, _ := produced(c.ask(req)); code != kafka.None {
				t.Fatalf("acknowledged when the ISR has shrunk: %v", code)
			}
			if p := w.part(1, "orders"); len(p.ISR()) != 2 || p.HighWatermark() != 1 {
				t.Fatalf("ISR %v, high watermark %d", p.ISR(), p.HighWatermark())
			}
			w.heal()
			w.isrOf(1, 3)
		})
	}
}

func TestZ7SessionExpiryResignsAndRegistersAnew(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	old := w.controller()
	b := w.broker(old)
	epoch := b.BrokerEpoch()
	w.cut(kafka.BrokerHost(old), "zk")
	w.run(3 * kafka.Second)
	if b.State() != Running || !b.Controller().IsActive() {
		t.Fatal("it knows before it is told")
	}
	w.run(30 * kafka.Second)
	if !b.Controller().IsActive() || b.State() != Running {
		t.Fatal("a client that is cut off does not know that it has expired")
	}
	w.heal()
	w.until("it is registered again", func() bool { return b.BrokerEpoch() > epoch })
	if b.Controller().IsActive() {
		t.Fatal("two controllers")
	}
	w.run(5 * kafka.Second)
	active := 0
	for id := range kafka.NodeID(3) {
		if w.broker(id + 1).Controller().IsActive() {
			active++
		}
	}
	if active != 1 || w.noted(event.ControllerResigned, old) != 1 {
		t.Fatalf("%d controllers, %d resignations", active, w.noted(event.ControllerResigned, old))
	}
	leader := kafka.NodeID(0)
	w.until("all are in sync again", func() bool {
		for id := range kafka.NodeID(3) {
			if p := w.part(id+1, "orders"); p.IsLeader() && len(p.ISR()) == 3 {
				leader = id + 1
			}
		}
		return leader != 0
	})
	if code, _ := produced(w.client(leader).ask(w.produce(-1, "orders", 0, batch("a")))); code != kafka.None {
		t.Fatal(code)
	}
}

// brittle is a file system that fails the operations that fail says.
type brittle struct {
	vfs.FS
	fail func(op, name string) error
}

type brittleFile struct {
	vfs.File
	fs *brittle
}

func (b *brittle) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &brittleFile{f, b}, nil
}

func (b *brittle) Create(name string) (vfs.File, error) {
	if err := b.fail("create", name); err != nil {
		return nil, err
	}
	return b.wrap(b.FS.Create(name))
}
func (b *brittle) Open(name string) (vfs.File, error) { return b.wrap(b.FS.Open(name)) }
func (f *brittleFile) Append(p []byte) error {
	if err := f.fs.fail("append", f.Name()); err != nil {
		return err
	}
	return f.File.Append(p)
}
func (f *brittleFile) Sync() error {
	if err := f.fs.fail("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// breakable gives broker 1 a disk that can fail, from its start.
func breakable(t *testing.T) (*world, *brittle) {
	w := newWorld(t, "zk-3.9")
	disk := &brittle{FS: vfstest.NewMem(), fail: func(string, string) error { return nil }}
	w.parties["broker-1"] = &party{name: "broker-1", fs: disk}
	w.order = append(w.order, w.parties["broker-1"])
	w.cluster(3)
	return w, disk
}

func TestDiskErrorHaltsTheBroker(t *testing.T) {
	for _, op := range []string{"append .log", "sync replication-offset-checkpoint", "sync leader-epoch-checkpoint", "create .log"} {
		t.Run(op, func(t *testing.T) {
			w, disk := breakable(t)
			if !strings.HasPrefix(op, "create") {
				w.create("orders", nil, 1, 2, 3)
			}
			word, file, _ := strings.Cut(op, " ")
			disk.fail = func(op, name string) error {
				if op == word && strings.Contains(name, file) {
					return fmt.Errorf("%s %s: %w", op, name, vfs.ErrIO)
				}
				return nil
			}
			switch {
			case strings.HasPrefix(op, "append"):
				w.client(1).send(w.produce(-1, "orders", 0, batch("a")))
			case strings.Contains(op, "epoch"):
				w.client(1).send(w.leaderAndISR(1, 50, state(1, 9, 1, 2, 3)))
			case strings.HasPrefix(op, "create"):
				w.create("orders", nil, 2, 1, 3)
			}
			w.until("broker 1 is down", func() bool { return w.down(1) })
			if why := w.parties["broker-1"].exit; why != "all log directories offline" || w.noted(event.DirectoryOffline, 1) != 1 {
				t.Fatal(why)
			}
		})
	}
}

func TestCrashAtADiskOperationIsReturnedAsItIs(t *testing.T) {
	w, disk := breakable(t)
	w.create("orders", nil, 1, 2, 3)
	disk.fail = func(op, _ string) error {
		if op == "append" {
			return fmt.Errorf("append: %w", vfs.ErrCrashed)
		}
		return nil
	}
	w.client(1).send(w.produce(-1, "orders", 0, batch("a")))
	w.until("broker 1 is down", func() bool { return w.down(1) })
	if why := w.parties["broker-1"].exit; !strings.Contains(why, vfs.ErrCrashed.Error()) || w.noted(event.DirectoryOffline, 1) != 0 {
		t.Fatal(why)
	}
}

func TestStorage57IdentityOfTheDataDirectory(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(1)
	p, found, err := log.ReadMetaProperties(w.parties["broker-1"].fs, "data")
	if err != nil || !found || p.BrokerID != 1 || p.ClusterID != "test-cluster" {
		t.Fatal(p, found, err)
	}
	w.parties["broker-2"] = &party{name: "broker-2", fs: w.parties["broker-1"].fs}
	w.start(2)
	w.run(kafka.Second)
	if why := w.parties["broker-2"].exit; why != "the data directory belongs to broker-1" {
		t.Fatal(why)
	}
}

func TestJavaDate(t *testing.T) {
	for ms, want := range map[kafka.TimestampMs]string{
		1_700_000_000_000:      "Tue Nov 14 22:13:20 UTC 2023",
		0:                      "Thu Jan 01 00:00:00 UTC 1970",
		951_782_400_000:        "Tue Feb 29 00:00:00 UTC 2000",
		-1000:                  "Wed Dec 31 23:59:59 UTC 1969",
		1_735_689_599_000:      "Tue Dec 31 23:59:59 UTC 2024",
		1_735_689_600_000 + 59: "Wed Jan 01 00:00:00 UTC 2025",
	} {
		if got := javaDate(ms); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}

func TestRolledSegmentsAreFlushedInTheBackground(t *testing.T) {
	w := trio(t, "zk-3.9", map[string]string{"segment.bytes": "200"})
	c := w.client(1)
	for range 5 {
		c.ask(w.produce(-1, "orders", 0, batch("aaaaaaaaaaaaaaaaaaaaaaaa")))
	}
	w.run(kafka.Second)
	for id := range kafka.NodeID(3) {
		l := w.part(id+1, "orders").Log()
		segments := l.Segments()
		if len(segments) < 2 || l.RecoveryPoint() != segments[len(segments)-1].Base {
			t.Errorf("broker %d: %d segments, recovery point %d", id+1, len(segments), l.RecoveryPoint())
		}
	}
	if len(w.broker(1).flushes.list) != 0 {
		t.Error("a flush is left over")
	}
}

func TestCheckpointsAreWritten(t *testing.T) {
	w := trio(t, "zk-3.9", map[string]string{"segment.bytes": "200"})
	for range 5 {
		w.client(1).ask(w.produce(-1, "orders", 0, batch("aaaaaaaaaaaaaaaaaaaaaaaa")))
	}
	w.run(5100 * kafka.Millisecond)
	at := func(name string) kafka.Offset {
		entries, err := log.ReadOffsetCheckpoint(w.parties["broker-1"].fs, "data", name)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 {
			return kafka.NoOffset
		}
		return entries[0].Offset
	}
	if hw := at(log.HighWatermarkCheckpoint); hw != 5 {
		t.Errorf("high watermark %d", hw)
	}
	if rp := at(log.RecoveryPointCheckpoint); rp != kafka.NoOffset {
		t.Errorf("recovery point %d before log.initial.task.delay.ms", rp)
	}
	w.run(30 * kafka.Second)
	if rp := at(log.RecoveryPointCheckpoint); rp != w.part(1, "orders").Log().RecoveryPoint() || rp == 0 {
		t.Errorf("recovery point %d", rp)
	}
}
