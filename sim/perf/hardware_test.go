package perf

import (
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/simkafka/simkafka/scenarios"
)

func TestHardwareIsAProfileThatScenariosLoad(t *testing.T) {
	o := tiny(t)
	h, err := Hardware(o)
	if err != nil {
		t.Fatal(err)
	}
	got, found := scenarios.LoadHardware("h.yaml", []byte(h.YAML()))
	if len(found) > 0 || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v became %+v, %v", h, got, found)
	}
	if h.Append.Call+h.Append.PerKiB == 0 || h.Fsync.Call == 0 || h.Metadata == 0 || h.Sendfile.Call+h.Sendfile.PerKiB == 0 {
		t.Errorf("something is free: %+v", h)
	}
	if entries, _ := os.ReadDir(o.Dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestPriceIsTheLineThroughTwoCalls(t *testing.T) {
	for _, c := range []struct {
		small, large time.Duration
		want         scenarios.Cost
	}{
		{2280, 2000 + 1024*280, scenarios.Cost{Call: 2000, PerKiB: 280}},
		{500, 400, scenarios.Cost{Call: 500}}, // noise: the large call took less
		{100, 1024 * 300, scenarios.Cost{PerKiB: 300}},
	} {
		if got := price(c.small, c.large); got != c.want {
			t.Errorf("price(%d, %d) = %+v, want %+v", c.small, c.large, got, c.want)
		}
	}
}
