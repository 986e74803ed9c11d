package broker

import (
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// The failure of a data directory (KIP-112; ReplicaManager.LogDirFailureHandler and
// handleLogDirFailure, LogManager.handleLogDirFailure): while others are online its
// partitions answer KAFKA_STORAGE_ERROR, the controller hears of it by a znode and asks
// by LeaderAndIsr which replicas are gone, and no old replica is made anew. With the last
// directory, or before Kafka 1.0 with any, the process halts.
//
// Left out: moves between directories (AlterReplicaLogDirs); what an earlier life was
// moving is loaded and kept.

// DataDirs are the data directories of a broker whose disk has root for them: root
// itself, unless log.dirs names several.
func DataDirs(root string, configured []string) []string {
	if len(configured) <= 1 {
		return []string{root}
	}
	var dirs []string
	for _, dir := range configured {
		dirs = append(dirs, root+"/"+dir)
	}
	return dirs
}

// dirFailed takes a directory offline. The error comes back if the process cannot do
// without it, and then the step notes the failure.
func (b *Broker) dirFailed(failed *log.DirError) error {
	if b.logs.Fail(failed.Dir) {
		b.failedDirs = append(b.failedDirs, failed)
	}
	if b.logs.Online() == 0 || b.cfg.Profile.HaltOnDirFailure {
		return failed
	}
	return nil
}

// absorb is nil for the failure of one directory of several, with which a handler goes on
// to the next partition; what it returns ends the step.
func (b *Broker) absorb(err error) error {
	if err == nil {
		return nil
	}
	var failed *log.DirError // allocated, for errors.As
	if errors.Is(err, vfs.ErrCrashed) || !errors.As(err, &failed) {
		return err
	}
	if b.dirFailed(failed) != nil {
		return err
	}
	return nil
}

// takeDirsOffline is what follows a handler in which directories have failed.
func (b *Broker) takeDirsOffline(in *step.Input, out *step.Effects) error {
	for _, failed := range b.failedDirs {
		out.Note(event.Event{Kind: event.DirectoryOffline, Node: b.cfg.NodeID, Text: failed.Dir + ": " + failed.Error()})
	}
	b.failedDirs = b.failedDirs[:0]
	gone := b.logs.TakeOffline()
	for i := range gone {
		b.cleaner.forget(gone[i].Log)
	}
	for _, h := range slices.Clone(b.topics.hosted) {
		l := h.p.Log()
		if l == nil || b.logs.Of(l.Dir()).Online() {
			continue
		}
		if err := b.absorb(b.unfollow(in, out, h)); err != nil {
			return err
		}
		h.p.SetOffline(in, out)
	}
	b.fetchers.shutdownIdle(in, out)
	if b.session.loaded {
		b.notifyDirFailure(in, out)
	}
	return nil
}

// notifyDirFailure tells the controller (propagateLogDirEvent). A broker that is not
// registered yet will be asked anyway.
func (b *Broker) notifyDirFailure(in *step.Input, out *step.Effects) {
	create := zookeeper.Request{{Type: zookeeper.OpCreate, Path: zookeeper.LogDirEventPrefix,
		Data: zookeeper.EncodeLogDirEvent(b.cfg.NodeID), Sequential: true}}
	b.ask(in, out, []zookeeper.Request{create}, func(*step.Input, *step.Effects, [][]zookeeper.Result) error { return nil })
}

// halt ends a process that has no log directory left, or that cannot load a log.
func (b *Broker) halt(out *step.Effects, err error) {
	var failed *log.DirError
	dir := b.params.DataDir
	if errors.As(err, &failed) {
		dir = failed.Dir
	}
	out.Note(event.Event{Kind: event.DirectoryOffline, Node: b.cfg.NodeID, Text: dir + ": " + err.Error()})
	if b.logs.Online() > 0 && b.cfg.Profile.HaltOnDirFailure {
		b.exit(out, "log directory "+dir+" failed")
		return
	}
	b.exit(out, "all log directories offline")
}
