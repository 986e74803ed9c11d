package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// AdminDone is the text of the Probe that an Admin notes when its topics have
// leaders.
const AdminDone = "admin-done"

// createTopicsVersion is spoken by every profile; it has all that is set here.
const createTopicsVersion = 1

// NewTopic is a topic to create.
type NewTopic struct {
	Name        string
	Partitions  int32
	Replication int16
	Assignment  [][]kafka.NodeID // by partition; nil = the controller places
	Configs     []TopicConfig
}

// TopicConfig is a topic setting in Kafka's own key and unit.
type TopicConfig struct{ Key, Value string }

// AdminConfig makes an Admin. Durations of zero take Kafka's defaults.
type AdminConfig struct {
	Bootstrap       []step.Addr
	MetadataVersion int16
	Topics          []NewTopic
	RequestTimeout  kafka.Nanos
	RetryBackoff    kafka.Nanos
}

// Admin is an admin client that creates topics at its boot and then waits until
// every partition of them has a leader (KafkaAdminClient, TopicCommand). It asks the
// controller, and asks again while the answer may change: retriable errors, no
// controller, too few brokers. A topic that exists already counts as created.
//
// It notes a Probe, AdminDone, at the end, or exits with the reason when the
// controller refuses a topic for good.
type Admin struct {
	cfg     AdminConfig
	network network
	wake    netclient.Alarm
	created []bool // by topic
	asking  bool
	retryAt kafka.Nanos
	done    bool
	failure string
}

// NewAdmin makes an admin client that has not booted.
func NewAdmin(cfg AdminConfig) *Admin {
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 30 * kafka.Second
	}
	if cfg.RetryBackoff == 0 {
		cfg.RetryBackoff = 100 * kafka.Millisecond
	}
	a := &Admin{cfg: cfg, created: make([]bool, len(cfg.Topics)), wake: netclient.Alarm{Lane: lane, Kind: wakeTimer}}
	a.network = adminNetwork(cfg.Bootstrap, cfg.MetadataVersion, cfg.RequestTimeout, cfg.RetryBackoff)
	for i := range cfg.Topics {
		a.network.meta.topic(cfg.Topics[i].Name)
	}
	return a
}

// Lanes is the one lane of the client.
func (a *Admin) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "admin", Workers: 1}} }

// Done reports whether every topic exists and every partition has a leader.
func (a *Admin) Done() bool { return a.done }

// Step takes one input and does all that it makes possible.
func (a *Admin) Step(in *step.Input, out *step.Effects) error {
	switch {
	case in.Kind == step.Terminate:
		out.Exit("closed")
		return nil
	case a.wake.Owns(in):
		a.wake.Fired(in)
	default:
		done := a.network.handle(in, out)
		for i := range done {
			a.answered(in, &done[i])
		}
	}
	if a.failure != "" {
		out.Exit(a.failure)
		return nil
	}
	if !a.done {
		a.run(in, out)
	}
	return nil
}

func (a *Admin) run(in *step.Input, out *step.Effects) {
	created := !slices.Contains(a.created, false)
	if created && !a.led() {
		a.network.requestUpdate()
	} else if created {
		a.done = true
		out.Note(event.Event{Kind: event.Probe, Text: AdminDone})
		return
	}
	next := a.network.maybeUpdate(in, out)
	if !created {
		next = min(next, a.create(in, out), a.network.maybeUpdate(in, out))
	}
	a.wake.Set(out, next)
}

// led reports whether every partition of the topics has a leader.
func (a *Admin) led() bool {
	for i := range a.cfg.Topics {
		t := a.network.meta.topic(a.cfg.Topics[i].Name)
		if t.err != kafka.None || t.count < max(int(a.cfg.Topics[i].Partitions), 1) {
			return false
		}
		for p := range t.partitions {
			if leader, _ := a.network.meta.leaderOf(t, int32(p)); t.partitions[p].known && leader == kafka.NoNode {
				return false
			}
		}
	}
	return true
}

// create asks the controller for the topics that are missing.
func (a *Admin) create(in *step.Input, out *step.Effects) kafka.Nanos {
	if a.asking {
		return kafka.Forever
	}
	if a.retryAt > in.Now {
		return a.retryAt
	}
	addr, ok := a.network.meta.addr(a.network.meta.controller)
	if !ok {
		a.network.requestUpdate()
		return kafka.Forever
	}
	if !a.network.ready(in, out, a.network.meta.controller) {
		if at := a.network.net.BackoffUntil(addr); at > in.Now {
			return at
		}
		return kafka.Forever
	}
	a.network.net.Send(in, out, addr, a.request(), 0, nil)
	a.asking = true
	return kafka.Forever
}

func (a *Admin) request() *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version = createTopicsVersion
	r.TimeoutMillis = int32(a.cfg.RequestTimeout / kafka.Millisecond)
	for i := range a.cfg.Topics {
		if !a.created[i] {
			r.Topics = append(r.Topics, a.cfg.Topics[i].request())
		}
	}
	return r
}

func (t *NewTopic) request() kmsg.CreateTopicsRequestTopic {
	r := kmsg.CreateTopicsRequestTopic{Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.Replication}
	if t.Assignment != nil {
		r.NumPartitions, r.ReplicationFactor = -1, -1
	}
	for p, replicas := range t.Assignment {
		ra := kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(p)}
		for _, id := range replicas {
			ra.Replicas = append(ra.Replicas, int32(id))
		}
		r.ReplicaAssignment = append(r.ReplicaAssignment, ra)
	}
	for i := range t.Configs {
		c := &t.Configs[i]
		r.Configs = append(r.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: c.Key, Value: &c.Value})
	}
	return r
}

// answered ends a CreateTopics request.
func (a *Admin) answered(in *step.Input, c *netclient.Completion) {
	a.asking = false
	resp, ok := c.Response.(*kmsg.CreateTopicsResponse)
	if !ok {
		a.retryAt = in.Now + a.cfg.RetryBackoff
		return
	}
	for i := range resp.Topics {
		rt := &resp.Topics[i]
		at := slices.IndexFunc(a.cfg.Topics, func(t NewTopic) bool { return t.Name == rt.Topic })
		if at < 0 {
			continue
		}
		switch err := kafka.ErrorCode(rt.ErrorCode); {
		case err == kafka.None || err == kafka.TopicAlreadyExists:
			a.created[at] = true
		case mayStillBeCreated(err):
			a.retryAt = in.Now + a.cfg.RetryBackoff
		case a.failure == "":
			a.failure = "admin: topic " + rt.Topic + ": " + err.String()
			if rt.ErrorMessage != nil {
				a.failure += ": " + *rt.ErrorMessage
			}
		}
	}
	a.network.requestUpdateNow()
}

// mayStillBeCreated: while brokers are still registering, a replication factor or an
// assignment may be beyond them.
func mayStillBeCreated(err kafka.ErrorCode) bool {
	switch err {
	case kafka.InvalidReplicationFactor, kafka.InvalidReplicaAssignment, kafka.BrokerNotAvailable, kafka.UnknownServerError:
		return true
	}
	return err.Retriable()
}
