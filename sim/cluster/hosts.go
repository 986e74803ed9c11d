package cluster

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/model/broker"
	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/simdisk"
	"github.com/simkafka/simkafka/sim/simnet"
)

// host is an actor of the cluster: what boots it again.
type host struct {
	id   kernel.ActorID
	name string
	kind hostKind
	boot func()
	rack string
	node kafka.NodeID // brokers
	disk *disk        // brokers

	stopping bool // had SIGTERM
	again    bool // boots when it has stopped
}

type hostKind uint8

const (
	zookeeperHost hostKind = iota
	brokerKind
	producerKind
	consumerKind
	toolKind // admin, verifier: no fault selects them
)

type brokerHost struct {
	host
	cfg     *config.Broker
	process *broker.Broker
}

type producerHost struct {
	host
	process *client.Producer
}

type consumerHost struct {
	host
	process consumerProcess       // nil before it boots
	member  *client.GroupConsumer // the same, of a consumer in a group
	group   string                // "" = none
	topics  []string
}

// consumerProcess is a consumer with assigned partitions or a member of a group.
type consumerProcess interface {
	step.Node
	Positions() []client.StartOffset
	Leaderless() []client.Leaderless
	Brokers() []kafka.NodeID
}

const (
	brokerPort    = 9092
	zookeeperPort = 2181
	zookeeperName = "zookeeper"
)

func (c *Cluster) add(h *host) {
	h.id = c.k.Add(h.name, kernel.Options{})
	c.names[h.name] = h
}

func (c *Cluster) buildZooKeeper() error {
	cfg, errs := config.NewZooKeeper(c.spec.Cluster.ZooKeeper)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.zkConfig, c.store = *cfg, zookeeper.NewStore()
	h := &host{name: zookeeperName, kind: zookeeperHost}
	h.boot = func() {
		c.k.Boot(h.id, zookeeper.NewServer(zookeeper.ServerConfig{ZooKeeper: c.zkConfig}, c.store), nil)
	}
	c.add(h)
	c.zookeeper = h.id
	return nil
}

func (c *Cluster) endpoints() []step.Addr {
	n := max(c.spec.Cluster.Endpoints, 1)
	out := make([]step.Addr, n)
	for i := range out {
		out[i] = step.Addr{Host: zookeeperName, Port: int32(zookeeperPort + i)}
	}
	return out
}

func (c *Cluster) buildBrokers() error {
	for i := range c.spec.Cluster.Brokers {
		id := kafka.NodeID(i + 1)
		rack := ""
		if i < len(c.spec.Cluster.Racks) {
			rack = c.spec.Cluster.Racks[i]
		}
		cfg, errs := config.NewBroker(c.profile, id, rack, c.brokerSettings(id))
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		if c.spec.Cluster.ServiceTime > 0 {
			cfg.RequestServiceTime = c.spec.Cluster.ServiceTime
		}
		h := &brokerHost{cfg: cfg, host: host{name: kafka.BrokerHost(id), kind: brokerKind, rack: rack, node: id}}
		h.disk = c.newDisk(h.name)
		h.boot = func() { c.bootBroker(h) }
		c.brokers = append(c.brokers, h)
		c.add(&h.host)
	}
	for i := range c.spec.Topics {
		t, errs := config.ParseTopic(c.brokers[0].cfg.LogDefaults, c.spec.Topics[i].Config)
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		c.topicConf = append(c.topicConf, t)
	}
	return nil
}

// brokerSettings are the cluster's settings, then the broker's own. A scenario
// names its topics: unless it says otherwise, old clients, whose metadata requests
// always ask for it, shall not create them before the admin does.
func (c *Cluster) brokerSettings(id kafka.NodeID) []config.Setting {
	all := []config.Setting{{Key: "auto.create.topics.enable", Value: "false"}}
	all = append(all, c.spec.Cluster.Config...)
	for _, b := range c.spec.Cluster.PerBroker {
		if b.Node == id {
			all = append(all, b.Settings...)
		}
	}
	return all
}

func (c *Cluster) newDisk(name string) *disk {
	draws := c.k.Draws().Sub(name).Sub("disk")
	d := c.spec.Cluster.Disk
	profile := diskCosts(c.spec.Hardware)
	if d.Append > 0 {
		profile.Append = d.Append
	}
	if d.Fsync > 0 {
		profile.Sync, profile.SyncJitter = d.Fsync, d.Fsync/2
	}
	if d.Bandwidth > 0 {
		profile.SyncPerKiB = kafka.Nanos(int64(kafka.Second) * 1024 / d.Bandwidth)
	}
	made := simdisk.New(simdisk.Config{Profile: profile, Capacity: d.Capacity, WritebackAge: d.Writeback, Personality: filesystem(d.Filesystem),
		Names: c.files, Reads: c.reads}, draws.Draw)
	made.SetWallOffset(c.k.Epoch())
	return newDisk(made)
}

