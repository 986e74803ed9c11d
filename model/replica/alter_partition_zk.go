package replica

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// When ZkAlterPartitionManager tells the controller about ISR changes.
const (
	isrPropagationCheck    = 2500 * kafka.Millisecond
	isrPropagationLinger   = 5 * kafka.Second
	isrPropagationMaxDelay = 60 * kafka.Second
)

// ISRWriter writes what ZkAlterPartitionManager decides; the broker implements it
// with its ZooKeeper client.
type ISRWriter interface {
	// WriteISR sets the partition's state znode (leader = this broker, c.LeaderEpoch,
	// c.ISR, c.ControllerEpoch) if its version is c.PartitionEpoch, and answers with
	// ZkAlterPartitionManager.Written. After a version conflict it reads the znode
	// before it answers.
	WriteISR(in *step.Input, out *step.Effects, c ISRChange)
	// NotifyISRChange creates a child of /isr_change_notification that lists the
	// partitions, sorted. The slice is the writer's.
	NotifyISRChange(in *step.Input, out *step.Effects, tps []kafka.TopicPartition)
}

// WriteResult is how a conditional write of a state znode ended.
type WriteResult struct {
	// Written: the znode has the new content, at Version.
	Written bool
	Version kafka.PartitionEpoch
	// After a conflict, Found tells that the znode was read, with Stored as content
	// at Version; Stored uses Leader, LeaderEpoch, ISR and ControllerEpoch.
	Found  bool
	Stored State
}

// ZkAlterPartitionManager commits ISR changes by writing the partition's znode,
// as leaders did before KIP-497 (L-27). Changes are told to the controller in
// bulk, through a notification znode.
type ZkAlterPartitionManager struct {
	env    *Env
	lane   step.Lane
	kind   step.TimerKind
	writer ISRWriter

	changed        []kafka.TopicPartition // since the last notification, sorted
	started        kafka.Nanos            // the task runs at multiples of its period from here
	lastChange     kafka.Nanos
	lastPropagated kafka.Nanos
	timer          step.TimerRef
}

// NewZkAlterPartitionManager starts the propagation task at in.Now; kind is its
// kind of timer on lane.
func NewZkAlterPartitionManager(in *step.Input, env *Env, lane step.Lane, kind step.TimerKind, w ISRWriter) *ZkAlterPartitionManager {
	return &ZkAlterPartitionManager{
		env: env, lane: lane, kind: kind, writer: w,
		started: in.Now, lastChange: in.Now, lastPropagated: in.Now,
	}
}

// Submit writes a change.
func (m *ZkAlterPartitionManager) Submit(in *step.Input, out *step.Effects, c ISRChange) {
	m.writer.WriteISR(in, out, c)
}

// Written takes the end of a write and answers the partition. A conflict with a
// znode that holds what was to be written counts as success: the write's first
// answer was lost.
func (m *ZkAlterPartitionManager) Written(in *step.Input, out *step.Effects, c ISRChange, r WriteResult) {
	if !r.Written && !(r.Found && m.isOurs(&c, &r.Stored)) {
		c.Partition.HandleISR(in, out, c, ISRResult{Code: kafka.InvalidUpdateVersion})
		return
	}
	m.remember(in, out, c.Partition.TP)
	c.Partition.HandleISR(in, out, c, ISRResult{
		Code: kafka.None, LeaderEpoch: c.LeaderEpoch, ISR: c.ISR, PartitionEpoch: r.Version,
	})
}

func (m *ZkAlterPartitionManager) isOurs(c *ISRChange, s *State) bool {
	return s.Leader == m.env.Node && s.LeaderEpoch == c.LeaderEpoch &&
		s.ControllerEpoch == c.ControllerEpoch && slices.Equal(s.ISR, c.ISR)
}

func (m *ZkAlterPartitionManager) remember(in *step.Input, out *step.Effects, tp kafka.TopicPartition) {
	m.lastChange = in.Now
	i, found := slices.BinarySearchFunc(m.changed, tp, kafka.TopicPartition.Compare)
	if !found {
		m.changed = slices.Insert(m.changed, i, tp)
	}
	m.arm(in, out)
}

// arm sets the timer for the task's next run; without changes its runs do nothing.
func (m *ZkAlterPartitionManager) arm(in *step.Input, out *step.Effects) {
	if m.timer.IsSet() || len(m.changed) == 0 {
		return
	}
	runs := (in.Now-m.started)/isrPropagationCheck + 1
	m.timer = out.SetTimer(m.lane, m.started+runs*isrPropagationCheck, m.kind, 0, nil)
}

// Handle takes the propagation timer.
func (m *ZkAlterPartitionManager) Handle(in *step.Input, out *step.Effects) (mine bool) {
	if in.Kind != step.Timer || in.Timer != m.kind {
		return false
	}
	m.timer = step.TimerRef{}
	quiet := in.Now-m.lastChange > isrPropagationLinger
	overdue := in.Now-m.lastPropagated > isrPropagationMaxDelay
	if len(m.changed) > 0 && (quiet || overdue) {
		m.writer.NotifyISRChange(in, out, m.changed)
		m.changed = nil
		m.lastPropagated = in.Now
	}
	m.arm(in, out)
	return true
}
