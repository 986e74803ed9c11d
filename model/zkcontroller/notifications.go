package zkcontroller

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// watched makes the event that a watch stands for, nil if it is not the
// controller's (cluster 3.2). Most need an active controller and look for that
// when their turn comes.
func (c *Controller) watched(ev zookeeper.Event) procedure {
	switch {
	case ev.Path == zookeeper.ControllerPath:
		if ev.Type == zookeeper.Deleted {
			return &reelect{}
		}
		return &maybeResign{}
	case ev.Type == zookeeper.ChildrenChanged:
		return childrenWatched(ev.Path)
	case ev.Path == zookeeper.PreferredElectionPath && ev.Type == zookeeper.Created:
		return &electLeaders{trigger: byZNode}
	case ev.Type == zookeeper.DataChanged:
		return dataWatched(ev.Path)
	}
	return nil
}

func childrenWatched(path string) procedure {
	switch path {
	case zookeeper.BrokerIDsPath:
		return &brokerChange{}
	case zookeeper.TopicsPath:
		return &topicChange{}
	case zookeeper.DeleteTopicsPath:
		return &topicDeletion{}
	case zookeeper.IsrChangePath:
		return &isrChangeNotification{}
	case zookeeper.LogDirEventPath:
		return &logDirEvent{}
	}
	return nil
}

func dataWatched(path string) procedure {
	if id, ok := zookeeper.ParseBrokerPath(path); ok {
		return &brokerModification{id: id}
	}
	if topic, ok := zookeeper.ParseTopicPath(path); ok {
		return &partitionModifications{read: readTopics{names: []string{topic}}}
	}
	return nil
}

// readNotifications lists the children of a notification node, arming the watch,
// and reads each.
type readNotifications struct {
	parent string

	at    int
	names []string
	data  [][]byte // of the children that were still there
}

func (r *readNotifications) step(c *Controller) next {
	r.at++
	switch r.at {
	case 1:
		return await([]zookeeper.Request{children(r.parent)})
	case 2:
		r.names = append([]string{}, c.results[0][0].Children...)
		reqs := make([]zookeeper.Request, len(r.names))
		for i, name := range r.names {
			reqs[i] = read(r.parent + "/" + name)
		}
		return await(reqs)
	}
	for i := range r.names {
		if res := &c.results[i][0]; res.Code == zookeeper.OK {
			r.data = append(r.data, res.Data)
		}
	}
	return done()
}

// isrChangeNotification re-reads the partitions whose leaders changed their ISR
// directly, tells all brokers, and deletes the notifications (L-27).
type isrChangeNotification struct {
	at   int
	read readNotifications
	ps   []*partition
}

func (e *isrChangeNotification) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		e.read.parent = zookeeper.IsrChangePath
		return call(&e.read)
	case 2:
		e.collect(c)
		return call(&refreshStates{partitions: e.ps})
	case 3:
		if len(e.ps) > 0 {
			c.updateMetadata(c.ctx.allBrokers(), e.ps...)
		}
		return call(&deleteNotifications{parent: zookeeper.IsrChangePath, names: e.read.names})
	}
	return done()
}

// collect lists the named partitions once each, in order.
func (e *isrChangeNotification) collect(c *Controller) {
	var tps []kafka.TopicPartition
	for _, data := range e.read.data {
		named, err := zookeeper.DecodePartitions(data)
		if err == nil {
			tps = append(tps, named...)
		}
	}
	slices.SortFunc(tps, kafka.TopicPartition.Compare)
	for _, tp := range slices.Compact(tps) {
		if p := c.ctx.partition(tp); p != nil {
			e.ps = append(e.ps, p)
		}
	}
}

// logDirEvent asks brokers with a failed log directory, by LeaderAndIsr for all of
// their replicas, which ones are gone; the answers say KAFKA_STORAGE_ERROR
// (onBrokerLogDirFailure).
type logDirEvent struct {
	at   int
	read readNotifications
}

func (e *logDirEvent) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		e.read.parent = zookeeper.LogDirEventPath
		return call(&e.read)
	case 2:
		c.onlineReplicas(e.replicas(c))
		return call(&deleteNotifications{parent: zookeeper.LogDirEventPath, names: e.read.names})
	}
	return done()
}

func (e *logDirEvent) replicas(c *Controller) (rs []replicaOf) {
	var brokers []kafka.NodeID
	for _, data := range e.read.data {
		if id, err := zookeeper.DecodeLogDirEvent(data); err == nil {
			brokers = append(brokers, id)
		}
	}
	slices.Sort(brokers)
	for _, id := range slices.Compact(brokers) {
		rs = append(rs, c.ctx.replicasOn(id)...)
	}
	return rs
}
