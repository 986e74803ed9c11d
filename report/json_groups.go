package report

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

type (
	jsonGroup struct {
		Duplicates  int64                `json:"duplicates"`
		Expired     int64                `json:"expired_offsets"`
		Group       string               `json:"group"`
		Members     []jsonGroupMember    `json:"members"`
		Partitions  []jsonGroupPartition `json:"partitions"`
		Processed   int64                `json:"processed"`
		Rebalances  []jsonRebalance      `json:"rebalances"`
		Refused     int64                `json:"refused_commits"`
		Regressions int64                `json:"regressions"`
		Skipped     int64                `json:"skipped"`
	}
	jsonGroupMember struct {
		Away   []jsonInterval    `json:"away"`
		Client string            `json:"client"`
		Owned  []jsonOwned       `json:"owned"`
		Phases []jsonMemberPhase `json:"phases"`
	}
	jsonOwned struct {
		From       kafka.Nanos `json:"from_ns"`
		Generation int32       `json:"generation"`
		Partitions []string    `json:"partitions"`
		To         kafka.Nanos `json:"to_ns"`
	}
	jsonMemberPhase struct {
		From kafka.Nanos `json:"from_ns"`
		Name string      `json:"name"`
		To   kafka.Nanos `json:"to_ns"`
	}
	jsonGroupPartition struct {
		Committed  kafka.Offset   `json:"committed_offset"`
		Duplicates int64          `json:"duplicates"`
		HW         kafka.Offset   `json:"high_watermark"`
		Overlaps   []jsonInterval `json:"overlaps"`
		Owner      string         `json:"owner"`
		Partition  string         `json:"partition"`
		Processed  int64          `json:"processed"`
		Skipped    int64          `json:"skipped"`
		Unowned    []jsonInterval `json:"unowned"`
	}
	jsonRebalance struct {
		Cause       string       `json:"cause"`
		Coordinator kafka.NodeID `json:"coordinator"`
		Find        kafka.Nanos  `json:"find_coordinator_max_ns"`
		From        kafka.Nanos  `json:"from_ns"`
		Generation  int32        `json:"generation"`
		Join        kafka.Nanos  `json:"join_group_max_ns"`
		Members     int          `json:"members"`
		Moved       int          `json:"moved_partitions"`
		Sync        kafka.Nanos  `json:"sync_group_max_ns"`
		To          kafka.Nanos  `json:"to_ns"`
		Unowned     kafka.Nanos  `json:"unowned_max_ns"`
	}
)

func (d *jsonResult) addGroups(r *outcome.Result) {
	d.Groups = make([]jsonGroup, 0, len(r.Groups))
	for i := range r.Groups {
		g := &r.Groups[i]
		j := jsonGroup{Duplicates: g.Duplicates, Expired: g.Expired, Group: g.ID, Members: []jsonGroupMember{}, Partitions: []jsonGroupPartition{},
			Processed: g.Processed, Rebalances: []jsonRebalance{}, Refused: g.Refused, Regressions: g.Regressions, Skipped: g.Skipped}
		for _, x := range g.Rebalances {
			j.Rebalances = append(j.Rebalances, jsonRebalance{x.Cause, x.Coordinator, x.Find, x.From, x.Generation, x.Join, x.Members, x.Moved, x.Sync, x.To, x.Unowned})
		}
		for k := range g.Members {
			j.Members = append(j.Members, memberObject(&g.Members[k]))
		}
		for k := range g.Partitions {
			p := &g.Partitions[k]
			j.Partitions = append(j.Partitions, jsonGroupPartition{p.Committed, p.Duplicates, p.HW, intervals(p.Overlaps), p.Owner, p.TP.String(), p.Processed, p.Skipped, intervals(p.Unowned)})
		}
		d.Groups = append(d.Groups, j)
	}
}

func memberObject(m *outcome.GroupMember) jsonGroupMember {
	j := jsonGroupMember{Away: intervals(m.Away), Client: m.Client, Owned: []jsonOwned{}, Phases: []jsonMemberPhase{}}
	for _, o := range m.Owned {
		names := make([]string, len(o.Partitions))
		for i, tp := range o.Partitions {
			names[i] = tp.String()
		}
		j.Owned = append(j.Owned, jsonOwned{o.From, o.Generation, names, o.To})
	}
	for _, ph := range m.Phases {
		j.Phases = append(j.Phases, jsonMemberPhase{ph.From, ph.Name, ph.To})
	}
	return j
}

func intervals(in []outcome.Interval) []jsonInterval {
	out := make([]jsonInterval, 0, len(in))
	for _, x := range in {
		out = append(out, jsonInterval(x))
	}
	return out
}
