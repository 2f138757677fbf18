package apidoc

import "fmt"

// Verb is the HTTP method of an API call. Proxmox knows four.
type Verb string

// The verbs that Proxmox's API uses.
const (
	GET    Verb = "GET"
	POST   Verb = "POST"
	PUT    Verb = "PUT"
	DELETE Verb = "DELETE"
)

// Verbs lists all verbs in the order in which they are shown.
var Verbs = [...]Verb{GET, POST, PUT, DELETE}

// ParseVerb takes one of GET, POST, PUT and DELETE in capitals; anything else
// is an error (Proxmox answers 501 to other methods and is case-sensitive).
func ParseVerb(s string) (Verb, error) {
	switch v := Verb(s); v {
	case GET, POST, PUT, DELETE:
		return v, nil
	}
	return "", fmt.Errorf("method %q: Proxmox knows GET, POST, PUT and DELETE", s)
}

// index gives the verb's place in [Verbs], or -1.
func (v Verb) index() int {
	switch v {
	case GET:
		return 0
	case POST:
		return 1
	case PUT:
		return 2
	case DELETE:
		return 3
	}
	return -1
}

// Reads tells whether the verb only reads; true for GET alone.
func (v Verb) Reads() bool { return v == GET }
