package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/model/kafka"
)

// maxFile bounds a scenario file; maxNodes the values in it, aliases followed.
const (
	maxFile  = 1 << 20
	maxNodes = 200_000
)

// reader walks a YAML tree and collects every finding with its place.
type reader struct {
	*Diagnostics
	visited int
	flooded bool
	// draft is not nil where the schema is asked for: readers then describe themselves into
	// it and read nothing.
	draft *schema
}

// parse makes the tree of a file, or a diagnostic.
func (r *reader) parse(data []byte) *yaml.Node {
	switch {
	case len(data) > maxFile:
		r.add(1, 1, false, "the file has %d bytes; a scenario has at most %d", len(data), maxFile)
		return nil
	case strings.IndexByte(string(data), 0) >= 0 || !utf8.Valid(data):
		r.add(1, 1, false, "not a text file in UTF-8")
		return nil
	}
	r.lines = strings.Split(string(data), "\n")
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		r.syntax(err)
		return nil
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		return doc.Content[0]
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		r.add(1, 1, false, "the file is empty; a scenario begins with apiVersion: %s", APIVersion)
		return nil
	}
	r.errorAt(doc.Content[0], "a scenario is a mapping of keys to values; it begins with apiVersion: %s", APIVersion)
	return nil
}

// place is how the YAML library says where something is.
var place = regexp.MustCompile(`L(\d+)\.C(\d+)(?:-L\d+\.C\d+)?`)

// syntaxErrors say in a writer's words what the YAML library tells in a parser's.
var syntaxErrors = []struct{ library, meant string }{
	{"mapping values are not allowed", `a colon where no value may begin: quote a text that has ": " in it, or indent the key as its neighbours`},
	{"did not find expected key", "in the mapping that begins here a key is indented unlike its neighbours, or text stands behind a quoted one"},
	{"could not find expected ':'", `a key has ": " behind it`},
	{"did not find expected ',' or ']'", "a comma is missing in the list that begins here, or the ] at its end"},
	{"did not find expected ',' or '}'", "a comma is missing in the mapping that begins here, or the } at its end"},
}

// syntax reports what the YAML library says, with its line if it names one.
func (r *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, col := 1, 1
	if at := place.FindStringSubmatchIndex(text); at != nil {
		fmt.Sscan(text[at[2]:at[3]], &line)
		fmt.Sscan(text[at[4]:at[5]], &col)
		text = strings.TrimPrefix(text[at[1]:], ": ")
	}
	switch {
	case strings.Contains(text, "no documents"):
		text = fmt.Sprintf("the file is empty; a scenario begins with apiVersion: %s", APIVersion)
	case strings.Contains(text, "multiple documents") || strings.Contains(text, "single document"):
		text = "a scenario file has one document"
	}
	for _, s := range syntaxErrors {
		if strings.Contains(text, s.library) {
			text = s.meant
		}
	}
	tab := strings.Contains(text, "cannot start any token") && line <= len(r.lines) && strings.Contains(indent(r.lines[line-1]), "\t")
	if tab || strings.Contains(text, "tab character") { // the library may name the line before
		for i := line - 1; i < len(r.lines); i++ {
			if at := strings.IndexByte(indent(r.lines[i]), '\t'); at >= 0 {
				line, col, text = i+1, at+1, "a tab in the indentation; YAML takes blanks only"
				break
			}
		}
	}
	r.add(line, col, false, "%s", text)
}

// indent is the white space that a line begins with.
func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

func (r *reader) errorAt(n *yaml.Node, format string, args ...any) {
	r.add(n.Line, n.Column, false, format, args...)
}

func (r *reader) warnAt(n *yaml.Node, format string, args ...any) {
	r.add(n.Line, n.Column, true, format, args...)
}

// follow resolves an alias and counts what is visited, so that nested aliases
// cannot grow without bound.
func (r *reader) follow(n *yaml.Node) *yaml.Node {
	for depth := 0; n.Kind == yaml.AliasNode && n.Alias != nil && depth < 16; depth++ {
		n = n.Alias
	}
	if r.visited++; r.visited > maxNodes && !r.flooded {
		r.flooded = true
		r.errorAt(n, "more than %d values, aliases followed", maxNodes)
	}
	return n
}

// field is a key of a mapping and what reads its value.
type field struct {
	name string
	read func(*yaml.Node)
	must bool
}

