package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

type testingT interface {
	Helper()
	Fatalf(string, ...any)
	Fatal(...any)
}

// lab is a coordinator over real logs; appends succeed at once unless they are held.
type lab struct {
	t     testingT
	c     *Coordinator
	cfg   *config.Broker
	out   *step.Effects
	now   kafka.Nanos
	logs  []*log.Log // by partition
	leads []bool
	draws map[string]uint64
	conns step.ConnID
	names map[step.ConnID]string // of the requests that wait for an answer
	// hold keeps appends back in held; fail is what the next ones are refused with, apart
	// from tombstones.
	hold  bool
	held  []*Append
	fail  kafka.ErrorCode
	told  []string // answers and facts since they were last read
	facts bool
	notes []event.Event
	last  kmsg.Response // that of the newest request, once it is there
}

const labStart kafka.TimestampMs = 1_700_000_000_000

func newLab(t testingT, profile string, partitions int32, settings ...string) *lab {
	t.Helper()
	p, ok := config.ProfileByName(profile)
	if !ok {
		t.Fatal("no profile " + profile)
	}
	var set []config.Setting
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		set = append(set, config.Setting{Key: k, Value: v})
	}
	cfg, errs := config.NewBroker(p, 1, "", set)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	l := &lab{t: t, cfg: cfg, out: step.NewEffects(), draws: map[string]uint64{}, names: map[step.ConnID]string{}}
	fs := vfstest.NewMem()
	logs := log.DefaultConfig()
	for i := range partitions {
		opened, err := log.OpenNow(fs, fmt.Sprintf("data/%s-%d", OffsetsTopic, i), &logs, log.OpenParams{Now: labStart})
		if err != nil {
			t.Fatal(err)
		}
		l.logs, l.leads = append(l.logs, opened), append(l.leads, false)
	}
	l.reboot()
	return l
}

// reboot is a new life of the coordinator, on the logs that there are.
func (l *lab) reboot() { l.c = New(l.cfg, l, int32(len(l.logs)), nil) }

// OffsetsLog implements Host.
func (l *lab) OffsetsLog(partition int32) (*log.Log, bool) {
	return l.logs[partition], l.leads[partition]
}

// Draw implements Host.
func (l *lab) Draw(in *step.Input, name string) uint64 {
	l.draws[name]++
	return l.draws[name] << 48
}

func (l *lab) input() *step.Input {
	return &step.Input{Now: l.now, Wall: labStart + kafka.TimestampMs(l.now/kafka.Millisecond)}
}

// do runs one call and what follows from it.
func (l *lab) do(call func(in *step.Input, out *step.Effects)) {
	l.t.Helper()
	in := l.input()
	call(in, l.out)
	l.settle(in)
}

func (l *lab) settle(in *step.Input) {
	l.t.Helper()
	for list := l.c.Take(); len(list) > 0; list = l.c.Take() {
		for _, a := range list {
			if l.hold {
				l.held = append(l.held, a)
			} else {
				l.write(in, a)
			}
		}
	}
	l.read()
}

// write carries an append out.
func (l *lab) write(in *step.Input, a *Append) {
	l.t.Helper()
	code, base := l.fail, kafka.NoOffset
	switch {
	case !l.leads[a.Partition]:
		code = kafka.NotLeaderOrFollower
	case a.Done == nil:
		code = kafka.None
	}
	if code == kafka.None {
		info, verdict, err := l.logs[a.Partition].Append(a.Batch, &log.LeaderAppend{Now: in.Wall, Origin: log.Coordinator})
		if err != nil || verdict.Code != kafka.None {
			l.t.Fatal(err, verdict)
		}
		base = info.Base
	}
	if a.Done != nil {
		a.Done(in, l.out, code, base)
	}
}

// release carries out what was held.
func (l *lab) release() {
	l.t.Helper()
	held := l.held
	l.held, l.hold = nil, false
	in := l.input()
	for _, a := range held {
		l.write(in, a)
	}
	l.settle(in)
}

// read takes the effects over.
func (l *lab) read() {
	l.t.Helper()
	for i := range l.out.Ops {
		op := &l.out.Ops[i]
		if op.Kind != step.OpReply {
			l.t.Fatalf("effect %d", op.Kind)
		}
		name, waits := l.names[op.Conn]
		if !waits {
			l.t.Fatalf("connection %d is answered twice", op.Conn)
		}
		delete(l.names, op.Conn)
		r := op.Body.(kmsg.Response)
		checkWire(l.t, r)
		l.told = append(l.told, name+": "+show(r))
		if op.Conn == l.conns || l.last == nil {
			l.last = r
		}
	}
	for i := range l.out.Notes {
		e := l.out.Notes[i]
		e.Time = l.now
		l.notes = append(l.notes, e)
		if line := tell(&e); l.facts && line != "" {
			l.told = append(l.told, "  "+line)
		}
	}
	l.out.Reset()
}

