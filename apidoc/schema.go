package apidoc

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// maxNodes bounds the number of paths in a schema; published ones have under 600.
const maxNodes = 20000

// Schema is one version of Proxmox's API. It is safe for concurrent use.
type Schema struct {
	// Version is the label given to [Parse], such as "9.2".
	Version string

	root      *node
	endpoints []*Endpoint // sorted by path, then verb
	nodes     int
	unknown   []string
}

// node is one path of the tree.
type node struct {
	segment  string // text between slashes; "{x}" for a parameter
	param    string // the x of it
	path     string
	children []*node // while reading only
	fixed    map[string]*node
	wild     *node // the child that is a path parameter
	ends     [len(Verbs)]*Endpoint
}

// Endpoint is a verb on a path: a method that may not have been decoded yet.
type Endpoint struct {
	Verb Verb
	Path string // template, such as /nodes/{node}/qemu/{vmid}/config

	raw    []byte
	era    era
	once   sync.Once
	method *Method
	err    error
}

// String gives "VERB /path".
func (e *Endpoint) String() string { return string(e.Verb) + " " + e.Path }

// PathParams gives the names in braces, in order.
func (e *Endpoint) PathParams() []string { return pathParams(e.Path) }

// Method decodes the endpoint on first use. The error names the endpoint and
// what in its text is wrong.
func (e *Endpoint) Method() (*Method, error) {
	e.once.Do(func() { e.method, e.err = decodeMethod(e) })
	return e.method, e.err
}

// Raw gives the method's own JSON text. It must not be changed.
func (e *Endpoint) Raw() json.RawMessage { return e.raw }

// Endpoints gives all endpoints sorted by path, then verb. The slice must not
// be changed.
func (s *Schema) Endpoints() []*Endpoint { return s.endpoints }

// Unknown lists constructs of the tree that this package has never seen, with
// their places; those within methods are in [Method.Unknown].
func (s *Schema) Unknown() []string { return s.unknown }

// Paths counts the paths that carry methods.
func (s *Schema) Paths() int {
	n, last := 0, ""
	for _, e := range s.endpoints {
		if e.Path != last {
			n, last = n+1, e.Path
		}
	}
	return n
}

// Endpoint finds a method by verb and path template, exactly as the schema
// writes it.
func (s *Schema) Endpoint(verb Verb, template string) (*Endpoint, bool) {
	i := sort.Search(len(s.endpoints), func(i int) bool { return !endpointLess(s.endpoints[i].Path, s.endpoints[i].Verb, template, verb) })
	if i < len(s.endpoints) && s.endpoints[i].Path == template && s.endpoints[i].Verb == verb {
		return s.endpoints[i], true
	}
	return nil, false
}

func endpointLess(path1 string, verb1 Verb, path2 string, verb2 Verb) bool {
	if path1 != path2 {
		return path1 < path2
	}
	return verb1.index() < verb2.index()
}

// index walks the text of the array once and notes every node and method.
func (s *Schema) index(text []byte) error {
	s.root = &node{}
	_, err := eachItem(text, 0, 0, func(at int) (int, error) { return s.readNode(text, at, 1, s.root) })
	if err != nil {
		return err
	}
	if err := s.link(s.root); err != nil {
		return err
	}
	if len(s.endpoints) == 0 {
		return unreadable("the array holds no API method; this is not a Proxmox schema", nil)
	}
	sort.Slice(s.endpoints, func(i, j int) bool {
		a, b := s.endpoints[i], s.endpoints[j]
		return endpointLess(a.Path, a.Verb, b.Path, b.Verb)
	})
	return nil
}

