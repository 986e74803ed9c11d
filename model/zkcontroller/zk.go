package zkcontroller

import (
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// get reads a node and watches its data.
func get(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpGetData, Path: path, Watch: true}}
}

// read reads a node without a watch.
func read(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpGetData, Path: path}}
}

// exists watches a node whether it is there or not.
func exists(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpExists, Path: path, Watch: true}}
}

// children lists a node and watches its children.
func children(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpGetChildren, Path: path, Watch: true}}
}

// fenced makes a write conditional on our still being the controller (Z-9). The
// result of op is the second of its request.
func (c *Controller) fenced(op zookeeper.Op) zookeeper.Request {
	return zookeeper.Request{
		{Type: zookeeper.OpCheck, Path: zookeeper.ControllerEpochPath, Version: c.ctx.epochZKVersion},
		op,
	}
}

func (c *Controller) fencedCreates(paths []string) []zookeeper.Request {
	reqs := make([]zookeeper.Request, len(paths))
	for i, path := range paths {
		reqs[i] = c.fenced(zookeeper.Op{Type: zookeeper.OpCreate, Path: path})
	}
	return reqs
}

func (c *Controller) fencedDelete(path string) zookeeper.Request {
	return c.fenced(zookeeper.Op{Type: zookeeper.OpDelete, Path: path, Version: zookeeper.AnyVersion})
}

// fencedStateWrites writes states on condition of the version that they were read
// at (updateLeaderAndIsr).
func (c *Controller) fencedStateWrites(cs []candidate) []zookeeper.Request {
	reqs := make([]zookeeper.Request, len(cs))
	for i := range cs {
		version := int32(cs[i].info.partitionEpoch)
		if c.cfg.Profile.Quirks.Has(quirk.StateWrittenBlindly) {
			version = zookeeper.AnyVersion
		}
		reqs[i] = c.fenced(zookeeper.Op{Type: zookeeper.OpSetData, Path: zookeeper.StatePath(cs[i].p.tp),
			Version: version, Data: encodeState(cs[i].info)})
	}
	return reqs
}

// stateRead is a partition with the state that ZooKeeper holds.
type stateRead struct {
	p    *partition
	info leaderISR
}

func readStates(ps []*partition) []zookeeper.Request {
	reqs := make([]zookeeper.Request, len(ps))
	for i, p := range ps {
		reqs[i] = read(zookeeper.StatePath(p.tp))
	}
	return reqs
}

func encodeState(i leaderISR) []byte {
	return zookeeper.EncodePartitionState(zookeeper.PartitionState{Leader: i.leader, LeaderEpoch: i.leaderEpoch,
		ControllerEpoch: i.controllerEpoch, ISR: i.isr, Recovering: i.recovering})
}

// decodeState takes the answer to a read of a state znode; false if there is no
// state to be read in it.
func decodeState(r *zookeeper.Result) (leaderISR, bool) {
	if r.Code != zookeeper.OK {
		return leaderISR{}, false
	}
	s, err := zookeeper.DecodePartitionState(r.Data)
	if err != nil {
		return leaderISR{}, false
	}
	return leaderISR{leader: s.Leader, leaderEpoch: s.LeaderEpoch, isr: s.ISR, recovering: s.Recovering,
		controllerEpoch: s.ControllerEpoch, partitionEpoch: kafka.PartitionEpoch(r.Stat.Version)}, true
}

// uncleanAllowed is unclean.leader.election.enable of a topic, whose configuration
// znode r is; a topic without a readable override has the broker's default.
func uncleanAllowed(r *zookeeper.Result, byDefault bool) bool {
	entries, err := zookeeper.DecodeConfig(r.Data)
	if r.Code != zookeeper.OK || err != nil {
		return byDefault
	}
	for _, e := range entries {
		if e.Key == "unclean.leader.election.enable" {
			return strings.EqualFold(strings.TrimSpace(e.Value), "true")
		}
	}
	return byDefault
}

// parseIDs reads the children of /brokers/ids, which come sorted as text, into
// ascending numbers.
func parseIDs(names []string) []kafka.NodeID {
	ids := make([]kafka.NodeID, 0, len(names))
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 32); err == nil {
			ids = append(ids, kafka.NodeID(n))
		}
	}
	slices.Sort(ids)
	return ids
}
