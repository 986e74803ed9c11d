package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

func profile(t *testing.T, name string) *Profile {
	t.Helper()
	p, ok := ProfileByName(name)
	if !ok {
		t.Fatal("no profile", name)
	}
	return p
}

// The defaults that changed between releases (cluster 9).
func TestDefaultsDependOnTheProfile(t *testing.T) {
	for _, c := range []struct {
		profile      string
		lag, session kafka.Nanos
		unclean      bool
		acks         int8
		retries      int32
	}{
		{"zk-0.10", 10 * kafka.Second, 6 * kafka.Second, true, 1, 0},
		{"zk-0.11", 10 * kafka.Second, 6 * kafka.Second, false, 1, 0},
		{"zk-2.0", 10 * kafka.Second, 6 * kafka.Second, false, 1, 0},
		{"zk-2.6", 30 * kafka.Second, 18 * kafka.Second, false, 1, maxInt32},
		{"zk-3.9", 30 * kafka.Second, 18 * kafka.Second, false, -1, maxInt32},
	} {
		p := profile(t, c.profile)
		b, errs := NewBroker(p, 1, "", nil)
		pr, errs2 := NewProducer(p, nil)
		if len(errs)+len(errs2) > 0 {
			t.Fatal(errs, errs2)
		}
		if b.ReplicaLagTimeMax != c.lag || b.ZKSessionTimeout != c.session || b.UncleanLeaderElection != c.unclean ||
			b.LogDefaults.UncleanLeaderElection != c.unclean || pr.Acks != c.acks || pr.Retries != c.retries {
			t.Errorf("%s: lag %v session %v unclean %v acks %d retries %d", c.profile, b.ReplicaLagTimeMax,
				b.ZKSessionTimeout, b.UncleanLeaderElection, pr.Acks, pr.Retries)
		}
	}
}

func TestTopicSettingsOverrideTheBrokers(t *testing.T) {
	b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", []Setting{{"min.insync.replicas", "2"}, {"log.segment.bytes", "4096"},
		{"log.roll.ms", "5"}, {"log.roll.hours", "1"}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if b.LogDefaults.SegmentMs != 5 {
		t.Errorf("log.roll.ms must win over log.roll.hours: %d", b.LogDefaults.SegmentMs)
	}
	topic, errs := ParseTopic(b.LogDefaults, []Setting{{"min.insync.replicas", "1"}})
	if len(errs) > 0 || topic.MinInsyncReplicas != 1 || topic.SegmentBytes != 4096 {
		t.Errorf("%+v %v", topic, errs)
	}
}

// log.retention.ms wins over .minutes, that over .hours; below 0 is for ever.
func TestRetentionHasThreeKeysAndOneUnit(t *testing.T) {
	for _, c := range []struct {
		settings []Setting
		ms       int64
	}{
		{nil, 604_800_000},
		{[]Setting{{"log.retention.hours", "2"}}, 7_200_000},
		{[]Setting{{"log.retention.hours", "-1"}}, -1},
		{[]Setting{{"log.retention.minutes", "3"}, {"log.retention.hours", "2"}}, 180_000},
		{[]Setting{{"log.retention.ms", "5"}, {"log.retention.minutes", "3"}, {"log.retention.hours", "2"}}, 5},
		{[]Setting{{"log.retention.ms", "-7"}, {"log.retention.minutes", "3"}}, -1},
	} {
		b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", c.settings)
		if len(errs) > 0 || b.LogDefaults.RetentionMs != c.ms || b.LogDefaults.RetentionBytes != -1 {
			t.Errorf("%v: %d ms, %d bytes, %v", c.settings, b.LogDefaults.RetentionMs, b.LogDefaults.RetentionBytes, errs)
		}
	}
	b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", []Setting{{"log.retention.bytes", "100"}, {"log.retention.check.interval.ms", "10"}})
	if len(errs) > 0 || b.LogDefaults.RetentionBytes != 100 || b.LogRetentionCheckInterval != 10*kafka.Millisecond {
		t.Errorf("%+v %v", b, errs)
	}
	topic, errs := ParseTopic(b.LogDefaults, []Setting{{"retention.ms", "0"}, {"retention.bytes", "-1"}, {"cleanup.policy", "delete"}})
	if len(errs) > 0 || topic.RetentionMs != 0 || topic.RetentionBytes != -1 || topic.CleanupPolicy != "delete" {
		t.Errorf("%+v %v", topic, errs)
	}
}

