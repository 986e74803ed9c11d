package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// builtInCosts is the profile that README shows as the built-in one.
const builtInCosts = `apiVersion: simkafka/v1
kind: hardware
append: {call: 2us, per_kib: 280ns}
read_hit: {call: 1us, per_kib: 120ns}
read_miss: {call: 90us, per_kib: 500ns}
fsync: {call: 1ms, per_kib: 1us, jitter: 1ms}
sendfile: {call: 1us, per_kib: 120ns}
metadata: 8us
`

func TestBuiltInCostsAreThoseOfReadme(t *testing.T) {
	h, found := scenarios.LoadHardware("h.yaml", []byte(builtInCosts))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := diskCosts(nil)
	want.Send, want.SendPerKiB = want.Read, want.ReadPerKiB // 0 stands for these
	if got := diskCosts(h); got != want || diskCosts(nil) != simdisk.DefaultProfile() {
		t.Errorf("%+v, want %+v", got, want)
	}
}
