package config

import "github.com/simkafka/simkafka/model/quirk"

// With is a copy of the profile with bugs put back. Those that are the rules of an
// older release change the profile's policy here; every other one is looked up where
// its rule stands.
func (p *Profile) With(quirks quirk.Set) *Profile {
	q := *p
	q.Quirks = quirks
	switch {
	case quirks.Has(quirk.TruncateToHW):
		q.Truncation = TruncateToHW
	case quirks.Has(quirk.TruncateByNextEpoch):
		q.Truncation = TruncateEpoch101
	}
	q.EpochStartGate = q.EpochStartGate && !quirks.Has(quirk.JoinBelowEpochStart)
	q.Fencing320 = q.Fencing320 && !quirks.Has(quirk.NoFetchFencing)
	q.HWMinISRGate = q.HWMinISRGate && !quirks.Has(quirk.HWBelowMinISR)
	q.BrokerEpoch = q.BrokerEpoch && !quirks.Has(quirk.BounceUnseen)
	q.ExpireIdleGroups = q.ExpireIdleGroups && !quirks.Has(quirk.ExpireByCommit)
	return &q
}
