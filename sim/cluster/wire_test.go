package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// No field above the version that a profile speaks leaks into a run: each message
// is encoded and decoded at delivery and compared, and none changes after sending.
func TestMessagesFitTheirVersions(t *testing.T) {
	for i, name := range config.ProfileNames() {
		spec := builtin(t, "w1")
		spec.Protocol = name
		spec.Duration, spec.Heal, spec.Chaos.To = 30*kafka.Second, 25*kafka.Second, 25*kafka.Second
		r, err := Run(spec, Options{Seed: uint64(i + 1), CheckWire: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Violations {
			if v.Invariant == "assertion" {
				t.Errorf("%s: %s", name, v.What)
			}
		}
		if r.Records.Acked == 0 {
			t.Errorf("%s: nothing was acknowledged", name)
		}
	}
}
