package assignor

import "slices"

// movements remembers where partitions came from while a target is balanced
// (PartitionMovements): from their first owner to the present one.
type movements struct {
	from   []int32 // by partition its first owner; -1 = it is where it was
	routes map[route][]int32
}

// route is a way that partitions of a topic went.
type route struct{ topic, from, to int32 }

func newMovements(partitions int32) movements {
	return movements{from: nobody(partitions)}
}

// origin is the first owner of a partition that owner has now.
func (m *movements) origin(p, owner int32) int32 {
	if m.from[p] >= 0 {
		return m.from[p]
	}
	return owner
}

// find is the lowest partition of a topic that went from one member to another, -1
// if none did.
func (m *movements) find(topic, from, to int32) int32 {
	if r := m.routes[route{topic, from, to}]; len(r) > 0 {
		return slices.Min(r)
	}
	return -1
}

// record takes a move in. A partition that is back where it was has not moved.
func (m *movements) record(p, topic, from, to int32) {
	first := m.origin(p, from)
	if m.from[p] >= 0 {
		r := route{topic, first, from}
		at := slices.Index(m.routes[r], p)
		m.routes[r] = slices.Delete(m.routes[r], at, at+1)
		m.from[p] = -1
	}
	if first != to {
		m.from[p] = first
		if m.routes == nil {
			m.routes = make(map[route][]int32)
		}
		r := route{topic, first, to}
		m.routes[r] = append(m.routes[r], p)
	}
}