func TestCompactionIsTakenWithKafkasDefaults(t *testing.T) {
	b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", nil)
	d := &b.LogDefaults
	if len(errs) > 0 || !b.CleanerEnable || b.CleanerBackoff != 15*kafka.Second || b.CleanerDedupeBuffer != 128<<20 || b.CleanerIOBuffer != 512<<10 ||
		d.MinCleanableRatio != 500_000 || d.DeleteRetentionMs != 86_400_000 || d.MinCompactionLagMs != 0 || d.MaxCompactionLagMs != maxInt64 || d.CleanupPolicy != Delete {
		t.Errorf("%+v %v", b, errs)
	}
	topic, errs := ParseTopic(*d, []Setting{{"min.cleanable.dirty.ratio", "0.01"}, {"delete.retention.ms", "5"}, {"min.compaction.lag.ms", "6"}, {"max.compaction.lag.ms", "7"}})
	if len(errs) > 0 || topic.MinCleanableRatio != 10_000 || topic.DeleteRetentionMs != 5 || topic.MinCompactionLagMs != 6 || topic.MaxCompactionLagMs != 7 {
		t.Errorf("%+v %v", topic, errs)
	}
	for policy, want := range map[string]string{"compact": Compact, "delete,compact": CompactAndDelete, "compact, delete": CompactAndDelete, " delete ": Delete} {
		if b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", []Setting{{"log.cleanup.policy", policy}}); len(errs) > 0 || b.LogDefaults.CleanupPolicy != want {
			t.Error(policy, b.LogDefaults.CleanupPolicy, errs)
		}
	}
	for _, ratio := range []string{"1.1", "-0.1", "half", "NaN"} {
		if _, errs := ParseTopic(Topic{}, []Setting{{"min.cleanable.dirty.ratio", ratio}}); len(errs) != 1 {
			t.Error(ratio, errs)
		}
	}
	for _, policy := range []string{"", "remove", "delete,"} {
		if _, errs := ParseTopic(Topic{}, []Setting{{"cleanup.policy", policy}}); len(errs) != 1 {
			t.Error(policy, errs)
		}
	}
	_, errs = NewBroker(profile(t, "zk-3.9"), 1, "", []Setting{{"log.retention.ms", "0"}})
	if len(errs) != 1 {
		t.Error("retention of 0 ms", errs)
	}
}

func TestProducerIdsExpireAfterADay(t *testing.T) {
	b, errs := NewBroker(profile(t, "zk-3.9"), 1, "", nil)
	if len(errs) > 0 || b.ProducerExpirationMs != 86_400_000 || b.ProducerExpirationCheck != 600*kafka.Second {
		t.Error(b.ProducerExpirationMs, b.ProducerExpirationCheck, errs)
	}
}

func TestBadSettingsAreAllReported(t *testing.T) {
	_, errs := NewBroker(profile(t, "zk-3.9"), 1, "", []Setting{{"num.io.threads", "0"}, {"nonsense", "1"},
		{"delete.topic.enable", "yes"}, {"log.message.timestamp.type", "Now"}, {"request.timeout.ms", "x"}})
	if len(errs) != 5 {
		t.Fatalf("%d errors: %v", len(errs), errs)
	}
	for _, e := range errs {
		if _, ok := e.(*SettingError); !ok {
			t.Errorf("%T", e)
		}
	}
}

func TestDeliveryTimeoutCoversLingerAndRequest(t *testing.T) {
	_, errs := NewProducer(profile(t, "zk-3.9"), []Setting{{"delivery.timeout.ms", "1000"}})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "30000") {
		t.Error(errs)
	}
}

// The forms of java.util.Properties.
func TestAssignorsAreTakenByNameOrClass(t *testing.T) {
	p, _ := ProfileByName("zk-3.9")
	for value, want := range map[string]string{
		"sticky": "[sticky]",
		"org.apache.kafka.clients.consumer.RangeAssignor, cooperative-sticky": "[range cooperative-sticky]",
	} {
		c, errs := NewConsumer(p, []Setting{{Key: "partition.assignment.strategy", Value: value}})
		if len(errs) > 0 || fmt.Sprint(c.Assignors) != want {
			t.Errorf("%s: %v, %v", value, c.Assignors, errs)
		}
	}
	for _, value := range []string{"", "range,", "range,range", "rang", "com.example.Mine"} {
		if _, errs := NewConsumer(p, []Setting{{Key: "partition.assignment.strategy", Value: value}}); len(errs) == 0 {
			t.Errorf("%q is taken", value)
		}
	}
}

func TestHeartbeatsComeWithinASession(t *testing.T) {
	p, _ := ProfileByName("zk-3.9")
	if _, errs := NewConsumer(p, []Setting{{Key: "session.timeout.ms", Value: "3000"}}); len(errs) != 1 {
		t.Errorf("%v", errs)
	}
}

func TestPropertiesFollowJava(t *testing.T) {
	text := "# comment\n! another\n\n a=1\nb : 2\nc 3\nlog.dirs=/tmp/x\\\n   ,/tmp/y\nd\\=e=f\nu=\\u0041\\t\nempty\nurl=a\\:b\r\n"
	got, errs := ParseProperties(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := []Property{{Setting{"a", "1"}, 4}, {Setting{"b", "2"}, 5}, {Setting{"c", "3"}, 6}, {Setting{"log.dirs", "/tmp/x,/tmp/y"}, 7},
		{Setting{"d=e", "f"}, 9}, {Setting{"u", "A"}, 10}, {Setting{"empty", ""}, 11}, {Setting{"url", "a:b"}, 12}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %v, want %v", i, got[i], want[i])
		}
	}
	if _, errs := ParseProperties(`x=\u00`); len(errs) != 1 {
		t.Error("a broken escape must be an error")
	}
}

func FuzzParseProperties(f *testing.F) {
	f.Add("a=b\\\nc")
	f.Fuzz(func(t *testing.T, s string) { ParseProperties(s) })
}

func TestEveryProfileMakesEveryConfig(t *testing.T) {
	for _, n := range ProfileNames() {
		p := profile(t, n)
		_, e1 := NewBroker(p, 1, "a", nil)
		_, e2 := NewProducer(p, nil)
		_, e3 := NewConsumer(p, nil)
		_, e4 := NewZooKeeper(nil)
		if len(e1)+len(e2)+len(e3)+len(e4) > 0 {
			t.Error(n, e1, e2, e3, e4)
		}
	}
}
