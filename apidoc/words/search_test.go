package words

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// question is a plain question and the methods that answer it.
type question struct {
	text string
	hits map[string]bool // "VERB /path"
}

func readQuestions(t testing.TB, file string) []question {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []question
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, methods, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		q := question{text, map[string]bool{}}
		for m := range strings.SplitSeq(methods, " | ") {
			verb, path, _ := strings.Cut(m, " ")
			_, known := lookup(verb, path)
			if !known {
				t.Fatalf("%s: unknown method %s", text, m)
			}
			q.hits[m] = true
		}
		all = append(all, q)
	}
	return all
}

// rank is the place of the first hit, from 1, or 0 when it is not among n.
func (q question) rank(n int) (rank int, found []string) {
	for i, h := range Search(q.text, Options{Limit: n}) {
		m := h.Verb + " " + h.Path
		found = append(found, fmt.Sprintf("%5.1f %-70s %s", h.Score, m, h.Summary))
		if rank == 0 && q.hits[m] {
			rank = i + 1
		}
	}
	return rank, found
}

// ask puts every question and gives how many are answered first and within five.
func ask(t *testing.T, file string) (all, first, five int) {
	t.Helper()
	for _, q := range readQuestions(t, file) {
		rank, found := q.rank(5)
		all++
		if rank == 1 {
			first++
		}
		if rank > 0 {
			five++
			continue
		}
		t.Logf("missed: %s\n  %s", q.text, strings.Join(found, "\n  "))
	}
	t.Logf("%s: %d questions, %d answered first, %d within five", file, all, first, five)
	return all, first, five
}
func TestQuestions(t *testing.T) { ask(t, "testdata/questions.txt") }
func TestMore(t *testing.T)      { ask(t, "testdata/more.txt") }
func TestFresh(t *testing.T)     { ask(t, "testdata/fresh.txt") }
func TestFresh2(t *testing.T)    { ask(t, "testdata/fresh2.txt") }
func TestHeldOut(t *testing.T)   { ask(t, "testdata/heldout.txt") }

var _ = fmt.Sprint

func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		build()
	}
}
func BenchmarkSearch(b *testing.B) {
	Search("x", Options{})
	qs := readQuestions(b, "testdata/questions.txt")
	b.ReportAllocs()
	b.ResetTimer()
	i := 0
	for b.Loop() {
		Search(qs[i%len(qs)].text, Options{})
		i++
	}
}
