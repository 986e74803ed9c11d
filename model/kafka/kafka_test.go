package kafka

import "testing"

// The examples of cluster 6.4.
func TestJavaHashIsJavas(t *testing.T) {
	for s, want := range map[string]int32{"my-group": -1906497762, "tx-1": 3572520, "g1": 3242, "": 0, "😀": 55357*31 + 56832} {
		if got := JavaHash(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

// The partition is what follows the last '-' (storage 0).
func TestTopicPartitionParsesWhatItPrints(t *testing.T) {
	for _, tp := range []TopicPartition{{"orders", 0}, {"a-b-c", 17}, {"__consumer_offsets", 49}} {
		got, err := ParseTopicPartition(tp.String())
		if err != nil || got != tp {
			t.Errorf("%v: %v %v", tp, got, err)
		}
	}
	for _, bad := range []string{"", "orders", "-1", "orders-", "orders-x", "orders-99999999999"} {
		if tp, err := ParseTopicPartition(bad); err == nil {
			t.Errorf("%q is %v", bad, tp)
		}
	}
}

// The id that Kafka prints for its metadata topic (storage 5.4).
func TestTopicIDPrintsAsKafkas(t *testing.T) {
	id := TopicID{15: 1}
	if id.String() != "AAAAAAAAAAAAAAAAAAAAAQ" {
		t.Error(id)
	}
	if got, err := ParseTopicID(id.String()); err != nil || got != id {
		t.Error(got, err)
	}
	if _, err := ParseTopicID("AAAA"); err == nil {
		t.Error("3 bytes are no topic id")
	}
}

func TestEveryErrorCodeHasItsName(t *testing.T) {
	seen := make(map[string]ErrorCode)
	for code, traits := range errorTable {
		if other, twice := seen[traits.name]; twice || traits.name == "" {
			t.Errorf("%d and %d are both %q", code, other, traits.name)
		}
		seen[traits.name] = code
		if traits.refresh && !traits.retriable {
			t.Errorf("%s refreshes metadata but is not retriable: InvalidMetadataException is a RetriableException", traits.name)
		}
	}
	if ErrorCode(999).String() != "999" {
		t.Error("an unknown code prints as its number")
	}
}

func TestBrokerHostsParse(t *testing.T) {
	if id, ok := ParseBrokerHost(BrokerHost(12)); !ok || id != 12 {
		t.Error(id, ok)
	}
	for _, bad := range []string{"broker-", "broker--1", "p-1", "broker-x"} {
		if id, ok := ParseBrokerHost(bad); ok {
			t.Errorf("%q is broker %d", bad, id)
		}
	}
}
