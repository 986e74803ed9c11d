package faults

import (
	"fmt"
	"strings"
	"testing"
)

// Every row of simulation 3.1 to 3.5 is there, once and in order, with words or with
// the reason why there are none; the words that are faults exist.
func TestEveryKindOfFaultHasWordsOrAReason(t *testing.T) {
	at := 0
	for _, group := range []struct {
		letter string
		n      int
	}{{"N", 30}, {"D", 35}, {"P", 20}, {"C", 10}, {"S", 4}, {"K", 15}, {"O", 10}} {
		for i := 1; i <= group.n; i++ {
			if at >= len(Rows) || Rows[at].ID != fmt.Sprint(group.letter, i) {
				t.Fatalf("row %d is not %s%d", at, group.letter, i)
			}
			r := &Rows[at]
			at++
			if r.Name == "" || r.How == "" && r.Why == "" {
				t.Errorf("%s: neither words nor a reason", r.ID)
			}
		}
	}
	if at != len(Rows) {
		t.Errorf("%d rows more than the list has", len(Rows)-at)
	}
	said := make(map[string]bool)
	for _, r := range Rows {
		for _, w := range strings.FieldsFunc(r.How, func(c rune) bool { return !(c >= 'a' && c <= 'z' || c == '_') }) {
			said[w] = true
		}
	}
	for _, k := range Table {
		if !said[k.Word] && k.Word != "restart" && k.Word != "resume" {
			t.Errorf("%s stands in no row", k.Word)
		}
	}
}
