package broker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
)

// TestScripts plays the lab notebooks of testdata/scripts: each command says what to do to
// a cluster, the answer is what was noted meanwhile and, for state, what the
// brokers hold.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t    *testing.T
	w    *world
	seen int // notes already told
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	if s.w != nil {
		s.w.t = t
	}
	switch d.Cmd {
	case "boot":
		s.boot(d)
	case "create":
		s.create(d)
	case "produce":
		return s.produce(d) + s.told()
	case "run":
		s.w.run(s.duration(d))
	case "crash":
		s.w.crash(s.id(d))
	case "term":
		s.w.term(s.id(d))
	case "start":
		s.w.start(s.id(d))
	case "cut":
		s.w.cut(d.CmdArgs[0].Key, d.CmdArgs[1].Key)
	case "heal":
		s.w.heal()
	case "state":
		return s.state()
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return s.told()
}

func (s *script) boot(d *datadriven.TestData) {
	var profile string
	var brokers int
	d.ScanArgs(s.t, "profile", &profile)
	d.ScanArgs(s.t, "brokers", &brokers)
	s.w = newWorld(s.t, profile)
	for _, line := range strings.Split(d.Input, "\n") {
		if key, value, ok := strings.Cut(line, "="); ok {
			s.w.with(key, value)
		}
	}
	for id := 1; id <= brokers; id++ {
		s.w.start(kafka.NodeID(id))
		s.w.run(kafka.Second)
	}
}

func (s *script) create(d *datadriven.TestData) {
	var replicas []int32
	settings := map[string]string{}
	for _, a := range d.CmdArgs[1:] {
		if a.Key == "replicas" {
			for _, v := range a.Vals {
				n, _ := strconv.Atoi(v)
				replicas = append(replicas, int32(n))
			}
			continue
		}
		settings[a.Key] = a.Vals[0]
	}
	s.w.create(d.CmdArgs[0].Key, settings, replicas...)
	s.w.run(kafka.Second)
}

func (s *script) produce(d *datadriven.TestData) string {
	var topic string
	var to, acks, timeout int
	d.ScanArgs(s.t, "topic", &topic)
	d.ScanArgs(s.t, "to", &to)
	d.ScanArgs(s.t, "acks", &acks)
	d.MaybeScanArgs(s.t, "timeout", &timeout)
	req := s.w.produce(int16(acks), topic, 0, batch("a"))
	if timeout > 0 {
		req.TimeoutMillis = int32(timeout)
	}
	begin := s.w.now
	code, base := produced(s.w.client(kafka.NodeID(to)).ask(req))
	return fmt.Sprintf("%v at %d after %v\n", code, base, s.w.now-begin)
}

func (s *script) duration(d *datadriven.TestData) kafka.Nanos {
	n, err := strconv.Atoi(strings.TrimSuffix(d.CmdArgs[0].Key, "s"))
	if err != nil {
		s.t.Fatal(err)
	}
	return kafka.Nanos(n) * kafka.Second
}

func (s *script) id(d *datadriven.TestData) kafka.NodeID {
	n, err := strconv.Atoi(d.CmdArgs[0].Key)
	if err != nil {
		s.t.Fatal(err)
	}
	return kafka.NodeID(n)
}

// told prints the facts since the last command that are about the cluster's shape.
func (s *script) told() string {
	var b strings.Builder
	for _, e := range s.w.notes[s.seen:] {
		if line := tell(&e); line != "" {
			fmt.Fprintf(&b, "%v %s: %s\n", e.Time, e.Actor, line)
		}
	}
	s.seen = len(s.w.notes)
	for _, p := range s.w.order {
		if !p.up && p.exit != "" {
			fmt.Fprintf(&b, "%s is down: %s\n", p.name, p.exit)
		}
	}
	return b.String()
}

func tell(e *event.Event) string {
	switch e.Kind {
	case event.ControllerElected, event.ControllerResigned:
		return fmt.Sprintf("%v epoch %d", e.Kind, e.ControllerEpoch)
	case event.BrokerRegistered, event.BrokerUnregistered:
		return fmt.Sprintf("%v %d", e.Kind, e.Node)
	case event.LeaderElected:
		return fmt.Sprintf("%v %v leader %d epoch %d isr %v by %s", e.Kind, e.TP, e.Leader, e.LeaderEpoch, e.ISR, e.Text)
	case event.BecameLeader:
		return fmt.Sprintf("%v %v epoch %d from %d, hw %d", e.Kind, e.TP, e.LeaderEpoch, e.Offset, e.HW)
	case event.BecameFollower:
		return fmt.Sprintf("%v %v of %d epoch %d, leo %d hw %d", e.Kind, e.TP, e.Leader, e.LeaderEpoch, e.LEO, e.HW)
	case event.IsrProposed, event.IsrCommitted:
		return fmt.Sprintf("%v %v %v", e.Kind, e.TP, e.ISR)
	case event.ReplicaLoaded:
		return fmt.Sprintf("%v %v leo %d hw %d unclean %v", e.Kind, e.TP, e.LEO, e.HW, e.Flag)
	case event.Truncated:
		return fmt.Sprintf("%v %v from %d to %d by %s", e.Kind, e.TP, e.LEO, e.Offset, e.Text)
	case event.SessionExpired, event.DirectoryOffline:
		return fmt.Sprintf("%v %s", e.Kind, e.Text)
	}
	return ""
}

func (s *script) state() string {
	var b strings.Builder
	for _, p := range s.w.order {
		if p.broker == nil || !p.up {
			continue
		}
		fmt.Fprintf(&b, "%s: %v", p.name, p.broker.State())
		if p.broker.Controller().IsActive() {
			b.WriteString(", controller")
		}
		b.WriteByte('\n')
		p.broker.Partitions(func(r *replica.Partition) bool {
			fmt.Fprintf(&b, "  %v: %v of %d epoch %d isr %v leo %d hw %d\n", r.TP, r.Role(), r.Leader(), r.LeaderEpoch(), r.ISR(), r.PublishedLEO(), r.HighWatermark())
			return true
		})
	}
	return b.String()
}
