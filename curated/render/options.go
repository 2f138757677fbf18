package render

import (
	"strings"
	"time"
)

// DefaultTokens is the budget of an answer when Options.MaxTokens is 0.
const DefaultTokens = 2000

// MinTokens is the smallest budget that is honoured; smaller ones count as this
// one, because below it not even totals and a cursor fit.
const MinTokens = 100

// Format is the form of an answer: [Text] or [JSON].
type Format string

// The forms of an answer. The zero value means Text.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Options says how an answer is to be rendered. The zero value is a text of at
// most DefaultTokens tokens with every default column, from the first row.
type Options struct {
	// MaxTokens is the budget in o200k tokens as [Estimate] counts them;
	// 0 means DefaultTokens, less than MinTokens means MinTokens.
	MaxTokens int
	// Format is Text (also when empty) or JSON.
	Format Format
	// Fields names the columns and keys to show, in this order; empty means all
	// that are not Extra. The ID of a block stands for the whole block. A name
	// that no block has is an UnknownField error.
	Fields []string
	// Sort is "column", "column:asc", "column:desc" or "-column" (descending);
	// empty means the table's own order by key. Sizes, percentages, durations and
	// times start with the greatest unless told otherwise, all else with the least.
	// It applies to the first table that has the column; a cursor remembers it.
	Sort string
	// Limit is the greatest number of rows per table and page; 0 means as many as fit.
	Limit int
	// Cursor continues a table where an earlier answer stopped; only the summary,
	// the warnings and that table are rendered then.
	Cursor string
	// Scope binds cursors to the question that made them; see [Scope].
	Scope string
	// Now is what ages count from; the zero time means the current time.
	Now time.Time
}

// Scope gives the text that binds a cursor to one tool, one cluster and one set
// of filters. Filters are "name=value" texts; their order does not matter and
// empty ones are dropped. limit, cursor, format, fields and the budget must not
// be among them: they may change from page to page.
func Scope(tool, cluster string, filters ...string) string {
	fs := make([]string, 0, len(filters))
	for _, f := range filters {
		if f != "" {
			fs = append(fs, f)
		}
	}
	sortStrings(fs)
	return tool + "\x00" + cluster + "\x00" + strings.Join(fs, "\x00")
}

func (o Options) budget() int {
	switch {
	case o.MaxTokens == 0:
		return DefaultTokens
	case o.MaxTokens < MinTokens:
		return MinTokens
	}
	return o.MaxTokens
}

func (o Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}
