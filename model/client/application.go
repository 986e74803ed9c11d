package client

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// appState is what the application's thread does.
type appState uint8

const (
	polling appState = iota
	processing
)

// processedAtLeast is how exactly it is known what was processed at a crash: to the
// record, or to this time where records take less.
const processedAtLeast = kafka.Millisecond

// application is the loop that uses the consumer (groups 7.1).
type application struct {
	state   appState
	work    []portion      // what the last poll returned and is not processed
	offsets []kafka.Offset // of work's records
	busy    kafka.Nanos    // until when the records in hand take
	inHand  int            // how many they are

	closing   bool // SIGTERM: finish what the last poll returned, or drop it, then close
	dropped   bool // some was
	leaving   bool // close has begun
	committed bool // its commit has ended
	given     bool // its callback has begun, and has told this kind of thing, as decided then
	kind      event.Kind
	givenAt   kafka.Nanos
	left      bool // LeaveGroup is answered, or there is none
	until     kafka.Nanos
}

// portion is records of one partition, consecutive in a poll's answer.
type portion struct {
	tp       kafka.TopicPartition
	from, to int // in application.offsets
}

// buffered is a fetch's answer that poll has not returned yet.
type buffered struct {
	part *assigned
	data []byte
	node kafka.NodeID
	next kafka.Offset // the position for which it was fetched, moved on with it
}

// put keeps the records of a fetch for poll.
func (g *GroupConsumer) put(a *assigned, data []byte, node kafka.NodeID) {
	if len(data) == 0 {
		return
	}
	a.buffered = true
	g.buffer = append(g.buffer, buffered{a, data, node, a.pos.offset})
	g.turn = a.index + 1
}

// application is a turn of the application's thread; it returns when to come back.
func (g *GroupConsumer) application(in *step.Input, out *step.Effects) kafka.Nanos {
	for !g.failed() {
		next, again := kafka.Forever, false
		switch {
		case g.sync != nil:
			next, again = g.driveSync(in, out)
		case g.app.state == processing:
			next, again = g.process(in, out)
		case g.app.closing:
			next, again = g.close(in, out)
		default:
			next, again = g.poll(in, out)
		}
		if !again {
			return next
		}
		g.drain(in, out)
	}
	return kafka.Forever
}

// poll is KafkaConsumer.poll (groups 3.5). again: the application has something to do.
func (g *GroupConsumer) poll(in *step.Input, out *step.Effects) (next kafka.Nanos, again bool) {
	g.member.polled = in.Now
	g.checkCounts()
	next, active := g.ensureActive(in, out)
	if g.failed() || g.sync != nil {
		return 0, true
	}
	if active {
		next = min(next, g.autoCommit(in, out))
	}
	next = min(next, g.fetchCommitted(in, out), g.ask(in, out))
	if n := g.collect(out); n > 0 {
		g.note(out, event.Polled).Count = int32(n)
		g.fetch(in, out) // for the next poll
		g.returned(in, out)
		return 0, true
	}
	return min(next, g.fetch(in, out)), false
}

// given is the end of close's callback (onLeavePrepare), which a consumer without
// internal.leave.group.on.close does not call: its group takes it for dead later.
func (g *GroupConsumer) given(in *step.Input, out *step.Effects) {
	p := &g.app
	why := "close"
	if p.kind == event.PartitionLost {
		why = "close while rebalancing"
	}
	g.drop(out, p.kind, g.parts, why, p.givenAt)
	p.left = !g.cfg.LeaveOnClose || !g.leave(in, out, "the consumer is being closed")
}

// collect moves records from the buffer to the application, at most
// max.poll.records, and positions behind them.
func (g *GroupConsumer) collect(out *step.Effects) int {
	g.app.work, g.app.offsets = g.app.work[:0], g.app.offsets[:0]
	for len(g.buffer) > 0 && len(g.app.offsets) < g.cfg.MaxPollRecords && !g.failed() {
		b := &g.buffer[0]
		stale := b.part.state != fetching || b.part.paused || b.part.pos.offset != b.next
		if stale || g.take(out, b) {
			b.part.buffered = false
			g.buffer = append(g.buffer[:0], g.buffer[1:]...)
		}
	}
	return len(g.app.offsets)
}

// take hands records of one fetch over. True: nothing of it is left.
func (g *GroupConsumer) take(out *step.Effects, x *buffered) (empty bool) {
	for len(x.data) > 0 {
		a := x.part
		b, rest, err := record.Next(x.data)
		if err == record.ErrIncomplete {
			return true
		}
		if err == nil && g.cfg.CheckCRCs {
			err = g.checked.Check(b)
		}
		if err != nil {
			g.raise("fetch of " + a.tp.String() + ": " + err.Error())
			return true
		}
		whole := true
		if b.LastOffset() >= a.pos.offset && !b.IsControl() {
			whole = g.deliver(out, x, b)
		}
		if whole && b.LastOffset() >= a.pos.offset {
			a.pos.offset, a.pos.epoch = b.NextOffset(), b.PartitionLeaderEpoch()
		}
		x.next = a.pos.offset
		if !whole {
			return false
		}
		x.data = rest
	}
	return true
}

