package render

import (
	"encoding/json"
)

type block interface{}

func (t *Table[T]) lower() block { return nil }
func (k *KV) lower() block       { return nil }
func (l *Log) lower() block      { return nil }
func (f *Fenced) lower() block   { return nil }
func (l *Lines) lower() block    { return nil }

// Render gives the whole answer within its budget. The error is an *Error:
// BadCursor, ForeignCursor, UnknownField, UnknownSort or BadFormat.
func (d *Doc) Render(o Options) (string, error) { return "", nil }

// RawOptions says how [Raw] is to render.
type RawOptions struct {
	Options
	// Filters keep only the items of a list (or of the list under an object's
	// "data") that match all: "key=value", "key!=value", "key~substring",
	// "key>n", "key<n"; keys may be dotted paths.
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
func Raw(data json.RawMessage, o RawOptions) (string, error) { return "", nil }

// Key makes a row's key from its parts: Key(vmid), Key(kind, node, name). Keys
// compare part by part, digits by their value (pve2 before pve10).
func Key(parts ...any) string { return "" }

// Estimate gives the number of o200k tokens of s; see the package's tests for
// its margins.
func Estimate(s string) int { return len(s) / 3 }

// Fits tells whether s is within the budget, reading no more of s than needed.
func Fits(s string, tokens int) bool { return Estimate(s) <= tokens }

// Cut gives s when it fits, otherwise its start, ending in a line that tells how
// much is missing. For texts that are no Doc: errors above all.
func Cut(s string, tokens int) string { return s }

// Line cleans untrusted text and makes it one line.
func Line(s string) string { return s }

// Clean cleans untrusted text and keeps its lines.
func Clean(s string) string { return s }

// Fence cleans untrusted text and puts it between fences that it can't close.
func Fence(s string) string { return s }
