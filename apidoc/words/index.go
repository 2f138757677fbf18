package words

import (
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
	object string // what methods on the same thing share, without the verb
	qemu   bool
	lxc    bool
	filter bool // it is about a firewall
}

type index struct {
	*vocabulary
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
	ix := &index{vocabulary: newVocabulary(), docs: make([]doc, 0, 700)}
	b := newBuilder(ix.vocabulary)
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
