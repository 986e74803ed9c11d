package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Clients have bootstrap.servers until the first answer to a request for metadata; from then on
// they ask, and look for their coordinator at, those brokers only that the last answer names (NetworkClient.leastLoadedNode
// takes from Metadata.fetch().nodes()). An answer names those that the controller has told the broker
// of. If none of these ever runs again, no newer answer comes: only KIP-899 makes a client go back to
// bootstrap.servers, and metadata.recovery.strategy is none by default, up to Kafka 3.9.

// acquaintance is which brokers the metadata of a consumer name that runs at the end.
type acquaintance struct {
	actor   string
	brokers []kafka.NodeID // none = it has had no answer
}

// Knows says, before Finish, which brokers the metadata of a consumer name that runs at the end. It keeps
// the slice.
func (s *Suite) Knows(consumer string, brokers []kafka.NodeID) {
	s.g.known = append(s.g.known, acquaintance{consumer, brokers})
}

func (g *ghost) acquaintance(actor string) *acquaintance {
	for i := range g.known {
		if g.known[i].actor == actor {
			return &g.known[i]
		}
	}
	return nil
}

// strands says why no broker that a consumer knows will answer it, "" if one may.
func (g *ghost) strands(a *acquaintance) string {
	if a == nil || len(a.brokers) == 0 {
		return ""
	}
	why := ""
	for _, id := range a.brokers {
		n := g.node(id)
		if !n.down || n.unfit == "" {
			return ""
		}
		why = n.unfit
	}
	return "its metadata name no broker that can start (KIP-899): " + why
}

// stranded says that a consumer does not come forward as the metadata that it has name nobody who
// could give it newer ones.
func (g *ghost) stranded(line string, p *partition) string {
	if p != nil && ofOwners(line) {
		return g.strandedOwners(line, p)
	}
	for i := range g.known {
		if a := &g.known[i]; strings.HasPrefix(line, "consumer "+a.actor+" ") {
			if strings.HasSuffix(line, " hears nothing from its coordinator") && g.hasCoordinator(a.actor) {
				return "" // that is not asked for by the metadata
			}
			return g.strands(a)
		}
	}
	return ""
}

// hasCoordinator: a member knows a coordinator, which runs. Heartbeats go there, whatever
// brokers the metadata name.
func (g *ghost) hasCoordinator(actor string) bool {
	if g.groups == nil {
		return false
	}
	c := g.groups.byActor[actor]
	return c != nil && c.node != kafka.NoNode && !g.node(c.node).down
}

// strandedOwners: a partition has no owner if only such members are left to the group, or if such a one leads
// it and never hears of the partition; and another one beside whom the group gave it to if such a one does not hear
// that it is not a member any more.
func (g *ghost) strandedOwners(line string, p *partition) string {
	if g.groups == nil {
		return ""
	}
	if l := g.leads(line); l != nil {
		c := g.groups.byMember[l.leader]
		if why := g.strands(g.acquaintance(c.actor)); why != "" && !slices.Contains(c.seen, p.tp) && !l.gives(p.tp) {
			return "of the group's leader: " + why
		}
	}
	others, owners, why := 0, 0, ""
	for _, c := range g.groups.clients {
		a := g.acquaintance(c.actor)
		if a == nil || !strings.HasSuffix(line, " owners in group "+c.of.id) {
			continue
		}
		if s := g.strands(a); s != "" {
			why = "of a member: " + s
			continue
		}
		others++
		if c.part(p.tp).owned {
			owners++
		}
	}
	if none := strings.Contains(line, " has 0 owners "); none && others > 0 || !none && owners != 1 {
		return ""
	}
	return why
}
