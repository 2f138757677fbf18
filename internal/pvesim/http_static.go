package pvesim

import (
	"bytes"
	"strings"

	"pvemcp/apidoc"
)

// apidocPath is where every node serves its schema.
const apidocPath = "/pve-docs/api-viewer/apidoc.js"

// static answers what lies outside of /api2: the schema file, a start page,
// and for everything else what Proxmox says of a file that it doesn't have.
// None of it needs a login.
func (s *Server) static(r *rawRequest, path string) *response {
	if r.method == "GET" {
		switch path {
		case apidocPath:
			for _, f := range s.faults.take(r.method, path) {
				if p := f.answer(path, s.opts.Hang); p != nil {
					return p
				}
			}
			js, err := s.script()
			if err != nil {
				return plain(500, err.Error())
			}
			return &response{status: 200, reason: "OK", ctype: "application/javascript", body: js}
		case "/":
			return &response{status: 200, reason: "OK", ctype: typeHTML, body: []byte(
				"<!DOCTYPE html>\n<html><head><title>Simulated cluster</title></head><body><p>A simulated Proxmox VE cluster. " +
					"Its API is below <code>/api2/json</code>.</p></body></html>\n")}
		}
	}
	text := "no such file '" + path + "'"
	p := plain(500, text+"\n")
	p.reason = firstLine(text)
	return p
}

// schemaScript gives the schema as the JavaScript file that Proxmox serves: a
// constant, and behind it code of a viewer that nobody is to run.
func schemaScript(schema *apidoc.Schema) ([]byte, error) {
	var facts bytes.Buffer
	if err := apidoc.WriteFacts(&facts, schema); err != nil {
		return nil, err
	}
	name := "const apiSchema"
	if strings.HasPrefix(schema.Version, "6.") || strings.HasPrefix(schema.Version, "7.") {
		name = "var pveapi"
	}
	var b bytes.Buffer
	b.WriteString(name + " = ")
	b.Write(bytes.TrimSpace(facts.Bytes()))
	b.WriteString("\n;\n\n" + viewerCode)
	return b.Bytes(), nil
}

// viewerCode stands for the viewer that follows in the real file. It holds
// what misleads a reader that does not cut the array out properly: brackets in
// texts, a semicolon after one, a second array.
const viewerCode = `let shown = [];
function find(path) {
    let todo = [...apiSchema];
    while (todo.length > 0) {
        let entry = todo.pop();
        if (entry.path === path) { return entry; }
        todo.push(...(entry.children ?? []));
    }
    return undefined;
}
document.title = "API ];[ viewer";
`
