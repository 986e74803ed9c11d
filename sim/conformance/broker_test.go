package conformance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// cluster is one real broker with its ZooKeeper or its own controller, on loopback.
type cluster struct {
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

// newCluster prepares a cluster in a directory of its own; nothing runs yet. extra
// are lines of its server.properties.
func newCluster(t *testing.T, r release, extra ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, r: r, dir: t.TempDir(), port: freePort(t), other: freePort(t), extra: extra}
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

func (c *cluster) properties() string { return filepath.Join(c.dir, "server.properties") }

// data is the broker's log directory.
func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) settings() string {
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
func (c *cluster) tool(main string, args ...string) string {
	c.t.Helper()
	out, err := c.r.java(c.t, "128m", main, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", main, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// start starts the broker and waits until it serves.
func (c *cluster) start() {
	c.t.Helper()
	c.broker = startProcess(c.t, "the broker", filepath.Join(c.dir, "broker.out"),
		c.r.java(c.t, "256m", "kafka.Kafka", c.properties()))
	if c.driver == nil {
		c.driver = startDriver(c.t, c.r, c.dir, loopback(c.port))
	}
	if _, err := c.driver.try("ready"); err != nil {
		c.t.Fatalf("the broker does not serve: %v\n%s", err, c.broker.tail())
	}
}

// raiseEpochs gives topics of a ZooKeeper cluster whose broker is down another leader
// epoch. Its controller would not do so, since the leader that comes back is the one
// that the state names; a KRaft controller does it by itself.
func (c *cluster) raiseEpochs(epoch int, topics []string) {
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

func (c *cluster) stop() { c.broker.stop() }
func (c *cluster) kill() { c.broker.kill() }
