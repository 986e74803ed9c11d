package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
)

func TestJSONGolden(t *testing.T) {
	r := violatedRun()
	r.Invariants = r.Invariants[2:5]
	r.Violations[0].Recent = r.Violations[0].Recent[14:]
	r.Loss = lossRun().Loss
	golden(t, "result.json", func(w io.Writer) error { return WriteJSON(w, r) })
}

func TestJSONKeysAreSorted(t *testing.T) {
	var b bytes.Buffer
	full := violatedRun()
	full.Loss, full.NotModelled = lossRun().Loss, lossRun().NotModelled
	full.Groups = groupRun().Groups
	if err := WriteJSONAll(&b, []*outcome.Result{full, {Settled: -1}}); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&b)
	dec.UseNumber()
	walk(t, dec, "")
	if _, err := dec.Token(); err != io.EOF {
		t.Errorf("more than one document: %v", err)
	}
}

// walk reads one value: keys ascend, numbers are whole, no list is null.
func walk(t *testing.T, dec *json.Decoder, at string) {
	tok, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch v := tok.(type) {
	case json.Delim:
		last := ""
		for i := 0; dec.More(); i++ {
			name := fmt.Sprintf("%s[%d]", at, i)
			if v == '{' {
				key, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				if name = key.(string); name <= last {
					t.Errorf("%s: key %q after %q", at, name, last)
				}
				last = name
			}
			walk(t, dec, name)
		}
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			t.Errorf("%s is %s, not a whole number", at, v)
		}
	case nil:
		if at != "settled_ns" {
			t.Errorf("%s is null", at)
		}
	}
}

func TestSeedKeepsItsDigits(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, &outcome.Result{Seed: 1<<64 - 1}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"seed": 18446744073709551615`) {
		t.Error("the seed lost digits")
	}
}
