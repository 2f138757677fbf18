package apidoc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The verdicts of the real implementation lie outside the tree; see their
// README. The committed selection in testdata holds every rule without them.
const vectorFolder = "../../shared/vectors"

func vectorLines(t *testing.T, name string, each func(line []byte)) {
	t.Helper()
	f, err := os.Open(filepath.Join(vectorFolder, name))
	if os.IsNotExist(err) {
		t.Skipf("%s is not here; testdata/verdicts.jsonl holds the rules", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 64<<20)
	n := 0
	for lines.Scan() {
		each(lines.Bytes())
		n++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("%s is empty", name)
	}
}

func vectorSchema(t *testing.T) *Schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorFolder, "apidoc-9.2.11.json.gz"))
	if os.IsNotExist(err) {
		t.Skip("the vectors are not here; testdata/verdicts.jsonl holds the rules")
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, "9.2.11")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type vectorCall struct {
	Method    Verb
	Path      string
	Params    map[string]any
	Transport string
	Kind      string
	ID        string
	OK        bool
	Errors    map[string]string
}

func formParams(t *testing.T, raw map[string]any) Params {
	p := Params{}
	for k, v := range raw {
		switch v := v.(type) {
		case string:
			p[k] = []string{v}
		case []any:
			for _, item := range v {
				s, ok := item.(string)
				if !ok {
					t.Fatalf("%T in a form list", item)
				}
				p[k] = append(p[k], s)
			}
		default:
			t.Fatalf("%T in a form", v)
		}
	}
	return p
}

func TestRealVerdictsOnCalls(t *testing.T) {
	s := vectorSchema(t)
	type tally struct{ lines, accepted, refused, falseRefusals, missed, hostOnly, otherName int }
	tallies := map[string]*tally{"form": {}, "json": {}}
	var wrong []string
	vectorLines(t, "calls.jsonl.gz", func(line []byte) {
		var c vectorCall
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		n := tallies[c.Transport]
		n.lines++
		match, err := s.Lookup(c.Method, c.Path)
		if err == nil {
			m, merr := match.Method()
			if merr != nil {
				t.Fatal(merr)
			}
			var fault *CheckError
			if c.Transport == "form" {
				fault = m.Check(match.Values, formParams(t, c.Params))
			} else {
				fault = m.CheckJSON(match.Values, c.Params)
			}
			if fault != nil {
				err = fault
			}
		}
		switch {
		case c.OK && err != nil:
			n.accepted++
			n.falseRefusals++
			wrong = append(wrong, fmt.Sprintf("%s %s false refusal: %s %s %.200v: %v", c.ID, c.Kind, c.Method, c.Path, c.Params, err))
		case c.OK:
			n.accepted++
		case err == nil && onlyTheHostKnows(c):
			n.refused++
			n.hostOnly++
		case err == nil:
			n.refused++
			n.missed++
			wrong = append(wrong, fmt.Sprintf("%s %s missed: %s %s %.200v: %v", c.ID, c.Kind, c.Method, c.Path, c.Params, c.Errors))
		default:
			n.refused++
			if len(c.Errors) == 0 {
				if _, ok := errors.AsType[*LookupError](err); !ok {
					n.otherName++
					wrong = append(wrong, fmt.Sprintf("%s should miss the route: %v", c.ID, err))
				}
				return
			}
			fault, ok := errors.AsType[*CheckError](err)
			same := ok
			if ok {
				got := strings.Join(fault.Params(), " ")
				var want []string
				for k := range c.Errors {
					want = append(want, k)
				}
				for _, name := range fault.Params() {
					if _, ok := c.Errors[name]; !ok {
						same = false
					}
				}
				if !same || len(fault.Params()) != len(want) && !strings.Contains(c.Kind, "conflict") {
					same = false
					wrong = append(wrong, fmt.Sprintf("%s %s names %s instead of %v: %s %s %.200v", c.ID, c.Kind, got, want, c.Method, c.Path, c.Params))
				}
			} else {
				wrong = append(wrong, fmt.Sprintf("%s %s: %v", c.ID, c.Kind, err))
			}
			if !same {
				n.otherName++
			}
		}
	})
	for i, w := range wrong {
		if i == 60 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	for name, n := range tallies {
		t.Logf("%s: %d lines, %d accepted (%d false refusals), %d refused (%d missed, %d that only the host can know, %d with other names)", name, n.lines, n.accepted, n.falseRefusals, n.refused, n.missed, n.hostOnly, n.otherName)
	}
}

// onlyTheHostKnows tells of refusals that depend on files of the host that
// answered: a custom CPU model that is not defined there.
func onlyTheHostKnows(c vectorCall) bool {
	cpu, _ := c.Params["cpu"].(string)
	return strings.HasPrefix(cpu, "custom-") && len(c.Errors) == 1 && c.Errors["cpu"] != ""
}

func TestRealVerdictsOnFormats(t *testing.T) {
	lines, wrong := 0, 0
	vectorLines(t, "formats.jsonl.gz", func(line []byte) {
		var v struct {
			Format, Value string
			OK            bool
			Error         string
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		lines++
		if err := CheckFormat(v.Format, v.Value); (err == nil) != v.OK {
			if wrong++; wrong <= 60 {
				t.Errorf("%s %.100q: ok %v, we say %v (%.100q)", v.Format, v.Value, v.OK, err, v.Error)
			}
		}
	})
	t.Logf("%d verdicts, %d differ", lines, wrong)
}
