package event

import "testing"

func TestEveryKindHasAWordThatParses(t *testing.T) {
	for k := None + 1; k < NumKinds; k++ {
		got, ok := ParseKind(k.String())
		if !ok || got != k {
			t.Errorf("kind %d is %q, which parses as %d", k, k, got)
		}
	}
	if _, ok := ParseKind("none"); ok {
		t.Error("none is no kind")
	}
}
