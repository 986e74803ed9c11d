package replica

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// TestScripts plays testdata/*.txt: each a small cluster, one message at a time.
// Its commands:
//
//	cluster profile=P brokers=N [min-isr=N]      a new world
//	fill B n=N hw=N                              a log of N records of epoch 0, as after a start
//	lead B epoch=E [isr=(..)] [replicas=(..)]    partition epoch = leader epoch
//	follow B leader=L epoch=E
//	append B name=W n=N [acks=-1|0|1] [hold]     hold: not published until release
//	release B
//	exchange B [times=N]                         the fetcher's request, and its answer
//	fetch B from=F at=O                          a follower's fetch, made by hand
//	shrink B
//	isr B code=C                                 answers the change in flight; none commits it
//	produce B required=O                         looks at a parked produce
//	wait s=N
//	down B | up B
//	show                                         the logs
//
// and prints what was noted and asked.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "cluster" {
				w = scriptedCluster(t, d)
				return ""
			}
			w.t = t
			w.notes = nil
			out := command(t, w, d)
			return notesOf(w) + out
		})
	})
}

func scriptedCluster(t *testing.T, d *datadriven.TestData) *world {
	var profile string
	var brokers int
	d.ScanArgs(t, "profile", &profile)
	d.ScanArgs(t, "brokers", &brokers)
	w := newWorld(t, profile, brokers)
	d.MaybeScanArgs(t, "min-isr", &w.topic.MinInsyncReplicas)
	return w
}

