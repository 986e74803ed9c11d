package zookeeper

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// TestScripts runs testdata/script/*.txt. Commands:
//
//	peer NAME [hosts=(h1,h2)] [ms=18000]   a process with a session client
//	call NAME      one request a line: "create /p data", "create -e /p", "create -s /p",
//	               "delete /p [v]", "set /p data [v]", "get /p", "exists /p", "children /p",
//	               "check /p v"; "-w" after a read watches; ';' joins the parts of a multi
//	advance MS | isolate NAME | heal NAME | reset NAME | close NAME | kill | boot
//	tree           the nodes with their data
//
// Each command prints what became known in it: answers, events of every peer,
// notes of the server.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{w: newWorld(t)}
		s.w.boot()
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	w     *world
	notes int
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	var sb strings.Builder
	switch d.Cmd {
	case "peer":
		s.peer(d)
	case "call":
		s.call(t, d, &sb)
	case "advance":
		ms, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.w.advance(kafka.Nanos(ms) * kafka.Millisecond)
	case "isolate":
		s.named(t, d).isolate()
	case "heal":
		s.named(t, d).heal()
	case "reset":
		p := s.named(t, d)
		s.w.reset(s.w.linkOf(&p.party, p.client.conn))
	case "close":
		p := s.named(t, d)
		p.act(func(in *step.Input, out *step.Effects) { p.client.Close(in, out) })
	case "kill":
		s.w.kill()
	case "boot":
		s.w.boot()
	case "tree":
		s.tree(&sb, "/")
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	s.news(&sb)
	return sb.String()
}

func (s *script) peer(d *datadriven.TestData) {
	timeout, hosts := 18*sec, []string(nil)
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "hosts":
			hosts = a.Vals
		case "ms":
			ms, _ := strconv.Atoi(a.Vals[0])
			timeout = kafka.Nanos(ms) * kafka.Millisecond
		}
	}
	s.w.peer(d.CmdArgs[0].Key, timeout, hosts...)
	s.w.advance(100 * kafka.Millisecond)
}

func (s *script) named(t *testing.T, d *datadriven.TestData) *peer {
	for _, p := range s.w.peers {
		if p.name == d.CmdArgs[0].Key {
			return p
		}
	}
	d.Fatalf(t, "no peer %s", d.CmdArgs[0].Key)
	return nil
}

// call waits 100 ms for the answers.
func (s *script) call(t *testing.T, d *datadriven.TestData, sb *strings.Builder) {
	var reqs []Request
	for _, line := range strings.Split(d.Input, "\n") {
		var req Request
		for _, part := range strings.Split(line, ";") {
			req = append(req, parseOp(t, d, strings.Fields(part)))
		}
		reqs = append(reqs, req)
	}
	p := s.named(t, d)
	wf := p.do(reqs...)
	s.w.advance(100 * kafka.Millisecond)
	if wf.count == 0 {
		fmt.Fprintln(sb, "no answer yet")
		wf.then = func(in *step.Input, out *step.Effects) {
			p.log = append(p.log, "answers to an earlier call: "+strings.ReplaceAll(strings.TrimSpace(answers(reqs, wf.results)), "\n", " | "))
		}
		return
	}
	sb.WriteString(answers(reqs, wf.results))
}

func answers(reqs []Request, results [][]Result) string {
	var sb strings.Builder
	for i, rs := range results {
		for j, r := range rs {
			if j > 0 {
				sb.WriteString("; ")
			}
			fmt.Fprint(&sb, r.Code)
			if r.Code != OK {
				continue
			}
			switch op := reqs[i][j]; op.Type {
			case OpCreate:
				fmt.Fprintf(&sb, " %s czxid=%d", r.Path, r.Stat.Czxid)
			case OpSetData, OpExists:
				fmt.Fprintf(&sb, " version=%d", r.Stat.Version)
			case OpGetData:
				fmt.Fprintf(&sb, " %q version=%d", r.Data, r.Stat.Version)
			case OpGetChildren:
				fmt.Fprintf(&sb, " %v cversion=%d", r.Children, r.Stat.CVersion)
			}
		}
		sb.WriteString("\n")
	}
	return sb.String()
}

func parseOp(t *testing.T, d *datadriven.TestData, words []string) Op {
	op := Op{Version: AnyVersion}
	for op.Type < numOpTypes && op.Type.String() != words[0] {
		op.Type++
	}
	if op.Type == numOpTypes {
		d.Fatalf(t, "unknown operation %q", words)
	}
	var rest []string
	for _, w := range words[1:] {
		switch w {
		case "-e":
			op.Ephemeral = true
		case "-s":
			op.Sequential = true
		case "-w":
			op.Watch = true
		default:
			rest = append(rest, w)
		}
	}
	op.Path, rest = rest[0], rest[1:]
	if len(rest) > 0 && (op.Type == OpCreate || op.Type == OpSetData) {
		op.Data, rest = []byte(rest[0]), rest[1:]
	}
	if len(rest) > 0 {
		v, err := strconv.Atoi(rest[0])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		op.Version = int32(v)
	}
	return op
}

// news prints events and notes since the last command.
func (s *script) news(sb *strings.Builder) {
	for _, p := range s.w.peers {
		for _, line := range p.took() {
			fmt.Fprintf(sb, "%s: %s\n", p.name, line)
		}
	}
	for _, n := range s.w.notes[s.notes:] {
		fmt.Fprintf(sb, "%v note %v%s\n", n.Time, n.Kind, noteFields(n))
	}
	s.notes = len(s.w.notes)
}

// noteFields prints the fields that the kind fills.
func noteFields(n event.Event) string {
	switch n.Kind {
	case event.BrokerRegistered, event.BrokerUnregistered:
		return fmt.Sprintf(" node=%d broker-epoch=%d", n.Node, n.BrokerEpoch)
	case event.TopicCreated:
		return fmt.Sprintf(" %s count=%d id=%v", n.TP.Topic, n.Count, n.TopicID)
	case event.AssignmentChanged:
		return fmt.Sprintf(" %v replicas=%v", n.TP, n.Replicas)
	case event.PartitionChanged:
		return fmt.Sprintf(" %v leader=%d/%d isr=%v partition-epoch=%d controller-epoch=%d by=%d recovering=%v",
			n.TP, n.Leader, n.LeaderEpoch, n.ISR, n.PartitionEpoch, n.ControllerEpoch, n.Node, n.Flag)
	case event.ControlWrite:
		return fmt.Sprintf(" by=%d controller-epoch=%d applied=%v", n.Node, n.ControllerEpoch, n.Flag)
	}
	return " " + n.Text
}

func (s *script) tree(sb *strings.Builder, path string) {
	data, st, _ := s.w.store.Get(path)
	fmt.Fprintf(sb, "%s %q v%d owner=%d\n", path, data, st.Version, st.EphemeralOwner)
	for _, k := range s.w.store.Children(path) {
		s.tree(sb, join(path, k))
	}
}
