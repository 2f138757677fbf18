package words

import "strings"

// vocabulary is what is known about words apart from the methods: the lists of
// lists.go, made ready for look-up. It is made with the index, on the first
// search, so that a program that never searches pays nothing for it.
type vocabulary struct {
	phrases   map[string][]phrase  // by their first word
	irregular map[string]string    // words to stems
	synonyms  map[string][]synonym // by stem
	intents   map[string]intent    // by word
	stop      map[string]bool      // stems
	weak      map[string]bool      // stems
	firewall  map[string]bool      // stems
	clause    map[string]bool      // words
}

// phrase is a term of several words: the words after the first, and the one
// word that stands for all of them.
type phrase struct {
	rest []string
	to   string
}

// synonym is a stem that may be meant by another, and how surely.
type synonym struct {
	word   string
	weight float32
}

const synonymWeight = 0.7

func newVocabulary() *vocabulary {
	v := &vocabulary{
		phrases:   make(map[string][]phrase, 160),
		irregular: make(map[string]string, 120),
		synonyms:  make(map[string][]synonym, 400),
		intents:   make(map[string]intent, 200),
		clause:    make(map[string]bool, 24),
	}
	eachLine(irregularList, func(stem, words string) {
		for w := range strings.FieldsSeq(words) {
			v.irregular[w] = stem
		}
	})
	eachLine(phraseList, func(to, said string) {
		for s := range strings.SplitSeq(said, ", ") {
			f := strings.Fields(s)
			v.phrases[f[0]] = append(v.phrases[f[0]], phrase{f[1:], to})
		}
	})
	eachLine(synonymList, func(word, meant string) {
		key := v.stem(word)
		for s := range strings.FieldsSeq(meant) {
			name, percent, given := strings.Cut(s, ":")
			weight := float32(synonymWeight)
			if given {
				weight = float32(percent[0]-'0')/10 + float32(percent[1]-'0')/100
			}
			v.synonyms[key] = append(v.synonyms[key], synonym{v.stem(name), weight})
		}
	})
	for in, words := range intentWords {
		for w := range strings.FieldsSeq(words) {
			v.intents[w] = intent(in)
		}
	}
	v.stop, v.weak, v.firewall = v.stems(stopWords), v.stems(weakWords), v.stems(firewallWords)
	for w := range strings.FieldsSeq(clauseWords) {
		v.clause[w] = true
	}
	return v
}

// stems makes a set of the words of a list, by stem.
func (v *vocabulary) stems(list string) map[string]bool {
	m := make(map[string]bool, 160)
	for w := range strings.FieldsSeq(list) {
		m[v.stem(w)] = true
	}
	return m
}

// eachLine hands on the two sides of every line of a list.
func eachLine(list string, do func(left, right string)) {
	for line := range strings.Lines(list) {
		if left, right, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			do(left, right)
		}
	}
}