// mapping reads a mapping: unknown, repeated and missing keys are errors. meant are the keys
// that unknown ones are probably misspellings of.
func (r *reader) mapping(n *yaml.Node, what string, fields ...field) (meant []string) {
	if r.draft != nil {
		r.object(what, fields)
		return nil
	}
	n = r.follow(n)
	if r.flooded {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorAt(n, "%s is a mapping of keys to values, not %s", what, kindName(n))
		return nil
	}
	seen := make(map[string]bool, len(fields))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		f := find(fields, k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			r.errorAt(k, "a key of %s is a word", what)
		case f == nil:
			r.unknownKey(k, what, fieldNames(fields))
			if near, ok := nearest(k.Value, fieldNames(fields)); ok {
				meant = append(meant, near)
			}
		case seen[k.Value]:
			r.errorAt(k, "key %q stands twice in %s", k.Value, what)
		default:
			seen[k.Value] = true
			f.read(v)
		}
	}
	for _, f := range fields {
		if f.must && !seen[f.name] && !slices.Contains(meant, f.name) {
			r.errorAt(n, "%s lacks the key %q", what, f.name)
		}
	}
	return meant
}

func (r *reader) unknownKey(k *yaml.Node, what string, known []string) {
	owners, places := homesOf(k.Value)
	switch {
	case k.Value == "<<":
		r.errorAt(k, "keys are not merged (<<): write them out; *NAME alone stands for a whole value")
	case owners != "":
		r.errorAt(k, "%s is a Kafka setting of %s, no key of %s: write it in %s", k.Value, owners, what, places)
	default:
		r.errorAt(k, "unknown key %q in %s%s", k.Value, what, suggest(k.Value, known))
	}
}

func find(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "empty"
		}
		return fmt.Sprintf("%q", n.Value)
	}
	return "something else"
}

// list reads a sequence.
func (r *reader) list(n *yaml.Node, what string, each func(*yaml.Node)) {
	if r.draft != nil {
		*r.draft = schema{Type: "array", Items: r.sub(each)}
		return
	}
	n = r.follow(n)
	if r.flooded {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.errorAt(n, "%s is a list, not %s", what, kindName(n))
		return
	}
	for _, item := range n.Content {
		each(item)
	}
}

// scalar reads one plain value as text; "" and false if it is none. A caller that takes less
// than any text says so first.
func (r *reader) scalar(n *yaml.Node, what string) (string, bool) {
	if r.draft != nil {
		if r.draft.Type == nil && r.draft.Enum == nil {
			*r.draft = anyScalar()
		}
		return "", false
	}
	n = r.follow(n)
	if r.flooded {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.errorAt(n, "%s is a value, not %s", what, kindName(n))
		return "", false
	}
	return n.Value, true
}

// textOf makes a reader of a string that the schema knows more about.
func (r *reader) textOf(s schema, what string, to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.say(s)
		r.text(what, to)(n)
	}
}

// text makes a reader of a string.
func (r *reader) text(what string, to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if s, ok := r.scalar(n, what); ok {
			*to = s
		}
	}
}

// parsed makes a reader of a value with its own syntax.
func parsed[T any](r *reader, what string, to *T, x syntax[T]) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.say(x.schema()) {
			return
		}
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := x.parse(s)
		if err != nil {
			r.errorAt(n, "%s: %v", what, err)
			return
		}
		*to = v
	}
}

func (r *reader) duration(what string, to *kafka.Nanos) func(*yaml.Node) {
	return parsed(r, what, to, durations())
}

// count reads a whole number in [lo, hi].
func count[N ~int | ~int32 | ~int64](r *reader, what string, lo, hi int64, to *N) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.say(schema{Type: "integer", Minimum: &lo, Maximum: &hi}) {
			return
		}
		n = r.follow(n)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
			r.errorAt(n, "%s is a whole number, not %s", what, kindName(n))
			return
		}
		var v int64
		if err := n.Decode(&v); err != nil || v < lo || v > hi {
			r.errorAt(n, "%s is %s; it must be between %d and %d", what, n.Value, lo, hi)
			return
		}
		*to = N(v)
	}
}

func (r *reader) boolean(what string, to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.say(schema{Type: "boolean"}) {
			return
		}
		n = r.follow(n)
		if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			r.errorAt(n, "%s is true or false, not %s", what, kindName(n))
			return
		}
		*to = n.Value == "true"
	}
}

// word reads one of some words.
func (r *reader) word(what string, to *string, allowed ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.say(oneWord(allowed))
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		for _, w := range allowed {
			if s == w {
				*to = s
				return
			}
		}
		r.errorAt(n, "%s is %q; it is one of %s%s", what, s, strings.Join(allowed, ", "), didYouMean(s, allowed))
	}
}

func didYouMean(s string, allowed []string) string {
	if k, ok := nearest(s, allowed); ok {
		return fmt.Sprintf("; did you mean %q?", k)
	}
	return ""
}
