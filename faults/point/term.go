package point

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// chain is a parsed term: what the failpoint package will do, known before it
// is asked.
type chain struct {
	links []link
	hits  int64 // hits until all links are used up; unlimited if negative
}

type link struct {
	count int64 // 0 is unlimited
	off   bool
	value Value
}

const unlimited = -1

// refused maps the actions of the failpoint package that are not deterministic
// in a simulation to the simulator's own words.
var refused = []struct{ action, instead string }{
	{"sleep", "a delay is virtual time: use the fault `slow-disk`, `stall` or `slow-link`"},
	{"pause", "pausing is virtual time: use the fault `pause`"},
	{"break", "a debugger stops real time: replay with `--until` and break there"},
	{"panic", "a crash is the scheduler's: use the fault `kill` or `power-loss`"},
	{"print", "output is the trace's: use `--trace`"},
}

// parseTerm accepts link("->"link)* where link is [N*](off | return[(value)]).
func parseTerm(term string) (chain, error) {
	var c chain
	for rest := term; ; {
		l, tail, err := parseLink(rest)
		if err != nil {
			return chain{}, err
		}
		c.links = append(c.links, l)
		c.hits += l.count
		if tail == "" {
			break
		}
		next, ok := strings.CutPrefix(tail, "->")
		if !ok {
			return chain{}, fmt.Errorf("%q: expected -> between actions", tail)
		}
		if l.count == 0 {
			return chain{}, fmt.Errorf("%q is never reached: the action before it has no count (N*)", next)
		}
		rest = next
	}
	if c.links[len(c.links)-1].count == 0 {
		c.hits = unlimited
	}
	return c, nil
}

func parseLink(s string) (l link, tail string, err error) {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
	if digits != "" {
		s = s[len(digits):]
		if strings.HasPrefix(s, "%") {
			return l, "", fmt.Errorf("%s%%: a percentage here is not repeatable; give the fault a `probability:`, which draws from the seed", digits)
		}
		l.count, err = strconv.ParseInt(digits, 10, 31)
		if !strings.HasPrefix(s, "*") || err != nil || l.count == 0 {
			return l, "", fmt.Errorf("%q: a count is N* with N from 1 to %d", digits+s, math.MaxInt32/2)
		}
		s = s[1:]
	}
	switch {
	case s != "" && s[0] >= '0' && s[0] <= '9':
		return l, "", fmt.Errorf("%q: an action has one count and no percentage; a `probability:` is the fault's", s)
	case strings.HasPrefix(s, "off"):
		l.off = true
		return l, s[len("off"):], nil
	case strings.HasPrefix(s, "return"):
		l.value, tail, err = parseValue(s[len("return"):])
		return l, tail, err
	}
	for _, r := range refused {
		if strings.HasPrefix(s, r.action) {
			return l, "", fmt.Errorf("%s is not available: %s", r.action, r.instead)
		}
	}
	return l, "", fmt.Errorf("%q is no action: use return, return(value) or off", s)
}

// parseValue reads what follows "return". It accepts only what the failpoint
// package reads to the same value on every machine: 32-bit integers in plain
// form, booleans, and strings of printable ASCII without quotes or escapes.
func parseValue(s string) (v Value, tail string, err error) {
	if !strings.HasPrefix(s, "(") {
		return Value{}, s, nil
	}
	if text, ok := strings.CutPrefix(s, `("`); ok {
		end := strings.IndexByte(text, '"')
		if end < 0 || !strings.HasPrefix(text[end:], `")`) || !plain(text[:end]) {
			return v, "", fmt.Errorf("%q: a string is printable ASCII in double quotes, without escapes", s)
		}
		return Value{kind: stringValue, text: text[:end]}, text[end+2:], nil
	}
	arg, tail, closed := strings.Cut(s[1:], ")")
	n, numErr := strconv.ParseInt(arg, 10, 32)
	switch {
	case !closed:
	case arg == "":
		return Value{}, tail, nil
	case arg == "true" || arg == "false":
		return Value{kind: boolValue, number: int64(len("false") - len(arg))}, tail, nil
	case numErr == nil && strconv.FormatInt(n, 10) == arg:
		return Value{kind: intValue, number: n}, tail, nil
	}
	return v, "", fmt.Errorf("%q: a value is an integer without leading zeros, true, false or a string in double quotes", s)
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '\\' {
			return false
		}
	}
	return true
}