// filesystem is the personality of a disk; the words are checked when a scenario is read.
func filesystem(word string) simdisk.Personality {
	p, _ := simdisk.ParsePersonality(word)
	return p
}

// diskCosts are those of a hardware profile, or the built-in ones.
func diskCosts(h *scenarios.Hardware) simdisk.Profile {
	if h == nil {
		return simdisk.DefaultProfile()
	}
	return simdisk.Profile{
		Append: h.Append.Call, AppendPerKiB: h.Append.PerKiB,
		Read: h.ReadHit.Call, ReadPerKiB: h.ReadHit.PerKiB,
		ReadMiss: h.ReadMiss.Call, ReadMissPerKiB: h.ReadMiss.PerKiB,
		Sync: h.Fsync.Call, SyncPerKiB: h.Fsync.PerKiB, SyncJitter: h.FsyncJitter,
		Send: h.Sendfile.Call, SendPerKiB: h.Sendfile.PerKiB,
		Metadata: h.Metadata,
	}
}

func (c *Cluster) bootBroker(h *brokerHost) {
	h.process = broker.New(broker.Params{
		Config: h.cfg, FS: h.disk.Disk, DataDir: dataDir, ClusterID: clusterID,
		Listen: step.Addr{Host: h.name, Port: brokerPort}, ZooKeeper: c.endpoints(), Scratch: c.scratch,
	})
	c.k.Boot(h.id, h.process, h.disk)
	if h.disk.registry != nil {
		if _, fired := h.disk.registry.Hit(point.Boot); fired {
			c.k.Crash(h.id, "failpoint boot", kernel.Kill)
		}
	}
}

// dataDir is where a broker's disk has its log directory. File patterns of
// scenarios begin below it: orders-0/*.log.
const dataDir = "data"

// clusterID is what /cluster/id holds; Kafka draws one, here all clusters share it.
const clusterID = "c2lta2Fma2EtY2x1c3Rlcg"

func (c *Cluster) bootstrap() []step.Addr {
	var out []step.Addr
	for _, b := range c.brokers {
		out = append(out, step.Addr{Host: b.name, Port: brokerPort})
	}
	return out
}

func (c *Cluster) buildClients() error {
	c.buildAdmin()
	number := int32(0)
	for i := range c.spec.Producers {
		p := &c.spec.Producers[i]
		cfg, errs := config.NewProducer(c.profile, p.Config)
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		for n := range max(p.Count, 1) {
			number++
			c.addProducer(p, n, number, cfg)
		}
	}
	for i := range c.spec.Consumers {
		s := &c.spec.Consumers[i]
		cfg, errs := config.NewConsumer(c.profile, s.Config)
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		for n := range max(s.Count, 1) {
			if s.Group != "" {
				c.addMember(s, n, cfg)
			} else {
				c.addConsumer(s, n, cfg)
			}
		}
	}
	return nil
}

