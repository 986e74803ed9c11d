package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var generate = flag.Bool("generate", false, "make testdata/golden anew with real brokers")

// quietSettings keep the background work of a broker out of the golden directories:
// no retention and no periodic checkpoint, but a quick cleaner.
var quietSettings = []string{
	"log.initial.task.delay.ms=3600000",
	"log.cleaner.backoff.ms=300",
	"replica.high.watermark.checkpoint.interval.ms=1000",
	"log.segment.delete.delay.ms=100",
}

// TestGenerateGoldens makes the golden directories. It is no test of simkafka.
func TestGenerateGoldens(t *testing.T) {
	if !*generate {
		t.Skip("testdata/conformance/generate does it")
	}
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		g := &generator{c: newRealBroker(t, r, quietSettings...), m: manifest{
			Kafka: r.version, Java: javaVersion(t), KRaft: r.kraft, Broker: quietSettings, Topics: goldenTopics(r),
		}}
		g.run()
	})
}

// generator lives the lives of the broker.
type generator struct {
	c *realBroker
	w *workload
	m manifest
}

func (g *generator) run() {
	t, c := g.c.t, g.c
	if err := os.RemoveAll(c.r.golden()); err != nil {
		t.Fatal(err)
	}
	c.start()
	g.w = &workload{d: c.driver}
	g.createTopics()
	g.w.openProducers()
	g.firstLife()
	g.end("clean")
	c.start()
	g.secondLife()
	g.end("clean")
	c.start()
	g.w.plain("codecs", 800, 2) // the other topics only see another epoch
	g.settle()
	g.saveRecords(cleanDir)
	g.end("clean")
	g.save(cleanDir)
	c.start()
	g.lastLife()
	g.settle()
	g.end("kill")
	g.damage()
	g.save(killedDir)
	c.start()
	g.settle()
	g.saveRecords(recoveredDir)
	g.end("clean")
	g.save(recoveredDir)
	g.saveManifest()
}

func (g *generator) createTopics() {
	for i := range g.m.Topics {
		g.m.Topics[i].ID = g.c.create(g.m.Topics[i])
	}
}

func (g *generator) firstLife() {
	w := g.w
	w.codecs(0)
	w.appendTime(0)
	w.recompressed(0)
	w.createTime(0)
	w.indexFull(0)
	w.plain("preallocated", 0, 12)
	w.plain("flushed", 0, 14)
	w.transactions(0)
	w.compacted("compacted", 0)
	w.compacted("drained", 0)
	w.plain("start-raised", 0, 14)
	w.plain("idle", 0, 8)
	for _, topic := range []string{"torn", "torn-header", "zeros", "rotten", "no-index"} {
		w.plain(topic, 0, 9)
	}
	w.d.do("delete-records", "start-raised", "8") // inside a batch and a segment
}

func (g *generator) secondLife() {
	w := g.w
	w.plain("codecs", 400, 3)
	w.appendTime(400)
	w.createTime(20)
	w.indexFull(400)
	w.plain("preallocated", 400, 5)
	w.plain("flushed", 400, 4)
	w.plain("start-raised", 400, 4)
	w.compacted("compacted", 400)
	w.compacted("drained", 400)
	w.transactions(400)
}

// lastLife ends with a kill; one transaction stays open.
func (g *generator) lastLife() {
	w := g.w
	w.codecs(900)
	w.appendTime(900)
	w.createTime(40)
	w.indexFull(900)
	w.plain("preallocated", 900, 6)
	w.plain("flushed", 900, 5)
	w.plain("start-raised", 900, 3)
	w.compacted("compacted", 900)
	w.d.do("begin", "txn1")
	w.batch("txn1", "transactions", rec(900_000, "open", w.value(60)))
	w.plain("transactions", 901, 9)
	for _, topic := range []string{"torn", "torn-header", "zeros", "rotten", "no-index"} {
		w.plain(topic, 900, 14)
	}
}

// end stops the broker and notes where the logs ended.
func (g *generator) end(how string) {
	l := life{Stop: how, End: make(map[string]offsets)}
	for _, topic := range g.m.Topics {
		l.End[topic.Name] = g.c.driver.offsets(topic.Name)
	}
	g.m.Lives = append(g.m.Lives, l)
	if how == "kill" {
		g.c.kill()
	} else {
		g.c.stop()
	}
	var names []string
	for _, topic := range g.m.Topics {
		names = append(names, topic.Name)
	}
	g.c.raiseEpochs(2*len(g.m.Lives), names)
}

// settle waits until the cleaner and the deletion of files have nothing left to do.
func (g *generator) settle() {
	const quiet = 4 * time.Second
	g.c.t.Log("settling")
	last, since := g.fingerprint(), time.Now()
	for time.Since(since) < quiet {
		time.Sleep(500 * time.Millisecond)
		if now := g.fingerprint(); now != last {
			last, since = now, time.Now()
		}
	}
}

// fingerprint tells names and lengths of all segment files.
func (g *generator) fingerprint() string {
	var out strings.Builder
	_ = filepath.WalkDir(g.c.data(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "__cluster_metadata") {
			if info, err := d.Info(); err == nil {
				fmt.Fprintln(&out, path, info.Size())
			}
		}
		return nil
	})
	return out.String()
}

// damage does to the files of the killed broker what a power failure, a bad sector
// and an operator can do.
func (g *generator) damage() {
	g.hurt("cut 17", "torn", -1, ".log")
	g.hurt("cut 70", "torn-header", -1, ".log") // 9 bytes are left of the last batch
	g.hurt("zeros 300", "zeros", -1, ".log")
	g.hurt("flip 200", "rotten", -3, ".log") // the second batch
	g.hurt("remove", "no-index", 0, ".index")
	g.hurt("remove", "no-index", 1, ".timeindex")
}

// hurt damages the nth file with the suffix in a topic's directory; -1 is the last.
func (g *generator) hurt(what, topic string, nth int, suffix string) {
	t := g.c.t
	files, err := filepath.Glob(filepath.Join(g.c.data(), topic+"-0", "*"+suffix))
	if err != nil || len(files) < 3 {
		t.Fatalf("%s has only %q: %v", topic, files, err)
	}
	if nth < 0 {
		nth += len(files)
	}
	name, err := filepath.Rel(g.c.data(), files[nth])
	if err != nil {
		t.Fatal(err)
	}
	d := damage{File: name, What: what}
	if err := d.harm(g.c.data()); err != nil {
		t.Fatal(err)
	}
	g.m.Damage = append(g.m.Damage, d)
}

// save copies the log directory. The metadata log's active index is 10 MiB long
// while its broker lives, so that it is left out of the killed directory.
func (g *generator) save(name string) {
	t := g.c.t
	to := filepath.Join(g.c.r.golden(), name)
	err := filepath.WalkDir(g.c.data(), func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(g.c.data(), path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "__cluster_metadata-0" && name != cleanDir:
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case d.Name() == ".lock":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (g *generator) saveRecords(name string) {
	var out strings.Builder
	for _, topic := range g.m.Topics {
		for _, line := range g.c.driver.do("consume", topic.Name).lines {
			out.WriteString(line + "\n")
		}
	}
	writeText(g.c.t, filepath.Join(g.c.r.golden(), name+".records.jsonl"), out.String())
}

func (g *generator) saveManifest() {
	b, err := json.MarshalIndent(g.m, "", " ")
	if err != nil {
		g.c.t.Fatal(err)
	}
	writeText(g.c.t, filepath.Join(g.c.r.golden(), "manifest.json"), string(b)+"\n")
}
