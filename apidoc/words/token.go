package words

import "strings"

// Words are cut, joined into the terms of the trade ("log in" is one thing, and
// has nothing to do with a log) and then stripped of their endings. Index and
// question go through the same three steps, so that they meet.

// maxQuery bounds how much of a question is read. Nobody asks longer ones, and
// a caller's megabyte must not cost time.
const maxQuery = 400

// split cuts text into lower-case words of letters and digits. A word of one
// letter tells nothing and is left out.
func split(s string) []string {
	var words []string
	eachWord(strings.ToLower(s), func(w string) { words = append(words, w) })
	return words
}

func eachWord(s string, do func(string)) {
	start := -1
	for i := 0; i <= len(s); i++ {
		if i < len(s) && isWordByte(s[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start > 1 {
			do(s[start:i])
		}
		start = -1
	}
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// join replaces phrases by the one word that stands for them, in place.
func (v *vocabulary) join(words []string) []string {
	out := words[:0]
	for i := 0; i < len(words); {
		n, to := v.phraseAt(words[i:])
		if n == 0 {
			n, to = 1, words[i]
		}
		out = append(out, to)
		i += n
	}
	return out
}

// phraseAt gives the longest phrase that words begin with: how many words it
// takes and what stands for it.
func (v *vocabulary) phraseAt(words []string) (n int, to string) {
	for _, p := range v.phrases[words[0]] {
		if len(p.rest) < len(words) && len(p.rest) >= n && equal(p.rest, words[1:]) {
			n, to = len(p.rest)+1, p.to
		}
	}
	return n, to
}

func equal(rest, words []string) bool {
	for i, w := range rest {
		if words[i] != w {
			return false
		}
	}
	return true
}

// stem strips the endings that make one English word look like several. It is
// lighter than Porter's: it must only bring together what an administrator's
// question and a keyword list hold, and keep short names (dns, nfs, lvs) whole.
func (v *vocabulary) stem(w string) string {
	if s, ok := v.irregular[w]; ok {
		return s
	}
	if len(w) < 4 {
		return w
	}
	w = stemPlural(w)
	switch {
	case len(w) >= 6 && strings.HasSuffix(w, "ing") && hasVowel(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case len(w) >= 5 && strings.HasSuffix(w, "ied"):
		return w[:len(w)-3] + "y"
	case len(w) >= 5 && strings.HasSuffix(w, "ed") && w[len(w)-3] != 'e' && hasVowel(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
	case len(w) >= 7 && strings.HasSuffix(w, "tion"):
		w = w[:len(w)-3]
	}
	if len(w) >= 4 && w[len(w)-1] == 'e' {
		w = w[:len(w)-1]
	}
	return w
}

func stemPlural(w string) string {
	if w[len(w)-1] != 's' {
		return w
	}
	for _, end := range [...]string{"sses", "xes", "ches", "shes", "zzes"} {
		if strings.HasSuffix(w, end) {
			return w[:len(w)-2]
		}
	}
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case w[len(w)-2] == 's', w[len(w)-2] == 'u', w[len(w)-2] == 'i':
		return w
	}
	return w[:len(w)-1]
}

func undouble(w string) string {
	n := len(w)
	if n >= 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

func hasVowel(w string) bool {
	return strings.ContainsAny(w, "aeiouy")
}

// near tells whether two words differ by one slip: a letter too many, too few,
// wrong, or two neighbours swapped.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
