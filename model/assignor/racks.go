package assignor

import "slices"

// racksOf is the set of the members' racks, sorted.
func (g *group) racksOf(members []int32) []string {
	var racks []string
	for _, m := range members {
		if r := g.members[m].Rack; r != "" && (len(racks) == 0 || racks[len(racks)-1] != r) {
			racks = append(racks, r)
		}
	}
	slices.Sort(racks)
	return slices.Compact(racks)
}

// racksMatter: some member is in a rack that holds a replica, and not every
// partition has replicas in all the racks that hold any (KIP-881).
func racksMatter(members []string, topics []Topic) bool {
	if len(members) == 0 {
		return false
	}
	var all []string
	for i := range topics {
		for _, racks := range topics[i].Racks {
			all = append(all, racks...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if !slices.ContainsFunc(members, func(r string) bool { return slices.Contains(all, r) }) {
		return false
	}
	for i := range topics {
		for p := range int(topics[i].Partitions) {
			if p >= len(topics[i].Racks) || len(asSet(topics[i].Racks[p])) < len(all) {
				return true
			}
		}
	}
	return false
}

// rackMatches: a member without a rack matches everything.
func rackMatches(rack string, racks [][]string, p int) bool {
	return rack == "" || p < len(racks) && slices.Contains(racks[p], rack)
}
