package apidoc

import (
	"fmt"
	"strings"
)

// Class says what a call can do to a cluster, from harmless to everything.
// Confirmation, policy and annotations hang on it.
type Class string

// The classes, in the order of [Class.Rank].
const (
	// Read changes nothing.
	Read Class = "read"
	// Change alters configuration or starts something; nothing stops and
	// nothing is lost.
	Change Class = "change"
	// Disrupt stops, moves or cuts off a guest, a node or a service.
	Disrupt Class = "disrupt"
	// Destroy may lose data for good: disks, backups, snapshots, keys.
	Destroy Class = "destroy"
	// Access alters who may do what: users, tokens, permissions, realms. It
	// stands on the same rung as Destroy.
	Access Class = "access"
	// Shell runs commands, opens a console or a channel whose content cannot
	// be checked.
	Shell Class = "shell"
)

// Classes lists all classes, lowest rank first.
var Classes = [...]Class{Read, Change, Disrupt, Destroy, Access, Shell}

// ParseClass takes the word of a class, exactly as written; the error lists
// the classes.
func ParseClass(s string) (Class, error) {
	if c := Class(s); c.Rank() >= 0 {
		return c, nil
	}
	words := make([]string, len(Classes))
	for i, c := range Classes {
		words[i] = string(c)
	}
	return "", fmt.Errorf("class %q: known are %s", s, strings.Join(words, ", "))
}

// Rank orders the classes: read 0, change 1, disrupt 2, destroy and access 3,
// shell 4; -1 for what is not a class.
func (c Class) Rank() int {
	switch c {
	case Read:
		return 0
	case Change:
		return 1
	case Disrupt:
		return 2
	case Destroy, Access:
		return 3
	case Shell:
		return 4
	}
	return -1
}

// Raise gives the higher of c and d, and c when both have the same rank. A
// class that is unknown gives way to one that is known.
func (c Class) Raise(d Class) Class {
	if d.Rank() > c.Rank() {
		return d
	}
	return c
}

// Op is the test that a [Condition] makes of one parameter.
type Op string

// The tests. A parameter may come several times; an absent one has no value.
// Booleans are read as Proxmox does (1, on, yes, true; 0, off, no, false; in
// any case), and whatever is neither counts as true, so that a spelling which
// is not known here never lowers a class.
const (
	OpSet      Op = "set"       // it is there, even if empty
	OpUnset    Op = "unset"     // it is not there
	OpTrue     Op = "true"      // it is there, and some value is not a word for false
	OpFalse    Op = "false"     // it is there, and some value is a word for false
	OpNotTrue  Op = "not-true"  // absent, or some value is a word for false: for switches that are off by default
	OpNotFalse Op = "not-false" // absent, or some value is not a word for false: for switches that are on by default
	OpIs       Op = "is"        // some value equals VALUE
	OpMatches  Op = "matches"   // some whole value matches the glob VALUE
	OpHas      Op = "has"       // some item of some value matches the glob VALUE
	OpLacks    Op = "lacks"     // no item of any value matches the glob VALUE; true when absent
)

// takesValue tells whether the test needs a VALUE; ok is false for what is no
// test.
func (o Op) takesValue() (takes, ok bool) {
	switch o {
	case OpSet, OpUnset, OpTrue, OpFalse, OpNotTrue, OpNotFalse:
		return false, true
	case OpIs, OpMatches, OpHas, OpLacks:
		return true, true
	}
	return false, false
}

// ParamRef names parameters of a call: `force`; `scsi[n]`, which is every
// scsi0, scsi1, …; and, with `.KEY` behind either, what KEY has inside their
// property strings (`net[n].link_down`). Parameters that stand in the path
// are named alike.
type ParamRef string

// ParseParamRef checks the form of a reference.
func ParseParamRef(s string) (ParamRef, error) {
	name, key, dotted := strings.Cut(s, ".")
	base := strings.TrimSuffix(name, "[n]")
	if !isParamWord(base) || dotted && !isParamWord(key) {
		return "", fmt.Errorf("parameter %q: expected NAME, NAME[n], NAME.KEY or NAME[n].KEY", s)
	}
	return ParamRef(s), nil
}

func isParamWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}

// Param gives the parameter's name as the schema has it: without the key, and
// with `[n]` where it is indexed.
func (r ParamRef) Param() string {
	name, _, _ := strings.Cut(string(r), ".")
	return name
}

// Names tells whether the reference names the parameter called name, which is
// one name as it goes over the wire (`scsi0`).
func (r ParamRef) Names(name string) bool {
	base, indexed := strings.CutSuffix(r.Param(), "[n]")
	if !indexed {
		return name == base
	}
	index, ok := strings.CutPrefix(name, base)
	if !ok || index == "" {
		return false
	}
	for i := range len(index) {
		if index[i] < '0' || index[i] > '9' {
			return false
		}
	}
	return true
}

// Values gives what the reference has in params (wire form: values as text, a
// list as several), in no order that means anything. Absent gives none.
func (r ParamRef) Values(params map[string][]string) []string {
	var values []string
	if name := r.Param(); !strings.HasSuffix(name, "[n]") {
		values = params[name]
	} else {
		for wire, v := range params {
			if r.Names(wire) {
				values = append(values, v...)
			}
		}
	}
	_, key, dotted := strings.Cut(string(r), ".")
	if !dotted {
		return values
	}
	var inner []string
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if k, val, ok := strings.Cut(item, "="); ok && strings.TrimSpace(k) == key {
				inner = append(inner, strings.TrimSpace(val))
			}
		}
	}
	return inner
}

// Condition is one test of one parameter.
type Condition struct {
	Param ParamRef
	Op    Op
	Value string // for the tests that need one
}

// String gives the condition as [ParseRule] reads it.
func (c Condition) String() string {
	if takes, _ := c.Op.takesValue(); takes {
		return string(c.Param) + " " + string(c.Op) + " " + c.Value
	}
	return string(c.Param) + " " + string(c.Op)
}

// Applies tells whether params (wire form, with the path's values among them)
// meet the condition. What a value means is decided so that doubt raises.
func (c Condition) Applies(params map[string][]string) bool {
	values := c.Param.Values(params)
	some := func(test func(string) bool) bool {
		for _, v := range values {
			if test(v) {
				return true
			}
		}
		return false
	}
	switch c.Op {
	case OpSet:
		return len(values) > 0
	case OpUnset:
		return len(values) == 0
	case OpTrue:
		return some(func(v string) bool { return !isFalse(v) })
	case OpFalse:
		return some(isFalse)
	case OpNotTrue:
		return len(values) == 0 || some(isFalse)
	case OpNotFalse:
		return len(values) == 0 || some(func(v string) bool { return !isFalse(v) })
	case OpIs:
		return some(func(v string) bool { return v == c.Value })
	case OpMatches:
		return some(func(v string) bool { return globMatch(c.Value, v) })
	case OpHas:
		return some(c.hasItem)
	case OpLacks:
		return !some(c.hasItem)
	}
	return true // no such test: a rule that is not understood applies
}

func (c Condition) hasItem(value string) bool {
	for _, item := range ListItems(value) {
		if globMatch(c.Value, item) {
			return true
		}
	}
	return false
}

// ListItems splits a value as Proxmox splits its lists: at commas, semicolons,
// blanks and NUL. A property string falls into its KEY=VALUE parts, too.
func ListItems(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool {
		return strings.ContainsRune(",; \t\r\n\v\f\x00", r)
	})
}

// isFalse knows Proxmox's words for false (pve-common's parse_boolean).
func isFalse(s string) bool {
	switch strings.ToLower(s) {
	case "0", "off", "no", "false":
		return true
	}
	return false
}

