package faults

import (
	"fmt"
	"strings"
)

// Failpoint arms a named point of the simulator on some nodes (faults/point): the
// term says at which hits it fires and what then happens.
type Failpoint struct {
	Node Selector
	Site string // such as disk-sync
	Term string // such as 2*off->1*return("eio")
}

// Word implements Fault.
func (f Failpoint) Word() string { return "failpoint" }

func (f Failpoint) String() string {
	return fmt.Sprintf("failpoint: {node: %s, site: %s, term: %q}", f.Node, f.Site, f.Term)
}

// Selectors implements Fault.
func (f Failpoint) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Failpoint) Start(t Target, c Context) (string, func(Target), error) {
	var lifts []func()
	var failed error
	hit, err := each(t, c, f.Node, func(n string) bool {
		lift, err := t.Failpoint(n, f.Site, f.Term)
		if err != nil {
			failed = err
			return false
		}
		lifts = append(lifts, lift)
		return true
	})
	if err == nil {
		err = failed
	}
	return strings.Join(hit, " "), liftAll(lifts), err
}
