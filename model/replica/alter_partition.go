package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

const (
	controllerLookup    = 100 * kafka.Millisecond // NodeToControllerRequestThread's pause
	alterPartitionRetry = 50 * kafka.Millisecond  // after an error at the top of an answer
)

// The request versions at which the fields of AlterPartition change.
const (
	alterPartitionRecoveryVersion = 1 // leader recovery state
	alterPartitionTopicIDVersion  = 2
	alterPartitionEpochVersion    = 3 // broker epochs in the ISR
)

// AlterPartitionManager carries the ISR changes of one broker to the controller,
// one request in flight (KIP-497, L-25). It has a lane of its own.
//
// It mirrors DefaultAlterPartitionManager and the NodeToControllerChannelManager
// under it. There is no overall timeout: a change is resent until answered.
type AlterPartitionManager struct {
	env    *Env
	lane   step.Lane
	kind   step.TimerKind
	client *netclient.Client

	// queue holds at most one change a partition, until it is answered.
	queue []ISRChange
	// request is in flight or waits for a controller, nil if none does; sent is the
	// part of the queue that it carries.
	request *kmsg.AlterPartitionRequest
	sent    []ISRChange
	to      step.Addr // where request was sent
	waiting bool      // for the answer
	timer   step.TimerRef
}

// NewAlterPartitionManager makes the channel. client is of the lane and used by
// nobody else; kind is the manager's own kind of timer on that lane.
func NewAlterPartitionManager(env *Env, lane step.Lane, kind step.TimerKind, client *netclient.Client) *AlterPartitionManager {
	return &AlterPartitionManager{env: env, lane: lane, kind: kind, client: client}
}

// Submit queues a change. A partition that has one queued already gets
// OPERATION_NOT_ATTEMPTED at once. Submit may be called on any lane; the request
// leaves on the manager's.
func (m *AlterPartitionManager) Submit(in *step.Input, out *step.Effects, c ISRChange) {
	for i := range m.queue {
		if m.queue[i].Partition == c.Partition {
			c.Partition.HandleISR(in, out, c, ISRResult{Code: kafka.OperationNotAttempted})
			return
		}
	}
	m.queue = append(m.queue, c)
	if m.request == nil && !m.timer.IsSet() {
		m.wake(out, in.Now)
	}
}

func (m *AlterPartitionManager) wake(out *step.Effects, at kafka.Nanos) {
	out.CancelTimer(&m.timer)
	m.timer = out.SetTimer(m.lane, at, m.kind, 0, nil)
}

// Handle takes the inputs of the manager's lane: its timer and its connection's.
func (m *AlterPartitionManager) Handle(in *step.Input, out *step.Effects) (mine bool) {
	if in.Kind == step.Timer && in.Timer == m.kind {
		m.timer = step.TimerRef{}
		m.proceed(in, out)
		return true
	}
	done, mine := m.client.Handle(in, out)
	for i := range done {
		m.onCompletion(in, out, &done[i])
	}
	return mine
}

// proceed sends what there is to send, if a controller is known.
func (m *AlterPartitionManager) proceed(in *step.Input, out *step.Effects) {
	if m.waiting {
		return
	}
	out.CancelTimer(&m.timer)
	if m.request == nil {
		if len(m.queue) == 0 {
			return
		}
		m.build()
	}
	to, known := m.env.Cluster.Controller()
	if !known {
		m.wake(out, in.Now+controllerLookup)
		return
	}
	if !m.client.Connect(in, out, to) {
		m.wake(out, m.client.BackoffUntil(to))
		return
	}
	m.to, m.waiting = to, true
	m.client.Send(in, out, to, m.request, m.env.Config.ControllerSocketTimeout, nil)
}

func (m *AlterPartitionManager) onCompletion(in *step.Input, out *step.Effects, c *netclient.Completion) {
	m.waiting = false
	resp, ok := c.Response.(*kmsg.AlterPartitionResponse)
	switch {
	case !ok:
		m.proceed(in, out)
	case mentionsNotController(resp):
		// No handler sees it: the whole request goes to the next controller (L-25).
		m.client.Disconnect(in, out, m.to)
		m.wake(out, in.Now+controllerLookup)
	case resp.ErrorCode != 0:
		m.request = nil
		m.wake(out, in.Now+alterPartitionRetry)
	default:
		m.request = nil
		m.dispatch(in, out, resp)
		m.proceed(in, out)
	}
}