// globMatch compares s with a pattern in which `*` stands for any text, also
// an empty one and also across slashes, and `?` for one byte.
func globMatch(pattern, s string) bool {
	p, i, star, back := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			back++
			p, i = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Rule raises the class of a call whose parameters meet every condition.
type Rule struct {
	Class Class
	Conds []Condition // at least one
}

// ParseRule reads `CLASS when PARAM TEST [VALUE] [and PARAM TEST [VALUE]]…`,
// such as `destroy when delete set and force true`. Words stand apart by
// blanks, so a VALUE has none. The error says what was expected where.
func ParseRule(s string) (Rule, error) {
	head, conds, err := parseWhen(s)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	}
	class, err := ParseClass(head)
	switch {
	case err != nil:
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	case class == Read:
		return Rule{}, fmt.Errorf("rule %q: nothing can be raised to %q", s, Read)
	case len(conds) == 0:
		return Rule{}, fmt.Errorf("rule %q: expected `when` and a condition", s)
	}
	return Rule{Class: class, Conds: conds}, nil
}

// String gives the rule in its one canonical form, which [ParseRule] reads.
func (r Rule) String() string { return string(r.Class) + whenText(r.Conds) }

// Applies tells whether params meet every condition; see [Condition.Applies].
func (r Rule) Applies(params map[string][]string) bool { return allApply(r.Conds, params) }

// Scope says which guests a call reaches that names none of them.
type Scope string

// The scopes.
const (
	// ScopeNode is every guest on the node that the path names.
	ScopeNode Scope = "node"
	// ScopeStorage is every guest that has something on the storage that the
	// path names.
	ScopeStorage Scope = "storage"
	// ScopeCluster is every guest.
	ScopeCluster Scope = "cluster"
)

// Reach says that a call reaches every guest of a scope once its parameters
// meet every condition; without conditions it always does.
type Reach struct {
	Scope Scope
	Conds []Condition
}

// ParseReach reads `SCOPE` or `SCOPE when CONDITION [and CONDITION]…`, such
// as `node when vms unset`; conditions as in [ParseRule].
func ParseReach(s string) (Reach, error) {
	head, conds, err := parseWhen(s)
	if err != nil {
		return Reach{}, fmt.Errorf("reach %q: %w", s, err)
	}
	switch scope := Scope(head); scope {
	case ScopeNode, ScopeStorage, ScopeCluster:
		return Reach{Scope: scope, Conds: conds}, nil
	}
	return Reach{}, fmt.Errorf("reach %q: expected node, storage or cluster first", s)
}

// String gives the reach in its one canonical form.
func (r Reach) String() string { return string(r.Scope) + whenText(r.Conds) }

// Applies tells whether params meet every condition; see [Condition.Applies].
func (r Reach) Applies(params map[string][]string) bool { return allApply(r.Conds, params) }

func allApply(conds []Condition, params map[string][]string) bool {
	for _, c := range conds {
		if !c.Applies(params) {
			return false
		}
	}
	return true
}

func whenText(conds []Condition) string {
	var b strings.Builder
	for i, c := range conds {
		if i == 0 {
			b.WriteString(" when ")
		} else {
			b.WriteString(" and ")
		}
		b.WriteString(c.String())
	}
	return b.String()
}

// parseWhen splits `HEAD [when CONDITION [and CONDITION]…]`.
func parseWhen(s string) (head string, conds []Condition, err error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return "", nil, fmt.Errorf("it is empty")
	}
	head, words = words[0], words[1:]
	for joint := "when"; len(words) > 0; joint = "and" {
		if words[0] != joint {
			return "", nil, fmt.Errorf("expected `%s` instead of %q", joint, words[0])
		}
		words = words[1:]
		if len(words) < 2 {
			return "", nil, fmt.Errorf("expected a parameter and a test after `%s`", joint)
		}
		c := Condition{Op: Op(words[1])}
		if c.Param, err = ParseParamRef(words[0]); err != nil {
			return "", nil, err
		}
		takes, known := c.Op.takesValue()
		if !known {
			return "", nil, fmt.Errorf("%q is no test; known are set, unset, true, false, not-true, not-false, and with a value is, matches, has, lacks", words[1])
		}
		words = words[2:]
		if takes {
			if len(words) == 0 {
				return "", nil, fmt.Errorf("`%s` needs a value", c.Op)
			}
			c.Value, words = words[0], words[1:]
		}
		conds = append(conds, c)
	}
	return head, conds, nil
}
