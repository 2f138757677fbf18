package apidoc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteFacts writes a schema without Proxmox's prose: what remains are facts
// (paths, verbs, names, types, constraints, enums, defaults, formats,
// permissions, flags). The form is Proxmox's own tree with one method a line,
// everything sorted, so that a diff of two versions reads like a changelog and
// [Parse] reads it back. Two runs give the same bytes. The error names a
// method that can't be decoded, or comes from w.
func WriteFacts(w io.Writer, s *Schema) error {
	bw := bufio.NewWriter(w)
	f := &factsWriter{w: bw}
	f.printf("[\n")
	f.nodes(s.root)
	f.printf("]\n")
	if f.err != nil {
		return f.err
	}
	return bw.Flush()
}

type factsWriter struct {
	w   *bufio.Writer
	err error
}

func (f *factsWriter) printf(format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, args...)
	}
}

func (f *factsWriter) nodes(parent *node) {
	list := make([]*node, 0, len(parent.fixed)+1)
	for _, name := range sortedKeys(parent.fixed) {
		list = append(list, parent.fixed[name])
	}
	if parent.wild != nil {
		list = append(list, parent.wild)
	}
	for i, n := range list {
		leaf := 0
		if len(n.fixed) == 0 && n.wild == nil {
			leaf = 1
		}
		f.printf(`{"path":%s,"text":%s,"leaf":%d`, quote(n.path), quote(n.segment), leaf)
		sep := `,"info":{` + "\n"
		for _, e := range n.ends {
			if e == nil {
				continue
			}
			line, err := methodFacts(e)
			if err != nil && f.err == nil {
				f.err = err
			}
			f.printf("%s%s:%s", sep, quote(string(e.Verb)), line)
			sep = ",\n"
		}
		if sep == ",\n" {
			f.printf("\n}")
		}
		if leaf == 0 {
			f.printf(`,"children":[` + "\n")
			f.nodes(n)
			f.printf("]")
		}
		if i < len(list)-1 {
			f.printf("},\n")
		} else {
			f.printf("}\n")
		}
	}
}

func quote(s string) string {
	b, _ := marshalPlain(s)
	return string(b)
}

// marshalPlain writes JSON with sorted keys and without escaping <, > and &.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func methodFacts(e *Endpoint) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(e.raw))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, unreadable("method "+e.String(), err)
	}
	delete(m, "description")
	for key, v := range m {
		switch key {
		case "parameters", "returns":
			stripSchema(v)
		case "permissions":
			if p, ok := v.(map[string]any); ok {
				delete(p, "description")
			}
		}
	}
	return marshalPlain(m)
}

// stripSchema takes prose out of a schema position. Names of properties may
// equal those of schema keys, so the two kinds of maps are walked apart.
func stripSchema(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, prose := range [...]string{"description", "verbose_description", "format_description", "typetext", "title", "links"} {
		delete(s, prose)
	}
	if text, ok := s["default"].(string); ok && isSentence(text) {
		delete(s, "default")
	}
	for _, key := range [...]string{"properties", "format"} {
		if named, ok := s[key].(map[string]any); ok {
			for _, v := range named {
				stripSchema(v)
			}
		}
	}
	for _, key := range [...]string{"items", "additionalProperties", "type-property-schema", "requires"} {
		stripSchema(s[key])
	}
	for _, key := range [...]string{"oneOf", "allOf"} {
		if list, ok := s[key].([]any); ok {
			for _, v := range list {
				stripSchema(v)
			}
		}
	}
}

// isSentence tells prose from a value: some defaults upstream are sentences.
func isSentence(s string) bool {
	words := strings.Fields(s)
	for i, w := range words[:max(len(words)-1, 0)] {
		if !strings.HasSuffix(w, ",") && i < len(words) {
			return true
		}
	}
	return false
}
