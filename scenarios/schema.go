package scenarios

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/config"
)

// SchemaFile is the name under which editors look for the schema, as in the first line
// # yaml-language-server: $schema=scenario.v1.json.
const SchemaFile = "scenario.v1.json"

// schema is a JSON schema, draft 7: what yaml-language-server reads (interface 3.3).
type schema struct {
	Version     string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"markdownDescription,omitempty"`
	Type        any                `json:"type,omitempty"` // a word or a list of words
	Enum        []any              `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	PatternKeys map[string]*schema `json:"patternProperties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Closed      *bool              `json:"additionalProperties,omitempty"` // false: no other keys
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	OneOf       []*schema          `json:"oneOf,omitempty"`
	AllOf       []*schema          `json:"allOf,omitempty"`
	Examples    []any              `json:"examples,omitempty"`
	Definitions map[string]*schema `json:"definitions,omitempty"`
}

// Schema is the JSON schema of scenario files. It is what the loader's own readers say of
// themselves: each is called without a file and notes what it would take. What only the
// whole file shows (a topic that does not exist, a time behind the end) it does not know.
func Schema() []byte {
	l := &loader{reader: reader{Diagnostics: &Diagnostics{}, draft: &schema{}}, spec: &Spec{Protocol: "zk-3.9"}}
	l.root(&yaml.Node{})
	s := l.draft
	s.Version, s.ID, s.Title = "http://json-schema.org/draft-07/schema#", SchemaFile, "simkafka scenario"
	s.Description = keyDocs["the scenario"]
	s.Definitions = make(map[string]*schema)
	for _, sc := range []scope{brokerScope, topicScope, producerScope, consumerScope, zookeeperScope} {
		s.Definitions[sc.definition()] = settingsSchema(sc)
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		panic(err) // plain values
	}
	return append(text, '\n')
}

// say notes what a reader takes, where the schema is asked for, and reports whether it is.
func (r *reader) say(s schema) bool {
	if r.draft != nil {
		*r.draft = s
	}
	return r.draft != nil
}

// sub has a reader describe itself.
func (r *reader) sub(read func(*yaml.Node)) *schema {
	outer := r.draft
	r.draft = &schema{}
	read(&yaml.Node{})
	made := r.draft
	r.draft = outer
	return made
}

// object describes a mapping.
func (r *reader) object(what string, fields []field) {
	s := schema{Type: "object", Properties: make(map[string]*schema, len(fields)), Closed: new(bool)}
	for _, f := range fields {
		p := r.sub(f.read)
		p.Description = keyDoc(what, f.name)
		s.Properties[f.name] = p
		if f.must {
			s.Required = append(s.Required, f.name)
		}
	}
	*r.draft = s
}

// either reads a value by its form: plain text one way, everything else another.
func (r *reader) either(n *yaml.Node, plain, other func(*yaml.Node)) {
	switch v := r.follow(n); {
	case r.draft != nil:
		*r.draft = schema{AnyOf: []*schema{r.sub(plain), r.sub(other)}}
	case v.Kind == yaml.ScalarNode:
		plain(v)
	default:
		other(v)
	}
}

// exactlyOne demands one of some keys of the mapping that was just described.
func (r *reader) exactlyOne(keys ...string) {
	if r.draft == nil {
		return
	}
	one := &schema{}
	for _, k := range keys {
		one.OneOf = append(one.OneOf, &schema{Required: []string{k}})
	}
	r.draft.AllOf = append(r.draft.AllOf, one)
}

// anyScalar is a value that is taken as it is written.
func anyScalar() schema { return schema{Type: []string{"string", "number", "boolean"}} }

// oneWord is one of some words; those that YAML takes for numbers are allowed as such.
func oneWord(words []string) schema {
	s := schema{}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
		if n, err := strconv.Atoi(w); err == nil {
			s.Enum = append(s.Enum, n)
		}
	}
	return s
}

// patterned is text of a form.
func patterned(pattern string) schema {
	return schema{Type: "string", Pattern: "^(?:" + pattern + ")$"}
}

// syntax is the form of a value that stands for another: how it is read, and what it looks
// like.
type syntax[T any] struct {
	parse    func(string) (T, error)
	pattern  string
	zero     bool // 0 needs no unit, and is then a number
	examples []any
}

func (x *syntax[T]) schema() schema {
	s := patterned(x.pattern)
	if x.zero {
		s.Type, s.Minimum, s.Maximum = []string{"string", "integer"}, new(int64), new(int64)
	}
	s.Examples = x.examples
	return s
}

const numberPattern = `(?:[0-9]+\.?[0-9]*|\.[0-9]+)`

// scaledPattern is a number with one of some units.
func scaledPattern(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = regexp.QuoteMeta(u.name)
	}
	return numberPattern + "(?:" + strings.Join(names, "|") + ")"
}

// quantities are those of values.go.
func durationPattern() string { return "0|(?:" + scaledPattern(durationUnits) + ")+" }

func sizePattern() string { return scaledPattern(sizeUnits) }

func bandwidthPattern() string {
	return scaledPattern(bitUnits) + "|(?:" + scaledPattern(sizeUnits) + ")/s"
}

func distPattern() string {
	d := "(?:" + durationPattern() + ")"
	return d + `(?:\.\.` + d + `)?|exponential\s+` + d + `|lognormal\s+` + d + `\s+p99\s+` + d
}

// namePattern is plainName, but for . and .. alone.
const namePattern = `[A-Za-z0-9._-]{1,100}`

// nameSchema takes numbers, too: YAML's idea of a name's type does not matter.
func nameSchema() schema {
	s := patterned(namePattern)
	s.Type = []string{"string", "number", "boolean"}
	return s
}

// selectorPattern has the forms of selectors, where wild with all partitions of a topic. One
// that takes another takes one that takes none.
func selectorPattern(wild bool) string {
	partition := `[^()]+/[0-9]+`
	if wild {
		partition = `[^()]+/(?:[0-9]+|\*)`
	}
	one, outer := `[^()]+`, ""
	for _, form := range faults.SelectorForms() {
		word, arg, _ := strings.Cut(strings.TrimSuffix(form, ")"), "(")
		switch arg {
		case "": // a name
		case "...":
			outer += "|" + word + `\((?:%s)\)`
		case "topic/partition":
			one += "|" + word + `\(` + partition + `\)`
		default:
			one += "|" + word + `\([^()]*\)`
		}
	}
	return one + strings.ReplaceAll(outer, "%s", one)
}

// metricPattern is an expectation.
func metricPattern() string {
	names := MetricNames()
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	return `\s*(?:` + strings.Join(names, "|") + `)(?:\([^()\s]*\))?\s+(?:<|<=|>|>=|==)\s+\S+(?:\s+(?:before|after)\s+\S+|\s+between\s+\S+\s+and\s+\S+)?\s*`
}

// definition is the name of a scope's settings.
func (s scope) definition() string {
	return [...]string{brokerScope: "brokerSettings", topicScope: "topicSettings", producerScope: "producerSettings", consumerScope: "consumerSettings",
		zookeeperScope: "zookeeperSettings"}[s]
}

// settingsSchema lists the settings of a scope.
func settingsSchema(sc scope) *schema {
	s := &schema{Type: "object", Properties: make(map[string]*schema), Closed: new(bool)}
	for _, k := range scopeKeys[sc] {
		p := anyScalar()
		p.Description = settingDoc(&k)
		s.Properties[k.Name] = &p
	}
	return s
}

func settingDoc(k *config.Key) string {
	var parts []string
	if k.Unit != "" {
		parts = append(parts, "in "+k.Unit)
	}
	if k.Default != "" {
		parts = append(parts, "default `"+k.Default+"`")
	}
	if why := NoEffect(k.Name); why != "" {
		parts = append(parts, "has no effect: "+why)
	}
	return strings.Join(parts, ", ")
}

// keyDoc says what a key is, in words; "" if nobody has said it.
func keyDoc(what, key string) string {
	for _, k := range faults.Table {
		if k.Word == key && (what == "an event" || what == "a fault of chaos") {
			return k.Summary + ". For example `" + k.Example + "`"
		}
	}
	if text, ok := keyDocs[what+" "+key]; ok {
		return text
	}
	return keyDocs[key]
}
