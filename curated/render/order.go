package render

import (
	"fmt"
	"strconv"
	"strings"
)

// keySep separates the parts of a key; it sorts before everything else.
const keySep = "\x00"

// Key makes a row's key from its parts: Key(vmid), Key(kind, node, name). Keys
// compare part by part and, within a part, runs of digits by their value (99
// before 100, pve2 before pve10). NUL bytes in parts are dropped.
func Key(parts ...any) string {
	if len(parts) == 1 {
		switch p := parts[0].(type) {
		case int:
			return strconv.Itoa(p)
		case int64:
			return strconv.FormatInt(p, 10)
		}
		return strings.ReplaceAll(fmt.Sprint(parts[0]), keySep, "")
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(keySep)
		}
		b.WriteString(strings.ReplaceAll(fmt.Sprint(p), keySep, ""))
	}
	return b.String()
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// compareKeys orders keys: byte by byte, but runs of digits by value. Equal
// values of different length (7 and 007) are told apart at the end, so that the
// order is total: only equal strings compare as equal.
func compareKeys(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			i0, j0 := i, j
			for i < len(a) && digit(a[i]) {
				i++
			}
			for j < len(b) && digit(b[j]) {
				j++
			}
			x, y := strings.TrimLeft(a[i0:i], "0"), strings.TrimLeft(b[j0:j], "0")
			if len(x) != len(y) {
				return sign(len(x) - len(y))
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			continue
		}
		if a[i] != b[j] {
			return sign(int(a[i]) - int(b[j]))
		}
		i++
		j++
	}
	if c := sign((len(a) - i) - (len(b) - j)); c != 0 {
		return c
	}
	if c := sign(len(a) - len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// keyNumber gives a key that is a plain number without leading zeros, plus one;
// 0 for every other key. Such keys order by it.
func keyNumber(key string) uint64 {
	if len(key) == 0 || len(key) > 18 || key[0] == '0' {
		return 0
	}
	var n uint64
	for i := range len(key) {
		if !digit(key[i]) {
			return 0
		}
		n = n*10 + uint64(key[i]-'0')
	}
	return n + 1
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// smallest gives the k least of the indexes that next yields, in order by cmp,
// which must not hold two different indexes equal. It takes one pass and keeps
// no more than k of them.
func smallest(n, k int, keep func(i int) bool, cmp func(a, b int) int) []int {
	if k <= 0 {
		return nil
	}
	heap := make([]int, 0, min(n, k))
	for i := range n {
		if keep != nil && !keep(i) {
			continue
		}
		if len(heap) < k {
			heap = append(heap, i)
			for c := len(heap) - 1; c > 0; {
				p := (c - 1) / 2
				if cmp(heap[c], heap[p]) <= 0 {
					break
				}
				heap[c], heap[p] = heap[p], heap[c]
				c = p
			}
			continue
		}
		if cmp(i, heap[0]) >= 0 {
			continue
		}
		heap[0] = i
		sink(heap, cmp)
	}
	for end := len(heap) - 1; end > 0; end-- {
		heap[0], heap[end] = heap[end], heap[0]
		sink(heap[:end], cmp)
	}
	return heap
}

func sink(heap []int, cmp func(a, b int) int) {
	for p := 0; ; {
		c := 2*p + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && cmp(heap[c+1], heap[c]) > 0 {
			c++
		}
		if cmp(heap[c], heap[p]) <= 0 {
			return
		}
		heap[c], heap[p] = heap[p], heap[c]
		p = c
	}
}
