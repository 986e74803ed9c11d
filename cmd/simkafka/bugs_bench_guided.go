package main

import (
	"strings"

	"github.com/simkafka/simkafka/scenarios"
)

// guidance counts the worlds of some starts, and the finds, by whether faults followed a
// plan. Of a generator that draws half of its worlds each way, those without a plan are
// the worlds of its -uniform twin: their finds, in as many worlds, are what that would
// have found.
type guidance struct {
	Planned      int `json:"planned_worlds"`
	Plain        int `json:"other_worlds"`
	PlannedFinds int `json:"planned_finds"`
	PlainFinds   int `json:"other_finds"`
}

func (g *guidance) add(o guidance) {
	g.Planned += o.Planned
	g.Plain += o.Plain
	g.PlannedFinds += o.PlannedFinds
	g.PlainFinds += o.PlainFinds
}

// guidanceOf draws again which worlds the starts of one bug had. A find is in the last one.
func (h *benchHeader) guidanceOf(finds []find, beyond bool) (g guidance) {
	names := strings.Split(h.Generator, ",")
	if beyond {
		names = strings.Split(h.Beyond, ",")
	}
	for i := range finds {
		f := &finds[i]
		draws := benchDraws(f.Bug, uint64(f.Start))
		for k := range f.Worlds {
			seed := benchSeed(draws, k)
			found := k == f.Worlds-1 && f.found()
			switch planned := scenarios.Guided(names[seed%uint64(len(names))], seed); {
			case planned && found:
				g.add(guidance{Planned: 1, PlannedFinds: 1})
			case planned:
				g.add(guidance{Planned: 1})
			case found:
				g.add(guidance{Plain: 1, PlainFinds: 1})
			default:
				g.add(guidance{Plain: 1})
			}
		}
	}
	return g
}
