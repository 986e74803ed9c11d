package group

import (
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// task is what the coordinator's one background thread has to do.
type task struct {
	kind      taskKind
	partition int32
	epoch     kafka.LeaderEpoch // NoLeaderEpoch = none was given
	load      *load             // while it is under way
}

type taskKind uint8

const (
	loadTask taskKind = iota
	unloadTask
	expireTask
)

// Elected is told when the broker begins to lead a partition of __consumer_offsets.
func (c *Coordinator) Elected(partition int32, epoch kafka.LeaderEpoch) {
	c.tasks = append(c.tasks, &task{kind: loadTask, partition: partition, epoch: epoch})
}

// Resigned is told when it does not lead it any more. epoch is NoLeaderEpoch if the
// request named none.
func (c *Coordinator) Resigned(partition int32, epoch kafka.LeaderEpoch) {
	c.tasks = append(c.tasks, &task{kind: unloadTask, partition: partition, epoch: epoch})
}

// Expire is the periodic look for offsets and groups that are due
// (offsets.retention.check.interval.ms).
func (c *Coordinator) Expire() { c.tasks = append(c.tasks, &task{kind: expireTask}) }

// HasTask reports whether RunTask has something to do.
func (c *Coordinator) HasTask() bool { return len(c.tasks) > 0 }

// RunTask does one piece of the first task: a chunk of a log, or all of another kind. An
// error is that of reading the log; the task is over then, as in Kafka, which serves
// what it has.
func (c *Coordinator) RunTask(in *step.Input, out *step.Effects) error {
	if len(c.tasks) == 0 {
		return nil
	}
	t := c.tasks[0]
	done, err := true, error(nil)
	switch t.kind {
	case loadTask:
		done, err = c.runLoad(in, out, t)
	case unloadTask:
		c.unload(in, out, t)
	case expireTask:
		c.expire(in, out)
	}
	if done {
		c.tasks = c.tasks[1:]
	}
	return err
}

// renews is LD-1: an epoch below the remembered one is old news.
func (o *ownership) renews(epoch kafka.LeaderEpoch) bool {
	o.epoch = max(o.epoch, epoch)
	return epoch == kafka.NoLeaderEpoch || epoch == o.epoch
}

// load is a load under way.
type load struct {
	cursor kafka.Offset
	groups []*loaded
	byID   map[string]*loaded
	open   []openCommit
}

// loaded is what the log says of a group so far.
type loaded struct {
	group    *Group // with its offsets
	metadata *Metadata
}

// openCommit is an offset in a transaction without an end so far.
type openCommit struct {
	openOffset
	group *loaded
}

// runLoad reads one chunk; done tells that the load is over.
func (c *Coordinator) runLoad(in *step.Input, out *step.Effects, t *task) (done bool, err error) {
	o := c.at(t.partition)
	if t.load == nil {
		if !o.renews(t.epoch) || o.owned {
			return true, nil
		}
		t.load = &load{byID: make(map[string]*loaded), cursor: kafka.NoOffset}
		if !o.loading {
			o.loading = true
			c.loading++
		}
	}
	more, err := c.readChunk(in, t)
	switch {
	case errors.Is(err, vfs.ErrCrashed):
		return false, err
	case err == nil && more:
		if c.cfg.Profile.Quirks.Has(quirk.LoadByChunk) {
			c.install(in, out, t)
		}
		return false, nil
	}
	var unknown *recordError
	if err == nil {
		c.install(in, out, t)
	}
	c.noteLoad(out, t, err)
	c.settleOwner(o, true)
	if errors.As(err, &unknown) {
		err = nil // the log is well, but not understood
	}
	return true, err
}

// settleOwner ends loading.
func (c *Coordinator) settleOwner(o *ownership, owned bool) {
	if o.loading {
		c.loading--
	}
	o.loading, o.owned = false, owned
}

// recordError is a record that cannot be read.
type recordError struct {
	offset kafka.Offset
	err    error
}

func (e *recordError) Error() string {
	return "group: a record of " + OffsetsTopic + ": " + e.err.Error()
}
func (e *recordError) Unwrap() error { return e.err }

// readChunk replays up to offsets.load.buffer.size bytes (LD-2); more tells that there
// may be others. A partition that is not led any more ends the load early.
func (c *Coordinator) readChunk(in *step.Input, t *task) (more bool, err error) {
	l, leads := c.host.OffsetsLog(t.partition)
	if l == nil {
		return false, nil
	}
	if t.load.cursor == kafka.NoOffset {
		t.load.cursor = l.LogStartOffset()
	}
	if !leads || t.load.cursor >= l.LogEndOffset() {
		return false, nil
	}
	info, err := l.Read(t.load.cursor, c.cfg.OffsetsLoadBuffer, l.LogEndOffset(), true)
	if err != nil {
		var gone *log.OffsetOutOfRangeError
		if errors.As(err, &gone) {
			err = &recordError{t.load.cursor, err}
		}
		return false, err
	}
	if len(info.Records) == 0 {
		return false, nil
	}
	var it record.Iterator
	it.UseScratch(c.memory())
	for buf := info.Records; len(buf) >= record.HeaderSize; {
		b := record.Batch(buf)
		if b.Size() > len(buf) {
			break
		}
		b = b[:b.Size():b.Size()]
		if err := c.replay(in, t, b, &it); err != nil {
			return false, &recordError{b.BaseOffset(), err}
		}
		t.load.cursor = b.NextOffset()
		buf = buf[len(b):]
	}
	return true, nil
}

// memory is for decompression.
func (c *Coordinator) memory() *record.Scratch {
	if c.scratch == nil {
		c.scratch = new(record.Scratch)
	}
	return c.scratch
}

// replay is LD-3 for one batch.
func (c *Coordinator) replay(in *step.Input, t *task, b record.Batch, it *record.Iterator) error {
	if b.IsControl() {
		return t.load.endTransaction(b)
	}
	it.Reset(b)
	base := kafka.NoOffset
	for it.Next() {
		r := it.Record()
		if base == kafka.NoOffset {
			base = r.Offset
		}
		key, err := DecodeKey(r.Key)
		if err != nil {
			return err
		}
		switch {
		case key.IsOffset():
			err = t.load.offset(c, in, &key, r.Value, base, b)
		case key.IsGroup():
			err = t.load.metadata(c, in, key.Group, r.Value)
		}
		if err != nil {
			return err
		}
	}
	return it.Err()
}

// of is what is loaded of a group.
func (l *load) of(c *Coordinator, in *step.Input, id string) *loaded {
	g := l.byID[id]
	if g == nil {
		g = &loaded{group: newGroup(id, c.PartitionOf(id), in.Wall)}
		l.groups = append(l.groups, g)
		l.byID[id] = g
	}
	return g
}

func (l *load) offset(c *Coordinator, in *step.Input, key *Key, value []byte, base kafka.Offset, b record.Batch) error {
	g := l.of(c, in, key.Group)
	if b.IsTransactional() {
		l.open = slices.DeleteFunc(l.open, func(o openCommit) bool {
			return o.producer == b.ProducerID() && o.group == g && o.tp == key.TP
		})
	}
	if value == nil {
		if !b.IsTransactional() {
			g.group.offsets.removePublished(key.TP)
		}
		return nil
	}
	o, err := DecodeOffset(value)
	if err != nil {
		return err
	}
	if b.IsTransactional() {
		l.open = append(l.open, openCommit{openOffset{b.ProducerID(), key.TP, o, base}, g})
		return nil
	}
	e := g.group.offsets.take(key.TP)
	e.value, e.base, e.known = o, base, true
	return nil
}

// endTransaction is a marker: a commit publishes what is not older than what is there.
func (l *load) endTransaction(b record.Batch) error {
	marker, known, err := b.ParseMarker()
	if err != nil || !known {
		return err
	}
	for _, o := range l.open {
		if o.producer == b.ProducerID() && marker.Commit {
			o.group.group.offsets.take(o.tp).put(o.value, o.base)
		}
	}
	l.open = slices.DeleteFunc(l.open, func(o openCommit) bool { return o.producer == b.ProducerID() })
	return nil
}

func (l *load) metadata(c *Coordinator, in *step.Input, id string, value []byte) error {
	g := l.of(c, in, id)
	g.metadata = nil
	if value == nil {
		return nil
	}
	m, err := DecodeMetadata(value)
	if err == nil {
		g.metadata = &m
	}
	return err
}

// install publishes what was loaded, all at once (KAFKA-5600).
func (c *Coordinator) install(in *step.Input, out *step.Effects, t *task) {
	for i := range t.load.open {
		o := &t.load.open[i]
		o.group.group.offsets.open = append(o.group.group.offsets.open, o.openOffset)
	}
	slices.SortFunc(t.load.groups, func(a, b *loaded) int { return strings.Compare(a.group.id, b.group.id) })
	for _, l := range t.load.groups {
		if l.metadata == nil && !l.group.offsets.has() || c.byID[l.group.id] != nil {
			continue
		}
		c.enter(l.group)
		if l.metadata != nil {
			c.restore(l.group, l.metadata)
		}
		c.installed(in, out, l.group)
	}
}

// restore makes a group what its record says (LD-4, LD-5).
func (c *Coordinator) restore(g *Group, r *Metadata) {
	g.protocolType, g.protocol, g.generation, g.leader, g.stateTime = r.ProtocolType, r.Protocol, r.Generation, r.Leader, r.StateTime
	for i := range r.Members {
		m := &r.Members[i]
		g.add(&Member{id: m.ID, instance: m.Instance, client: m.Client, host: m.Host,
			rebalanceTimeout: millis(m.RebalanceTimeout), sessionTimeout: millis(m.SessionTimeout),
			protocols: []Protocol{{r.Protocol, slices.Clone(m.Subscription)}}, assignment: slices.Clone(m.Assignment)}, r.ProtocolType)
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.learnTopics()
}

// installed is onGroupLoaded (LD-6).
func (c *Coordinator) installed(in *step.Input, out *step.Effects, g *Group) {
	c.noteGroup(out, g, "loaded")
	for _, m := range g.members {
		e := c.noteMember(out, event.MemberJoined, g, m, event.JoinLoaded)
		e.Batch, e.CRC, e.Size = m.metadata(g.protocol), crc32.ChecksumIEEE(m.assignment), int32(len(m.assignment))
	}
	for _, e := range g.offsets.list {
		f := c.fact(out, event.OffsetLoaded, g)
		f.TP, f.Index, f.Offset, f.First = e.tp, g.partition, e.value.Offset, int64(e.base)
	}
	if len(g.members) > c.cfg.GroupMaxSize {
		c.prepareRebalance(in, out, g, reasonOverCapacity)
	}
	for _, m := range g.members {
		c.renewSession(in, m)
	}
}

func (c *Coordinator) noteLoad(out *step.Effects, t *task, err error) {
	e := out.Fact()
	e.Kind, e.Node, e.LeaderEpoch, e.Offset = event.CoordinatorLoaded, c.cfg.NodeID, t.epoch, t.load.cursor
	e.TP = kafka.TopicPartition{Topic: OffsetsTopic, Partition: t.partition}
	switch _, leads := c.host.OffsetsLog(t.partition); {
	case err != nil:
		e.Text = err.Error()
		return
	case !leads:
		e.Text = "the partition is not led any more"
	}
	for _, g := range c.groups {
		if g.partition == t.partition {
			e.Count++
			e.Index += int32(g.offsets.count())
		}
	}
}

// unload gives up the groups of a partition (LD-8).
func (c *Coordinator) unload(in *step.Input, out *step.Effects, t *task) {
	o := c.at(t.partition)
	if !o.renews(t.epoch) {
		return
	}
	had := o.owned || o.loading
	c.settleOwner(o, false)
	n := int32(0)
	for _, g := range slices.Clone(c.groups) {
		if g.partition == t.partition {
			c.giveUp(in, out, g)
			n++
		}
	}
	if !had {
		return
	}
	e := out.Fact()
	e.Kind, e.Node, e.LeaderEpoch, e.Count = event.CoordinatorUnloaded, c.cfg.NodeID, o.epoch, n
	e.TP = kafka.TopicPartition{Topic: OffsetsTopic, Partition: t.partition}
}

// giveUp is onGroupUnloaded.
func (c *Coordinator) giveUp(in *step.Input, out *step.Effects, g *Group) {
	c.move(in, out, g, Dead, "its partition moves to another broker")
	for _, m := range g.members {
		c.answerJoin(out, g, m, joinError(m.id, kafka.NotCoordinator))
		c.answerSync(out, g, m, kafka.NotCoordinator)
	}
	c.forget(g)
}