func member(name string, count, n int) string {
	if count <= 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

func (c *Cluster) addProducer(p *scenarios.Producer, n int, number int32, cfg *config.Producer) {
	h := &producerHost{host: host{name: member(p.Name, p.Count, n), kind: producerKind}}
	stop := p.Stop
	if stop == 0 || stop > c.spec.Duration {
		stop = c.spec.Duration
	}
	w := client.Workload{Topic: p.Topic, RatePerMil: p.RatePerMil, RecordSize: int(p.Size), KeyCount: p.Keys, TombstonePPM: p.Tombstones,
		Partition: p.Partition, Count: p.Records, StartAt: max(p.Start, c.start), StopAt: stop, Arrival: client.Constant}
	if p.Arrival == "exponential" {
		w.Arrival = client.Exponential
	}
	h.boot = func() {
		h.process = client.NewProducer(client.ProducerConfig{Producer: cfg, Number: number, Bootstrap: c.bootstrap(), Workload: w, Scratch: c.scratch})
		c.k.Boot(h.id, h.process, nil)
	}
	c.producers = append(c.producers, h)
	if c.suite != nil && cfg.MaxInFlight == 1 {
		c.suite.PromiseOrder(number)
	}
	c.add(&h.host)
}

func (c *Cluster) addConsumer(s *scenarios.Consumer, n int, cfg *config.Consumer) {
	h := &consumerHost{host: host{name: member(s.Name, s.Count, n), kind: consumerKind}}
	h.boot = func() {
		var from []client.StartOffset
		if h.process != nil {
			from = h.process.Positions() // what an application that stores its offsets would know
		}
		h.process = client.NewConsumer(client.ConsumerConfig{Consumer: cfg, Bootstrap: c.bootstrap(), StartOffsets: from, EndOffsets: s.EndOffsets, Scratch: c.scratch,
			Assignment: client.Assignment{Topics: s.Topics, Index: n, Members: max(s.Count, 1)}})
		c.k.Boot(h.id, h.process, nil)
	}
	c.consumers = append(c.consumers, h)
	c.add(&h.host)
}

// addMember adds a consumer of a group. What it had read is known to its group alone.
func (c *Cluster) addMember(s *scenarios.Consumer, n int, cfg *config.Consumer) {
	h := &consumerHost{host: host{name: member(s.Name, s.Count, n), kind: consumerKind}, group: s.Group, topics: s.Topics}
	g := client.GroupConfig{Consumer: cfg, Bootstrap: c.bootstrap(), Group: s.Group, Topics: s.Topics, Processing: s.Processing, Revoke: s.Revoke, Drop: s.OnStop == "drop",
		Commit: commitModes[s.Commit], Scratch: c.scratch}
	if cfg.GroupInstanceID != "" {
		g.InstanceID = member(cfg.GroupInstanceID, s.Count, n)
	}
	h.boot = func() {
		h.member = client.NewGroupConsumer(g)
		h.process = h.member
		c.k.Boot(h.id, h.process, nil)
	}
	c.consumers = append(c.consumers, h)
	c.add(&h.host)
}

// commitModes are the words of a scenario.
var commitModes = map[string]client.CommitMode{"": client.CommitAuto, "auto": client.CommitAuto, "sync": client.CommitSync,
	"async": client.CommitAsync, "before": client.CommitBefore}

func (c *Cluster) buildAdmin() {
	cfg := client.AdminConfig{Bootstrap: c.bootstrap(), MetadataVersion: c.profile.Versions.Metadata}
	for _, t := range c.spec.Topics {
		cfg.Topics = append(cfg.Topics, newTopic(&t))
	}
	h := &host{name: "admin", kind: toolKind}
	h.boot = func() {
		c.admin = client.NewAdmin(cfg)
		c.k.Boot(h.id, c.admin, nil)
	}
	c.add(h)
}

// newTopic is how a topic of the scenario is created.
func newTopic(t *scenarios.Topic) client.NewTopic {
	n := client.NewTopic{Name: t.Name, Partitions: t.Partitions, Replication: int16(t.Replication), Assignment: t.Assignment}
	for _, s := range t.Config {
		n.Configs = append(n.Configs, client.TopicConfig{Key: s.Key, Value: s.Value})
	}
	return n
}

// adminStart gives the brokers time to register, so that placement sees all of them.
const adminStart = kafka.Second

func (c *Cluster) bootAll() {
	c.names[zookeeperName].boot()
	for _, b := range c.brokers {
		b.boot()
	}
	c.k.At(adminStart, c.names["admin"].boot)
	for _, p := range c.producers {
		c.k.At(adminStart, p.boot)
	}
	for i, s := range c.spec.Consumers {
		for n := range max(s.Count, 1) {
			h := c.names[member(c.spec.Consumers[i].Name, s.Count, n)]
			c.k.At(max(adminStart, s.Start), func() {
				if c.k.Incarnation(h.id) == 0 { // else a fault has started it before its time
					h.boot()
				}
			})
		}
	}
}

// exited takes the crash image when a process has ended, and boots it again if a
// restart waited for that.
func (c *Cluster) exited(e kernel.Exit) {
	h := c.names[c.k.Name(e.Actor)]
	if h == nil {
		return
	}
	if h.again {
		c.k.At(c.k.Now(), func() {
			if _, up := c.running(h.name); !up { // else another fault has started it in the same moment
				h.boot()
			}
		})
	}
	h.stopping, h.again = false, false
	if h.disk == nil {
		return
	}
	kind := simdisk.Kill
	if e.Mode == kernel.Power {
		kind = simdisk.PowerLoss
	}
	h.disk.Crash(kind, c.k.Now())
}

// points gives a broker its failpoints when the first one is armed.
func (c *Cluster) points(h *host) *point.Registry {
	if h.disk.registry == nil {
		r := new(point.Registry)
		h.disk.registry = r
		h.disk.SetPoints(r)
		c.net.OnDeliver(func(m *simnet.Message) (a simnet.Action) {
			if m.To == h.name {
				if _, fired := r.Hit(point.MessageDelivery); fired {
					a.Verb = simnet.Reset
				}
			}
			return a
		})
	}
	return h.disk.registry
}