// readNode reads one path and what lies below it. Keys come in any order, the
// path often last, so what depends on it is left to link.
func (s *Schema) readNode(b []byte, at, depth int, parent *node) (int, error) {
	if s.nodes++; s.nodes > maxNodes {
		return 0, unreadable(fmt.Sprintf("more than %d paths, which no Proxmox schema has", maxNodes), nil)
	}
	if at >= len(b) {
		return 0, &scanError{at, "the text ends where a value is expected"}
	}
	if b[at] != '{' {
		return 0, unreadable(fmt.Sprintf("not a Proxmox schema: element at byte %d is not an object with a path", at), nil)
	}
	n := &node{}
	parent.children = append(parent.children, n)
	return eachMember(b, at, depth, func(key []byte, at int) (int, error) {
		switch string(key) {
		case "info":
			return s.readInfo(b, at, depth+1, n)
		case "children":
			if at < len(b) && b[at] != '[' {
				return 0, unreadable(fmt.Sprintf("not a Proxmox schema: children at byte %d are not an array", at), nil)
			}
			return eachItem(b, at, depth+1, func(at int) (int, error) { return s.readNode(b, at, depth+2, n) })
		}
		end, err := skipValue(b, at, depth+1)
		if err != nil {
			return 0, err
		}
		switch string(key) {
		case "path":
			err = json.Unmarshal(b[at:end], &n.path)
		case "text":
			err = json.Unmarshal(b[at:end], &n.segment)
		case "leaf":
		default:
			s.unknown = append(s.unknown, fmt.Sprintf("key %q of the path at byte %d", key, at))
		}
		if err != nil {
			return 0, unreadable(fmt.Sprintf("not a Proxmox schema: bad %q at byte %d", key, at), err)
		}
		return end, nil
	})
}

func (s *Schema) readInfo(b []byte, at, depth int, n *node) (int, error) {
	if at < len(b) && b[at] != '{' {
		return 0, unreadable(fmt.Sprintf("not a Proxmox schema: info at byte %d is not an object", at), nil)
	}
	return eachMember(b, at, depth, func(key []byte, at int) (int, error) {
		end, err := skipValue(b, at, depth+1)
		if err != nil {
			return 0, err
		}
		verb, err := ParseVerb(string(key))
		if err != nil {
			s.unknown = append(s.unknown, fmt.Sprintf("verb %q at byte %d", key, at))
			return end, nil //nolint:nilerr // a verb of a later Proxmox is noted and does not spoil the schema
		}
		if n.ends[verb.index()] != nil {
			return 0, unreadable(fmt.Sprintf("not a Proxmox schema: %s twice in the info at byte %d", verb, at), nil)
		}
		e := &Endpoint{Verb: verb, raw: b[at:end:end], era: eraOf(s.Version)}
		n.ends[verb.index()] = e
		s.endpoints = append(s.endpoints, e)
		return end, nil
	})
}

// link checks that every path fits its place and hangs the nodes where look-up
// finds them. A level has either fixed names or one parameter in every
// published file; where both occur, fixed names win.
func (s *Schema) link(parent *node) error {
	for _, n := range parent.children {
		segment := n.path[strings.LastIndexByte(n.path, '/')+1:]
		if n.segment == "" {
			n.segment = segment
		}
		if segment == "" || n.segment != segment || n.path != parent.path+"/"+segment {
			return unreadable(fmt.Sprintf("not a Proxmox schema: path %.120q does not fit its place below %.120q", n.path, parent.path+"/"), nil)
		}
		for _, e := range n.ends {
			if e != nil {
				e.Path = n.path
			}
		}
		if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
			if parent.wild != nil {
				return unreadable(fmt.Sprintf("not a Proxmox schema: %s and %s are parameters at one place", parent.wild.path, n.path), nil)
			}
			parent.wild, n.param = n, segment[1:len(segment)-1]
		} else {
			if parent.fixed == nil {
				parent.fixed = make(map[string]*node, len(parent.children))
			}
			if parent.fixed[segment] != nil {
				return unreadable("not a Proxmox schema: path "+n.path+" is there twice", nil)
			}
			parent.fixed[segment] = n
		}
		if err := s.link(n); err != nil {
			return err
		}
	}
	parent.children = nil
	return nil
}

func pathParams(path string) []string {
	var names []string
	for {
		i := strings.IndexByte(path, '{')
		if i < 0 {
			return names
		}
		j := strings.IndexByte(path[i:], '}')
		if j < 0 {
			return names
		}
		names = append(names, path[i+1:i+j])
		path = path[i+j+1:]
	}
}
