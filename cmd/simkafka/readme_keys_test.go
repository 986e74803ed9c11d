package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/config"
)

// Every key that a scenario may have stands in README, as code or in an example.
func TestReadmeNamesEveryKey(t *testing.T) {
	code, stdout, stderr := simkafka([]string{"schema"})
	if code != exitPass {
		t.Fatal(stderr)
	}
	var schema any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil {
		t.Fatal(err)
	}
	text := readme(t)
	keys := schemaKeys(schema, nil)
	if len(keys) < 100 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, k := range keys {
		if !regexp.MustCompile("(?m)`" + regexp.QuoteMeta(k) + "[`:]|(^|[ {])" + regexp.QuoteMeta(k) + ": ").MatchString(text) {
			t.Errorf("README does not name the key %q of a scenario", k)
		}
	}
}

// schemaKeys are the properties that a schema or its parts have.
func schemaKeys(schema any, keys []string) []string {
	switch x := schema.(type) {
	case map[string]any:
		if properties, ok := x["properties"].(map[string]any); ok {
			for k := range properties {
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
		for _, v := range x {
			keys = schemaKeys(v, keys)
		}
	case []any:
		for _, v := range x {
			keys = schemaKeys(v, keys)
		}
	}
	return keys
}

// The table of profiles has a row for each rule that differs between them.
func TestReadmeTellsOfEveryRuleOfAProfile(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "readme_tables_test.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[string]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			told[x.Sel.Name] = true
		}
		return true
	})
	rules := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Profile]()) {
		if f.Type.Kind() == reflect.Bool {
			if rules++; !told[f.Name] {
				t.Errorf("README's table of profiles has no row for %s", f.Name)
			}
		}
	}
	if rules < 10 {
		t.Errorf("%d rules", rules)
	}
}
