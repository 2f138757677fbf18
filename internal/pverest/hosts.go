package pverest

import (
	"slices"
	"sync"
	"time"
)

// hostRest is how long a host that failed is asked only after all others.
const hostRest = 10 * time.Second

// hostSet remembers which hosts of the cluster answer. Calls stay with one
// that works (its connections are warm) and move on when it fails.
type hostSet struct {
	mu     sync.Mutex
	failed []time.Time // zero: no failure since its last success
	cur    int
}

// order gives every host's index, the best to ask first: the current one,
// those without a recent failure in their given order, then those that failed
// recently, the longest ago first.
func (h *hostSet) order(now time.Time) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]int, len(h.failed))
	for i := range out {
		out[i] = i
	}
	recent := func(i int) bool { return !h.failed[i].IsZero() && now.Sub(h.failed[i]) < hostRest }
	slices.SortStableFunc(out, func(a, b int) int {
		ra, rb := recent(a), recent(b)
		switch {
		case ra != rb && ra:
			return 1
		case ra != rb:
			return -1
		case ra:
			return h.failed[a].Compare(h.failed[b])
		case a == h.cur && b != h.cur:
			return -1
		case b == h.cur && a != h.cur:
			return 1
		}
		return 0
	})
	return out
}

func (h *hostSet) fail(i int) {
	h.mu.Lock()
	h.failed[i] = time.Now()
	h.mu.Unlock()
}

func (h *hostSet) ok(i int) {
	h.mu.Lock()
	h.failed[i] = time.Time{}
	if !h.failed[h.cur].IsZero() {
		h.cur = i
	}
	h.mu.Unlock()
}