// run lets time pass.
func (l *lab) run(d kafka.Nanos) {
	l.t.Helper()
	end := l.now + d
	for l.c.NextDeadline() <= end {
		l.now = max(l.now, l.c.NextDeadline())
		n := len(l.told)
		l.do(l.c.RunDeadlines)
		if len(l.told) > n {
			l.told = slices.Insert(l.told, n, fmt.Sprintf("at %d ms", l.now/kafka.Millisecond))
		}
	}
	l.now = end
}

// work runs the coordinator's tasks.
func (l *lab) work() {
	l.t.Helper()
	for l.c.HasTask() {
		l.do(func(in *step.Input, out *step.Effects) {
			if err := l.c.RunTask(in, out); err != nil {
				l.t.Fatal(err)
			}
		})
	}
}

func (l *lab) elect(partition int32, epoch kafka.LeaderEpoch) {
	l.leads[partition] = true
	l.c.Elected(partition, epoch)
}

func (l *lab) resign(partition int32, epoch kafka.LeaderEpoch) {
	l.leads[partition] = false
	l.c.Resigned(partition, epoch)
}

// from is a new connection; name stands before its answer.
func (l *lab) from(name, client string) Caller {
	l.conns++
	l.names[l.conns] = name
	return Caller{Conn: l.conns, Correlation: 1, Client: client}
}

// known: the topics t, u and v have partitions 0 to 9.
func known(topic string, partition int32) bool {
	return strings.Contains("tuv", topic) && partition >= 0 && partition < 10
}

// subscription is that of a consumer.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 0, topics
	return m.AppendTo(nil)
}

// topicsOf prints a subscription.
func topicsOf(b []byte) string {
	if topics, ok := subscribedTopics(nil, b); ok {
		return strings.Join(topics, "+")
	}
	return fmt.Sprintf("%q", b)
}

// checkWire proves that a message has no field above its version.
func checkWire(t testingT, r kmsg.Response) {
	t.Helper()
	m := r.(interface {
		AppendTo([]byte) []byte
	})
	copied := kmsg.ResponseForKey(r.Key())
	copied.SetVersion(r.GetVersion())
	if err := copied.ReadFrom(m.AppendTo(nil)); err != nil {
		t.Fatalf("%T does not decode: %v", r, err)
	}
	if a, b := show(r), show(copied); a != b {
		t.Fatalf("%T v%d loses fields:\n%s\n%s", r, r.GetVersion(), a, b)
	}
}

func show(r kmsg.Response) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	switch r := r.(type) {
	case *kmsg.JoinGroupResponse:
		say("join %v member %s", kafka.ErrorCode(r.ErrorCode), r.MemberID)
		if r.ErrorCode != 0 && r.Generation == -1 {
			break
		}
		say(" generation %d protocol %s/%s leader %s", r.Generation, text(r.ProtocolType), text(r.Protocol), r.LeaderID)
		if r.SkipAssignment {
			say(" skip")
		}
		for i := range r.Members {
			m := &r.Members[i]
			say(" [%s %s %s]", m.MemberID, text(m.InstanceID), topicsOf(m.ProtocolMetadata))
		}
	case *kmsg.SyncGroupResponse:
		say("sync %v", kafka.ErrorCode(r.ErrorCode))
		if r.ErrorCode == 0 {
			say(" %s/%s %q", text(r.ProtocolType), text(r.Protocol), r.MemberAssignment)
		}
	case *kmsg.HeartbeatResponse:
		say("heartbeat %v", kafka.ErrorCode(r.ErrorCode))
	case *kmsg.LeaveGroupResponse:
		say("leave %v", kafka.ErrorCode(r.ErrorCode))
		for i := range r.Members {
			say(" [%s %s %v]", r.Members[i].MemberID, text(r.Members[i].InstanceID), kafka.ErrorCode(r.Members[i].ErrorCode))
		}
	case *kmsg.OffsetCommitResponse:
		say("commit")
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				say(" %s/%d %v", r.Topics[i].Topic, p.Partition, kafka.ErrorCode(p.ErrorCode))
			}
		}
	case *kmsg.OffsetFetchResponse:
		say("fetch %v", kafka.ErrorCode(r.ErrorCode))
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				say(" %s/%d %d epoch %d %q %v", r.Topics[i].Topic, p.Partition, p.Offset, p.LeaderEpoch, text(p.Metadata), kafka.ErrorCode(p.ErrorCode))
			}
		}
		for _, g := range r.Groups {
			say(" (%s %v", g.Group, kafka.ErrorCode(g.ErrorCode))
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					say(" %s/%d %d epoch %d %q %v", t.Topic, p.Partition, p.Offset, p.LeaderEpoch, text(p.Metadata), kafka.ErrorCode(p.ErrorCode))
				}
			}
			say(")")
		}
	case *kmsg.DescribeGroupsResponse:
		say("describe")
		for _, g := range r.Groups {
			say(" (%s %v %s %s/%s", g.Group, kafka.ErrorCode(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
			for _, m := range g.Members {
				say(" [%s %s %s%s %q]", m.MemberID, text(m.InstanceID), m.ClientID, m.ClientHost, m.MemberAssignment)
			}
			say(")")
		}
	case *kmsg.ListGroupsResponse:
		say("list %v", kafka.ErrorCode(r.ErrorCode))
		for _, g := range r.Groups {
			say(" (%s %s %s %s)", g.Group, g.ProtocolType, g.GroupState, g.GroupType)
		}
	case *kmsg.DeleteGroupsResponse:
		say("delete")
		for _, g := range r.Groups {
			say(" %s %v", g.Group, kafka.ErrorCode(g.ErrorCode))
		}
	case *kmsg.OffsetDeleteResponse:
		say("offset-delete %v", kafka.ErrorCode(r.ErrorCode))
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				say(" %s/%d %v", r.Topics[i].Topic, p.Partition, kafka.ErrorCode(p.ErrorCode))
			}
		}
	}
	return b.String()
}

