// Package point wraps github.com/pingcap/failpoint: named places in the
// simulator at which a scenario can make something fail on the k-th pass. It is
// the one importer of that package and mirrors no Kafka class.
//
// A Registry is one simulation's own failpoint.Failpoints value, so that
// simulations run side by side; the package-wide registry is never used.
//
// Terms follow the failpoint package (`2*off->1*return("EIO")` fires on the
// third hit only), restricted to what repeats exactly: return, off, counts and
// chains. Percentages, sleep, pause, break, panic and print are refused with
// the name of the simulator's own word. Left out: Inject and its source
// rewriting, EnableCall, EnableWith, environment variables, HTTP.
package point

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pingcap/failpoint"
)

// Value is what a term's return carried.
type Value struct {
	kind   valueKind
	number int64
	text   string
}

type valueKind uint8

const (
	bareValue valueKind = iota // return or return()
	boolValue
	intValue
	stringValue
)

// Int is the value of return(N).
func (v Value) Int() (int64, bool) { return v.number, v.kind == intValue }

// Bool is the value of return(true); a bare return is true as well.
func (v Value) Bool() (value, ok bool) {
	ok = v.kind == boolValue || v.kind == bareValue
	return ok, ok
}

// Text is the value of return("…").
func (v Value) Text() (string, bool) { return v.text, v.kind == stringValue }

// Action is one of the site's Values: the string given, or the default for any
// other value.
func (v Value) Action(s Site) string {
	if v.kind == stringValue {
		return v.text
	}
	return sites[s].values[0]
}

// Registry holds the failpoints of one simulation. The zero value is ready.
// Not safe for concurrent use.
type Registry struct {
	points failpoint.Failpoints
	armed  uint32 // bit per site; Invariant: only sites whose term parsed
	left   [numSites]int64
	hits   [numSites]uint64
	fired  [numSites]uint64
}

// Arm gives a site a term, replacing the one it had; counts start anew. The
// term is checked first; on error the site stays as it was.
func (r *Registry) Arm(site Site, term string) error {
	if site >= numSites {
		return fmt.Errorf("no failpoint %d; there are %s", site, siteNames())
	}
	c, err := parseTerm(term)
	if err == nil {
		err = c.checkValues(site)
	}
	if err != nil {
		return fmt.Errorf("failpoint %s: term %q: %w", site, term, err)
	}
	if err := r.points.Enable(site.String(), term); err != nil {
		return fmt.Errorf("failpoint %s: term %q: %w", site, term, err)
	}
	r.armed |= 1 << site
	r.left[site] = c.hits
	return nil
}

// ArmNamed is Arm for a site named in a scenario file.
func (r *Registry) ArmNamed(name, term string) error {
	site, ok := Parse(name)
	if !ok {
		return fmt.Errorf("no failpoint %q; there are %s", name, siteNames())
	}
	return r.Arm(site, term)
}

// Check reports what Arm would refuse, without arming.
func Check(site Site, term string) error { return new(Registry).Arm(site, term) }

// checkValues refuses strings that mean nothing at the site, and false.
func (c chain) checkValues(site Site) error {
	for _, l := range c.links {
		switch v := l.value; {
		case v.kind == boolValue && v.number == 0:
			return errors.New("return(false) would fire all the same; use off")
		case v.kind == stringValue && !slices.Contains(site.Values(), v.text):
			return fmt.Errorf("%q means nothing here; values are %q", v.text, site.Values())
		}
	}
	return nil
}

// Disarm takes the term away. A site that is not armed stays so.
func (r *Registry) Disarm(site Site) {
	if r.armed&(1<<site) == 0 {
		return // the failpoint package panics on a name that it never parsed
	}
	r.armed &^= 1 << site
	if err := r.points.Disable(site.String()); err != nil {
		panic("point: " + err.Error()) // armed sites exist
	}
}

// Armed reports whether the site has a term that can still fire.
func (r *Registry) Armed(site Site) bool { return r.armed&(1<<site) != 0 }

// Hit passes a site: it reports whether the failpoint fires, and its value. A
// nil Registry never fires. `off` counts as a hit and does not fire.
func (r *Registry) Hit(site Site) (Value, bool) {
	if r == nil {
		return Value{}, false
	}
	r.hits[site]++
	if r.armed&(1<<site) == 0 {
		return Value{}, false
	}
	return r.eval(site)
}

// eval asks the failpoint package. Fired means no error and a value: off, too,
// has no error.
func (r *Registry) eval(site Site) (Value, bool) {
	raw, err := r.points.Eval(sites[site].name)
	if r.left[site] > 0 {
		if r.left[site]--; r.left[site] == 0 {
			r.Disarm(site)
		}
	}
	if err != nil || raw == nil {
		return Value{}, false
	}
	r.fired[site]++
	switch v := raw.(type) {
	case bool:
		return Value{kind: boolValue, number: 1}, true // false was refused
	case int:
		return Value{kind: intValue, number: int64(v)}, true
	case string:
		return Value{kind: stringValue, text: v}, true
	}
	return Value{}, true
}

// Count is how often a site was passed and how often it fired.
type Count struct {
	Site        Site
	Hits, Fired uint64
}

// Counts lists the sites that were passed, in table order.
func (r *Registry) Counts() []Count {
	var out []Count
	for i := range sites {
		if r.hits[i] > 0 {
			out = append(out, Count{Site(i), r.hits[i], r.fired[i]})
		}
	}
	return out
}

// Reset disarms all sites and clears the counters.
func (r *Registry) Reset() {
	for i := range sites {
		r.Disarm(Site(i))
	}
	r.hits, r.fired = [numSites]uint64{}, [numSites]uint64{}
}

// ErrEnvironment: a variable of the failpoint package is set, which would arm
// failpoints, or open a port, behind the scenario's back.
var ErrEnvironment = errors.New("environment variable of the failpoint package is set")

// CheckEnv refuses GO_FAILPOINTS and GO_FAILPOINTS_HTTP. Call it before a run.
func CheckEnv() error {
	for _, name := range []string{"GO_FAILPOINTS", "GO_FAILPOINTS_HTTP"} {
		if os.Getenv(name) != "" {
			return fmt.Errorf("%w: unset %s; arm failpoints in the scenario instead", ErrEnvironment, name)
		}
	}
	return nil
}
