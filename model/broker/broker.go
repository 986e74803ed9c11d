package broker

import (
	"errors"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/zkcontroller"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// Params makes a Broker.
type Params struct {
	Config  *config.Broker
	FS      vfs.FS
	DataDir string    // the data directory, or that in which those of log.dirs are; "" is "data"
	Listen  step.Addr // Host = kafka.BrokerHost(id)
	// ZooKeeper lists the endpoints of the ensemble (zookeeper.connect).
	ZooKeeper []step.Addr
	// ClusterID is proposed for /cluster/id if that is not there yet.
	ClusterID string
	// Scratch may be shared with all brokers and clients of a simulation; nil: the
	// broker has its own.
	Scratch *record.Scratch
}

// State is where the process is in its life (BrokerState).
type State uint8

// The states.
const (
	Starting     State = iota // until ZooKeeper has answered
	Recovering                // loading logs
	Running                   // registered and serving
	ShuttingDown              // from SIGTERM on
	Stopped                   // has asked to exit; nothing is done any more
)

var stateNames = [...]string{"starting", "recovering", "running", "shutting down", "stopped"}

func (s State) String() string { return stateNames[s] }

// Broker is one life of a broker process.
type Broker struct {
	params  Params
	cfg     *config.Broker
	state   State
	formats zookeeper.Formats

	zk         *zookeeper.Client
	controller *zkcontroller.Controller
	env        replica.Env
	logs       *log.Directories
	cache      metadataCache
	session    sessions
	topics     topicTable
	fetchers   fetcherManager
	alter      *replica.AlterPartitionManager
	alterZK    *replica.ZkAlterPartitionManager
	changes    stateChanges
	configs    configChanges
	flushes    flushes
	cleaner    cleaners
	// hwCheckpoints: the task that writes high watermarks runs.
	hwCheckpoints bool
	waiting       purgatory
	creations     []*topicCreation // in order of arrival
	removals      []*topicRemoval  // in order of arrival
	groups        groups
	shutdown      shutdown

	// bound: connections are accepted. serving: requests are handled; before that
	// they wait in held.
	bound, serving bool
	held           []*heldRequest
	// controllerEpoch is the largest seen in a control request (L-28).
	controllerEpoch kafka.ControllerEpoch

	moved []*hosted // partitions to be looked at after the handler
	// failedDirs are directories that failed in this step.
	failedDirs []*log.DirError
	// failure is an error that a callback without a result met in this step.
	failure error
	// in is the input of the step in progress, for draws from within the log.
	in *step.Input
	// drawn counts the draws of each name in this life.
	drawn map[string]uint64
}

// New makes a broker that has not booted.
func New(p Params) *Broker {
	if p.DataDir == "" {
		p.DataDir = "data"
	}
	b := &Broker{params: p, cfg: p.Config, formats: zookeeper.FormatsOf(p.Config.Profile), drawn: make(map[string]uint64)}
	b.zk = zookeeper.NewClient(zookeeper.ClientConfig{
		Lane: laneZK, Endpoints: p.ZooKeeper, SessionTimeout: b.cfg.ZKSessionTimeout,
		ConnectTimeout: b.cfg.ZKConnectionTimeout, MaxInFlight: b.cfg.ZKMaxInFlight, TimerBase: timersZK,
	})
	b.controller = zkcontroller.New(b.cfg, b.zk, laneZK, timersController)
	b.env = replica.Env{Node: b.cfg.NodeID, Config: b.cfg, Cluster: cluster{b}, Watcher: b}
	b.topics.init(b.cfg, p.Scratch)
	b.waiting.init()
	b.logs = log.NewDirectories(p.FS, DataDirs(p.DataDir, p.Config.LogDirs), b.topics.logConfig, b.segmentJitter, b.dirFailed)
	b.session.epoch = unknownEpoch
	if b.cfg.Profile.AlterPartition {
		b.alter = replica.NewAlterPartitionManager(&b.env, laneAlter, timerAlter, b.toController())
		b.env.ISR = b.alter
	}
	b.shutdown.client = netclient.New(netclient.Config{
		Lane: laneMain, RequestTimeout: b.cfg.ControllerSocketTimeout, SetupTimeout: setupTimeout,
		MaxInFlight: 1, TimerKind: timerShutdownNet, Name: "controlled-shutdown",
	})
	return b
}

// setupTimeout is socket.connection.setup.timeout.ms.
const setupTimeout = 10 * kafka.Second

// toController is the client under the NodeToControllerChannelManager.
func (b *Broker) toController() *netclient.Client {
	const backoff = 50 * kafka.Millisecond
	return netclient.New(netclient.Config{
		Lane: laneAlter, RequestTimeout: b.cfg.ControllerSocketTimeout, SetupTimeout: setupTimeout,
		ReconnectBackoff: backoff, ReconnectBackoffMax: backoff, MaxInFlight: 1, TimerKind: timerAlterNet,
		Name: "to-controller",
	})
}

// State is where the process is in its life.
func (b *Broker) State() State { return b.state }

// Controller is the process's controller module, active or not.
func (b *Broker) Controller() *zkcontroller.Controller { return b.controller }

// Partitions calls fn for each hosted partition, by topic and number, until it
// returns false.
func (b *Broker) Partitions(fn func(*replica.Partition) bool) {
	for _, h := range b.topics.hosted {
		if !fn(h.p) {
			return
		}
	}
}

// Idle reports whether nothing waits but consumers and followers at the log's end:
// no parked produce, no ISR change, no control request, no creation or deletion of topics.
func (b *Broker) Idle() bool {
	if b.waiting.parkedProduces > 0 || b.changes.busy || len(b.creations)+len(b.removals) > 0 || len(b.held) > 0 {
		return false
	}
	for _, h := range b.topics.hosted {
		if h.p.ISRInFlight() {
			return false
		}
	}
	return true
}

// Step implements step.Node.
func (b *Broker) Step(in *step.Input, out *step.Effects) error {
	if b.state == Stopped {
		return nil
	}
	b.in = in
	err := b.dispatch(in, out)
	for settled := false; err == nil && !settled; {
		if len(b.failedDirs) > 0 {
			err = b.takeDirsOffline(in, out)
		}
		if err == nil && !b.shutdown.stopping { // the logs may be closed
			err = b.lookAtParked(in, out)
			if err == nil && b.groups.coordinator != nil {
				err = b.settleGroups(in, out)
			}
		}
		settled = len(b.failedDirs) == 0 // at most one round for each directory
	}
	if err == nil {
		err = b.failure
	}
	b.in, b.failure = nil, nil
	switch {
	case err == nil:
		return nil
	case errors.Is(err, vfs.ErrCrashed):
		return err
	}
	b.halt(out, err)
	return nil
}

func (b *Broker) exit(out *step.Effects, reason string) {
	b.state = Stopped
	out.Exit(reason)
}

// note keeps the first error of a callback that cannot return one.
func (b *Broker) note(err error) {
	if b.failure == nil && err != nil {
		b.failure = err
	}
}

// segmentJitter is log.Jitter.
func (b *Broker) segmentJitter(dir string, base kafka.Offset) uint64 {
	return b.in.Draw("segment-jitter:"+dir, uint64(base))
}

// draw is the next draw of a name; it never repeats within the node's lives.
func (b *Broker) draw(in *step.Input, name string) uint64 {
	b.drawn[name]++
	return in.Draw(name, uint64(in.Incarnation)<<32|b.drawn[name])
}