func tell(e *event.Event) string {
	switch e.Kind {
	case event.GroupChanged:
		return fmt.Sprintf("%s is %v, generation %d, %d members, leader %q, protocol %q: %s", e.Group, e.State, e.Generation, e.Count, e.Member, e.Detail, e.Text)
	case event.MemberJoined, event.MemberRemoved:
		return fmt.Sprintf("%v %s %q: %s", e.Kind, e.Member, e.Detail, e.Text)
	case event.OffsetCommitted:
		return fmt.Sprintf("%v %v %d after %d at %d", e.Kind, e.TP, e.Offset, e.Base, e.First)
	case event.OffsetRemoved:
		return fmt.Sprintf("%v %v %d: %s", e.Kind, e.TP, e.Base, e.Text)
	case event.CoordinatorLoaded:
		return fmt.Sprintf("%v %v epoch %d: %d groups, %d offsets, to %d%s", e.Kind, e.TP, e.LeaderEpoch, e.Count, e.Index, e.Offset, e.Text)
	case event.CoordinatorUnloaded:
		return fmt.Sprintf("%v %v epoch %d: %d groups", e.Kind, e.TP, e.LeaderEpoch, e.Count)
	}
	return ""
}

// records lists what a partition's log holds.
func (l *lab) records(partition int32) string {
	var b strings.Builder
	err := l.logs[partition].Batches(l.logs[partition].LogStartOffset(), func(batch record.Batch) bool {
		if batch.IsControl() || batch.Count() == 0 {
			fmt.Fprintf(&b, "%d control %v of %d, %d records\n", batch.BaseOffset(), batch.IsControl(), batch.ProducerID(), batch.Count())
			return true
		}
		list, err := batch.Records(nil)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range list {
			key, err := DecodeKey(r.Key)
			if err != nil {
				l.t.Fatal(err)
			}
			fmt.Fprintf(&b, "%d %s", r.Offset, key.Group)
			if batch.IsTransactional() {
				fmt.Fprintf(&b, " (producer %d)", batch.ProducerID())
			}
			if key.IsOffset() {
				fmt.Fprintf(&b, " %v", key.TP)
			}
			switch {
			case r.Value == nil:
				b.WriteString(" tombstone\n")
			case key.IsOffset():
				o, err := DecodeOffset(r.Value)
				if err != nil {
					l.t.Fatal(err)
				}
				fmt.Fprintf(&b, " v%d %d epoch %d %q committed %d expires %d\n", r.Value[1], o.Offset, o.LeaderEpoch, o.Metadata, o.Committed-labStart, o.Expires)
			default:
				m, err := DecodeMetadata(r.Value)
				if err != nil {
					l.t.Fatal(err)
				}
				fmt.Fprintf(&b, " v%d %s generation %d protocol %q leader %q since %d", r.Value[1], m.ProtocolType, m.Generation, m.Protocol, m.Leader, m.StateTime-labStart)
				for _, r := range m.Members {
					fmt.Fprintf(&b, " [%s %q %s%s %d %d %s %q]", r.ID, r.Instance, r.Client, r.Host, r.RebalanceTimeout, r.SessionTimeout, topicsOf(r.Subscription), r.Assignment)
				}
				b.WriteByte('\n')
			}
		}
		return true
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return b.String()
}
