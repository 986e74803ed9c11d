package scenarios

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// validator is a small judge of JSON schemas, draft 7: of the keywords that Schema uses, and
// no others.
type validator struct {
	root map[string]any
	bad  []string
}

// notes are keywords that demand nothing.
var notes = []string{"$schema", "$id", "title", "markdownDescription", "examples", "definitions"}

func (v *validator) check(s map[string]any, x any, at string) {
	fail := func(format string, args ...any) { v.bad = append(v.bad, at+": "+fmt.Sprintf(format, args...)) }
	for key, arg := range s {
		switch key {
		case "$ref":
			def := v.root["definitions"].(map[string]any)[strings.TrimPrefix(arg.(string), "#/definitions/")]
			v.check(def.(map[string]any), x, at)
		case "type":
			if !slices.ContainsFunc(words(arg), func(w string) bool { return isType(w, x) }) {
				fail("is no %v", arg)
			}
		case "enum":
			if !slices.ContainsFunc(arg.([]any), func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(x) && isText(e) == isText(x) }) {
				fail("%v is not one of %v", x, arg)
			}
		case "pattern":
			if text, ok := x.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
				fail("%q does not match %s", text, arg)
			}
		case "minimum":
			if n, ok := x.(float64); ok && n < arg.(float64) {
				fail("%v is below %v", x, arg)
			}
		case "maximum":
			if n, ok := x.(float64); ok && n > arg.(float64) {
				fail("%v is above %v", x, arg)
			}
		case "items":
			list, _ := x.([]any)
			for i, item := range list {
				v.check(arg.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))
			}
		case "required":
			m, isMap := x.(map[string]any)
			for _, k := range words(arg) {
				if _, has := m[k]; isMap && !has {
					fail("lacks %s", k)
				}
			}
		case "properties", "patternProperties":
			v.members(s, x, at)
		case "additionalProperties": // with properties
		case "anyOf", "oneOf", "allOf":
			v.combined(key, arg.([]any), x, at)
		default:
			if !slices.Contains(notes, key) {
				fail("the keyword %s is not known here", key)
			}
		}
	}
}

// members checks the values of a mapping, and that it has no other keys.
func (v *validator) members(s map[string]any, x any, at string) {
	m, _ := x.(map[string]any)
	props, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	for k, val := range m {
		if p, ok := props[k]; ok {
			v.check(p.(map[string]any), val, at+"."+k)
			continue
		}
		known := false
		for pattern, p := range patterns {
			if regexp.MustCompile(pattern).MatchString(k) {
				v.check(p.(map[string]any), val, at+"."+k)
				known = true
			}
		}
		if closed, ok := s["additionalProperties"].(bool); ok && !closed && !known {
			v.bad = append(v.bad, at+": unknown key "+k)
		}
	}
}

func (v *validator) combined(how string, list []any, x any, at string) {
	fits := 0
	var why []string
	for _, s := range list {
		one := &validator{root: v.root}
		if one.check(s.(map[string]any), x, at); len(one.bad) == 0 {
			fits++
		}
		why = append(why, one.bad...)
	}
	if how == "allOf" && fits < len(list) || how == "anyOf" && fits == 0 || how == "oneOf" && fits != 1 {
		v.bad = append(v.bad, fmt.Sprintf("%s: %s: %d of %d fit: %s", at, how, fits, len(list), strings.Join(why, "; ")))
	}
}

func words(x any) (out []string) {
	if s, ok := x.(string); ok {
		return []string{s}
	}
	for _, w := range x.([]any) {
		out = append(out, w.(string))
	}
	return out
}

func isText(x any) bool { _, ok := x.(string); return ok }

func isType(word string, x any) bool {
	switch x := x.(type) {
	case string:
		return word == "string"
	case bool:
		return word == "boolean"
	case float64:
		return word == "number" || word == "integer" && x == math.Trunc(x)
	case []any:
		return word == "array"
	case map[string]any:
		return word == "object"
	}
	return false
}

func theSchema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// judge compares a file with the schema, as an editor does.
func judge(s map[string]any, text string) []string {
	var doc any
	if err := yaml.Load([]byte(text), &doc); err != nil {
		return []string{err.Error()}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return []string{err.Error()}
	}
	var x any
	if err := json.Unmarshal(b, &x); err != nil {
		return []string{err.Error()}
	}
	v := &validator{root: s}
	v.check(s, x, "file")
	return v.bad
}

