package words

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
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
			if Summary(verb, path) == "" {
				t.Fatalf("%s: unknown method %s", text, m)
			}
			q.hits[m] = true
		}
		all = append(all, q)
	}
	return all
}

// methods gives the hits as "VERB /path".
func methods(hits []Hit) []string {
	all := make([]string, len(hits))
	for i, h := range hits {
		all[i] = h.Verb + " " + h.Path
	}
	return all
}

// rank is the place of the first hit among the first five, from 1, or 0.
func (q question) rank() (int, []string) {
	found := methods(Search(q.text, Options{Limit: 5}))
	for i, m := range found {
		if q.hits[m] {
			return i + 1, found
		}
	}
	return 0, found
}

// ask puts every question of a file. Each must be answered within the first
// five, and most at once: a search that is right only in fifth place has become
// worse than it was.
func ask(t *testing.T, file string, count, first int) {
	t.Helper()
	all, at := 0, [6]int{}
	for _, q := range readQuestions(t, file) {
		rank, found := q.rank()
		all++
		at[rank]++
		if rank == 0 {
			t.Errorf("not answered within five: %s\n  %s", q.text, strings.Join(found, "\n  "))
		}
	}
	t.Logf("%s: %d questions, %d answered first, %d within five", file, all, at[1], all-at[0])
	if all != count {
		t.Errorf("%s holds %d questions, not %d", file, all, count)
	}
	if at[1] < first {
		t.Errorf("only %d answered first, of %d; it was %d", at[1], all, first)
	}
}

func TestQuestions(t *testing.T)     { ask(t, "testdata/questions.txt", 60, 55) }
func TestMoreQuestions(t *testing.T) { ask(t, "testdata/more.txt", 419, 300) }

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		what, query, first string
	}{
		{"whole path with values", "/nodes/pve1/qemu/100/resize", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"whole template", "/nodes/{node}/qemu/{vmid}/resize", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"placeholder named otherwise", "/nodes/{n}/qemu/{id}/resize", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"path as on the wire", "/api2/json/nodes/pve1/qemu/100/resize?x=1", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"verb and path", "DELETE /pools", "DELETE /pools"},
		{"verb in lower case", "post /cluster/backup", "POST /cluster/backup"},
		{"fixed part before placeholder", "/cluster/sdn/fabrics/all", "GET /cluster/sdn/fabrics/all"},
		{"piece of a path", "qemu/100/resize", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"piece from the middle", "status/reboot", "POST /nodes/{node}/lxc/{vmid}/status/reboot"},
		{"words of a path", "qemu resize", "PUT /nodes/{node}/qemu/{vmid}/resize"},
		{"words of a path", "lxc resize", "PUT /nodes/{node}/lxc/{vmid}/resize"},
		{"VM named", "start a vm", "POST /nodes/{node}/qemu/{vmid}/status/start"},
		{"VM spelt out", "start a virtual machine", "POST /nodes/{node}/qemu/{vmid}/status/start"},
		{"container named", "start a container", "POST /nodes/{node}/lxc/{vmid}/status/start"},
		{"container shortened", "start ct 104", "POST /nodes/{node}/lxc/{vmid}/status/start"},
		{"asked", "which users exist", "GET /access/users"},
		{"made", "new user", "POST /access/users"},
		{"made, asked how", "how do I add a user?", "POST /access/users"},
		{"changed", "edit a user", "PUT /access/users/{userid}"},
		{"removed", "drop a user", "DELETE /access/users/{userid}"},
		{"shouting", "DROP A USER!!!", "DELETE /access/users/{userid}"},
		{"letters swapped", "take a snapshto of a vm", "POST /nodes/{node}/qemu/{vmid}/snapshot"},
		{"letter missing", "renew the certifcate", "PUT /nodes/{node}/certificates/acme/certificate"},
		{"letter too many", "list replicationn jobs", "GET /cluster/replication"},
		{"typo in a word with synonyms", "list conatiners", "GET /nodes/{node}/lxc"},
		{"beginning of a word", "quor", "GET /cluster/status"},
		{"phrase with a meaning of its own", "shut down the host", "POST /nodes/{node}/status"},
	} {
		t.Run(c.what+": "+c.query, func(t *testing.T) {
			found := methods(Search(c.query, Options{Limit: 5}))
			if len(found) == 0 || found[0] != c.first {
				t.Errorf("got %s, want %s first", strings.Join(found, "\n"), c.first)
			}
		})
	}
}

func TestNothingFound(t *testing.T) {
	for _, query := range []string{"", " ", "the of a", "?", "/", "//", "100", "xqzzyw", "\x00\xff"} {
		if hits := Search(query, Options{}); len(hits) != 0 {
			t.Errorf("%q found %v", query, methods(hits))
		}
	}
}

