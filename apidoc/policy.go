package apidoc

// Policy is what has been judged about one method of the API: how dangerous a
// call is, what it names beyond its path, and what in it is secret. The schema
// says none of this; people wrote it down in the generator's overlay, and the
// generated code carries it to whoever decides about a call.
//
// A method without a policy is one that nobody has judged: a GET is then a
// read, and anything else counts as [Destroy].
type Policy struct {
	Class Class   // of the plain call
	Raise []Rule  // what makes it worse
	Reach []Reach // when it touches guests that it does not name

	Refs Refs // the parameters that name things

	Task          bool       // the answer is the id of a task
	HiddenTask    string     // type of the task that the call starts without telling its id
	Secrets       []ParamRef // parameters never shown or logged
	ReturnsSecret bool       // the call exists to make a secret, which is in the answer
	Reason        string     // why a GET is not harmless

	// SecretFields are globs for keys of the answer, at any depth, whose
	// values are masked. In a list of rows that have a `key` or a `name` and
	// a value, it is that name which counts; in an answer that is text, what
	// stands before the first `:` or `=` of a line.
	SecretFields []string
}

// Refs lists the parameters, of the path too, by the form in which they name
// something. A value may be a list.
type Refs struct {
	Guests   []ParamRef // vmids: 100
	Spared   []ParamRef // vmids that a call over all guests leaves out
	SIDs     []ParamRef // HA resources: vm:100, ct:200 or just 100
	Jobs     []ParamRef // replication jobs: 100-0
	UPIDs    []ParamRef // tasks; the guest stands in the id part
	Volumes  []ParamRef // values that may hold a volume id, alone, in a property string or after a `=` in it
	Pools    []ParamRef // resource pools
	Nodes    []ParamRef // node names, maybe with `:priority`
	Storages []ParamRef // storage ids, maybe as pairs `from:to`
}

// ClassOf gives the class of a call with these parameters: [Policy.Class]
// raised by every rule that applies. params is in wire form and must have the
// path's values too.
func (p *Policy) ClassOf(params map[string][]string) Class {
	class := p.Class
	for _, r := range p.Raise {
		if r.Applies(params) {
			class = class.Raise(r.Class)
		}
	}
	return class
}

// RaisedBy lists the rules that apply, for telling why a call has its class.
func (p *Policy) RaisedBy(params map[string][]string) []Rule {
	var applied []Rule
	for _, r := range p.Raise {
		if r.Applies(params) {
			applied = append(applied, r)
		}
	}
	return applied
}

// Reaches lists the scopes, each once, all of whose guests the call reaches.
func (p *Policy) Reaches(params map[string][]string) []Scope {
	var scopes []Scope
next:
	for _, r := range p.Reach {
		if !r.Applies(params) {
			continue
		}
		for _, s := range scopes {
			if s == r.Scope {
				continue next
			}
		}
		scopes = append(scopes, r.Scope)
	}
	return scopes
}

// Secret tells whether the parameter called name, as it goes over the wire,
// must be masked.
func (p *Policy) Secret(name string) bool {
	for _, s := range p.Secrets {
		if s.Names(name) {
			return true
		}
	}
	return false
}

// SecretField tells whether a key of the answer must be masked with its value.
func (p *Policy) SecretField(key string) bool {
	for _, glob := range p.SecretFields {
		if globMatch(glob, key) {
			return true
		}
	}
	return false
}
