package render

import "fmt"

// Doc is an answer before it is cut to its budget. Summary, Warnings and Hints
// are kept whatever the size of the rest; Blocks follow in their order and
// share what is left.
type Doc struct {
	// Summary are the lines that answer the question in short, totals first.
	Summary []string
	// Warnings say what could not be had, and why.
	Warnings []string
	// Blocks are the parts: *Table[T], *KV, *Log, *Fenced, *Lines.
	Blocks []Block
	// Hints say what to do next. They come last.
	Hints []string
}

// Summaryf adds a summary line.
func (d *Doc) Summaryf(format string, args ...any) {
	d.Summary = append(d.Summary, fmt.Sprintf(format, args...))
}

// Warnf adds a warning: what could not be had, and why.
func (d *Doc) Warnf(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// Hintf adds a hint: what to do next.
func (d *Doc) Hintf(format string, args ...any) {
	d.Hints = append(d.Hints, fmt.Sprintf(format, args...))
}

// Add adds blocks.
func (d *Doc) Add(blocks ...Block) { d.Blocks = append(d.Blocks, blocks...) }

// Block is a part of a Doc: *Table[T], *KV, *Log, *Fenced or *Lines.
type Block interface{ lower() block }

// Column is one column of a Table.
type Column[T any] struct {
	// Name is the field's name in JSON, in Options.Fields and in Options.Sort.
	Name string
	// Head is the heading in text; empty means Name.
	Head string
	// Right aligns to the right (numbers).
	Right bool
	// Cell gives the value for a row. It must be cheap: sorting and counting
	// call it for every row. A shown row is asked once or twice.
	Cell func(row *T) Cell
	// Extra columns are shown only when Options.Fields names them.
	Extra bool
	// Stable says that the value never changes while the row exists (vmid, start
	// time, creation time; not status, node, cpu or mem). Only such a column
	// may be a sort that is paged; sorting by any other gives the first rows and
	// says that there is no cursor.
	Stable bool
}

// Table is a list of rows of one kind.
type Table[T any] struct {
	// ID names the table in cursors and in JSON. It must be unique within the Doc
	// and must not change between versions. In JSON a table that is the Doc's
	// first block gives total, shown, rows and cursor to the outermost object; any
	// other is an object of that form under its ID.
	ID string
	// Heading stands above the rows in text; empty for none.
	Heading string
	// Rows are all rows that match the question, in any order.
	Rows []T
	// Key gives a row's unique and unchanging key, made by [Key]. Rows are shown
	// in its order (numbers by value), which is what makes paging exact. nil
	// means that the rows have none: they keep their order and are not paged.
	Key func(row *T) string
	// Desc shows the greatest keys first (tasks: Key(starttime, upid)).
	Desc bool
	// Columns in their order. At least one.
	Columns []Column[T]
	// Important gives how much a row matters, 0 for 'as any other'. When not all
	// rows fit, the most important ones (at most 12) stand first on the first
	// page; a walk by cursor does not repeat them.
	Important func(row *T) int
	// GroupBy names columns whose values are counted over all rows when not all
	// of them fit ("by status: running 3200, stopped 1800").
	GroupBy []string
	// Groups are counts that the caller has made itself; shown as GroupBy is.
	Groups []Group
	// Narrow names the tool's filters that would shorten this list: "node", "status".
	Narrow []string
	// Empty is the line for no rows; empty means "none".
	Empty string
	// Total is the number of rows that exist when Rows holds only part of them
	// (a server-side window); 0 means len(Rows).
	Total int
	// Order, when true, keeps the order of Rows as given by the caller (a ranking): the
	// first rows are shown and there is no cursor.
	Order bool
}

// Group is a count by one property: Group{By: "pool", Counts: []Count{{"web", 12}}}.
type Group struct {
	By     string
	Counts []Count
}

// Count is one value of a Group and how many rows have it.
type Count struct {
	Value string
	N     int
}

// KV is a block of 'key: value' lines. Unknown values are left out of it
// unless their key was asked for.
type KV struct {
	// ID is the object's name in JSON; empty puts the keys at the top level.
	ID string
	// Heading stands above the lines in text; empty for none.
	Heading string
	Pairs   []Pair
}

// Pair is one line of a KV.
type Pair struct {
	Key   string
	Value Cell
	Extra bool // shown only when Options.Fields names it
}

// Set adds a pair.
func (k *KV) Set(key string, v Cell) { k.Pairs = append(k.Pairs, Pair{Key: key, Value: v}) }

// Log is a block of untrusted log lines; over budget the last lines are kept,
// after the first First ones.
type Log struct {
	ID      string // the array's name in JSON; empty means "log"
	Heading string
	Lines   []string
	First   int      // how many lines from the start to keep besides the last ones
	Total   int      // number of lines that exist when Lines is part of them; 0 means len(Lines)
	Narrow  []string // arguments that give other lines: "start", "limit"
}

// Fenced is a block of untrusted text (notes, command output), shown between
// fences that its content cannot close; over budget its end is cut, or its
// middle when Tail is set.
type Fenced struct {
	ID      string // the text's name in JSON; empty means "text"
	Heading string
	Text    string
	Tail    bool // keep the end as well as the start
}

// Lines is a block of lines of our own words; over budget its end is cut, with
// a count.
type Lines struct {
	ID      string // the array's name in JSON; empty means "lines"
	Heading string
	Lines   []string
	Narrow  []string
}
