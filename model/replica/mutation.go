package replica

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// mutateHW makes next what it must not be, in tests of the invariants (cluster 10.6).
func (p *Partition) mutateHW(next kafka.Offset) kafka.Offset {
	switch quirks := p.env.Config.Profile.Quirks; {
	case quirks.Has(quirk.HWAsMax):
		return p.published
	case quirks.Has(quirk.HWAsMedian):
		ends := []kafka.Offset{p.published}
		for i := range p.remotes {
			ends = append(ends, min(p.remotes[i].leo, p.published))
		}
		slices.Sort(ends)
		return max(next, ends[len(ends)/2])
	}
	return next
}
