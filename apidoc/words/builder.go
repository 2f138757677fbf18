package words

import (
	"math"
	"strings"
)

// count is a term's weight in one method.
type count struct {
	term   int32
	doc    int32
	weight float32
}

// spelling is a word that the text has. Each is stemmed and looked up in the
// vocabulary once, however often it comes.
type spelling struct {
	lower   string
	term    int32    // -1 for a stop word
	phrases []phrase // that it may begin
}

type builder struct {
	v         *vocabulary
	slots     [slots]int16 // places in spellings plus one, by hash
	spellings []spelling
	terms     map[string]int32
	names     []string
	seen      []int32 // by term: where in counts its entry of the present method is, plus one
	counts    []count
	length    []float32 // by method
	words     []int32   // the present field, in spellings
}

func newBuilder(v *vocabulary) *builder {
	return &builder{
		v:         v,
		spellings: make([]spelling, 0, 3000),
		terms:     make(map[string]int32, 3000),
		names:     make([]string, 0, 3000),
		seen:      make([]int32, 0, 3000),
		counts:    make([]count, 0, 17000),
		length:    make([]float32, 0, 700),
	}
}

func (b *builder) add(e Entry) {
	at := int32(len(b.length))
	from := len(b.counts)
	n := b.field(e.Summary, at, from, summaryWeight)
	n += b.field(e.Keywords, at, from, keywordsWeight)
	b.path(e.Path, at, from)
	b.length = append(b.length, float32(n))
}

// field counts the words of one text and says how many there were. It does what
// split and join do for a question, without making strings.
func (b *builder) field(s string, at int32, from int, weight float32) int {
	b.words = b.words[:0]
	start, hash := -1, uint32(0)
	for i := 0; i <= len(s); i++ {
		if i < len(s) && isWordByte(s[i]) {
			if start < 0 {
				start, hash = i, hashStart
			}
			hash = (hash ^ uint32(s[i]|0x20)) * hashPrime
			continue
		}
		if start >= 0 && i-start > 1 {
			b.words = append(b.words, b.number(s[start:i], hash))
		}
		start = -1
	}
	n := 0
	for i := 0; i < len(b.words); n++ {
		word := b.words[i]
		taken := 1
		for _, p := range b.spellings[word].phrases {
			if len(p.rest) >= taken && b.follow(p.rest, i+1) {
				taken, word = len(p.rest)+1, b.number(p.to, hashOf(p.to))
			}
		}
		b.count(b.spellings[word].term, at, from, weight)
		i += taken
	}
	return n
}

func (b *builder) follow(rest []string, i int) bool {
	if i+len(rest) > len(b.words) {
		return false
	}
	for j, w := range rest {
		if b.spellings[b.words[i+j]].lower != w {
			return false
		}
	}
	return true
}

// path counts the fixed parts of a path. The last one names the thing; "nodes"
// at the beginning tells nothing.
func (b *builder) path(path string, at int32, from int) {
	weight := float32(pathEndWeight)
	for path != "" {
		i := strings.LastIndexByte(path, '/')
		part := path[i+1:]
		path = path[:max(i, 0)]
		if part == "" || part[0] == '{' || part == "nodes" && weight == pathWeight {
			continue
		}
		b.field(part, at, from, weight)
		weight = pathWeight
	}
}

func (b *builder) count(t, at int32, from int, weight float32) {
	if t < 0 {
		return
	}
	if i := int(b.seen[t]) - 1; i >= from {
		// A word again, in another place: half of it counts on top.
		old := b.counts[i].weight
		b.counts[i].weight = max(old, weight) + min(old, weight)/2
		return
	}
	b.counts = append(b.counts, count{t, at, weight})
	b.seen[t] = int32(len(b.counts))
}

// Most of a build is looking words up, some 15,000 of 3,000, so they have a hash
// table of their own: the hash is taken while the word is cut, and upper case
// needs no second string. (Setting 0x20 makes letters lower and leaves digits.)
const (
	slots     = 1 << 13
	hashStart = 2166136261 // FNV-1a's
	hashPrime = 16777619
)

func hashOf(w string) uint32 {
	h := uint32(hashStart)
	for i := range len(w) {
		h = (h ^ uint32(w[i]|0x20)) * hashPrime
	}
	return h
}

// number gives the place of a word in spellings.
func (b *builder) number(w string, hash uint32) int32 {
	at := (hash ^ hash>>15) % slots
	for ; b.slots[at] != 0; at = (at + 1) % slots {
		n := b.slots[at] - 1
		if sameWord(b.spellings[n].lower, w) {
			return int32(n)
		}
	}
	lower := strings.ToLower(w)
	b.spellings = append(b.spellings, spelling{lower, b.term(lower), b.v.phrases[lower]})
	b.slots[at] = int16(len(b.spellings))
	return int32(len(b.spellings)) - 1
}

// sameWord compares a word in lower case with one in any.
func sameWord(lower, w string) bool {
	if len(lower) != len(w) {
		return false
	}
	for i := range len(w) {
		if lower[i] != w[i]|0x20 {
			return false
		}
	}
	return true
}

// term numbers a word's stem; stop words have none.
func (b *builder) term(w string) int32 {
	s := b.v.stem(w)
	if b.v.stop[s] {
		return -1
	}
	t, ok := b.terms[s]
	if !ok {
		t = int32(len(b.names))
		b.terms[s] = t
		b.names = append(b.names, s)
		b.seen = append(b.seen, 0)
	}
	return t
}

// finish sorts the counts by term and computes what each adds to a score.
func (b *builder) finish(ix *index) {
	n := len(b.names)
	ix.terms, ix.names = b.terms, b.names
	ix.start = make([]int32, n+1)
	for _, c := range b.counts {
		ix.start[c.term+1]++
	}
	ix.idf = make([]float32, n)
	docs := float64(len(ix.docs))
	for t := range n {
		df := float64(ix.start[t+1])
		// A word that stands in one line only often stands there by chance.
		ix.idf[t] = min(float32(math.Log(1+(docs-df+0.5)/(df+0.5))), rarest)
		ix.start[t+1] += ix.start[t]
	}
	var sum float32
	for _, l := range b.length {
		sum += l
	}
	average := sum / float32(len(b.length))
	ix.list = make([]posting, len(b.counts))
	next := append([]int32(nil), ix.start[:n]...)
	for _, c := range b.counts {
		damp := saturation * (1 - lengthBias + lengthBias*min(b.length[c.doc]/average, longest))
		impact := ix.idf[c.term] * c.weight * (saturation + 1) / (c.weight + damp)
		ix.list[next[c.term]] = posting{c.doc, impact}
		next[c.term]++
	}
}
