package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// violateGroup tells a story of a group; tp is the zero value if no partition is
// concerned.
func (f *findings) violateGroup(x *group, tp kafka.TopicPartition, format string, args ...any) {
	if tp.Topic != "" && f.g.doomedTopic(tp.Topic) {
		f.suspend(f.g.partition(tp), deletedText)
		return
	}
	f.violated++
	if f.violated > perRun || x.reports[f.id] >= perPartition {
		return
	}
	x.reports[f.id]++
	f.s.violations = append(f.s.violations, outcome.Violation{Invariant: f.name, At: f.g.now, TP: tp, Facts: x.facts(), Recent: f.g.recentOf(x, tp),
		What: "group " + x.id + ": " + fmt.Sprintf(format, args...)})
}

// recentOf lists the remembered events of a group and of the whole cluster, and the last
// ones of a partition.
func (g *ghost) recentOf(x *group, tp kafka.TopicPartition) []event.Event {
	var all []event.Event
	for i := len(g.rare.events) - 1; i >= 0 && len(all) < toldRare; i-- {
		e := &g.rare.events[(g.rare.next+i)%len(g.rare.events)]
		if e.Group == x.id || e.Group == "" && (e.TP.Topic == "" || e.TP == tp) {
			all = append(all, *e)
		}
	}
	slices.Reverse(all)
	if tp.Topic != "" {
		p := g.partition(tp)
		all = append(all, p.often.events...)
		slices.SortStableFunc(all, inOrder)
	}
	return all
}
