package broker

import (
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// fetcherManager keeps the replica fetchers (ReplicaFetcherManager): one per leader
// and index, on lanes of their own (F-1). A fetcher without partitions is shut
// down; the next one for that leader has a new connection.
type fetcherManager struct {
	slots []*fetcherSlot // in order of making; few
	made  int
}

// fetcherSlot is one fetcher thread.
type fetcherSlot struct {
	leader  kafka.NodeID
	index   int
	lane    step.Lane
	addr    step.Addr
	client  *netclient.Client
	fetcher *replica.Fetcher
}

// follow starts to copy a partition from its leader, which is alive.
func (b *Broker) follow(in *step.Input, out *step.Effects, h *hosted, leader *liveBroker) {
	index := replica.FetcherIndex(h.p.TP, max(1, b.cfg.NumReplicaFetchers))
	m := &b.fetchers
	slot := m.find(leader.id, index)
	if slot == nil || slot.addr != leader.addr {
		slot = b.newFetcher(leader, index)
	}
	h.fetcher = slot
	slot.fetcher.Add(in, out, h.p)
}

func (m *fetcherManager) find(leader kafka.NodeID, index int) *fetcherSlot {
	for _, s := range m.slots {
		if s.leader == leader && s.index == index {
			return s
		}
	}
	return nil
}

func (b *Broker) newFetcher(leader *liveBroker, index int) *fetcherSlot {
	m := &b.fetchers
	kind := timersFetchers + step.TimerKind(2*(m.made%fetcherGenerations))
	m.made++
	s := &fetcherSlot{leader: leader.id, index: index, lane: m.freeLane(), addr: leader.addr}
	s.client = netclient.New(netclient.Config{
		Lane: s.lane, RequestTimeout: b.cfg.ReplicaSocketTimeout, SetupTimeout: setupTimeout, MaxInFlight: 1,
		TimerKind: kind + 1, Name: "fetcher-" + strconv.Itoa(m.made),
	})
	s.fetcher = replica.NewFetcher(&b.env, replica.FetcherConfig{
		Leader: leader.id, Addr: leader.addr, Lane: s.lane, Client: s.client, Timer: kind,
	})
	m.slots = append(m.slots, s)
	return s
}

// freeLane is the first lane without a fetcher; if all have one, they share.
func (m *fetcherManager) freeLane() step.Lane {
	for i := range step.Lane(maxFetcherLanes) {
		taken := false
		for _, s := range m.slots {
			taken = taken || s.lane == laneFetchers+i
		}
		if !taken {
			return laneFetchers + i
		}
	}
	return laneFetchers + step.Lane(m.made%maxFetcherLanes)
}

// unfollow stops to copy a partition.
func (b *Broker) unfollow(in *step.Input, out *step.Effects, h *hosted) error {
	s := h.fetcher
	if s == nil {
		return nil
	}
	h.fetcher = nil
	return s.fetcher.Remove(in, out, h.p)
}

// shutdownIdle ends the fetchers that have nothing to copy.
func (m *fetcherManager) shutdownIdle(in *step.Input, out *step.Effects) {
	n := 0
	for _, s := range m.slots {
		if s.fetcher.Len() > 0 {
			m.slots[n] = s
			n++
			continue
		}
		post(in, out, s.lane, func(in *step.Input, out *step.Effects) error {
			s.client.Disconnect(in, out, s.addr)
			return nil
		})
	}
	clear(m.slots[n:])
	m.slots = m.slots[:n]
}

// handle gives an input of a fetcher lane to its fetcher. What nobody knows is of
// a fetcher that was shut down.
func (m *fetcherManager) handle(in *step.Input, out *step.Effects) error {
	for _, s := range m.slots {
		if s.lane != in.Lane {
			continue
		}
		if mine, err := s.fetcher.Handle(in, out); mine || err != nil {
			return err
		}
	}
	return nil
}
