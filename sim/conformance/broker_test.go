package conformance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
)

// realBroker is one real broker with its ZooKeeper or its own controller, on loopback.
type realBroker struct {
	t      *testing.T
	r      release
	dir    string
	port   int
	other  int // of ZooKeeper or of the controller
	extra  []string
	zk     *process
	broker *process
	driver *driver
}

// newRealBroker prepares a cluster in a directory of its own; nothing runs yet. extra
// are lines of its server.properties.
func newRealBroker(t *testing.T, r release, extra ...string) *realBroker {
	t.Helper()
	c := &realBroker{t: t, r: r, dir: t.TempDir(), port: freePort(t), other: freePort(t), extra: extra}
	writeText(t, c.properties(), c.settings())
	if r.kraft {
		c.tool("kafka.tools.StorageTool", "format", "-t", "c2lta2Fma2Etc2lta2Fmaw", "-c", c.properties())
		return c
	}
	zk := filepath.Join(c.dir, "zookeeper.properties")
	writeText(t, zk, fmt.Sprintf("dataDir=%s/zookeeper\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=500\nadmin.enableServer=false\n", c.dir, c.other))
	c.zk = startProcess(t, "ZooKeeper", filepath.Join(c.dir, "zookeeper.out"),
		r.java(t, "96m", "org.apache.zookeeper.server.quorum.QuorumPeerMain", zk))
	return c
}

func (c *realBroker) properties() string { return filepath.Join(c.dir, "server.properties") }

// data is the broker's log directory.
func (c *realBroker) data() string { return filepath.Join(c.dir, "data") }

func (c *realBroker) settings() string {
	lines := []string{
		"log.dirs=" + c.data(),
		"auto.create.topics.enable=false",
		"num.network.threads=1",
		"num.io.threads=2",
		"background.threads=2",
		"offsets.topic.num.partitions=1",
		"offsets.topic.replication.factor=1",
		"transaction.state.log.num.partitions=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"log.index.size.max.bytes=4096",
		"log.retention.ms=-1",
		"log.cleaner.dedupe.buffer.size=2097152",
	}
	if c.r.kraft {
		lines = append(lines,
			"process.roles=broker,controller",
			"node.id=0",
			fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", c.port, c.other),
			"controller.listener.names=CONTROLLER",
			fmt.Sprintf("controller.quorum.voters=0@127.0.0.1:%d", c.other))
	} else {
		lines = append(lines,
			"broker.id=0",
			fmt.Sprintf("listeners=PLAINTEXT://127.0.0.1:%d", c.port),
			"zookeeper.connect="+loopback(c.other),
			"zookeeper.session.timeout.ms=3000",
			"zookeeper.connection.timeout.ms=60000")
	}
	return strings.Join(append(lines, c.extra...), "\n") + "\n"
}

// tool runs one of Kafka's programs to its end and returns what it printed.
func (c *realBroker) tool(main string, args ...string) string {
	c.t.Helper()
	out, err := c.r.java(c.t, "128m", main, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", main, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// readyWithin bounds a start, recovery included.
const readyWithin = 3 * time.Minute

// start starts the broker and waits until it serves.
func (c *realBroker) start() {
	c.t.Helper()
	if !c.tryStart() {
		c.t.Fatalf("the broker does not serve:\n%s", c.broker.tail())
	}
}

// tryStart is start for a broker that may end at once.
func (c *realBroker) tryStart() bool {
	c.t.Helper()
	c.broker = startProcess(c.t, "the broker", filepath.Join(c.dir, "broker.out"),
		c.r.java(c.t, "256m", "kafka.Kafka", c.properties()))
	if c.driver == nil {
		c.driver = startDriver(c.t, c.r, c.dir, loopback(c.port))
	}
	for deadline := time.Now().Add(readyWithin); time.Now().Before(deadline) && !c.broker.ended(); {
		if _, err := c.driver.try("ready"); err == nil {
			return true
		}
	}
	return false
}

// raiseEpochs gives topics of a ZooKeeper cluster whose broker is down another leader
// epoch. Its controller would not do so, since the leader that comes back is the one
// that the state names; a KRaft controller does it by itself.
func (c *realBroker) raiseEpochs(epoch int, topics []string) {
	c.t.Helper()
	if c.r.kraft {
		return
	}
	var script strings.Builder
	for _, topic := range topics {
		fmt.Fprintf(&script, `set /brokers/topics/%s/partitions/0/state {"controller_epoch":1,"leader":0,"version":1,"leader_epoch":%d,"isr":[0]}`+"\n", topic, epoch)
	}
	cmd := c.r.java(c.t, "96m", "org.apache.zookeeper.ZooKeeperMain", "-server", loopback(c.other))
	cmd.Stdin = strings.NewReader(script.String())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "KeeperErrorCode") {
		c.t.Fatalf("the epochs cannot be raised: %v\n%s", err, out)
	}
}

func (c *realBroker) stop() { c.broker.stop() }
func (c *realBroker) kill() { c.broker.kill() }

// create makes a topic and returns its id.
func (c *realBroker) create(topic goldenTopic) string {
	c.t.Helper()
	words := []string{"create", topic.Name, "1"}
	for k, v := range topic.Settings {
		words = append(words, k+"="+v)
	}
	return c.driver.do(words...).words
}

// records are what a consumer sees of a topic. last is the offset after its last
// record, which a log that ends in a hole does not tell the consumer.
func (c *realBroker) records(topic string, last kafka.Offset) []goldenRecord {
	c.t.Helper()
	var out []goldenRecord
	for _, line := range c.driver.do("consume", topic, strconv.FormatInt(int64(last), 10)).lines {
		var r goldenRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}
