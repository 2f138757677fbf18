package apidoc

import (
	"math"
	"testing"
)

func TestNumbersAsTexts(t *testing.T) {
	for _, good := range []string{"0", "007", "+5", "-0", "5\n", "٣", "24٤"} {
		if !looksInteger(good) {
			t.Errorf("%q is no integer", good)
		}
	}
	for _, bad := range []string{"", " 5", "1.0", "1e3", "0x10", "5\n\n", "+", "--1", "1_000"} {
		if looksInteger(bad) {
			t.Errorf("%q is an integer", bad)
		}
	}
	for text, want := range map[string]float64{
		"1.": 1, ".5": .5, "1e3": 1000, "+1.5": 1.5, "-2.5E-1": -.25, "007": 7, "24٤": 24, "٣": 0, "٣.5": 0, "1.٣": 1, "1e٣": 1, "5\n": 5, "1e999": math.Inf(1), "-1e999": math.Inf(-1), ".٣": 0,
	} {
		if !looksNumber(text) {
			t.Errorf("%q is no number", text)
		}
		if got := numeric(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"", ".", "1e", "inf", "NaN", "1.5.2", "e5", "+.", "1e+", " 1", "1 ", "0x1"} {
		if looksNumber(bad) {
			t.Errorf("%q is a number", bad)
		}
	}
}

func TestJSONNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "-0": "0", "2.0": "2", "1e3": "1000", "1.5": "1.5", "1e20": "1e+20", "1e-5": "1e-05", "0.1": "0.1", "18446744073709551615": "18446744073709551615",
		"123456789012345678901234567890": "1.23456789012346e+29", "1e999": "Inf", "-1e999": "-Inf", "100000.0": "100000", "0.30000000000000004": "0.3",
	} {
		if got := numberText(in); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
	if got := jsonValue(2.0).text; got != "2" {
		t.Error(got)
	}
}

func TestMalformedUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"abc": "abc", "é": "é", "\xff": "\ufffd", "a\xc3": "a\ufffd", "\xe2\x82": "\ufffd", "\xe2\x82x": "\ufffdx", "\xe2\x28": "\ufffd(",
		"\xf0\x9f\x98": "\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xc0\x80": "\ufffd\ufffd", "\xf4\x90": "\ufffd\ufffd", "\xe0\x9f": "\ufffd\ufffd",
	} {
		if got := wireText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
