package words

import (
	"cmp"
	"slices"
	"strings"
)

// Hit is a method that a search found.
type Hit struct {
	Verb    string
	Path    string // the template, as in Entry
	Summary string
	// Score compares hits of one search and says nothing across searches.
	Score float32
}

// Options narrow a search. The zero value asks for the ten best of all methods.
type Options struct {
	// Limit is how many hits are wanted at most; 10 when it is not positive.
	Limit int
	// Keep, when set, is asked for each candidate; what it refuses is left
	// out. It is for callers who know what a cluster has or a mode permits.
	Keep func(verb, path string) bool
}

const defaultLimit = 10

// Search finds methods by the words of a question ("grow a disk", "who may log
// in"), by a path, real or template ("/nodes/pve1/qemu/100/resize", "POST
// /pools"), or by a part of one ("qemu resize"). The best comes first; twins
// for VMs and containers stand side by side, but no more than a few methods on
// one thing crowd out the rest. A question in which no word is known finds
// nothing. Only the first 400 bytes of a query are read.
//
// The first search builds the index, which takes a few milliseconds; it may be
// called from several goroutines at once.
func Search(query string, opts Options) []Hit {
	return shared().search(query, opts)
}

func (ix *index) search(query string, opts Options) []Hit {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	limit := opts.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	scores := make([]float32, len(ix.docs))
	// Who writes a path means it; words that it shares with others don't matter.
	// A path that fits nothing may still be found by its words.
	if !ix.scorePath(query, scores) {
		ix.scoreWords(query, scores)
	}
	var found []candidate
	for i, s := range scores {
		d := &ix.docs[i]
		if s > 0 && (opts.Keep == nil || opts.Keep(d.Verb, d.Path)) {
			found = append(found, candidate{d, s, s})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		if c := cmp.Compare(len(a.doc.Path), len(b.doc.Path)); c != 0 {
			return c
		}
		return cmp.Compare(a.doc.Path+a.doc.Verb, b.doc.Path+b.doc.Verb)
	})
	return spread(found, limit)
}

// scoreWords adds what each word of the question gives, as often as a method
// answers it, and rewards the methods that answer more of the question.
func (ix *index) scoreWords(query string, scores []float32) {
	words := ix.join(split(query))
	if n := len(words) - 1; n > 0 && words[n] == "on" {
		words[n] = "enabled" // "is the firewall on?"
	}
	in, guest := ix.intentOf(words), kindOf(words)
	var total float32
	best := make([]float32, len(scores))
	covered := make([]float32, len(scores))
	done := make(map[string]bool, len(words))
	filter := false
	guesses := 0
	stress := float32(1)
	for _, w := range words {
		s := ix.stem(w)
		filter = filter || ix.firewall[s]
		if ix.clause[w] && len(done) > 0 {
			stress = clauseWeight
		}
		if ix.stop[s] || number(s) || done[s] {
			continue
		}
		done[s] = true
		weight := stress
		switch {
		case ix.weak[s]:
			weight *= weakWeight
		case ix.intents[w] >= add:
			weight *= verbWeight
		}
		if _, known := ix.terms[s]; !known && ix.synonyms[s] == nil {
			if guesses++; guesses > maxGuesses {
				continue
			}
		}
		worth := ix.scoreWord(s, weight, best)
		total += worth
		for i, b := range best {
			if b > 0 {
				scores[i] += b
				covered[i] += worth * min(1, b/worth)
				best[i] = 0
			}
		}
	}
	if total == 0 {
		return
	}
	for i := range scores {
		if scores[i] == 0 {
			continue
		}
		d := &ix.docs[i]
		scores[i] *= d.prior * in.fit(d.Verb) * (0.35 + 0.65*covered[i]/total)
		if guest == onlyVM && d.lxc || guest == onlyContainer && d.qemu {
			scores[i] *= 0.5
		}
		if d.filter && !filter {
			scores[i] *= 0.6
		}
	}
}

const (
	weakWeight   = 0.3
	clauseWeight = 0.65
	// A verb says less than its object: there are many things to restart.
	verbWeight   = 0.75
	prefixWeight = 0.7
	typoWeight   = 0.75
	// So many unknown words are compared with all known ones, which is slow. A
	// text with more of them is no question.
	maxGuesses = 12
	// What a word is worth when only its synonyms are known here.
	fallbackIDF = 3
)

// scoreWord puts into best, by method, the most that a word or one that stands
// for it gives, and returns what knowing the word is worth.
func (ix *index) scoreWord(s string, weight float32, best []float32) (worth float32) {
	t, known := ix.terms[s]
	if known {
		ix.give(t, weight, best)
		worth = ix.idf[t] * weight
	}
	also, meant := ix.synonyms[s]
	for _, syn := range also {
		if t, ok := ix.terms[syn.word]; ok {
			ix.give(t, weight*syn.weight, best)
			worth = max(worth, min(ix.idf[t], fallbackIDF)*weight*syn.weight)
		}
	}
	if known || meant {
		return worth
	}
	for t, name := range ix.names {
		var close float32
		switch {
		case len(s) >= 3 && strings.HasPrefix(name, s):
			close = prefixWeight
		case len(s) >= 5 && near(s, name):
			close = typoWeight
		default:
			continue
		}
		ix.give(int32(t), weight*close, best)
		worth = max(worth, ix.idf[t]*weight*close)
		// A slip in a word is a slip in what it stands for, too.
		for _, syn := range ix.synonyms[name] {
			if t, ok := ix.terms[syn.word]; ok {
				ix.give(t, weight*close*syn.weight, best)
			}
		}
	}
	return worth
}

func (ix *index) give(t int32, weight float32, best []float32) {
	for _, p := range ix.list[ix.start[t]:ix.start[t+1]] {
		best[p.doc] = max(best[p.doc], p.impact*weight)
	}
}

// number tells a bare number: a VMID or a port, which names no method.
func number(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

type candidate struct {
	doc   *doc
	raw   float32
	score float32
}

// spread picks the best again and again, and each time makes what resembles the
// pick less wanted.
func spread(found []candidate, limit int) []Hit {
	// Further down nothing can rise far enough to matter.
	found = found[:min(len(found), 4*limit+20)]
	hits := make([]Hit, 0, min(limit, len(found)))
	type family struct{ verb, object string }
	families := map[family]int{}
	objects := map[string]int{}
	for len(hits) < limit && len(found) > 0 {
		at := 0
		for i := range found {
			if found[i].score > found[at].score {
				at = i
			}
		}
		pick := found[at]
		found = slices.Delete(found, at, at+1)
		hits = append(hits, Hit{pick.doc.Verb, pick.doc.Path, pick.doc.Summary, pick.score})
		families[family{pick.doc.Verb, pick.doc.object}]++
		objects[pick.doc.object]++
		for i := range found {
			d := found[i].doc
			if d.object != pick.doc.object {
				continue
			}
			twins := families[family{d.Verb, d.object}]
			found[i].score = found[i].raw * crowding(twins, objects[d.object]-twins)
		}
	}
	return hits
}

// crowding says how much a method is still wanted when so many of its twins and
// of the other verbs on the same thing were picked. One twin is welcome.
func crowding(twins, others int) float32 {
	f := float32(1)
	switch {
	case twins == 1:
		f = 0.97
	case twins >= 2:
		f = 0.6
	}
	for range others {
		f *= 0.9
	}
	return f
}
