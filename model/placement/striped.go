package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// ErrAllFenced is INVALID_REPLICATION_FACTOR because no broker is unfenced.
var ErrAllFenced = errors.New("invalid replication factor: all brokers are fenced")

// UsableBroker is a registered broker as the KRaft controller sees it.
type UsableBroker struct {
	Broker
	Fenced bool
}

// Striped is KRaft's placer for one create-topics or create-partitions call
// (cluster 5.3): replicas go to racks in turn, and within a rack to brokers in
// turn; fenced brokers only where unfenced ones are used up.
type Striped struct {
	// below draws uniformly from [0, n).
	below      func(n int) int
	racks      []stripedRack
	rackOffset int
	epoch      int
	total      int
	unfenced   int
}

// stripedRack is one rack; "no rack" is one of its own and sorts first.
type stripedRack struct {
	name             string
	unfenced, fenced brokerList
}

// brokerList hands out each broker once per epoch, starting one further each time.
type brokerList struct {
	ids    []kafka.NodeID
	index  int // brokers handed out in this epoch
	offset int
	epoch  int
}

// NewStriped makes a placer. below(n) draws uniformly from [0, n), n > 0; it is
// called in a fixed order: the offsets of each rack's fenced and unfenced list,
// racks by name, then the rack offset; later for shuffles. brokers may come in any order.
func NewStriped(brokers []UsableBroker, below func(n int) int) *Striped {
	s := &Striped{below: below, total: len(brokers)}
	sorted := slices.Clone(brokers)
	slices.SortFunc(sorted, func(a, b UsableBroker) int {
		if c := strings.Compare(a.Rack, b.Rack); c != 0 {
			return c
		}
		return int(a.ID) - int(b.ID)
	})
	for _, b := range sorted {
		s.add(b)
	}
	for i := range s.racks {
		s.racks[i].fenced.start(below)
		s.racks[i].unfenced.start(below)
	}
	if len(s.racks) > 0 {
		s.rackOffset = below(len(s.racks))
	}
	return s
}

// add takes the brokers in rack order.
func (s *Striped) add(b UsableBroker) {
	if n := len(s.racks); n == 0 || s.racks[n-1].name != b.Rack {
		s.racks = append(s.racks, stripedRack{name: b.Rack})
	}
	rack := &s.racks[len(s.racks)-1]
	if b.Fenced {
		rack.fenced.ids = append(rack.fenced.ids, b.ID)
		return
	}
	rack.unfenced.ids = append(rack.unfenced.ids, b.ID)
	s.unfenced++
}

// Place chooses the replicas of the next partition, the leader first. Errors:
// ErrReplicationFactor, ErrAllFenced.
func (s *Striped) Place(rf int) ([]kafka.NodeID, error) {
	if rf <= 0 || rf > s.total {
		return nil, fmt.Errorf("%w: %d of %d brokers", ErrReplicationFactor, rf, s.total)
	}
	if s.unfenced == 0 {
		return nil, ErrAllFenced
	}
	// As many placements as unfenced brokers would repeat from here on.
	if s.epoch == s.unfenced && s.unfenced > 1 {
		s.shuffle()
		s.epoch = 0
	}
	if s.rackOffset == len(s.racks) {
		s.rackOffset = 0
	}
	replicas := make([]kafka.NodeID, 1, rf)
	var leaderRack int
	replicas[0], leaderRack = s.leader()
	replicas = s.followers(replicas, leaderRack, rf)
	s.epoch++
	s.rackOffset++
	return replicas, nil
}

// leader takes the next unfenced broker of the first rack, from rackOffset on,
// that has one left.
func (s *Striped) leader() (kafka.NodeID, int) {
	for i := range s.racks {
		r := (s.rackOffset + i) % len(s.racks)
		if id, ok := s.racks[r].unfenced.next(s.epoch); ok {
			return id, r
		}
	}
	panic("placement: no unfenced broker left at the start of an epoch")
}

// followers walks the racks from rackOffset, passing the leader's rack once.
func (s *Striped) followers(replicas []kafka.NodeID, leaderRack, rf int) []kafka.NodeID {
	// A round in which no rack has a broker left ends the walk: rf <= total
	// brokers forbids it.
	for r, idle := s.rackOffset, 0; len(replicas) < rf; r = (r + 1) % len(s.racks) {
		if r == leaderRack {
			leaderRack = -1
			continue
		}
		if id, ok := s.racks[r].next(s.epoch); ok {
			replicas = append(replicas, id)
			idle = 0
		} else if idle++; idle > len(s.racks) {
			panic("placement: ran out of brokers")
		}
	}
	return replicas
}

// next prefers unfenced brokers.
func (r *stripedRack) next(epoch int) (kafka.NodeID, bool) {
	if id, ok := r.unfenced.next(epoch); ok {
		return id, true
	}
	return r.fenced.next(epoch)
}

func (l *brokerList) start(below func(int) int) {
	if len(l.ids) > 0 {
		l.offset = below(len(l.ids))
	}
}

func (l *brokerList) next(epoch int) (kafka.NodeID, bool) {
	if len(l.ids) == 0 {
		return 0, false
	}
	if l.epoch != epoch {
		l.epoch, l.index = epoch, 0
		l.offset = (l.offset + 1) % len(l.ids)
	}
	if l.index >= len(l.ids) {
		return 0, false
	}
	id := l.ids[(l.index+l.offset)%len(l.ids)]
	l.index++
	return id, true
}

func (s *Striped) shuffle() {
	shuffle(s.racks, s.below)
	for i := range s.racks {
		shuffle(s.racks[i].fenced.ids, s.below)
		shuffle(s.racks[i].unfenced.ids, s.below)
	}
}

// shuffle is Fisher-Yates from the end.
func shuffle[T any](xs []T, below func(int) int) {
	for i := len(xs) - 1; i > 0; i-- {
		j := below(i + 1)
		xs[i], xs[j] = xs[j], xs[i]
	}
}
