package words

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Every method of the snapshot has one line, in order, and nothing else has.
func TestEveryMethodOnce(t *testing.T) {
	facts, err := os.ReadFile("../facts/pve-9.2.json")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(facts, &tree); err != nil {
		t.Fatal(err)
	}
	methods := map[string][]string{}
	collect(tree, map[string]bool{}, methods)
	want := slices.Collect(maps.Keys(methods))
	var have []string
	last := Entry{}
	for e := range All() {
		have = append(have, e.Verb+" "+e.Path)
		if e.Path < last.Path || e.Path == last.Path && e.Verb <= last.Verb {
			t.Errorf("%s %s is out of order", e.Verb, e.Path)
		}
		last = e
	}
	slices.Sort(want)
	slices.Sort(have)
	if len(have) != 675 {
		t.Errorf("%d lines, want 675", len(have))
	}
	for _, m := range want {
		if _, ok := slices.BinarySearch(have, m); !ok {
			t.Errorf("no line for %s", m)
		}
	}
	for _, m := range have {
		if _, ok := slices.BinarySearch(want, m); !ok {
			t.Errorf("a line for %s, which is no method", m)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d lines for %d methods", len(have), len(want))
	}
}

func TestLinesAreWellFormed(t *testing.T) {
	line := regexp.MustCompile(`^(GET|POST|PUT|DELETE) (/[a-z0-9{}_-]+)+\t[A-Z][ -~]*[^ .]\t(!(common|index|internal|old) )?[a-z0-9]([a-z0-9 '.:/_+-]*[a-z0-9:])?$`)
	for l := range strings.Lines(text) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) && !strings.Contains(l, "\t!index") {
			t.Errorf("malformed: %q", l)
		}
	}
	summaries := map[string]string{}
	for e := range All() {
		m := e.Verb + " " + e.Path
		if len(e.Summary) > 80 || len(e.Summary) < 8 {
			t.Errorf("%s: summary of %d characters", m, len(e.Summary))
		}
		if other, ok := summaries[e.Summary]; ok {
			t.Errorf("%s and %s have the same summary", m, other)
		}
		summaries[e.Summary] = m
		if e.Mark != Index && len(strings.Fields(e.Keywords)) < 2 {
			t.Errorf("%s: hardly any keywords", m)
		}
		seen := map[string]bool{}
		for _, w := range strings.Fields(e.Keywords) {
			if seen[w] {
				t.Errorf("%s: keyword %s twice", m, w)
			}
			seen[w] = true
		}
	}
}

func TestSummary(t *testing.T) {
	for e := range All() {
		if got := Summary(e.Verb, e.Path); got != e.Summary {
			t.Errorf("%s %s: got %q, want %q", e.Verb, e.Path, got, e.Summary)
		}
	}
	for _, m := range [][2]string{
		{"", ""}, {"GET", ""}, {"GET", "/"}, {"GET", "/zzz"}, {"PATCH", "/access"}, {"DELETE", "/access"},
		{"GET", "/nodes/pve1/qemu"}, {"get", "/access"}, {"GET", "/access\tIndex"}, {"ZZZ", "/version"},
	} {
		if got := Summary(m[0], m[1]); got != "" {
			t.Errorf("%v has summary %q", m, got)
		}
	}
}

func TestAllStops(t *testing.T) {
	n := 0
	for range All() {
		n++
		if n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("went on to %d", n)
	}
}

// What Proxmox says about its methods is not ours: no summary holds a method's
// description, and neither summaries nor keywords share five words in a row with
// any text of the schema. The texts are not in the tree, so this looks for them
// beside it.
func TestOwnWords(t *testing.T) {
	file, err := os.Open("../../../shared/apidoc/pve-9.2.json.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Proxmox's texts are not beside the tree, so there is nothing to compare with")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.NewDecoder(packed).Decode(&tree); err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	theirs := map[string][]string{} // by method
	collect(tree, runs, theirs)
	if len(theirs) != 675 || len(runs) < 10000 {
		t.Fatalf("read %d descriptions and %d runs of words", len(theirs), len(runs))
	}
	for e := range All() {
		m := e.Verb + " " + e.Path
		summary := plainWords(e.Summary)
		for _, ours := range [][]string{summary, plainWords(e.Keywords)} {
			for i := range max(0, len(ours)-run+1) {
				if r := strings.Join(ours[i:i+run], " "); runs[r] {
					t.Errorf("%s shares %q", m, r)
				}
			}
		}
		if d := strings.Join(theirs[m], " "); d != "" && strings.Contains(" "+strings.Join(summary, " ")+" ", " "+d+" ") {
			t.Errorf("%s: %q holds the description %q", m, e.Summary, d)
		}
	}
}

const run = 5

// collect gathers the runs of words of every description below v, and the
// methods' own descriptions.
func collect(v any, runs map[string]bool, theirs map[string][]string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			collect(x, runs, theirs)
		}
	case map[string]any:
		if p, ok := v["path"].(string); ok {
			if info, ok := v["info"].(map[string]any); ok {
				for verb, method := range info {
					d, _ := method.(map[string]any)["description"].(string)
					theirs[verb+" "+p] = plainWords(d)
				}
			}
		}
		for k, x := range v {
			if s, ok := x.(string); ok && strings.HasSuffix(k, "description") {
				w := plainWords(s)
				for i := range max(0, len(w)-run+1) {
					runs[strings.Join(w[i:i+run], " ")] = true
				}
				continue
			}
			collect(x, runs, theirs)
		}
	}
}

func plainWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// A synonym or phrase that leads to a word which no line has is a slip.
func TestVocabularyLeadsSomewhere(t *testing.T) {
	ix := shared()
	leads := func(stem string) bool {
		_, ok := ix.terms[stem]
		return ok || ix.synonyms[stem] != nil
	}
	for word, also := range ix.synonyms {
		for _, s := range also {
			if _, ok := ix.terms[s.word]; !ok {
				t.Errorf("synonym %s of %s is in no line", s.word, word)
			}
			if s.weight <= 0 || s.weight >= 1 {
				t.Errorf("synonym %s of %s weighs %v", s.word, word, s.weight)
			}
		}
		if ix.stop[word] {
			t.Errorf("%s has synonyms and is a stop word", word)
		}
	}
	for first, list := range ix.phrases {
		for _, p := range list {
			for _, w := range append([]string{first}, p.rest...) {
				if len(w) < 2 {
					t.Errorf("%s %v can't be met: %q is too short to be read", first, p.rest, w)
				}
			}
			if s := ix.stem(p.to); !leads(s) && !ix.stop[s] {
				t.Errorf("%s %v stands for %s, which is in no line", first, p.rest, p.to)
			}
		}
	}
	for s := range ix.weak {
		if ix.stop[s] {
			t.Errorf("%s is both weak and a stop word", s)
		}
	}
}

func TestStem(t *testing.T) {
	v := newVocabulary()
	for _, group := range []string{
		"migrate migrates migrated migrating migration migrations",
		"replicate replicated replicating replication replicas",
		"disk disks", "policy policies", "address addresses", "alias aliases", "copy copies copied copying",
		"run runs running ran", "stop stops stopped stopping", "resize resized resizing", "node nodes",
		"encrypt encrypted encryption encrypting", "config configs configuration configured configure",
		"box boxes", "cache caches", "process processes", "expire expires expired expiry", "vm vms", "cpu cpus",
		"create created creating creation", "delete deleted deletion", "share shares shared", "fail failed failing failure",
	} {
		words := strings.Fields(group)
		for _, w := range words[1:] {
			if v.stem(w) != v.stem(words[0]) {
				t.Errorf("%s → %s, but %s → %s", w, v.stem(w), words[0], v.stem(words[0]))
			}
		}
	}
	for _, apart := range [][2]string{
		{"dns", "dn"}, {"nfs", "nf"}, {"status", "statu"}, {"speed", "spe"}, {"ping", "p"}, {"setting", "set"},
	} {
		if v.stem(apart[0]) == v.stem(apart[1]) {
			t.Errorf("%s and %s are not the same", apart[0], apart[1])
		}
	}
}

func TestNear(t *testing.T) {
	for _, pair := range []string{"memory memroy", "memory memor", "memory memoryy", "memory nemory", "memory emory", "disk dikk"} {
		a, b, _ := strings.Cut(pair, " ")
		if !near(a, b) || !near(b, a) {
			t.Errorf("%s and %s are one slip apart", a, b)
		}
	}
	for _, pair := range []string{"memory memory", "memory mmeroy", "memory mem", "disk risks", "ab ba1", "memory yromem"} {
		a, b, _ := strings.Cut(pair, " ")
		if near(a, b) || near(b, a) {
			t.Errorf("%s and %s are not one slip apart", a, b)
		}
	}
}

// The builder cuts and joins words in its own, faster way; it must come to the
// same as what is done with a question.
func TestBuilderAgreesWithQuestions(t *testing.T) {
	ix := build()
	for e := range All() {
		for _, w := range ix.join(split(e.Summary + " ! " + e.Keywords)) {
			s := ix.stem(w)
			term, ok := ix.terms[s]
			if ix.stop[s] {
				if ok {
					t.Fatalf("stop word %s is in the index", s)
				}
				continue
			}
			if !ok {
				t.Fatalf("%s %s: %q → %q is not in the index", e.Verb, e.Path, w, s)
			}
			found := false
			for _, p := range ix.list[ix.start[term]:ix.start[term+1]] {
				d := ix.docs[p.doc]
				found = found || d.Verb == e.Verb && d.Path == e.Path
			}
			// A phrase may reach from the summary into the keywords here.
			if !found && !strings.Contains(e.Summary, w) {
				continue
			}
			if !found {
				t.Errorf("%s %s: not found by %q", e.Verb, e.Path, w)
			}
		}
	}
}

// The index must stay small: it lives as long as the server.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ix := build()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3<<19 {
		t.Errorf("building takes %d bytes, more than 1.5 MB", n)
	}
	if n := len(ix.names); n > slots/2 {
		t.Errorf("%d words are too many for %d slots", n, slots)
	}
	shared()
	if n := testing.AllocsPerRun(20, func() { Search("stop replication of a guest", Options{}) }); n > 60 {
		t.Errorf("a search makes %v allocations", n)
	}
}