// What can be run satisfies the schema: the library, the scenarios of the bugs, drawn worlds,
// each as it is written and as it is printed (interface U7).
func TestGoodScenariosSatisfyTheSchema(t *testing.T) {
	s := theSchema(t)
	files := append(Library(), Entry{Name: "good", Text: good})
	for _, g := range Generators {
		for seed := range uint64(3) { // at least 20 worlds of all
			spec, err := g.Draw(seed)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, Entry{Name: spec.Name, Text: spec.YAML()})
		}
	}
	for _, e := range files {
		if bad := judge(s, e.Text); bad != nil {
			t.Errorf("%s:\n%s", e.Name, strings.Join(bad, "\n"))
		}
		if spec, err := Load(e.File, []byte(e.Text), LibrarySource); err != nil {
			t.Error(err)
		} else if bad := judge(s, spec.YAML()); bad != nil {
			t.Errorf("%s, printed:\n%s", e.Name, strings.Join(bad, "\n"))
		}
	}
}

// What the loader refuses for its form, the schema refuses too.
func TestBadScenariosDoNotSatisfyTheSchema(t *testing.T) {
	s := theSchema(t)
	for _, c := range [][2]string{
		{"kill:", "kil:"}, {"topics:\n", "topcis:\n"}, {"duration: 30s", "duration: 30"}, {"at: 10s", "at: -10s"}, {"duration: 30s", "duration: 30x"},
		{"records.lost ==", "records.last =="}, {"record-acked", "record-akced"}, {"min.insync.replicas: 2", "min.insync.replica: 2"},
		{"zk-3.9", "zk-3.8"}, {"10/s", "10"}, {"1KiB", "1024"}, {"kill: leader(orders/0), restart_after: 5s", "restart_after: 5s"},
		{"kill: leader(orders/0)", "kill: leader(orders/0), stop: broker-1"}, {"at: 10s, kill", "kill"}, {"at: 10s", "at: 10s, every: 5s"},
		{"racks: [a, b, c]", "racks: a"}, {"duration: 30s\n", ""}, {"simkafka/v1", "simkafka/v0"}, {"restart_after: 5s", "restart_after: 5s..9s"},
		{"racks: [a, b, c]", "racks:"}, {"leader(orders/0)", "leader(orders)"}, {"leader(orders/0)", "laeder(orders/0)"}, {"brokers: 3", "brokers: 0"},
		{"brokers: 3", "brokers: three"}, {"200us..500us", "200us..500"}, {"name: p,", "name: p q,"}, {"topic: orders, ", ""},
		{"name: small", "quirks: [KAFKA-1]\nname: small"}, {"acks: all", "ack: all"}, {"power_loss: rack(b)", "hold: {from: broker-1}"},
		{"power_loss: rack(b)", "slow_disk: {node: broker-1, factor: 10}"}, {"power_loss: rack(b)", "disk_error: {node: broker-1, op: fsync}"},
		{"power_loss: rack(b)", "failpoint: {node: broker-1, site: disk, term: x}"}, {"metrics:", "violated: [nothing]\n  metrics:"},
		{"expect:\n  metrics: [records.lost == 0, \"produce.latency.p99 < 1s before 10s\"]", "expect: fail"}, {"cluster:\n", "hardware: {append: {call: 1us}}\ncluster:\n"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if text == good {
			t.Errorf("%q is not there", c[0])
		}
		if _, err := load(text); err == nil {
			t.Errorf("%q for %q is not bad", c[1], c[0])
		}
		if judge(s, text) == nil {
			t.Errorf("%q for %q satisfies the schema", c[1], c[0])
		}
	}
}

// Each key of each scenario with a letter changed is refused, as the loader does (U6).
func TestTheSchemaKnowsEveryKey(t *testing.T) {
	s := theSchema(t)
	var doc yaml.Node
	if err := yaml.Load([]byte(good), &doc); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(good, "\n")
	keys(&doc, func(k *yaml.Node) {
		changed := slices.Clone(lines)
		l := changed[k.Line-1]
		changed[k.Line-1] = l[:k.Column-1] + "q" + l[k.Column:]
		if judge(s, strings.Join(changed, "\n")) == nil {
			t.Errorf("line %d: key %q changed and the schema does not see it", k.Line, k.Value)
		}
	})
}

// Every key says what it is, and nothing is said of keys that there are not.
func TestEveryKeyHasItsDescription(t *testing.T) {
	used := map[string]bool{"the scenario": true}
	var walk func(at string, x any)
	walk = func(at string, x any) {
		switch x := x.(type) {
		case []any:
			for _, e := range x {
				walk(at, e)
			}
		case map[string]any:
			for k, e := range x {
				if props, ok := e.(map[string]any); ok && k == "properties" {
					for name, p := range props {
						text, _ := p.(map[string]any)["markdownDescription"].(string)
						if text == "" && at != "definitions" {
							t.Errorf("%s.%s has no description", at, name)
						}
						used[text] = true
						walk(at+"."+name, p)
					}
				} else if k == "definitions" {
					walk(k, e)
				} else {
					walk(at, e)
				}
			}
		}
	}
	walk("", theSchema(t))
	for key, text := range keyDocs {
		if !used[text] && key != "the scenario" {
			t.Errorf("%q describes no key", key)
		}
	}
}
