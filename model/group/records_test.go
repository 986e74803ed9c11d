package group

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

const goldenTime kafka.TimestampMs = 1_700_000_000_000

func goldenOffset() *Offset {
	return &Offset{Offset: 42, LeaderEpoch: 7, Metadata: "m", Committed: goldenTime, Expires: goldenTime + 86_400_000}
}

func goldenGroup() *Metadata {
	subscription, _ := hex.DecodeString("000300000001000174ffffffff00000000ffffffffffff")
	assignment, _ := hex.DecodeString("000300000001000174000000020000000000000001ffffffff")
	return &Metadata{ProtocolType: "consumer", Generation: 1, Protocol: "range", Leader: "c-1", StateTime: goldenTime,
		Members: []MemberRecord{{ID: "c-1", Client: "c", Host: "/10.0.0.1", RebalanceTimeout: 300_000, SessionTimeout: 45_000,
			Subscription: subscription, Assignment: assignment}}}
}

// The golden bytes of groups 1.3.
func TestRecordsHaveTheirGoldenBytes(t *testing.T) {
	empty := &Metadata{ProtocolType: "consumer", Generation: 5, StateTime: goldenTime}
	for _, c := range []struct {
		name, want string
		got        []byte
	}{
		{"key type 1", "00010002673100017400000003", AppendOffsetKey(nil, "g1", kafka.TopicPartition{Topic: "t", Partition: 3})},
		{"value v0", "0000000000000000002a00016d0000018bcfe56800", AppendOffset(nil, 0, goldenOffset())},
		{"value v1", "0001000000000000002a00016d0000018bcfe568000000018bd50bc400", AppendOffset(nil, 1, goldenOffset())},
		{"value v2", "0002000000000000002a00016d0000018bcfe56800", AppendOffset(nil, 2, goldenOffset())},
		{"value v3", "0003000000000000002a0000000700016d0000018bcfe56800", AppendOffset(nil, 3, goldenOffset())},
		{"value v4", "0004000000000000002a00000007026d0000018bcfe5680000", AppendOffset(nil, 4, goldenOffset())},
		{"group key", "000200026731", AppendGroupKey(nil, "g1")},
		{"empty group v3", "00030008636f6e73756d657200000005ffffffff0000018bcfe5680000000000", AppendMetadata(nil, 3, empty)},
		{"group v3", "00030008636f6e73756d657200000001000572616e67650003632d310000018bcfe56800000000010003632d31ffff00016300092f31302e302e302e31000493e00000afc800000017000300000001000174ffffffff00000000ffffffffffff00000019000300000001000174000000020000000000000001ffffffff",
			AppendMetadata(nil, 3, goldenGroup())},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestRecordsOfEveryVersionComeBack(t *testing.T) {
	for version := int16(0); version <= lastVersion; version++ {
		want := *goldenOffset()
		if version != 1 {
			want.Expires = kafka.NoTimestamp
		}
		if version < 3 {
			want.LeaderEpoch = kafka.NoLeaderEpoch
		}
		if got, err := DecodeOffset(AppendOffset(nil, version, goldenOffset())); err != nil || got != want {
			t.Errorf("offset v%d: %+v, %v", version, got, err)
		}
		group := goldenGroup()
		group.Members = append(group.Members, MemberRecord{ID: "c-2", Instance: "i", Client: "d", Host: "/h", RebalanceTimeout: 7, SessionTimeout: 8,
			Subscription: []byte{1}, Assignment: []byte{2}})
		got, err := DecodeMetadata(AppendMetadata(nil, version, group))
		for i := range group.Members {
			m := &group.Members[i]
			if version == 0 {
				m.RebalanceTimeout = m.SessionTimeout
			}
			if version < 3 {
				m.Instance = ""
			}
		}
		if version < 2 {
			group.StateTime = kafka.NoTimestamp
		}
		if err != nil || !reflect.DeepEqual(&got, group) {
			t.Errorf("group v%d: %+v, %v", version, got, err)
		}
	}
	for _, b := range [][]byte{{0, 5}, {0xff, 0xff}, {}, {0}} {
		if _, err := DecodeOffset(b); err == nil {
			t.Errorf("offset %x decodes", b)
		}
		if _, err := DecodeMetadata(b); err == nil {
			t.Errorf("group %x decodes", b)
		}
	}
}

// kmsg reads what is written, and writes the same.
func TestRecordsAreThoseOfAnotherLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z.é-]{1,12}`)
		o := Offset{Offset: kafka.Offset(rapid.Int64().Draw(t, "offset")), LeaderEpoch: kafka.LeaderEpoch(rapid.Int32Min(-1).Draw(t, "epoch")),
			Metadata: rapid.String().Draw(t, "metadata"), Committed: kafka.TimestampMs(rapid.Int64().Draw(t, "time")), Expires: 7}
		for version := int16(0); version <= 3; version++ {
			var k kmsg.OffsetCommitValue
			b := AppendOffset(nil, version, &o)
			if err := k.ReadFrom(b); err != nil || k.Offset != int64(o.Offset) || k.Metadata != o.Metadata || !bytes.Equal(k.AppendTo(nil), b) {
				t.Fatalf("offset v%d: %+v, %v", version, k, err)
			}
		}
		var key kmsg.OffsetCommitKey
		tp := kafka.TopicPartition{Topic: word.Draw(t, "topic"), Partition: rapid.Int32Min(0).Draw(t, "partition")}
		b := AppendOffsetKey(nil, word.Draw(t, "group"), tp)
		if err := key.ReadFrom(b); err != nil || key.Topic != tp.Topic || key.Partition != tp.Partition || !bytes.Equal(key.AppendTo(nil), b) {
			t.Fatalf("key: %+v, %v", key, err)
		}
		g := Metadata{ProtocolType: "consumer", Generation: rapid.Int32().Draw(t, "generation"), Protocol: word.Draw(t, "protocol"), Leader: word.Draw(t, "leader"),
			StateTime: kafka.TimestampMs(rapid.Int64().Draw(t, "since"))}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			g.Members = append(g.Members, MemberRecord{ID: word.Draw(t, "id"), Instance: word.Draw(t, "instance"), Client: word.Draw(t, "client"), Host: "/" + word.Draw(t, "host"),
				RebalanceTimeout: rapid.Int32().Draw(t, "r"), SessionTimeout: rapid.Int32().Draw(t, "s"),
				Subscription: rapid.SliceOf(rapid.Byte()).Draw(t, "subscription"), Assignment: rapid.SliceOf(rapid.Byte()).Draw(t, "assignment")})
		}
		for version := int16(0); version <= 3; version++ {
			var k kmsg.GroupMetadataValue
			b := AppendMetadata(nil, version, &g)
			if err := k.ReadFrom(b); err != nil || k.Generation != g.Generation || len(k.Members) != len(g.Members) || !bytes.Equal(k.AppendTo(nil), b) {
				t.Fatalf("group v%d: %+v, %v", version, k, err)
			}
		}
	})
}

func FuzzDecodedRecordsEncodeTheSame(f *testing.F) {
	f.Add(AppendMetadata(nil, 4, goldenGroup()))
	f.Add(AppendMetadata(nil, 1, goldenGroup()))
	f.Add(AppendOffset(nil, 3, goldenOffset()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := DecodeOffset(b); err == nil {
			version := int16(b[0])<<8 | int16(b[1])
			if again, err := DecodeOffset(AppendOffset(nil, version, &o)); err != nil || again != o {
				t.Fatalf("%+v becomes %+v, %v", o, again, err)
			}
		}
		if g, err := DecodeMetadata(b); err == nil {
			version := int16(b[0])<<8 | int16(b[1])
			if again, err := DecodeMetadata(AppendMetadata(nil, version, &g)); err != nil || len(again.Members) != len(g.Members) {
				t.Fatalf("%+v becomes %+v, %v", g, again, err)
			}
		}
		if k, err := DecodeKey(b); err == nil && k.IsOffset() && k.Type == offsetKeyV1 {
			if again, err := DecodeKey(AppendOffsetKey(nil, k.Group, k.TP)); err != nil || again != k {
				t.Fatalf("%+v becomes %+v, %v", k, again, err)
			}
		}
		subscribedTopics(nil, b)
	})
}

func TestSubscribedTopicsAreThePrefixOfAllVersions(t *testing.T) {
	for version := int16(0); version <= 3; version++ {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version, m.Topics, m.UserData = version, []string{"a", "b"}, []byte{1, 2}
		topics, ok := subscribedTopics(nil, m.AppendTo(nil))
		if !ok || !reflect.DeepEqual(topics, []string{"a", "b"}) {
			t.Errorf("v%d: %v %v", version, topics, ok)
		}
	}
	for _, bad := range [][]byte{nil, {0, 0}, {0, 0, 0, 0, 0, 1}, {0, 0, 0xff, 0xff, 0xff, 0xff}} {
		if topics, ok := subscribedTopics(nil, bad); ok {
			t.Errorf("%x: %v", bad, topics)
		}
	}
}

// LK-1, LK-2: the values of groups 1.1 and of the vectors beside it.
func TestGroupsAreFoundByJavasHash(t *testing.T) {
	for _, c := range []struct {
		group     string
		hash      int32
		of50, of3 int32
	}{
		{"g1", 3242, 42, 2}, {"group", 98629247, 47, 2}, {"group1", -1237460590, 40, 1}, {"my-group", -1906497762, 12, 0},
		{"test-group", 627841412, 12, 2}, {"orders", -1008770331, 31, 0}, {"payments", 1382682413, 13, 2},
		{"console-consumer-1", 35782224, 24, 0}, {"connect-cluster", 1440343063, 13, 1}, {"polygenelubricants", -2147483648, 0, 0}, {"", 0, 0, 0},
	} {
		if h := kafka.JavaHash(c.group); h != c.hash {
			t.Errorf("%q has hash %d", c.group, h)
		}
		if a, b := PartitionFor(c.group, 50), PartitionFor(c.group, 3); a != c.of50 || b != c.of3 {
			t.Errorf("%q is in %d of 50, %d of 3", c.group, a, b)
		}
	}
}
