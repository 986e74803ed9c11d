package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Flap cuts links both ways for Down, heals them for Up, and so on (N15).
type Flap struct {
	A, B     []Selector
	Down, Up kafka.Nanos // longer than 0
}

// Word implements Fault.
func (f Flap) Word() string { return "flap" }

func (f Flap) String() string {
	return fmt.Sprintf("flap: {between: %s, and: %s, down: %s, up: %s}", list(f.A), list(f.B), Duration(f.Down), Duration(f.Up))
}

// Selectors implements Fault.
func (f Flap) Selectors() []Selector { return append(slices.Clone(f.A), f.B...) }

// Start implements Fault.
func (f Flap) Start(t Target, c Context) (string, func(Target), error) {
	a, b, err := pair(t, c, f.A, f.B)
	if err != nil {
		return "", nil, err
	}
	lift := t.Flap(a, b, f.Down, f.Up, c.Until)
	return strings.Join(a, " ") + " <-> " + strings.Join(b, " "), liftAll([]func(){lift}), nil
}
