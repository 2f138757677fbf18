package curated

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// sameMethod finds a method in another version: the same path but for the names
// of its parameters.
func sameMethod(s *apidoc.Schema, verb apidoc.Verb, template string) *apidoc.Method {
	match, err := s.Lookup(verb, template)
	if err != nil {
		return nil
	}
	a, b := strings.Split(match.Path, "/"), strings.Split(template, "/")
	if len(a) != len(b) {
		return nil
	}
	for i := range a {
		if strings.HasPrefix(a[i], "{") != strings.HasPrefix(b[i], "{") || !strings.HasPrefix(a[i], "{") && a[i] != b[i] {
			return nil
		}
	}
	m, err := match.Method()
	if err != nil {
		return nil
	}
	return m
}

// versioned is a method as one snapshot has it; m is nil where it has none.
type versioned struct {
	version string
	m       *apidoc.Method
}

// history gives the method in every snapshot, oldest first.
func history(verb apidoc.Verb, template string) []versioned {
	var out []versioned
	for _, v := range apidoc.Snapshots() {
		if s, err := apidoc.Snapshot(v); err == nil {
			out = append(out, versioned{v, sameMethod(s, verb, template)})
		}
	}
	return out
}

// changeLines tells how a method came and changed through the snapshots.
func changeLines(h []versioned) []string {
	var out []string
	for i, now := range h {
		if i == 0 {
			continue
		}
		before := h[i-1]
		switch {
		case before.m == nil && now.m != nil:
			out = append(out, fmt.Sprintf("not in %s; new in %s", before.version, now.version))
		case before.m != nil && now.m == nil:
			out = append(out, fmt.Sprintf("in %s; gone in %s", before.version, now.version))
		case now.m != nil:
			if line := methodChange(before.m, now.m); line != "" {
				out = append(out, fmt.Sprintf("from %s to %s: %s", before.version, now.version, line))
			}
		}
	}
	return out
}

// methodChange tells what differs between two versions of a method.
func methodChange(older, newer *apidoc.Method) string {
	was, is := paramsByName(older), paramsByName(newer)
	var added, gone, changed []string
	same := map[string][]string{} // change → parameters
	for name, p := range is {
		if q := was[name]; q == nil {
			added = append(added, name)
		} else if diff := paramChange(q, p); diff != "" {
			same[diff] = append(same[diff], name)
		}
	}
	for diff, names := range same {
		slices.Sort(names)
		changed = append(changed, cutList(names, 6)+" ("+diff+")")
	}
	for name := range was {
		if is[name] == nil {
			gone = append(gone, name)
		}
	}
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, what+" "+cutList(names, 14))
		}
	}
	add("new", added)
	add("gone", gone)
	add("changed", changed)
	if older.AllowToken != newer.AllowToken {
		parts = append(parts, map[bool]string{true: "tokens may call it now", false: "tokens may not call it any more"}[newer.AllowToken])
	}
	if a, b := permissionWords(older.Permission), permissionWords(newer.Permission); a != b {
		parts = append(parts, "it took "+cutText(a, 160))
	}
	return strings.Join(parts, "; ")
}

func paramsByName(m *apidoc.Method) map[string]*apidoc.Property {
	out := map[string]*apidoc.Property{}
	inPath := m.PathParams()
	for _, d := range declared(m.Parameters) {
		if !slices.Contains(inPath, d.name) {
			out[d.name] = d.schema
		}
	}
	return out
}

// paramChange tells in short how a parameter differed: "was string".
func paramChange(older, newer *apidoc.Property) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if older.Type != newer.Type {
		add("was %s", typeWords(older))
	}
	if older.Optional != newer.Optional {
		add("%s", map[bool]string{true: "was required", false: "was optional"}[newer.Optional])
	}
	if a, b := onlyIn(newer.Enum, older.Enum), onlyIn(older.Enum, newer.Enum); len(newer.Enum) > 0 && len(older.Enum) > 0 {
		if len(a) > 0 {
			add("also %s", cutList(a, 4))
		}
		if len(b) > 0 {
			add("no more %s", cutList(b, 4))
		}
	} else if len(newer.Enum) != len(older.Enum) {
		if len(newer.Enum) == 0 {
			add("had fixed values")
		} else {
			add("was free text")
		}
	}
	if a, b := rangeWords(older), rangeWords(newer); a != b {
		if a == "" {
			a = "without bounds"
		}
		add("was %s", a)
	}
	if a, b := deref(older.Default), deref(newer.Default); a != b {
		if a == "" {
			add("had no default")
		} else {
			add("default was %s", cutText(render.Line(a), 20))
		}
	}
	if a, b := apidoc.Grammar(older), apidoc.Grammar(newer); a != nil && b != nil {
		plus, minus := newKeys(a, b), newKeys(b, a)
		if len(plus) > 0 {
			add("new keys %s", cutList(plus, 3))
		}
		if len(minus) > 0 {
			add("without key %s", cutList(minus, 3))
		}
	} else if older.Format != newer.Format && (a == nil) == (b == nil) {
		add("other format")
	}
	return strings.Join(parts, ", ")
}

// newKeys lists the keys that a grammar has and an older one has not, aliases
// aside.
func newKeys(older, newer map[string]*apidoc.Property) []string {
	var out []string
	for key, p := range newer {
		if q := older[key]; p.Alias == "" && (q == nil || q.Alias != "") {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// paramHistory tells since when a parameter is there and how it changed.
func paramHistory(h []versioned, name string) []string {
	var out []string
	for i, now := range h {
		if i == 0 || now.m == nil || h[i-1].m == nil {
			continue
		}
		before := h[i-1]
		p, q := paramsByName(before.m)[name], paramsByName(now.m)[name]
		switch {
		case p == nil && q != nil:
			out = append(out, fmt.Sprintf("not in %s; new in %s", before.version, now.version))
		case p != nil && q == nil:
			out = append(out, fmt.Sprintf("in %s; gone in %s", before.version, now.version))
		case p != nil:
			if diff := paramChange(p, q); diff != "" {
				out = append(out, fmt.Sprintf("from %s to %s: %s", before.version, now.version, diff))
			}
		}
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func onlyIn(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

func cutList(items []string, most int) string {
	if len(items) > most+1 {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", len(items)-most)
	}
	return strings.Join(items, ", ")
}