// A path brings what lies on it and below it, and nothing that merely shares a
// word; one that fits nothing is still searched for by its words.
func TestPathsStayOnThePath(t *testing.T) {
	hits := Search("/nodes/pve1/qemu/100/snapshot", Options{Limit: 50})
	if len(hits) < 4 {
		t.Errorf("found only %v", methods(hits))
	}
	for _, h := range hits {
		if !strings.HasPrefix(h.Path, "/nodes/{node}/qemu/{vmid}/snapshot") {
			t.Errorf("%s %s is not on the path", h.Verb, h.Path)
		}
	}
	found := methods(Search("/nodes/pve1/qemu/100/resise", Options{Limit: 3}))
	if len(found) == 0 || found[0] != "PUT /nodes/{node}/qemu/{vmid}/resize" {
		t.Errorf("a slip in a path finds %v", found)
	}
}

// However odd the text, a search is bounded: what is unknown is compared with
// every known word, and that only so often.
func TestManyUnknownWords(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "qz%cz%c ", 'a'+i%26, 'a'+i/26)
	}
	if hits := Search(text.String(), Options{}); len(hits) != 0 {
		t.Errorf("found %v", methods(hits))
	}
	if found := methods(Search("quorum "+text.String(), Options{Limit: 3})); len(found) == 0 {
		t.Error("one known word among unknown ones found nothing")
	}
}

// Twins are welcome, a list of the same thing under each verb is not.
func TestSpread(t *testing.T) {
	found := methods(Search("take a snapshot of a guest", Options{Limit: 2}))
	for _, want := range []string{
		"POST /nodes/{node}/qemu/{vmid}/snapshot",
		"POST /nodes/{node}/lxc/{vmid}/snapshot",
	} {
		if !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("want both twins among the first two, got %v", found)
		}
	}
	for _, query := range []string{"firewall rules", "sdn zone", "snapshot", "add a firewall rule"} {
		objects := map[string]int{}
		for _, h := range Search(query, Options{Limit: 5}) {
			objects[object(h.Path)]++
		}
		if len(objects) < 2 {
			t.Errorf("%q: the first five are all about one thing: %v", query, objects)
		}
	}
}

func TestOptions(t *testing.T) {
	if n := len(Search("vm", Options{})); n != 10 {
		t.Errorf("%d hits without a limit, want 10", n)
	}
	if n := len(Search("vm", Options{Limit: 3})); n != 3 {
		t.Errorf("%d hits with a limit of 3", n)
	}
	if n := len(Search("vm", Options{Limit: 5000})); n < 50 || n > 675 {
		t.Errorf("%d hits with a high limit", n)
	}
	for _, h := range Search("delete a user", Options{Keep: func(verb, _ string) bool { return verb == "GET" }}) {
		if h.Verb != "GET" {
			t.Errorf("%s %s was not to be kept", h.Verb, h.Path)
		}
	}
}

func TestHitsCarrySummaries(t *testing.T) {
	for _, h := range Search("storage", Options{Limit: 100}) {
		if h.Summary == "" || h.Summary != Summary(h.Verb, h.Path) {
			t.Errorf("%s %s: summary %q", h.Verb, h.Path, h.Summary)
		}
	}
}

func TestSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if Search("grow a disk", Options{})[0].Verb != "PUT" {
				t.Error("wrong answer")
			}
		})
	}
	wg.Wait()
}

func FuzzSearch(f *testing.F) {
	for _, s := range []string{
		"grow a disk", "/nodes/pve1/qemu/100/resize", "GET /", "a/b", "/../..//%2e", "get  /x y", "how", "can", "on on",
		"let's", "\xf0\x28\x8c\x28", strings.Repeat("vm ", 1000), strings.Repeat("/", 500), "log in", "log", "İstanbul K",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		hits := Search(query, Options{Limit: 7})
		if len(hits) > 7 {
			t.Fatalf("%d hits", len(hits))
		}
		seen := map[string]bool{}
		for i, m := range methods(hits) {
			if seen[m] {
				t.Fatalf("%s twice", m)
			}
			seen[m] = true
			if !(hits[i].Score > 0) || i > 0 && hits[i].Score > hits[i-1].Score {
				t.Fatalf("score %v after %v", hits[i].Score, hits[max(0, i-1)].Score)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		build()
	}
}

func BenchmarkSearch(b *testing.B) {
	questions := readQuestions(b, "testdata/questions.txt")
	Search("anything", Options{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		Search(questions[i%len(questions)].text, Options{})
		i++
	}
}

func BenchmarkSummary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Summary("PUT", "/nodes/{node}/qemu/{vmid}/resize") == "" {
			b.Fatal("not found")
		}
	}
}

func ExampleSearch() {
	for _, h := range Search("grow a disk", Options{Limit: 2}) {
		fmt.Println(h.Verb, h.Path, "-", h.Summary)
	}
	// Output:
	// PUT /nodes/{node}/qemu/{vmid}/resize - Grow a VM's disk
	// PUT /nodes/{node}/lxc/{vmid}/resize - Grow a container's root disk or mount point
}
