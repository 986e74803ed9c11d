package invariant

import "slices"

// span is [lo, hi).
type span struct{ lo, hi int64 }

// intervals is a set of numbers as sorted, disjoint, non-adjacent spans. Numbers
// mostly come in order, so that it stays short.
type intervals []span

// add puts [lo, hi) in and returns how many numbers were new.
func (s *intervals) add(lo, hi int64) (fresh int64) {
	v := *s
	if n := len(v); n == 0 || v[n-1].hi < lo {
		*s = append(v, span{lo, hi})
		return hi - lo
	} else if v[n-1].hi == lo {
		v[n-1].hi = hi
		return hi - lo
	}
	// i is the first span that touches, j the first behind that does not.
	i, _ := slices.BinarySearchFunc(v, lo, func(x span, lo int64) int {
		if x.hi < lo {
			return -1
		}
		return 1
	})
	j, had := i, int64(0)
	merged := span{lo, hi}
	for j < len(v) && v[j].lo <= hi {
		had += max(0, min(v[j].hi, hi)-max(v[j].lo, lo))
		merged.lo, merged.hi = min(merged.lo, v[j].lo), max(merged.hi, v[j].hi)
		j++
	}
	*s = slices.Replace(v, i, j, merged)
	return hi - lo - had
}

// count is how many numbers of [lo, hi) are in the set.
func (s intervals) count(lo, hi int64) (n int64) {
	i, _ := slices.BinarySearchFunc(s, lo, func(x span, lo int64) int {
		if x.hi <= lo {
			return -1
		}
		return 1
	})
	for ; i < len(s) && s[i].lo < hi; i++ {
		n += min(s[i].hi, hi) - max(s[i].lo, lo)
	}
	return n
}

// has reports whether all of [lo, hi) is in the set.
func (s intervals) has(lo, hi int64) bool {
	if n := len(s); n > 0 && s[n-1].lo <= lo {
		return hi <= s[n-1].hi
	}
	return s.count(lo, hi) == hi-lo
}

// minus lists what is in s and not in o.
func (s intervals) minus(o intervals) (left []span) {
	i := 0
	for _, x := range s {
		for i < len(o) && o[i].hi <= x.lo {
			i++
		}
		at := x.lo
		for j := i; j < len(o) && o[j].lo < x.hi; j++ {
			if o[j].lo > at {
				left = append(left, span{at, o[j].lo})
			}
			at = max(at, o[j].hi)
		}
		if at < x.hi {
			left = append(left, span{at, x.hi})
		}
	}
	return left
}

// common counts the numbers in both sets.
func (s intervals) common(o intervals) (n int64) {
	for _, x := range s {
		n += o.count(x.lo, x.hi)
	}
	return n
}
