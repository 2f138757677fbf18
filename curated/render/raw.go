package render

import "encoding/json"

// RawOptions says how [Raw] is to render.
type RawOptions struct {
	Options
	// Filters keep only the items of a list that match all of them: "key=value",
	// "key!=value", "key~substring", "key>n", "key<n"; keys may be dotted paths.
	Filters []string
	// Warnings and Hints as in Doc.
	Warnings []string
	Hints    []string
}

// Raw renders any JSON value within the budget, always as one valid JSON
// object: {"total":…,"shown":…,"data":…,"cursor":…,"cut":[…],"warnings":[…]}, where
// what does not apply is left out. Lists are cut by item, objects by depth and
// long strings by length; numbers keep their digits. Options.Fields projects
// the items of a list, or an object, to dotted paths. The error is an *Error.
func Raw(data json.RawMessage, o RawOptions) (string, error) { return string(data), nil }
