package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Cut silences links: between two sets, both ways (N11, N13) or one way (N12).
type Cut struct {
	From, To []Selector
	OneWay   bool
}

// Word implements Fault.
func (f Cut) Word() string { return "cut" }

func (f Cut) String() string {
	way := "both"
	if f.OneWay {
		way = "one-way"
	}
	return fmt.Sprintf("cut: {from: %s, to: %s, direction: %s}", list(f.From), list(f.To), way)
}

// Selectors implements Fault.
func (f Cut) Selectors() []Selector { return append(slices.Clone(f.From), f.To...) }

// Start implements Fault.
func (f Cut) Start(t Target, c Context) (string, func(Target), error) {
	from, to, err := pair(t, c, f.From, f.To)
	if err != nil {
		return "", nil, err
	}
	lifts := []func(){t.Cut(from, to)}
	arrow := " -> "
	if !f.OneWay {
		lifts = append(lifts, t.Cut(to, from))
		arrow = " <-> "
	}
	return strings.Join(from, " ") + arrow + strings.Join(to, " "), liftAll(lifts), nil
}

// Isolate cuts nodes from every other actor, but for those of Except.
type Isolate struct {
	Node   Selector
	Except []Selector
}

// Word implements Fault.
func (f Isolate) Word() string { return "isolate" }

func (f Isolate) String() string {
	if len(f.Except) == 0 {
		return "isolate: " + f.Node.String()
	}
	return fmt.Sprintf("isolate: {node: %s, except: %s}", f.Node, list(f.Except))
}

// Selectors implements Fault.
func (f Isolate) Selectors() []Selector { return append([]Selector{f.Node}, f.Except...) }

// Start implements Fault.
func (f Isolate) Start(t Target, c Context) (string, func(Target), error) {
	in, err := selectAll(t, c, []Selector{f.Node})
	if err != nil {
		return "", nil, err
	}
	var except []string
	for _, s := range f.Except {
		except = append(except, t.Select(s, c)...)
	}
	var out []string
	for _, r := range []Role{Brokers, ZooKeeper, Clients} {
		for _, n := range t.Select(Selector{Role: r}, c) {
			if !slices.Contains(in, n) && !slices.Contains(except, n) {
				out = append(out, n)
			}
		}
	}
	return strings.Join(in, " "), liftAll([]func(){t.Cut(in, out), t.Cut(out, in)}), nil
}

// Link makes links slow, jittery, lossy or narrow, both ways (N1, N4, N9).
type Link struct {
	A, B  []Selector
	Shape LinkShape
}

// Word implements Fault.
func (f Link) Word() string { return "link" }

func (f Link) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "link: {between: %s, and: %s", list(f.A), list(f.B))
	if f.Shape.Latency > 0 {
		fmt.Fprintf(&b, ", latency: %s", Duration(f.Shape.Latency))
	}
	if f.Shape.Jitter > 0 {
		fmt.Fprintf(&b, ", jitter: %s", Duration(f.Shape.Jitter))
	}
	if f.Shape.LossPPM > 0 {
		fmt.Fprintf(&b, ", loss: %s", percentText(f.Shape.LossPPM))
	}
	if f.Shape.Bandwidth > 0 {
		fmt.Fprintf(&b, ", bandwidth: %dbit/s", f.Shape.Bandwidth*8)
	}
	return b.String() + "}"
}

// Selectors implements Fault.
func (f Link) Selectors() []Selector { return append(slices.Clone(f.A), f.B...) }

// Start implements Fault.
func (f Link) Start(t Target, c Context) (string, func(Target), error) {
	a, b, err := pair(t, c, f.A, f.B)
	if err != nil {
		return "", nil, err
	}
	return strings.Join(a, " ") + " <-> " + strings.Join(b, " "), liftAll([]func(){t.Shape(a, b, f.Shape)}), nil
}

// Reset kills the connections between two sets with RST (N20).
type Reset struct{ A, B []Selector }

// Word implements Fault.
func (f Reset) Word() string { return "reset" }

func (f Reset) String() string {
	return fmt.Sprintf("reset: {between: %s, and: %s}", list(f.A), list(f.B))
}

// Selectors implements Fault.
func (f Reset) Selectors() []Selector { return append(slices.Clone(f.A), f.B...) }

// Start implements Fault.
func (f Reset) Start(t Target, c Context) (string, func(Target), error) {
	a, b, err := pair(t, c, f.A, f.B)
	if err != nil {
		return "", nil, err
	}
	n := t.Reset(a, b)
	return fmt.Sprintf("%s <-> %s: %d connections", strings.Join(a, " "), strings.Join(b, " "), n), nil, nil
}

// pair resolves two sets. "others" in one means every broker not in the other. A node
// in both has no link with itself.
func pair(t Target, c Context, from, to []Selector) (a, b []string, err error) {
	if a, err = selectAll(t, c, from); err != nil {
		return nil, nil, err
	}
	if b, err = selectAll(t, c, to); err != nil {
		return nil, nil, err
	}
	if hasOthers(from) {
		a = without(a, b)
	} else if hasOthers(to) {
		b = without(b, a)
	}
	if len(a) == 0 || len(b) == 0 || len(a) == 1 && len(without(b, a)) == 0 {
		return nil, nil, fmt.Errorf("%s and %s were the same nodes", list(from), list(to))
	}
	return a, b, nil
}

func hasOthers(sel []Selector) bool {
	return slices.ContainsFunc(sel, func(s Selector) bool { return s.Role == Others })
}

func selectAll(t Target, c Context, sel []Selector) ([]string, error) {
	var out []string
	for _, s := range sel {
		if s.Role == Others {
			s = Selector{Role: Brokers}
		}
		names := t.Select(s, c)
		if len(names) == 0 {
			return nil, errors.New(s.Nobody())
		}
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

func without(names, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(drop, n) })
}

func list(sel []Selector) string {
	if len(sel) == 1 {
		return sel[0].String()
	}
	words := make([]string, len(sel))
	for i, s := range sel {
		words[i] = s.String()
	}
	return "[" + strings.Join(words, ", ") + "]"
}
