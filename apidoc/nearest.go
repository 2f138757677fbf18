package apidoc

import (
	"sort"
	"strings"
)

// Nearest gives the candidates closest to a misspelt name, best first, at most
// max of them; those that share too little with it are left out. It serves
// parameter names, enum values and words of commands alike.
func Nearest(name string, candidates []string, max int) []string {
	type scored struct {
		s string
		d int
	}
	lower := strings.ToLower(name)
	if len(lower) > 64 {
		return nil
	}
	limit := 1 + len(lower)/3
	var near []scored
	for _, c := range candidates {
		lc := strings.ToLower(c)
		d := editDistance(lower, lc, limit)
		if d > limit && len(lower) >= 3 && (strings.Contains(lc, lower) || len(lc) >= 3 && strings.Contains(lower, lc)) {
			d = limit
		}
		if d <= limit {
			near = append(near, scored{c, d})
		}
	}
	sort.SliceStable(near, func(i, j int) bool {
		if near[i].d != near[j].d {
			return near[i].d < near[j].d
		}
		return near[i].s < near[j].s
	})
	if len(near) > max {
		near = near[:max]
	}
	out := make([]string, len(near))
	for i, n := range near {
		out[i] = n.s
	}
	return out
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours; it gives up above limit and returns limit+1 then.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		best := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
			best = min(best, cur[j])
		}
		if best > limit {
			return limit + 1
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// nearest gives the templates closest to an unknown path. Segments are aligned
// as in an edit distance over whole segments: a parameter takes any value at a
// small price, a misspelt word costs by its letters.
func (s *Schema) nearest(verb Verb, segments []string, max int) []string {
	if len(segments) > 16 {
		segments = segments[:16]
	}
	type scored struct {
		path string
		cost int
	}
	var all []scored
	last := ""
	for _, e := range s.endpoints {
		if e.Path == last {
			continue
		}
		last = e.Path
		cost := alignCost(segments, strings.Split(strings.Trim(e.Path, "/"), "/"))
		if _, ok := s.Endpoint(verb, e.Path); !ok {
			cost += 5
		}
		all = append(all, scored{e.Path, cost})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].cost < all[j].cost })
	var out []string
	for _, c := range all {
		if len(out) == max || c.cost > 10*(len(segments)+1) {
			break
		}
		out = append(out, c.path)
	}
	return out
}

func alignCost(have, want []string) int {
	prev := make([]int, len(want)+1)
	cur := make([]int, len(want)+1)
	for j := range prev {
		prev[j] = 9 * j
	}
	for i := 1; i <= len(have); i++ {
		cur[0] = 10 * i
		for j := 1; j <= len(want); j++ {
			cur[j] = min(prev[j]+10, cur[j-1]+9, prev[j-1]+segmentCost(have[i-1], want[j-1]))
		}
		prev, cur = cur, prev
	}
	return prev[len(want)]
}

func segmentCost(have, want string) int {
	if have == want {
		return 0
	}
	if strings.HasPrefix(want, "{") {
		return 2
	}
	if len(have) > 64 {
		return 12
	}
	limit := 1 + len(want)/3
	if d := editDistance(strings.ToLower(have), strings.ToLower(want), limit); d <= limit {
		return 1 + 2*d
	}
	if len(have) >= 3 && (strings.Contains(want, have) || strings.Contains(have, want) && len(want) >= 3) {
		return 6
	}
	return 12
}
