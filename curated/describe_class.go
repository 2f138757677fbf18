package curated

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// raiseLines say in words what makes a call worse than its class, a line a
// class.
func raiseLines(p *apidoc.Policy) []string {
	byClass := map[apidoc.Class][]apidoc.Rule{}
	for _, r := range p.Raise {
		byClass[r.Class] = append(byClass[r.Class], r)
	}
	var out []string
	for _, class := range apidoc.Classes {
		if rules := byClass[class]; len(rules) > 0 {
			out = append(out, string(class)+" if "+strings.Join(ruleWords(rules), "; or "))
		}
	}
	return out
}

// ruleWords says rules of one class; those that test one parameter and differ
// in its name or value alone are said together.
func ruleWords(rules []apidoc.Rule) []string {
	type test struct {
		op     apidoc.Op
		params []string
		values []string
	}
	var tests []*test // by parameter
	var out []string
	for _, r := range rules {
		if len(r.Conds) != 1 {
			conds := make([]string, len(r.Conds))
			for i, c := range r.Conds {
				conds[i] = conditionWords(string(c.Param), c.Op, []string{c.Value})
			}
			out = append(out, strings.Join(conds, " and "))
			continue
		}
		c := r.Conds[0]
		i := slices.IndexFunc(tests, func(t *test) bool { return t.op == c.Op && t.params[0] == string(c.Param) })
		if i < 0 {
			i = len(tests)
			tests = append(tests, &test{op: c.Op, params: []string{string(c.Param)}})
		}
		if !slices.Contains(tests[i].values, c.Value) {
			tests[i].values = append(tests[i].values, c.Value)
		}
	}
	var joined []*test
	for _, t := range tests {
		i := slices.IndexFunc(joined, func(j *test) bool { return j.op == t.op && slices.Equal(j.values, t.values) })
		if i < 0 {
			joined = append(joined, t)
			continue
		}
		joined[i].params = append(joined[i].params, t.params...)
	}
	var alone []string
	for _, t := range joined {
		name := strings.Join(t.params, ", ")
		if len(t.params) > 1 {
			name = "one of " + name
		}
		alone = append(alone, conditionWords(name, t.op, t.values))
	}
	out = append(alone, out...)
	if len(out) > 8 {
		out = append(out[:7:7], fmt.Sprintf("%d cases more", len(out)-7))
	}
	return out
}

// conditionWords says a test of a parameter, or of several, against values of
// which one is enough.
func conditionWords(param string, op apidoc.Op, values []string) string {
	several := strings.HasPrefix(param, "one of ")
	list := strings.Join(values, ", ")
	equals := "="
	if several {
		equals = " is "
	}
	switch op {
	case apidoc.OpSet:
		return param + " is given"
	case apidoc.OpUnset:
		return param + " is not given"
	case apidoc.OpTrue:
		return param + equals + "1"
	case apidoc.OpFalse:
		return param + equals + "0"
	case apidoc.OpNotTrue:
		return param + " is not 1"
	case apidoc.OpNotFalse:
		return param + " is not 0"
	case apidoc.OpIs, apidoc.OpMatches:
		return param + equals + strings.Join(values, "|")
	case apidoc.OpHas:
		return param + " has " + list
	case apidoc.OpLacks:
		return param + " has no " + list
	}
	return param + " " + string(op) + " " + list
}
