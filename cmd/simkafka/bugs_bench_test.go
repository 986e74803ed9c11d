package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func benchHead() benchHeader {
	return benchHeader{Schema: benchSchema, Generator: "small", Digest: "abc", Engine: 1, MaxSeeds: 10}
}

// What a bench has measured is there when it goes on; a line that was cut off is not.
func TestABenchGoesOnWithItsFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench.jsonl")
	b, err := openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	first := find{Bug: "KAFKA-727", Start: 0, Worlds: 3, Ended: foundIt, CPU: time.Second, Seed: 7, Invariant: "repeatable-read"}
	second := find{Bug: "KAFKA-727", Start: 1, Worlds: 10, Ended: outOfSeeds, CPU: 2 * time.Second}
	for _, f := range []find{first, second} {
		if err := b.add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	b, err = openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.finds) != 1 || b.finds[0] != first || !b.has("KAFKA-727", 0) || b.has("KAFKA-727", 1) {
		t.Errorf("the file gives %+v", b.finds)
	}
	if err := b.add(second); err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(name); string(again) != string(data) {
		t.Errorf("the file is now\n%s", again)
	}
}

// Starts of other worlds are not mixed.
func TestABenchRefusesTheFileOfAnother(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench.jsonl")
	b, err := openBench(name, benchHead())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	other := benchHead()
	other.Digest = "def"
	if _, err := openBench(name, other); err == nil || codeOf(err) != exitUsage {
		t.Errorf("another generator: %v", err)
	}
	if err := os.WriteFile(name, []byte("{\"schema\": \"x\"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openBench(name, benchHead()); err == nil || !strings.Contains(err.Error(), benchSchema) {
		t.Errorf("another kind of file: %v", err)
	}
}

// A start that found nothing is later than all that did.
func TestBenchRanksCountWhatWasNotFound(t *testing.T) {
	finds := []find{
		{Bug: "KAFKA-727", Start: 0, Worlds: 10, Ended: outOfSeeds, CPU: 9 * time.Second},
		{Bug: "KAFKA-727", Start: 1, Worlds: 4, Ended: foundIt, CPU: 4 * time.Second, Invariant: "a"},
		{Bug: "KAFKA-727", Start: 2, Worlds: 2, Ended: foundIt, CPU: 2 * time.Second, Invariant: "b"},
	}
	s := summarize(benchHead(), finds)
	if len(s.Bugs) != 1 {
		t.Fatalf("rows %+v", s.Bugs)
	}
	got := strings.Join(s.Bugs[0].cells(true), "|")
	if want := "KAFKA-727|2 of 3|4|> 10|4.0|> 9.0|b, a"; got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	if s.All.Starts != 3 || s.All.Found != 2 {
		t.Errorf("all: %+v", s.All)
	}
}
