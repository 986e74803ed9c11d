package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// shutdown is KafkaServer.shutdown: leadership is handed over, then the logs are
// closed, then the session (Z-27). While ZooKeeper cannot be reached it waits, as
// Kafka's does.
type shutdown struct {
	begun    bool
	stopping bool // requests, fetchers and tasks have ended
	retries  int  // attempts that are left
	client   *netclient.Client
}

// terminate takes SIGTERM. A broker that is still starting halts, as its shutdown
// hook does then; the logs are unclean.
func (b *Broker) terminate(in *step.Input, out *step.Effects) error {
	s := &b.shutdown
	switch {
	case s.begun:
		return nil
	case b.state != Running:
		b.exit(out, "halted while starting up")
		return nil
	}
	s.begun = true
	b.state = ShuttingDown
	s.retries = b.cfg.ControlledShutdownRetries
	if !b.cfg.ControlledShutdown || s.retries <= 0 {
		return b.stop(in, out)
	}
	b.controlledShutdown(in, out)
	return nil
}

// controlledShutdown is one attempt: the controller and its address come from
// ZooKeeper.
func (b *Broker) controlledShutdown(in *step.Input, out *step.Effects) {
	b.shutdown.retries--
	b.ask(in, out, []zookeeper.Request{read(zookeeper.ControllerPath)}, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		c, err := zookeeper.DecodeController(results[0][0].Data)
		if results[0][0].Code != zookeeper.OK || err != nil {
			post(in, out, laneMain, b.controlledShutdownFailed)
			return nil
		}
		b.ask(in, out, []zookeeper.Request{read(zookeeper.BrokerPath(c.Broker))}, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
			b.controllerFound(in, out, &results[0][0])
			return nil
		})
		return nil
	})
}

func read(path string) zookeeper.Request {
	return zookeeper.Request{{Type: zookeeper.OpGetData, Path: path}}
}

func (b *Broker) controllerFound(in *step.Input, out *step.Effects, r *zookeeper.Result) {
	info, err := zookeeper.DecodeBroker(r.Data)
	if r.Code != zookeeper.OK || err != nil || len(info.Endpoints) == 0 {
		post(in, out, laneMain, b.controlledShutdownFailed)
		return
	}
	to := step.Addr{Host: info.Endpoints[0].Host, Port: info.Endpoints[0].Port}
	post(in, out, laneMain, func(in *step.Input, out *step.Effects) error {
		req := kmsg.NewPtrControlledShutdownRequest()
		req.Version = b.cfg.Profile.Versions.ControlledShutdown
		req.BrokerID = int32(b.cfg.NodeID)
		if req.Version >= 2 {
			req.BrokerEpoch = int64(b.session.epoch)
		}
		if !b.shutdown.client.Connect(in, out, to) {
			return b.controlledShutdownFailed(in, out)
		}
		b.shutdown.client.Send(in, out, to, req, 0, nil)
		return nil
	})
}

// shutdownInput takes what concerns the connection to the controller.
func (b *Broker) shutdownInput(in *step.Input, out *step.Effects) error {
	completions, _ := b.shutdown.client.Handle(in, out)
	if len(completions) == 0 {
		return nil
	}
	// One request is under way at a time.
	resp, ok := completions[0].Response.(*kmsg.ControlledShutdownResponse)
	if !ok || resp.ErrorCode != 0 || len(resp.PartitionsRemaining) > 0 {
		return b.controlledShutdownFailed(in, out)
	}
	return b.stop(in, out)
}

// controlledShutdownFailed tries again after a pause, or goes on without.
func (b *Broker) controlledShutdownFailed(in *step.Input, out *step.Effects) error {
	if b.shutdown.retries > 0 {
		out.SetTimer(laneMain, in.Now+b.cfg.ControlledShutdownBackoff, timerBackoff, 0, nil)
		return nil
	}
	return b.stop(in, out)
}

// stop ends the handling of requests, the fetchers and the tasks; what is parked
// gets no answer. Then the logs are closed piece by piece.
func (b *Broker) stop(in *step.Input, out *step.Effects) error {
	b.shutdown.stopping, b.serving = true, false
	if b.groups.coordinator != nil {
		b.groups.coordinator.Stop()
	}
	for _, h := range b.topics.hosted {
		if err := b.absorb(b.unfollow(in, out, h)); err != nil {
			return err
		}
	}
	if err := b.abandonCleanings(); err != nil {
		return err
	}
	if err := b.logs.WriteHighWatermarks(); err != nil {
		return err
	}
	return b.stopLogs(in, out)
}

func (b *Broker) stopLogs(in *step.Input, out *step.Effects) error {
	done, err := b.logs.StopStep(b.session.epoch, in.Wall)
	if err != nil {
		return err
	}
	if !done {
		out.SetTimer(laneMain, in.Now, timerStop, 0, nil)
		return nil
	}
	post(in, out, laneZK, b.closeSession)
	return nil
}

// closeSession resigns and gives the registration up. The end is Ended.
func (b *Broker) closeSession(in *step.Input, out *step.Effects) error {
	b.controller.HandleZK(in, out, zookeeper.Event{Type: zookeeper.Expired})
	b.zk.Close(in, out)
	return nil
}