func mentionsNotController(resp *kmsg.AlterPartitionResponse) bool {
	if kafka.ErrorCode(resp.ErrorCode) == kafka.NotController {
		return true
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if kafka.ErrorCode(resp.Topics[i].Partitions[j].ErrorCode) == kafka.NotController {
				return true
			}
		}
	}
	return false
}

// dispatch gives each partition its answer; what was not answered stays queued.
// The queue is cleared first, so that a partition may submit again.
func (m *AlterPartitionManager) dispatch(in *step.Input, out *step.Effects, resp *kmsg.AlterPartitionResponse) {
	for _, c := range m.sent {
		answer := findAnswer(resp, c.Partition)
		if answer == nil {
			continue
		}
		m.remove(c.Partition)
		c.Partition.HandleISR(in, out, c, ISRResult{
			Code:           kafka.ErrorCode(answer.ErrorCode),
			LeaderEpoch:    kafka.LeaderEpoch(answer.LeaderEpoch),
			ISR:            nodeIDs(answer.ISR),
			PartitionEpoch: kafka.PartitionEpoch(answer.PartitionEpoch),
		})
	}
}

func (m *AlterPartitionManager) remove(p *Partition) {
	for i := range m.queue {
		if m.queue[i].Partition == p {
			m.queue = append(m.queue[:i], m.queue[i+1:]...)
			return
		}
	}
}

func findAnswer(resp *kmsg.AlterPartitionResponse, p *Partition) *kmsg.AlterPartitionResponseTopicPartition {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if resp.Version >= alterPartitionTopicIDVersion {
			if t.TopidID != p.TopicID {
				continue
			}
		} else if t.Topic != p.TP.Topic {
			continue
		}
		for j := range t.Partitions {
			if t.Partitions[j].Partition == p.TP.Partition {
				return &t.Partitions[j]
			}
		}
	}
	return nil
}

// build makes a request of everything queued, topics in the order of their first
// change. Without a topic id for each partition the last version by name is used.
func (m *AlterPartitionManager) build() {
	m.sent = append(m.sent[:0], m.queue...)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = m.env.Config.Profile.Versions.AlterPartition
	for i := range m.sent {
		if m.sent[i].Partition.TopicID.IsZero() {
			req.Version = min(req.Version, alterPartitionTopicIDVersion-1)
		}
	}
	req.BrokerID = int32(m.env.Node)
	req.BrokerEpoch = int64(m.env.Cluster.BrokerEpoch())
	for i := range m.sent {
		addChange(req, &m.sent[i])
	}
	m.request = req
}

func addChange(req *kmsg.AlterPartitionRequest, c *ISRChange) {
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.Partition = c.Partition.TP.Partition
	part.LeaderEpoch = int32(c.LeaderEpoch)
	part.PartitionEpoch = int32(c.PartitionEpoch)
	if req.Version >= alterPartitionEpochVersion {
		for _, id := range c.ISR {
			part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: -1})
		}
	} else {
		part.NewISR = int32s(c.ISR)
	}
	t := topicOf(req, c.Partition)
	t.Partitions = append(t.Partitions, part)
}

func topicOf(req *kmsg.AlterPartitionRequest, p *Partition) *kmsg.AlterPartitionRequestTopic {
	byID := req.Version >= alterPartitionTopicIDVersion
	for i := range req.Topics {
		t := &req.Topics[i]
		if byID && t.TopicID == p.TopicID || !byID && t.Topic == p.TP.Topic {
			return t
		}
	}
	t := kmsg.NewAlterPartitionRequestTopic()
	if byID {
		t.TopicID = p.TopicID
	} else {
		t.Topic = p.TP.Topic
	}
	req.Topics = append(req.Topics, t)
	return &req.Topics[len(req.Topics)-1]
}
