package broker

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// prepare makes the parents of all znodes and the cluster's id, and reads which
// topics there are. Nodes that exist already stay.
func (b *Broker) prepare(in *step.Input, out *step.Effects) {
	var reqs []zookeeper.Request
	for _, path := range append(zookeeper.PersistentPaths(), "/cluster") {
		reqs = append(reqs, zookeeper.Request{{Type: zookeeper.OpCreate, Path: path}})
	}
	reqs = append(reqs,
		zookeeper.Request{{Type: zookeeper.OpCreate, Path: zookeeper.ClusterIDPath, Data: zookeeper.EncodeClusterID(b.params.ClusterID)}},
		zookeeper.Request{{Type: zookeeper.OpGetData, Path: zookeeper.ClusterIDPath}},
		zookeeper.Request{{Type: zookeeper.OpGetChildren, Path: zookeeper.TopicsPath}})
	b.ask(in, out, reqs, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		n := len(results)
		id, err := zookeeper.DecodeClusterID(results[n-2][0].Data)
		if err != nil {
			b.exit(out, "no cluster id in ZooKeeper: "+err.Error())
			return nil
		}
		b.params.ClusterID = id
		b.readTopicConfigs(in, out, results[n-1][0].Children)
		return nil
	})
}

// readTopicConfigs reads the overrides of all topics before any log is loaded
// (LogManager.startup).
func (b *Broker) readTopicConfigs(in *step.Input, out *step.Effects, topics []string) {
	reqs := topicConfigReads(topics)
	if slices.Contains(topics, group.OffsetsTopic) { // how many partitions groups are spread over
		reqs = append(reqs, read(zookeeper.TopicPath(group.OffsetsTopic)))
	}
	b.ask(in, out, reqs, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		for i, name := range topics {
			b.topics.configure(name, &results[i][0])
		}
		if len(results) > len(topics) {
			assigned, err := zookeeper.DecodeTopic(results[len(topics)][0].Data)
			if err == nil {
				b.groups.partitions = int32(len(assigned.Partitions))
			}
		}
		post(in, out, laneMain, b.startLogs)
		return nil
	})
}

// startLogs checks the identity of the data directories and begins to load them.
func (b *Broker) startLogs(in *step.Input, out *step.Effects) error {
	b.state = Recovering
	for _, m := range b.logs.All() {
		if err := b.startDir(in, out, m); err != nil || b.state == Stopped {
			return err
		}
	}
	return b.load(in, out)
}

func (b *Broker) startDir(in *step.Input, out *step.Effects, m *log.Manager) error {
	found, known, err := log.ReadMetaProperties(b.params.FS, m.Dir())
	if err != nil {
		return b.absorb(&log.DirError{Dir: m.Dir(), Err: err})
	}
	switch {
	case known && found.ClusterID != b.params.ClusterID:
		b.exit(out, "the data directory belongs to cluster "+found.ClusterID)
		return nil
	case known && found.BrokerID != b.cfg.NodeID:
		b.exit(out, "the data directory belongs to "+kafka.BrokerHost(found.BrokerID))
		return nil
	}
	if err := b.logs.Start(m); err != nil {
		return err
	}
	if known || !m.Online() {
		return nil
	}
	identity := log.MetaProperties{BrokerID: b.cfg.NodeID, ClusterID: b.params.ClusterID}
	if err := log.WriteMetaProperties(b.params.FS, m.Dir(), identity, javaDate(in.Wall)); err != nil {
		return b.absorb(&log.DirError{Dir: m.Dir(), Err: err})
	}
	return nil
}

// load does one bounded piece of loading and recovery.
func (b *Broker) load(in *step.Input, out *step.Effects) error {
	loaded, dir, done, err := b.logs.LoadStep(in.Wall)
	if err != nil {
		return err
	}
	if loaded != nil {
		b.noteLoaded(out, loaded.TP, loaded.Log, !dir.CleanStart())
		b.deleteLater(in, out, loaded.Log)
	}
	if !done {
		out.SetTimer(laneMain, in.Now, timerLoad, 0, nil)
		return nil
	}
	b.startLogTasks(in, out)
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		b.bound, b.session.loaded = true, true
		b.register(in, out)
		return nil
	})
	return nil
}

func (b *Broker) noteLoaded(out *step.Effects, tp kafka.TopicPartition, l *log.Log, unclean bool) {
	e := event.Event{Kind: event.ReplicaLoaded, Node: b.cfg.NodeID, TP: tp, LogStart: l.LogStartOffset(),
		LEO: l.LogEndOffset(), HW: l.HighWatermark(), Base: l.ActiveBase(), Flag: unclean}
	e.First = int64(e.LEO)
	if known := l.EpochEntries(); len(known) > 0 {
		e.First = int64(known[0].Start)
	}
	for _, h := range l.Holes() {
		out.Note(event.Event{Kind: event.OffsetsMissing, Node: b.cfg.NodeID, TP: tp, Offset: h.From, Last: h.To - 1})
	}
	out.Note(e)
}

// serve begins to handle requests, those that have waited first.
func (b *Broker) serve(in *step.Input, out *step.Effects) {
	b.state = Running
	b.serving = true
	b.groups.started = in.Now
	if b.alter == nil {
		b.alterZK = replica.NewZkAlterPartitionManager(in, &b.env, laneAlter, timerAlter, b)
		b.env.ISR = b.alterZK
	}
	b.schedule(out, timerISR, in.Now, b.cfg.ReplicaLagTimeMax/2)
	for _, h := range b.held {
		out.SetTimer(laneRequests, in.Now, timerHeld, 0, h)
	}
	b.held = nil
}

// javaDate prints a time as java.util.Date does: the comment in meta.properties.
func javaDate(ms kafka.TimestampMs) string {
	const dayNames, monthNames = "ThuFriSatSunMonTueWed", "JanFebMarAprMayJunJulAugSepOctNovDec"
	secs := int64(ms) / 1000
	days, second := secs/86400, secs%86400
	if second < 0 {
		days, second = days-1, second+86400
	}
	weekday := (days%7 + 7) % 7
	year, month, day := civil(days)
	buf := make([]byte, 0, 32)
	buf = append(buf, dayNames[3*weekday:3*weekday+3]...)
	buf = append(append(buf, ' '), monthNames[3*month-3:3*month]...)
	buf = append(two(append(buf, ' '), day), ' ')
	buf = append(two(buf, second/3600), ':')
	buf = append(two(buf, second/60%60), ':')
	buf = append(two(buf, second%60), " UTC "...)
	return string(two(two(buf, year/100), year%100))
}

func two(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// civil is the date of a day counted from 1970-01-01 (Howard Hinnant's algorithm).
func civil(days int64) (year, month, day int64) {
	days += 719468
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	dayOfEra := days - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153 // from March
	day = dayOfYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}
