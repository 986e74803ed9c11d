package zkcontroller

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// watchController re-arms the watch on /controller, whether it exists or not, and
// reads it (registerZNodeChangeHandlerAndCheckExistence, getControllerId).
func watchController() []zookeeper.Request {
	return []zookeeper.Request{exists(zookeeper.ControllerPath), get(zookeeper.ControllerPath)}
}

// readController takes the answer to a read of /controller. Content that is not
// Kafka's counts as nobody.
func readController(results []zookeeper.Result) kafka.NodeID {
	if results[0].Code != zookeeper.OK {
		return kafka.NoNode
	}
	holder, err := zookeeper.DecodeController(results[0].Data)
	if err != nil {
		return kafka.NoNode
	}
	return holder.Broker
}

// startup is the first event of a process.
type startup struct{ at int }

func (p *startup) step(c *Controller) next {
	p.at++
	switch p.at {
	case 1:
		return await([]zookeeper.Request{exists(zookeeper.ControllerPath)})
	case 2:
		return call(&elect{})
	}
	return done()
}

// reelect follows the deletion of /controller or a new session.
type reelect struct{ at int }

func (p *reelect) step(c *Controller) next {
	p.at++
	switch p.at {
	case 1:
		return call(&maybeResign{})
	case 2:
		return call(&elect{})
	}
	return done()
}

// maybeResign looks who is the controller and resigns if it was us and is not now.
type maybeResign struct{ at int }

func (p *maybeResign) step(c *Controller) next {
	p.at++
	if p.at == 1 {
		return await(watchController())
	}
	c.setActive(readController(c.results[1]))
	return done()
}

// elect tries to become the controller (Z-8).
//
// As in Kafka there is a gap: if the winner's /controller is created and gone again
// while a loser is between its attempt and the re-arming of its watch, the loser
// only hears of the creation, and does not try again until /controller changes.
type elect struct {
	at      int
	epoch   kafka.ControllerEpoch // read from /controller_epoch
	version int32
}

func (p *elect) step(c *Controller) next {
	p.at++
	switch p.at {
	case 1:
		return await([]zookeeper.Request{get(zookeeper.ControllerPath)})
	case 2:
		c.setActive(readController(c.results[0]))
		if c.active != kafka.NoNode {
			return done()
		}
		return await([]zookeeper.Request{read(zookeeper.ControllerEpochPath)})
	case 3:
		return p.epochRead(c)
	case 4:
		return await([]zookeeper.Request{
			{
				{Type: zookeeper.OpCreate, Path: zookeeper.ControllerPath, Ephemeral: true,
					Data: zookeeper.EncodeController(c.formats.Controller, zookeeper.Controller{Broker: c.cfg.NodeID, Timestamp: c.in.Wall})},
				{Type: zookeeper.OpSetData, Path: zookeeper.ControllerEpochPath, Version: p.version,
					Data: zookeeper.EncodeControllerEpoch(p.epoch + 1)},
			},
		})
	case 5:
		return p.tried(c)
	case 6:
		return p.checkLostAnswer(c)
	case 7:
		return call(&failover{})
	}
	return done()
}

// epochRead takes /controller_epoch, or creates it as 0 and reads it again.
func (p *elect) epochRead(c *Controller) next {
	r := c.results[len(c.results)-1][0]
	if r.Code == zookeeper.NoNode {
		p.at = 2
		return await([]zookeeper.Request{
			{{Type: zookeeper.OpCreate, Path: zookeeper.ControllerEpochPath, Data: zookeeper.EncodeControllerEpoch(0)}},
			read(zookeeper.ControllerEpochPath),
		})
	}
	e, err := zookeeper.DecodeControllerEpoch(r.Data)
	if r.Code != zookeeper.OK || err != nil {
		return fail()
	}
	p.epoch, p.version = e, r.Stat.Version
	return goOn()
}

func (p *elect) tried(c *Controller) next {
	switch zookeeper.Outcome(c.results[0]) {
	case zookeeper.OK:
		return p.won(c, c.results[0][1].Stat.Version)
	case zookeeper.NodeExists, zookeeper.BadVersion:
		// Lost, unless the answer to an earlier, successful try was (Z-3).
		return await([]zookeeper.Request{get(zookeeper.ControllerPath), read(zookeeper.ControllerEpochPath)})
	}
	return fail()
}

func (p *elect) checkLostAnswer(c *Controller) next {
	epoch := c.results[1][0]
	stored, err := zookeeper.DecodeControllerEpoch(epoch.Data)
	if err == nil && stored == p.epoch+1 && readController(c.results[0]) == c.cfg.NodeID {
		return p.won(c, epoch.Stat.Version)
	}
	p.at = 99
	return call(&maybeResign{})
}

func (p *elect) won(c *Controller, version int32) next {
	c.ctx = context{epoch: p.epoch + 1, epochZKVersion: version}
	c.active = c.cfg.NodeID
	c.out.Note(event.Event{Kind: event.ControllerElected, Node: c.cfg.NodeID, ControllerEpoch: c.ctx.epoch})
	p.at = 6
	return goOn()
}

// triggerMove gives the controllership up so that another election starts
// (triggerControllerMove; Z-8).
type triggerMove struct {
	at      int
	version int32
}

func (p *triggerMove) step(c *Controller) next {
	p.at++
	switch p.at {
	case 1:
		return await([]zookeeper.Request{get(zookeeper.ControllerPath)})
	case 2:
		p.version = c.ctx.epochZKVersion
		holder := readController(c.results[0])
		if c.setActive(holder); !c.IsActive() {
			return done()
		}
		c.setActive(kafka.NoNode)
		return await([]zookeeper.Request{{
			{Type: zookeeper.OpCheck, Path: zookeeper.ControllerEpochPath, Version: p.version},
			{Type: zookeeper.OpDelete, Path: zookeeper.ControllerPath, Version: zookeeper.AnyVersion},
		}})
	}
	return done()
}