// deliver returns a batch's records from the position on, as many as the poll has
// room for. Whole: to its end.
func (g *GroupConsumer) deliver(out *step.Effects, x *buffered, b record.Batch) (whole bool) {
	a, from := x.part, len(g.app.offsets)
	e := event.Event{Kind: event.RecordDelivered, TP: a.tp, Base: kafka.NoOffset, CRC: b.CRC(), Node: x.node, Producer: -1, First: -1, Batch: b,
		Group: g.group.Group, Member: g.member.id, Generation: g.member.generation}
	whole = true
	for g.it.Reset(b); g.it.Next(); {
		rec := g.it.Record()
		if rec.Offset < a.pos.offset {
			continue
		}
		if len(g.app.offsets) == g.cfg.MaxPollRecords {
			whole = false
			break
		}
		if e.Base == kafka.NoOffset {
			e.Base = rec.Offset
			e.Producer, e.First, e.Created, _ = ParseRecord(rec)
		}
		e.Last = rec.Offset
		e.Count++
		g.app.offsets = append(g.app.offsets, rec.Offset)
	}
	if err := g.it.Err(); err != nil {
		g.raise("fetch of " + a.tp.String() + ": " + err.Error())
		return true
	}
	if e.Count == 0 {
		return whole
	}
	if e.Flag = !whole; whole {
		e.Last = b.LastOffset()
	}
	out.Note(e)
	g.app.work = append(g.app.work, portion{a.tp, from, len(g.app.offsets)})
	a.pos.offset, a.pos.epoch = e.Last+1, b.PartitionLeaderEpoch()
	return whole
}

// returned is the application with the records of a poll.
func (g *GroupConsumer) returned(in *step.Input, out *step.Effects) {
	g.app.state = processing
	if g.group.Commit == CommitBefore {
		g.commitSync(in, g.consumed(g.parts), event.CommitBefore, afterBefore, g.cfg.APITimeout)
	}
}

// process works on what the last poll returned, then commits if that is due. again:
// it has come to its end.
func (g *GroupConsumer) process(in *step.Input, out *step.Effects) (next kafka.Nanos, again bool) {
	p := &g.app
	if p.closing && g.group.Drop {
		p.dropped, p.state = len(p.work) > 0, polling
		return 0, true
	}
	for {
		if p.busy > in.Now {
			return p.busy, false
		}
		if p.inHand > 0 {
			g.processed(out, p.inHand)
			p.inHand = 0
		}
		if len(p.work) == 0 {
			break
		}
		w := &p.work[0]
		p.inHand = w.to - w.from
		if t := g.group.Processing; t > 0 {
			p.inHand = min(p.inHand, max(1, int(processedAtLeast/t)))
			p.busy = in.Now + kafka.Nanos(p.inHand)*t
		}
	}
	p.state = polling
	g.afterProcessing(in, out)
	return 0, true
}

// processed notes the first n records of the work as done.
func (g *GroupConsumer) processed(out *step.Effects, n int) {
	w := &g.app.work[0]
	e := g.note(out, event.RecordProcessed)
	e.TP, e.Base, e.Last, e.Count = w.tp, g.app.offsets[w.from], g.app.offsets[w.from+n-1], int32(n)
	if w.from += n; w.from == w.to {
		g.app.work = append(g.app.work[:0], g.app.work[1:]...)
	}
}

func (g *GroupConsumer) afterProcessing(in *step.Input, out *step.Effects) {
	switch g.group.Commit {
	case CommitSync:
		g.commitSync(in, g.consumed(g.parts), event.CommitSync, afterPoll, g.cfg.APITimeout)
	case CommitAsync:
		g.sendCommit(in, out, g.consumed(g.parts), event.CommitAsync)
	}
}

// close is KafkaConsumer.close: a last commit, the callback, LeaveGroup. again: a step
// of it was done.
func (g *GroupConsumer) close(in *step.Input, out *step.Effects) (next kafka.Nanos, again bool) {
	p, m := &g.app, &g.member
	if !p.leaving {
		p.leaving, p.until = true, in.Now+closeTimeout
		byItself := g.group.Commit == CommitSync || g.group.Commit == CommitAsync
		if byItself && !p.dropped || g.autoCommits() { // which knows nothing of what was dropped
			g.commitSync(in, g.consumed(g.parts), event.CommitClose, afterClose, closeTimeout)
			return 0, true
		}
		p.committed = true
	}
	if !p.given {
		p.given, p.kind, p.givenAt = true, event.PartitionRevoked, in.Now
		if m.wasReset() || m.state == preparing || m.state == completing {
			p.kind = event.PartitionLost
		}
		if g.cfg.LeaveOnClose && g.callback(in, p.kind, g.parts, afterGiven) {
			return 0, true
		}
		g.given(in, out)
	}
	if p.left || in.Now >= p.until {
		out.Exit("closed")
		return kafka.Forever, false
	}
	return p.until, false
}
