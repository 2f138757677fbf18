package words

import (
	_ "embed"
	"iter"
	"sort"
	"strings"
)

//go:embed words.tsv
var text string

// Entry is what is said about one method.
type Entry struct {
	// Verb is GET, POST, PUT or DELETE.
	Verb string
	// Path is the path template as Proxmox writes it, such as
	// /nodes/{node}/qemu/{vmid}/resize.
	Path string
	// Summary says in one line of at most 80 characters what the method does.
	Summary string
	// Keywords are further words to find it by, separated by blanks. They are
	// for the search, not for people to read.
	Keywords string
	// Mark is what the keywords' mark says about the method's rank.
	Mark Mark
}

// Mark says why a method should rank above or below others that match as well.
type Mark string

// The marks that words.tsv uses. The empty mark is the ordinary case.
const (
	Plain    Mark = ""
	Common   Mark = "common"   // what most people mean who use its words
	Index    Mark = "index"    // lists the names of the branches below it
	Internal Mark = "internal" // called by Proxmox's own parts
	Old      Mark = "old"      // kept for callers of earlier versions
)

// All gives every method with its words, sorted by path and then verb.
func All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for rest := text; rest != ""; {
			var line string
			line, rest, _ = strings.Cut(rest, "\n")
			if line != "" && !yield(parseLine(line)) {
				return
			}
		}
	}
}

// Summary gives the one-line summary of a method, or "" when none is known:
// for a method that 9.2 doesn't have, or a path that is no template. It reads
// the embedded text alone, so it costs no index.
func Summary(verb, path string) string {
	e, ok := lookup(verb, path)
	if !ok {
		return ""
	}
	return e.Summary
}

// lookup finds a method's line by halving the text, which is sorted.
func lookup(verb, path string) (Entry, bool) {
	at := sort.Search(len(text), func(i int) bool {
		v, p := head(lineAt(i))
		return p > path || p == path && v >= verb
	})
	if at >= len(text) {
		return Entry{}, false
	}
	line := lineAt(at)
	if v, p := head(line); v != verb || p != path {
		return Entry{}, false
	}
	return parseLine(line), true
}

// lineAt gives the line that the byte at i belongs to; a newline belongs to the
// line it ends.
func lineAt(i int) string {
	start := strings.LastIndexByte(text[:i], '\n') + 1
	end := strings.IndexByte(text[i:], '\n')
	if end < 0 {
		return text[start:]
	}
	return text[start : i+end]
}

func head(line string) (verb, path string) {
	method, _, _ := strings.Cut(line, "\t")
	verb, path, _ = strings.Cut(method, " ")
	return verb, path
}

func parseLine(line string) Entry {
	method, rest, _ := strings.Cut(line, "\t")
	var e Entry
	e.Verb, e.Path, _ = strings.Cut(method, " ")
	e.Summary, e.Keywords, _ = strings.Cut(rest, "\t")
	if mark, ok := strings.CutPrefix(e.Keywords, "!"); ok {
		mark, e.Keywords, _ = strings.Cut(mark, " ")
		e.Mark = Mark(mark)
	}
	return e
}
