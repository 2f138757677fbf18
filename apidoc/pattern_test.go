package apidoc

import (
	"strings"
	"testing"
	"time"
)

// TestEveryPatternIsDecided holds that no pattern of a snapshot or of a named
// property string is beyond the translation.
func TestEveryPatternIsDecided(t *testing.T) {
	seen := map[string]bool{}
	var walk func(p *Property)
	all := func(m map[string]*Property) {
		for _, p := range m {
			walk(p)
		}
	}
	walk = func(p *Property) {
		if p == nil {
			return
		}
		if p.Pattern != "" {
			seen[p.Pattern] = true
		}
		all(p.Properties)
		all(p.Nested)
		walk(p.Items)
		walk(p.AdditionalSchema)
		walk(p.TypePropertySchema)
		for _, q := range append(p.OneOf, p.AllOf...) {
			walk(q)
		}
	}
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			walk(m.Parameters)
		}
	}
	for _, g := range grammars() {
		all(g.Properties)
	}
	if len(seen) < 60 {
		t.Fatalf("only %d patterns", len(seen))
	}
	for text := range seen {
		p, err := compilePattern("^" + text + "$")
		if err != nil || p.re2 == nil && p.backtrack == nil {
			t.Errorf("%s: %v", text, err)
		}
		if p.re2 == nil && !strings.Contains(text, "4096") && !strings.Contains(text, "(?>") {
			t.Errorf("%s needs backtracking", text)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string // blank-separated examples; ⏎ stands for a newline
	}{
		{`abc`, "abc abc⏎", "abcd xabc abc⏎⏎ abc⏎x ABC"},
		{`a|b`, "a ax b xb b⏎ ab", "xa bx"},
		{`(?^:^0x[0-9a-f]{4}$)`, "0x12ab 0x12ab⏎", "0x12abc x0x12ab"},
		{`(?^i:ab)c`, "ABc abc aBc", "abC"},
		{`(?i:a(?^:b)c)`, "AbC abc", "aBc"},
		{`[a-z]{,3}`, "a abc abc⏎", "abcd 1"},
		{`x{2}y{1,}z{0,2}`, "xxy xxyyyzz", "xy xxyzzz"},
		{`a{x}`, "a{x}", "a aaa"},
		{`\d+`, "1 ٣", "x ²"},
		{`\w+`, "aé_ ü9 Ⓐ Ⅸ ‿ 日本", "a-b ² 🙂"},
		{`[\s\d]+x`, "1\u00a02x", "ax"},
		{`[^\s:/]+`, "ab é", "a:b a/b a\u00a0b a\u2028b"},
		{`\S{2,}`, "ab", "a"},
		{`\D\W\S`, "a-b", "1-b aab"},
		{`[\D]x`, "ax", "1x"},
		{`[[:alnum:]]+`, "a1é\u0345", "a_ \u0301"},
		{`[[:xdigit:]]{2}`, "aF 09", "ag"},
		{`[\(\)-_.]+`, "( ) ^ [ \\ A _", "a `"},
		{`[]a]+`, "]a]", "b"},
		{`[^]a]+`, "b", "] a"},
		{`[a\]\-\\]+`, `a]-\`, "b"},
		{`\x41\x{42}\101?`, "", ""},
		{`a\.b\-c\/d\@e\#f`, "a.b-c/d@e#f", "axb-c/d@e#f"},
		{`a(?=b)b`, "ab", "a ac"},
		{`(?!root)\w+`, "user", "root rootx"},
		{`(?<!x)a`, "a", "xa"},
		{`(?>a+)b`, "aab", "aa"},
		{`a++b`, "aab", "a"},
		{`(ab)++c`, "ababc", "ab"},
		{`(a|b)\1`, "aa bb", "ab"},
		{`a*?b+?`, "aabb b", "a"},
		{`(?<name>a)b`, "ab", "a"},
		{`\Aa\z`, "a", "b"},
		{`a\Z`, "a a⏎", "ab"},
		{`a$`, "a a⏎", "ab"},
		{`\tx\\y`, "\tx\\y", "x"},
		{`.`, "a é", "⏎ ab"},
		{`(?s:.)x`, "⏎x ax", "x"},
		{`a$b`, "", "ab a"},
		{`a(?:b$|c)`, "ab ac ab⏎", "abc"},
		{`é+`, "éé", "e"},
		{`\bfoo\b`, "foo", "foob"},
		{`[0-9a-zA-Z!=]{0,4096}`, "abc=", "a-b"},
	} {
		p := schemaPattern(c.pattern)
		if p.re2 == nil && p.backtrack == nil && (c.yes != "" || c.no != "") {
			t.Errorf("%s is not translated", c.pattern)
			continue
		}
		for _, s := range strings.Split(c.yes, " ") {
			if s = strings.ReplaceAll(s, "⏎", "\n"); c.yes != "" && !p.match(s) {
				t.Errorf("%s refuses %q", c.pattern, s)
			}
		}
		for _, s := range strings.Split(c.no, " ") {
			if s = strings.ReplaceAll(s, "⏎", "\n"); c.no != "" && p.match(s) {
				t.Errorf("%s takes %q", c.pattern, s)
			}
		}
	}
}

// TestUnknownPatternsAccept holds that what can't be translated refuses nothing.
func TestUnknownPatternsAccept(t *testing.T) {
	for _, text := range []string{`(?{code})`, `(*FAIL)`, `\p{Greek}`, `\Ka`, `(?|a|b)`, `(a`, `a)`, `[a`, `*a`, `a\`, `[\W]`, `(?x: a )`, `[z-a]`, `\12`, `[[:nope:]]`, `(?#`} {
		p, err := compilePattern(text)
		if err == nil || !p.match("anything") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCatastrophicPatterns holds the bound on time where backtracking is needed.
func TestCatastrophicPatterns(t *testing.T) {
	hostile := strings.Repeat("a", 5000) + "!"
	for _, text := range []string{`(?=a)(a+)+b`, `(a*)*\1b`, `(?:a|a)*b(?!x)`, `(a+)+b`, `(.*)*x`} {
		start := time.Now()
		schemaPattern(text).match(hostile)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", text, took)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`a|b`, `(?^i:[a-z])\d{,3}$`, `[^\s:/]+@(?^:x)`, `(?<n>a)++\1`, `[\w-]`, "\\", `(?=a`, `\x{110000}`, `\x{d800}`} {
		f.Add(seed, "abc\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		p, err := compilePattern(pattern)
		got := p.match(text)
		if err != nil && !got {
			t.Errorf("%q could not be translated, yet refuses %q", pattern, text)
		}
	})
}