func command(t *testing.T, w *world, d *datadriven.TestData) string {
	t.Helper()
	if d.Cmd == "show" {
		return show(w)
	}
	if d.Cmd == "wait" {
		w.now += kafka.Nanos(number(t, d, "s", 0)) * kafka.Second
		return ""
	}
	id := 0
	if _, err := fmt.Sscan(d.CmdArgs[0].Key, &id); err != nil {
		t.Fatal(err)
	}
	b := w.broker(id)
	switch d.Cmd {
	case "fill":
		fill(w, b, number(t, d, "n", 0), kafka.Offset(number(t, d, "hw", 0)))
		w.notes = nil
	case "lead":
		epoch := int32(number(t, d, "epoch", 0))
		b.lead(0, epoch, epoch, nodes(t, d, "isr"), nodes(t, d, "replicas"))
	case "follow":
		epoch := int32(number(t, d, "epoch", 0))
		b.follow(0, int32(number(t, d, "leader", 0)), epoch, epoch, allOf(w))
	case "append":
		return scriptedAppend(t, b, d)
	case "release":
		for p := b.partition(0); len(p.unpublished) > 0; {
			p.Publish(b.input(step.Done), b.out, p.unpublished[0].number)
		}
		b.holdDone = false
		b.settle()
	case "exchange":
		var out strings.Builder
		for range number(t, d, "times", 1) {
			req, resp := b.exchange()
			out.WriteString(exchanged(req, resp))
		}
		return out.String()
	case "fetch":
		res := b.fetchFrom(kafka.NodeID(number(t, d, "from", 0)), kafka.Offset(number(t, d, "at", 0)))
		return fmt.Sprintf("code %v bytes %v hw %d leo %d\n", res.Code, len(res.Records) > 0, res.HW, res.LEO)
	case "shrink":
		b.partition(0).MaybeShrinkISR(b.input(step.Timer), b.out)
		b.settle()
	case "isr":
		scriptedISR(t, b, d)
	case "produce":
		code, done := b.partition(0).CheckDelayedProduce(kafka.Offset(number(t, d, "required", 0)))
		return fmt.Sprintf("done %v code %v\n", done, code)
	case "down", "up":
		b.alive = d.Cmd == "up"
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

func scriptedAppend(t *testing.T, b *broker, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "name", &name)
	b.holdDone = b.holdDone || d.HasArg("hold")
	res, code := b.append(0, name, number(t, d, "n", 1), int8(number(t, d, "acks", 1)))
	return fmt.Sprintf("base %d last %d code %v\n", res.Base, res.Last, code)
}

func scriptedISR(t *testing.T, b *broker, d *datadriven.TestData) {
	var word string
	d.ScanArgs(t, "code", &word)
	if word == "none" {
		b.commitISR(b.partition(0))
		return
	}
	for code := kafka.ErrorCode(-1); code < 120; code++ {
		if code.String() == word {
			c := b.takeChange()
			c.Partition.HandleISR(b.input(step.Response), b.out, c, ISRResult{Code: code})
			b.settle()
			return
		}
	}
	t.Fatalf("no code %s", word)
}

func number(t *testing.T, d *datadriven.TestData, key string, n int) int {
	t.Helper()
	d.MaybeScanArgs(t, key, &n)
	return n
}

func allOf(w *world) []kafka.NodeID {
	var all []kafka.NodeID
	for i := range w.brokers {
		all = append(all, kafka.NodeID(i+1))
	}
	return all
}

// nodes reads a list of brokers, by default 1 to 3.
func nodes(t *testing.T, d *datadriven.TestData, key string) []kafka.NodeID {
	arg, ok := d.Arg(key)
	if !ok {
		return ids(1, 2, 3)
	}
	var list []kafka.NodeID
	for i := range arg.Vals {
		var n int
		arg.Scan(t, i, &n)
		list = append(list, kafka.NodeID(n))
	}
	return list
}

func show(w *world) string {
	var out strings.Builder
	for _, b := range w.brokers {
		p := b.partition(0)
		if p.Log() == nil {
			continue
		}
		fmt.Fprintf(&out, "%d %v epoch %d hw %d leo %d", b.env.Node, p.Role(), p.LeaderEpoch(), p.HighWatermark(), p.PublishedLEO())
		if p.IsLeader() {
			fmt.Fprintf(&out, " isr %v maximal %v", p.ISR(), p.MaximalISR())
		}
		fmt.Fprintf(&out, "\n  %s\n", b.contents(0))
	}
	return out.String()
}

// notesOf prints the facts, those of an append left out: LEOPublished tells.
func notesOf(w *world) string {
	var out strings.Builder
	for _, e := range w.notes {
		if e.Kind == event.BatchAppended {
			continue
		}
		fmt.Fprintf(&out, "[%d] %v", e.Node, e.Kind)
		switch e.Kind {
		case event.LEOPublished:
			fmt.Fprintf(&out, " leo %d", e.LEO)
		case event.HighWatermark:
			fmt.Fprintf(&out, " hw %d leo %d", e.HW, e.LEO)
		case event.Truncated:
			fmt.Fprintf(&out, " from %d to %d hw %d by %s", e.LEO, e.Offset, e.HW, e.Text)
		case event.IsrProposed:
			fmt.Fprintf(&out, " isr %v maximal %v", e.ISR, e.MaximalISR)
		case event.IsrCommitted:
			fmt.Fprintf(&out, " isr %v partition epoch %d", e.ISR, e.PartitionEpoch)
		case event.BecameLeader:
			fmt.Fprintf(&out, " epoch %d from %d hw %d isr %v", e.LeaderEpoch, e.Offset, e.HW, e.ISR)
		case event.BecameFollower:
			fmt.Fprintf(&out, " epoch %d leader %d hw %d leo %d", e.LeaderEpoch, e.Leader, e.HW, e.LEO)
		case event.FetcherFailed:
			fmt.Fprintf(&out, " %s", e.Text)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// exchanged prints a fetcher's request and its answer.
func exchanged(req kmsg.Request, resp kmsg.Response) string {
	if req == nil {
		return "nothing to ask\n"
	}
	answer := "no answer"
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		p := req.Topics[0].Partitions[0]
		if resp != nil {
			a := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
			answer = fmt.Sprintf("%v hw %d bytes %v", kafka.ErrorCode(a.ErrorCode), a.HighWatermark, len(a.RecordBatches) > 0)
			if a.DivergingEpoch.Epoch >= 0 {
				answer = fmt.Sprintf("diverging epoch %d end %d", a.DivergingEpoch.Epoch, a.DivergingEpoch.EndOffset)
			}
		}
		return fmt.Sprintf("fetch at %d last epoch %d -> %s\n", p.FetchOffset, p.LastFetchedEpoch, answer)
	case *kmsg.OffsetForLeaderEpochRequest:
		if resp != nil {
			a := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
			answer = fmt.Sprintf("%v epoch %d end %d", kafka.ErrorCode(a.ErrorCode), a.LeaderEpoch, a.EndOffset)
		}
		return fmt.Sprintf("end of epoch %d -> %s\n", req.Topics[0].Partitions[0].LeaderEpoch, answer)
	case *kmsg.ListOffsetsRequest:
		if resp != nil {
			a := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			answer = fmt.Sprintf("%v offset %d", kafka.ErrorCode(a.ErrorCode), a.Offset)
		}
		return fmt.Sprintf("list offsets %d -> %s\n", req.Topics[0].Partitions[0].Timestamp, answer)
	}
	return "?\n"
}
