package scenarios

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

const withHardware = `apiVersion: simkafka/v1
name: t
duration: 10s
cluster: {brokers: 1}
topics: [{name: a}]
hardware: my-disk.yaml
`

const myDisk = `apiVersion: simkafka/v1
kind: hardware
about: a table for a test
append: {call: 2us, per_kib: 280ns}
read_hit: {call: 1us, per_kib: 120ns}
read_miss: {call: 90us, per_kib: 500ns}
fsync: {call: 1ms, per_kib: 1us, jitter: 1ms}
sendfile: {call: 5us, per_kib: 60ns}
metadata: 8us
`

func files(content map[string]string) Source {
	return func(path string) ([]byte, error) {
		if text, ok := content[path]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	}
}

func TestHardwareIsReadFromItsFile(t *testing.T) {
	s, err := Load("s.yaml", []byte(withHardware), files(map[string]string{"my-disk.yaml": myDisk}))
	if err != nil {
		t.Fatal(err)
	}
	want := &Hardware{
		About: "a table for a test", Append: Cost{2000, 280}, ReadHit: Cost{1000, 120}, ReadMiss: Cost{90_000, 500},
		Fsync: Cost{kafka.Millisecond, 1000}, FsyncJitter: kafka.Millisecond, Sendfile: Cost{5000, 60}, Metadata: 8000,
	}
	if !reflect.DeepEqual(s.Hardware, want) {
		t.Errorf("hardware is %+v", s.Hardware)
	}
	// The printed scenario needs the file no more.
	again, err := Load("again.yaml", []byte(s.YAML()), nil)
	if err != nil || !reflect.DeepEqual(again.Hardware, want) || again.Digest() != s.Digest() {
		t.Errorf("printed and read again: %+v, %v", again, err)
	}
}

func TestHardwareRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Int64Range(0, int64(maxCost))
		cost := func(label string) Cost {
			return Cost{kafka.Nanos(price.Draw(t, label)), kafka.Nanos(price.Draw(t, label))}
		}
		h := &Hardware{
			About: rapid.StringMatching(`([a-z"'#:\\]( [a-z])?){0,5}`).Draw(t, "about"), Append: cost("append"), ReadHit: cost("hit"),
			ReadMiss: cost("miss"), Fsync: cost("fsync"), FsyncJitter: kafka.Nanos(price.Draw(t, "jitter")), Sendfile: cost("sendfile"),
			Metadata: kafka.Nanos(price.Draw(t, "metadata")),
		}
		got, found := LoadHardware("h.yaml", []byte(h.YAML()))
		if len(found) > 0 || !reflect.DeepEqual(got, h) {
			t.Fatalf("%+v became %+v, %v\n%s", h, got, found, h.YAML())
		}
	})
}

func TestHardwareIsStrict(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"call: 2us", "cal: 2us", `my-disk.yaml:4:10: unknown key "cal" in append; did you mean "call"?`},
		{"call: 2us", "call: 2", `my-disk.yaml:4:16: append call: "2" is not a duration`},
		{"call: 2us", "call: 2h", `my-disk.yaml:4:16: append call: "2h" is longer than a minute`},
		{"metadata: 8us\n", "", `my-disk.yaml:1:1: hardware lacks the key "metadata"`},
		{"kind: hardware", "kind: software", `my-disk.yaml:2:7: kind is "software"; it is one of hardware`},
		{"simkafka/v1", "simkafka/v9", `apiVersion is "simkafka/v9"`},
		{"sendfile: {", "sendfile: {jitter: 1ms, ", `my-disk.yaml:8:12: unknown key "jitter" in sendfile`},
		{myDisk, "", "my-disk.yaml:1:1: the file is empty"},
	} {
		text := strings.Replace(myDisk, c.from, c.to, 1)
		_, err := Load("s.yaml", []byte(withHardware), files(map[string]string{"my-disk.yaml": text}))
		if err == nil || !strings.Contains(err.Error(), "s.yaml:6:11: error: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in place of %q: %v", c.to, c.from, err)
		}
	}
	for _, c := range []struct {
		open Source
		want string
	}{{files(nil), "no such file"}, {nil, "was not read from a file"}} {
		if _, err := Load("s.yaml", []byte(withHardware), c.open); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
	inline := strings.Replace(withHardware, "my-disk.yaml", "{kind: hardware}", 1)
	if _, err := Load("s.yaml", []byte(inline), nil); err == nil || !strings.Contains(err.Error(), `s.yaml:6:12: error: unknown key "kind" in hardware`) {
		t.Errorf("%v", err)
	}
}
