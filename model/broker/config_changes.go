package broker

import (
	"strings"

	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// configChanges follows /config/changes (ZkNodeChangeNotificationListener and
// TopicConfigHandler). Changes of other entities than topics are passed over, and
// old notifications are not purged.
type configChanges struct {
	// last is the name of the newest notification that was read; names sort in the
	// order of their numbers.
	last string
}

// readConfigChanges reads the notifications and leaves the watch for the next one.
func (b *Broker) readConfigChanges(in *step.Input, out *step.Effects) {
	reqs := []zookeeper.Request{{{Type: zookeeper.OpGetChildren, Path: zookeeper.ConfigChangesPath, Watch: true}}}
	b.ask(in, out, reqs, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		b.newConfigChanges(in, out, results[0][0].Children)
		return nil
	})
}

func (b *Broker) newConfigChanges(in *step.Input, out *step.Effects, names []string) {
	var reqs []zookeeper.Request
	for _, name := range names {
		if name > b.configs.last {
			b.configs.last = name
			reqs = append(reqs, zookeeper.Request{{Type: zookeeper.OpGetData, Path: zookeeper.ConfigChangesPath + "/" + name}})
		}
	}
	if len(reqs) == 0 {
		return
	}
	b.ask(in, out, reqs, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		for _, r := range results {
			entity, err := zookeeper.DecodeConfigChange(r[0].Data)
			name, isTopic := strings.CutPrefix(entity, "topics/")
			if r[0].Code == zookeeper.OK && err == nil && isTopic {
				b.reloadTopic(in, out, name)
			}
		}
		return nil
	})
}

func (b *Broker) reloadTopic(in *step.Input, out *step.Effects, name string) {
	b.ask(in, out, topicConfigReads([]string{name}), func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		t := b.topics.configure(name, &results[0][0])
		b.wakeCleaner(in, out)
		if t.settings.UncleanLeaderElection && b.controller.IsActive() {
			b.controller.UncleanElectionEnabled(in, out, name)
		}
		return nil
	})
}
