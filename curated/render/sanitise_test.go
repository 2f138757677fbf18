package render

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSanitise(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                       "plain",
		"  a\tb\r\nc  ":                               "a b c",
		"\x1b[31;1mred\x1b[0m":                        "red",
		"\x1b]0;title\x07x\x1b]8;;u\x1b\\y":           "xy",
		"\x1b]never ends":                             "never ends",
		"\x9b31m raw\u009b31mx":                       "\ufffd31m rawx",
		"a\u202eb\u2066c\u200bd\ufeffe":               "abcde",
		"tag\U000e0041\U000e007fs":                    "tags",
		"so\u00adft":                                  "soft",
		"fill\u3164er\u115f\u2800x":                   "filler x",
		"var\ufe0f\U000e0100":                         "var",
		"nul\x00bel\x07del\x7f":                       "nulbeldel",
		"bad\xff\xfeutf":                              "bad\ufffd\ufffdutf",
		"z\u0300\u0301\u0302\u0303\u0304\u0305\u0306": "z\u0300\u0301\u0302\u0303",
		"line\u2028sep\u0085x":                        "line sepx",
		"nbsp\u00a0\u3000x":                           "nbsp x",
		"büro サーバー नमस्ते":                            "büro サーバー नमस्ते",
		"priv\ue000\U000f0000":                        "priv",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Clean("a\r\nb\rc\td\x1b[2K"); got != "a\nb\nc\td" {
		t.Errorf("%q", got)
	}
	if got := Fence("x\n````\ny"); got != "`````\nx\n````\ny\n`````" {
		t.Errorf("%q", got)
	}
	if got := Fence(strings.Repeat("`", 1000)); got != strings.Repeat("`", 9)+"\n"+strings.Repeat("`", 8)+"\n"+strings.Repeat("`", 9) {
		t.Errorf("%q", got)
	}
}

func FuzzSanitise(f *testing.F) {
	for _, s := range []string{"a\x1b[", "\x1b]x\n```\x07", "\u202e`\n````", "\xc2\x9b1m", "é\u0301\u0301", "\x1b\x1b[m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, one := range []bool{true, false} {
			got := sanitise(s, one)
			if !utf8.ValidString(got) {
				t.Fatalf("%q: invalid UTF-8 %q", s, got)
			}
			for _, r := range got {
				if r == '\n' && !one || r == '\t' && !one || r == utf8.RuneError {
					continue
				}
				if !unicode.IsPrint(r) || invisible(r) {
					t.Fatalf("%q keeps %U", s, r)
				}
			}
			if again := sanitise(got, one); again != got {
				t.Fatalf("%q gives %q, then %q", s, got, again)
			}
		}
		lines := strings.Split(Fence(s), "\n")
		for _, l := range lines[1 : len(lines)-1] {
			if strings.HasPrefix(strings.TrimSpace(l), lines[0]) {
				t.Fatalf("fence %s closed by %q", lines[0], l)
			}
		}
	})
}
