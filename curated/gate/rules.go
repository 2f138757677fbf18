package gate

import (
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

// RuleKind says by what a rule knows guests.
type RuleKind string

// The kinds of rules.
const (
	ByVMID RuleKind = "vmid" // vmid:100 or vmid:100-199
	ByTag  RuleKind = "tag"  // tag:prod
	ByPool RuleKind = "pool" // pool:core, and the pools below it
	ByNode RuleKind = "node" // node:pve1, its guests and the node itself
)

// Rule picks guests, for protection or for the allow-list.
type Rule struct {
	Kind     RuleKind
	From, To apidoc.VMID // of ByVMID, both included
	Word     string      // of the others
}

// String gives the rule as ParseRules reads it.
func (r Rule) String() string {
	switch {
	case r.Kind != ByVMID:
		return string(r.Kind) + ":" + r.Word
	case r.From == r.To:
		return fmt.Sprintf("%s:%d", r.Kind, r.From)
	}
	return fmt.Sprintf("%s:%d-%d", r.Kind, r.From, r.To)
}

// Rules are what PROXMOX_PROTECT and PROXMOX_ALLOW hold; a guest is meant when
// one of them matches.
type Rules []Rule

// String gives the rules as ParseRules reads them.
func (r Rules) String() string {
	words := make([]string, len(r))
	for i, rule := range r {
		words[i] = rule.String()
	}
	return strings.Join(words, ",")
}

// ParseRules reads KIND:VALUE items that are separated by commas, semicolons or
// blanks, such as "vmid:100,vmid:900-999,tag:prod,pool:core,node:pve1". A text
// without anything in it gives no rules. The error names the item and says what
// was expected.
func ParseRules(text string) (Rules, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	items := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) })
	if len(items) == 0 {
		return nil, fmt.Errorf("%.60q holds no rule; expected items such as vmid:100, tag:prod, pool:core", text)
	}
	var rules Rules
	for _, item := range items {
		rule, err := parseRule(item)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseRule(item string) (Rule, error) {
	kind, value, ok := strings.Cut(item, ":")
	if !ok {
		if _, err := parseRange(item); err == nil {
			return Rule{}, fmt.Errorf("rule %.60q has no kind; did you mean vmid:%s?", item, item)
		}
		return Rule{}, fmt.Errorf("rule %.60q has no kind; expected vmid:…, tag:…, pool:… or node:…", item)
	}
	r := Rule{Kind: RuleKind(kind), Word: value}
	bad := func(want string) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %.60q: expected %s", item, want)
	}
	switch r.Kind {
	case ByVMID:
		span, err := parseRange(value)
		if err != nil {
			return Rule{}, fmt.Errorf("rule %.60q: %w", item, err)
		}
		return span, nil
	case ByTag:
		if !isName(value, "_-+.", 124) {
			return bad("a tag: letters, digits, _ - + .")
		}
	case ByPool:
		for _, part := range strings.Split(value, "/") {
			if !isName(part, "_-.", 60) {
				return bad("a pool: letters, digits, _ - . and / for nested ones")
			}
		}
	case ByNode:
		if _, err := apidoc.ParseNode(value); err != nil {
			return bad("the name of a node")
		}
	default:
		near := apidoc.Nearest(kind, []string{"vmid", "tag", "pool", "node"}, 1)
		if len(near) == 0 {
			return bad("vmid:…, tag:…, pool:… or node:…")
		}
		return Rule{}, fmt.Errorf("rule %.60q: there is no kind %.20q; did you mean %s:…?", item, kind, near[0])
	}
	return r, nil
}

func parseRange(text string) (Rule, error) {
	from, to, ranged := strings.Cut(text, "-")
	r := Rule{Kind: ByVMID}
	var err error
	if r.From, err = apidoc.ParseVMID(from); err != nil {
		return Rule{}, err
	}
	r.To = r.From
	if ranged {
		if r.To, err = apidoc.ParseVMID(to); err != nil {
			return Rule{}, err
		}
	}
	if r.To < r.From {
		return Rule{}, fmt.Errorf("the range %.40q ends before it begins", text)
	}
	return r, nil
}

func isName(s, more string, longest int) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(more, c) >= 0) {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

// vmid finds a rule that names the number itself.
func (r Rules) vmid(id apidoc.VMID) (Rule, bool) {
	for _, rule := range r {
		if rule.Kind == ByVMID && rule.From <= id && id <= rule.To {
			return rule, true
		}
	}
	return Rule{}, false
}

// guest finds a rule that matches what is known of a guest. Loose compares tags
// without regard to case, as Proxmox does unless told otherwise.
func (r Rules) guest(g GuestInfo, loose bool) (Rule, bool) {
	for _, rule := range r {
		match := false
		switch rule.Kind {
		case ByVMID:
			match = rule.From <= g.VMID && g.VMID <= rule.To
		case ByTag:
			for _, tag := range g.Tags {
				match = match || tag == rule.Word || loose && strings.EqualFold(tag, rule.Word)
			}
		case ByPool:
			match = inPool(string(g.Pool), rule.Word)
		case ByNode:
			match = string(g.Node) == rule.Word
		}
		if match {
			return rule, true
		}
	}
	return Rule{}, false
}

// pool finds a rule for a pool as such.
func (r Rules) pool(id apidoc.Pool) (Rule, bool) {
	for _, rule := range r {
		if rule.Kind == ByPool && inPool(string(id), rule.Word) {
			return rule, true
		}
	}
	return Rule{}, false
}

// node finds a rule for a node as such.
func (r Rules) node(n apidoc.Node) (Rule, bool) {
	for _, rule := range r {
		if rule.Kind == ByNode && rule.Word == string(n) {
			return rule, true
		}
	}
	return Rule{}, false
}

// byState tells whether some rule asks for more than the vmid.
func (r Rules) byState() bool {
	for _, rule := range r {
		if rule.Kind != ByVMID {
			return true
		}
	}
	return false
}

// inPool tells whether a pool is the named one or lies below it.
func inPool(pool, named string) bool {
	return pool == named || strings.HasPrefix(pool, named+"/")
}
