package words

import (
	"math"
	"strings"
	"sync"
)

// What a word weighs by where it stands. A summary says what a method is, the
// end of its path what Proxmox calls it; the keywords are many and say what it
// may be called.
const (
	summaryWeight  = 3
	pathEndWeight  = 2
	pathWeight     = 0.7
	keywordsWeight = 1.7
)

// BM25's two constants: how soon repetition stops counting, and how much a long
// line is held against a method. The latter is low, since configuration really
// is about that many things.
const (
	saturation = 1.2
	lengthBias = 0.25
	longest    = 2.2 // in average lines: more is not held against it
	rarest     = 4.6 // what the rarest word is worth: as if six methods had it
)

type posting struct {
	doc    int32
	impact float32 // what the word adds to the method's score
}

type doc struct {
	Entry
	prior  float32
	family string // what its twins for other kinds of guest share
	object string // what methods on the same thing share, without the verb
	qemu   bool
	lxc    bool
	filter bool // it is about a firewall
}

type index struct {
	docs  []doc
	terms map[string]int32
	names []string // the terms, by number
	start []int32  // postings of term t are list[start[t]:start[t+1]]
	list  []posting
	idf   []float32
}

// shared builds the index on the first search and keeps it.
var shared = sync.OnceValue(build)

// build reads the embedded text once, counts each word by the place it stands
// in, and turns the counts into BM25 impacts.
func build() *index {
	b := builder{
		raw:   make(map[string]int32, 4096),
		terms: make(map[string]int32, 4096),
	}
	ix := &index{docs: make([]doc, 0, 700)}
	for e := range All() {
		ix.docs = append(ix.docs, newDoc(e))
		b.add(e)
	}
	b.finish(ix)
	return ix
}

func newDoc(e Entry) doc {
	d := doc{Entry: e, prior: 1}
	switch e.Mark {
	case Common:
		d.prior = 1.15
	case Index:
		d.prior = 0.45
	case Internal:
		d.prior = 0.55
	case Old:
		d.prior = 0.75
	}
	d.qemu = strings.HasPrefix(e.Path, "/nodes/{node}/qemu")
	d.lxc = strings.HasPrefix(e.Path, "/nodes/{node}/lxc")
	d.filter = strings.Contains(e.Path, "/firewall")
	d.object = object(e.Path)
	d.family = e.Verb + d.object
	return d
}

// object reduces a path to the thing that it is about: the same for a VM and a
// container, and for the firewalls of every level.
func object(path string) string {
	if i := strings.Index(path, "/firewall/"); i >= 0 {
		return path[i:]
	}
	for _, p := range [...]string{"/nodes/{node}/qemu", "/nodes/{node}/lxc"} {
		if rest, ok := strings.CutPrefix(path, p); ok {
			switch {
			case strings.HasSuffix(rest, "/move_disk"), strings.HasSuffix(rest, "/move_volume"):
				return "/guest/move"
			}
			return "/guest" + rest
		}
	}
	return strings.TrimSuffix(path, "/")
}

// count is a term's weight in one method.
type count struct {
	term   int32
	doc    int32
	weight float32
}

type builder struct {
	raw    map[string]int32 // words as written, to their term
	terms  map[string]int32
	names  []string
	seen   []int32 // by term: where in counts its entry of the present method is, plus one
	counts []count
	length []float32 // by method
	words  []string  // scratch
}

func (b *builder) add(e Entry) {
	if b.counts == nil {
		b.counts = make([]count, 0, 20000)
		b.length = make([]float32, 0, 700)
	}
	at := int32(len(b.length))
	from := len(b.counts)
	n := b.field(e.Summary, at, from, summaryWeight)
	n += b.field(e.Keywords, at, from, keywordsWeight)
	b.path(e.Path, at, from)
	b.length = append(b.length, float32(n))
}

// field counts the words of one text and says how many there were.
func (b *builder) field(s string, at int32, from int, weight float32) int {
	b.words = join(split(s, b.words[:0]))
	for _, w := range b.words {
		b.count(w, at, from, weight)
	}
	return len(b.words)
}

// path counts the fixed parts of a path. The last one names the thing.
func (b *builder) path(path string, at int32, from int) {
	weight := float32(pathEndWeight)
	for path != "" {
		i := strings.LastIndexByte(path, '/')
		part := path[i+1:]
		path = path[:max(i, 0)]
		if part == "" || part[0] == '{' {
			continue
		}
		b.field(part, at, from, weight)
		weight = pathWeight
	}
}

func (b *builder) count(w string, at int32, from int, weight float32) {
	t, ok := b.raw[w]
	if !ok {
		t = b.term(w)
		b.raw[w] = t
	}
	if t < 0 {
		return
	}
	if i := int(b.seen[t]) - 1; i >= from {
		// A word again, in another place: half of it counts on top.
		b.counts[i].weight = max(b.counts[i].weight, weight) + min(b.counts[i].weight, weight)/2
		return
	}
	b.counts = append(b.counts, count{t, at, weight})
	b.seen[t] = int32(len(b.counts))
}

// term numbers a word's stem; stop words have none.
func (b *builder) term(w string) int32 {
	s := stem(w)
	if stopWords[s] {
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
