package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Messages selects messages on their way, by direction: a response goes from who was
// asked to who asked.
type Messages struct {
	From, To []string // actors
	// API is Kafka's name of the request, such as AlterPartition; "" is any message,
	// those with ZooKeeper among them.
	API       string
	Requests  bool
	Responses bool
	Count     int // at most so many; 0 is all
}

// APIKey finds an API by Kafka's name, whatever its case.
func APIKey(name string) (key int16, ok bool) {
	for k := int16(0); k <= kmsg.MaxKey; k++ {
		if strings.EqualFold(kmsg.NameForKey(k), name) {
			return k, true
		}
	}
	return 0, false
}

// APINames lists the names, for suggestions.
func APINames() []string {
	var names []string
	for k := int16(0); k <= kmsg.MaxKey; k++ {
		names = append(names, kmsg.NameForKey(k))
	}
	return names
}

// Message keeps or loses single messages of one kind. All messages of a connection
// keep their order: what was sent behind a held message comes behind it, and behind a
// lost one nothing comes any more on that connection in that direction.
type Message struct {
	From, To []Selector
	API      string
	Kind     string // request, response or any
	Count    int    // the first so many that come by; 0 is all while the fault lasts
	// Lose instead of holding until the fault ends: hold is N28, lose is N29 and, for a
	// response, N30.
	Lose bool
}

// Word implements Fault.
func (f Message) Word() string {
	if f.Lose {
		return "lose"
	}
	return "hold"
}

func (f Message) String() string {
	s := fmt.Sprintf("%s: {from: %s, to: %s", f.Word(), list(f.From), list(f.To))
	if f.API != "" {
		s += ", api: " + f.API
	}
	if f.Kind != "any" {
		s += ", kind: " + f.Kind
	}
	if f.Count > 0 {
		s += fmt.Sprintf(", count: %d", f.Count)
	}
	return s + "}"
}

// Selectors implements Fault.
func (f Message) Selectors() []Selector { return append(slices.Clone(f.From), f.To...) }

// Start implements Fault.
func (f Message) Start(t Target, c Context) (string, func(Target), error) {
	from, to, err := pair(t, c, f.From, f.To)
	if err != nil {
		return "", nil, err
	}
	m := Messages{From: from, To: to, API: f.API, Requests: f.Kind != "response", Responses: f.Kind != "request", Count: f.Count}
	lift := t.Messages(m, f.Lose)
	return strings.Join(from, " ") + " -> " + strings.Join(to, " "), liftAll([]func(){lift}), nil
}

// Clog keeps everything on links, one way, and lets it go in a burst (N18). Several of
// them, ended in another order than begun, are a swizzle (N19).
type Clog struct{ From, To []Selector }

func (f Clog) Word() string { return "clog" }

func (f Clog) String() string {
	return fmt.Sprintf("clog: {from: %s, to: %s}", list(f.From), list(f.To))
}

// Selectors implements Fault.
func (f Clog) Selectors() []Selector { return append(slices.Clone(f.From), f.To...) }

// Start implements Fault.
func (f Clog) Start(t Target, c Context) (string, func(Target), error) {
	from, to, err := pair(t, c, f.From, f.To)
	if err != nil {
		return "", nil, err
	}
	return strings.Join(from, " ") + " -> " + strings.Join(to, " "), liftAll([]func(){t.Clog(from, to)}), nil
}

// HalfOpen silences the connections that are open now, for ever; new ones work (N21).
type HalfOpen struct{ A, B []Selector }

func (f HalfOpen) Word() string { return "half_open" }

func (f HalfOpen) String() string {
	return fmt.Sprintf("half_open: {between: %s, and: %s}", list(f.A), list(f.B))
}

// Selectors implements Fault.
func (f HalfOpen) Selectors() []Selector { return append(slices.Clone(f.A), f.B...) }

// Start implements Fault.
func (f HalfOpen) Start(t Target, c Context) (string, func(Target), error) {
	a, b, err := pair(t, c, f.A, f.B)
	if err != nil {
		return "", nil, err
	}
	n := t.HalfOpen(a, b)
	return fmt.Sprintf("%s <-> %s: %d connections", strings.Join(a, " "), strings.Join(b, " "), n), nil, nil
}
