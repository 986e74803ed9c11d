package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// consumerMaxInFlight is ConsumerNetworkClient's limit for each connection.
const consumerMaxInFlight = 100

// StartOffset is where to begin reading a partition.
type StartOffset struct {
	TP     kafka.TopicPartition
	Offset kafka.Offset
	Epoch  kafka.LeaderEpoch // of the record before it, NoLeaderEpoch if unknown
}

// Assignment says which partitions a client reads.
type Assignment struct {
	// Partitions are read if the list is not empty, and then Topics is not used.
	Partitions []kafka.TopicPartition
	// Topics are shared by Members clients: client Index (from 0) reads partition p
	// of the t-th topic if (t + p) mod Members = Index. Members 0 means 1.
	Topics         []string
	Index, Members int
}

// reader finds positions and fetches: what Consumer and Verifier share.
type reader struct {
	cfg     *config.Consumer
	policy  config.ResetPolicy
	checked *record.Checked // of the brokers that it reads from; may be nil
	network network
	wake    netclient.Alarm
	topics  []readTopic
	index   int
	members int
	starts  []StartOffset
	parts   []*assigned // all of them, in order of adoption
	seen    int         // metadata version taken in
	turn    int         // index in parts to begin the next fetch with
	nodes   []fetchNode
	sink    sink
	// hold takes the records of a fetch instead of sink, to be consumed later; nil = not.
	hold    func(a *assigned, data []byte, node kafka.NodeID)
	bounded bool // read up to the high watermark only
	monitor lagMonitor
	failure string // what was raised
}

// sink takes what a reader reads: one batch at or after the position, with the
// broker that served it.
type sink interface {
	take(in *step.Input, out *step.Effects, a *assigned, b record.Batch, node kafka.NodeID)
}

// readTopic is a topic with the partitions that are read of it.
type readTopic struct {
	info   *topicInfo
	listed []int32     // nil = by share
	parts  []*assigned // by partition; nil = not ours
}

// fetchNode is a broker that is fetched from: one fetch at a time (C-10).
type fetchNode struct {
	id      kafka.NodeID
	busy    bool
	pending *fetch // being collected in the current run
	spare   *fetch // the one answered last, whose memory the next one uses
}

// share makes the reader use what it has in common with the brokers that it reads from.
func (r *reader) share(s *record.Scratch, it *record.Iterator) {
	if s != nil {
		r.checked = s.Checked
		it.UseScratch(s)
	}
}

func newReader(cfg *config.Consumer, bootstrap []step.Addr, as Assignment, starts []StartOffset) reader {
	r := reader{cfg: cfg, policy: cfg.AutoOffsetReset, starts: starts, index: as.Index, members: as.Members,
		wake: netclient.Alarm{Lane: lane, Kind: wakeTimer}}
	r.network = newNetwork(networkConfig{
		bootstrap: bootstrap, version: cfg.Profile.Versions.Metadata, maxInFlight: consumerMaxInFlight,
		requestTimeout: cfg.RequestTimeout, setupTimeout: cfg.ConnectionSetup,
		reconnectBackoff: cfg.ReconnectBackoff, reconnectMax: cfg.ReconnectMax,
		retryBackoff: cfg.RetryBackoff, retryBackoffMax: cfg.RetryBackoffMax, metadataMaxAge: cfg.MetadataMaxAge, quirks: cfg.Profile.Quirks,
	})
	for _, tp := range as.Partitions {
		t := r.topic(tp.Topic)
		t.listed = append(t.listed, tp.Partition)
	}
	if len(as.Partitions) == 0 {
		for _, name := range as.Topics {
			r.topic(name)
		}
	}
	return r
}

func (r *reader) topic(name string) *readTopic {
	info := r.network.meta.topic(name)
	for i := range r.topics {
		if r.topics[i].info == info {
			return &r.topics[i]
		}
	}
	r.topics = append(r.topics, readTopic{info: info})
	return &r.topics[len(r.topics)-1]
}

// step takes one input and does all that it makes possible.
func (r *reader) step(in *step.Input, out *step.Effects) {
	switch {
	case in.Kind == step.Terminate:
		out.Exit("closed")
		return
	case r.wake.Owns(in):
		r.wake.Fired(in)
	default:
		done := r.network.handle(in, out)
		for i := range done {
			r.ended(in, out, &done[i])
		}
	}
	next := r.run(in, out)
	if r.failed() {
		out.Exit(r.failure)
		return
	}
	r.wake.Set(out, next)
}

func (r *reader) ended(in *step.Input, out *step.Effects, c *netclient.Completion) {
	switch t := c.Tag.(type) {
	case *fetch:
		r.fetched(in, out, c, t)
	case *question:
		r.answered(in, out, c, t)
	}
}

// run is one turn of the poll loop; it returns when to come back.
func (r *reader) run(in *step.Input, out *step.Effects) kafka.Nanos {
	next := r.network.maybeUpdate(in, out)
	if r.assign(); r.failed() {
		return kafka.Forever
	}
	next = min(next, r.ask(in, out), r.fetch(in, out))
	return min(next, r.network.maybeUpdate(in, out))
}

// raise is an exception out of poll, which ends the application.
func (r *reader) raise(text string) {
	if r.failure == "" {
		r.failure = "consumer: " + text
	}
}

func (r *reader) failed() bool { return r.failure != "" }

func (r *reader) node(id kafka.NodeID) *fetchNode {
	for i := range r.nodes {
		if r.nodes[i].id == id {
			return &r.nodes[i]
		}
	}
	r.nodes = append(r.nodes, fetchNode{id: id})
	return &r.nodes[len(r.nodes)-1]
}

// readyNode is r's leader if a request can go there now. next is lowered to when
// its reconnect backoff ends.
func (r *reader) readyNode(in *step.Input, out *step.Effects, a *assigned, next *kafka.Nanos) bool {
	addr, ok := r.network.meta.addr(a.pos.leader.leader)
	if !ok {
		r.network.requestUpdate()
		return false
	}
	if r.network.ready(in, out, a.pos.leader.leader) {
		return true
	}
	if at := r.network.net.BackoffUntil(addr); at > in.Now {
		*next = min(*next, at)
	}
	return false
}
