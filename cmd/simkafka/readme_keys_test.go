package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
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
