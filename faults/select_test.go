package faults

import "testing"

func TestSelectorsPrintWhatTheyWereReadFrom(t *testing.T) {
	for _, word := range []string{"broker-2", "leader(orders/0)", "follower(orders/1)", "followers(orders/0)", "controller",
		"coordinator(billing)", "rack(a)", "brokers", "clients", "producers", "consumers", "zookeeper", "random(coordinator(g))", "others", "$node"} {
		s, err := ParseSelector(word)
		if err != nil || s.String() != word {
			t.Errorf("%q is read as %q, %v", word, s, err)
		}
	}
	if s, _ := ParseSelector("coordinator(g)"); s.Nobody() != "group g had no coordinator" {
		t.Errorf("nobody: %s", s.Nobody())
	}
}
