package audit

import (
	"fmt"
	"strings"
)

// FaultKind says what is wrong with a log.
type FaultKind string

// The faults.
const (
	Edited    FaultKind = "edited"    // a line whose hash is not that of its text
	Foreign   FaultKind = "foreign"   // a line that is none of this log's
	Removed   FaultKind = "removed"   // lines are missing between two others
	Reordered FaultKind = "reordered" // a line that stood before stands later, or stands twice
	Inserted  FaultKind = "inserted"  // a line that does not continue the one before
	CutOff    FaultKind = "cut off"   // lines are missing at the end
	Added     FaultKind = "added"     // lines at the end that the anchor does not know
	BadAnchor FaultKind = "anchor"    // the anchor is missing, damaged or not of this log
	BadPair   FaultKind = "pairing"   // an outcome without its intent, or one of two
)

// Fault is one place where a log is not what was written.
type Fault struct {
	Line int64 // counted from 1; 0 for what concerns no line
	Kind FaultKind
	Text string
}

// Unended is a change whose end is not known.
type Unended struct {
	Line int64 // of its intent
	Time string
	Who  string
	Tool string
	Verb string
	Path string
	// Lost tells that the process lived and logged that no answer came.
	// Otherwise it ended in between, or is just waiting for the answer.
	Lost bool
}

// Repair is a half-written line that a crash left and that was marked.
type Repair struct {
	Line  int64 // of the repair line
	Bytes int64 // of what is no line in front of it
}

// The most that a report lists of a kind; the counts go on.
const most = 1000

// Report is what a verification found.
type Report struct {
	Path    string
	Keyed   bool  // the hashes are HMACs
	Lines   int64 // that are sound
	Bytes   int64
	Changes int64 // intents
	OK      int64
	Refused int64
	NotSent int64
	// Unknown counts the changes whose end is not known; Opens lists them.
	Unknown int64
	Opens   []Unended
	Repairs []Repair
	// Faulty counts what is wrong; Faults lists it.
	Faulty int64
	Faults []Fault
	// HalfWritten is how many bytes of a line a crash left at the end; the next
	// append marks them.
	HalfWritten int64
	First, Last string // times of the first and the last line
	// Head is the hash of the last line: kept elsewhere, it shows later whether
	// both files were replaced by older ones.
	Head string
}

// Intact tells that nothing was edited, removed, reordered, inserted or cut
// off. Changes with an unknown end and repairs are no faults.
func (r *Report) Intact() bool { return r.Faulty == 0 }

func (r *Report) fault(line int64, kind FaultKind, format string, args ...any) {
	r.Faulty++
	if len(r.Faults) < most {
		r.Faults = append(r.Faults, Fault{line, kind, fmt.Sprintf(format, args...)})
	}
}

// String gives the report for people, in some lines.
func (r *Report) String() string {
	var b strings.Builder
	verdict := "intact"
	if !r.Intact() {
		verdict = fmt.Sprintf("NOT intact (%d faults)", r.Faulty)
	}
	fmt.Fprintf(&b, "%s: %s\n", r.Path, verdict)
	fmt.Fprintf(&b, "%d lines, %d changes: %d ok, %d refused by Proxmox, %d not sent, %d unknown\n", r.Lines, r.Changes, r.OK, r.Refused, r.NotSent, r.Unknown)
	if r.First != "" {
		fmt.Fprintf(&b, "from %s to %s\n", r.First, r.Last)
	}
	const shown = 20
	for _, f := range r.Faults[:min(shown, len(r.Faults))] {
		if f.Line > 0 {
			fmt.Fprintf(&b, "line %d: %s: %s\n", f.Line, f.Kind, f.Text)
		} else {
			fmt.Fprintf(&b, "%s: %s\n", f.Kind, f.Text)
		}
	}
	if n := r.Faulty - shown; n > 0 {
		fmt.Fprintf(&b, "and %d more faults\n", n)
	}
	for _, o := range r.Opens[:min(shown, len(r.Opens))] {
		why := "no outcome was logged: the process ended in between, or still waits for the answer"
		if o.Lost {
			why = "the answer was lost"
		}
		fmt.Fprintf(&b, "line %d: unknown: %s %s %s (%s)\n", o.Line, o.Time, o.Verb, o.Path, why)
	}
	if n := r.Unknown - shown; n > 0 {
		fmt.Fprintf(&b, "and %d more with an unknown end\n", n)
	}
	for _, p := range r.Repairs[:min(shown, len(r.Repairs))] {
		fmt.Fprintf(&b, "line %d: repair: %d bytes of a line that a crash left half written\n", p.Line, p.Bytes)
	}
	if r.HalfWritten > 0 {
		fmt.Fprintf(&b, "end: %d bytes of a line that a crash left half written; the next change marks them\n", r.HalfWritten)
	}
	if !r.Keyed {
		b.WriteString("hashed without a key: whoever can write both files can make a new chain (PROXMOX_AUDIT_HMAC_KEY prevents that)\n")
	}
	fmt.Fprintf(&b, "head %s\n", r.Head)
	return b.String()
}
