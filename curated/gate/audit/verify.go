package audit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sort"
)

// Verify reads the whole log at path and holds it against its hashes and its
// anchor. It changes nothing, needs memory only for changes without an outcome,
// and may run while servers append. The error, an [*Error], says that the log
// can't be read; what is wrong with its content is in the report.
func Verify(path string, key []byte) (Report, error) {
	r := Report{Path: path, Keyed: len(key) > 0, Head: genesis}
	c := chain{key: key}
	fail := func(err error) (Report, error) { return r, &Error{"verify", path, err} }

	// Log and anchor must be of one moment. A copy that lies where no lock can
	// be made is nobody's to append to.
	unlock, err := lock(path)
	if err != nil {
		unlock = func() {}
	}
	log, err := os.Open(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		unlock()
		return fail(err)
	}
	var size int64
	if !missing {
		defer func() { _ = log.Close() }()
		info, err := log.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("not a regular file")
		}
		if err != nil {
			unlock()
			return fail(err)
		}
		size = info.Size()
	}
	a, anchorErr := readAnchor(c, path+".anchor")
	unlock()

	noAnchor := errors.Is(anchorErr, fs.ErrNotExist)
	switch {
	case missing && noAnchor:
		return fail(fmt.Errorf("there is no log: %w", fs.ErrNotExist))
	case noAnchor && size == 0:
		return r, nil
	case noAnchor:
		r.fault(0, BadAnchor, "the anchor file is gone: whether lines are missing at the end can't be told")
	case errors.Is(anchorErr, errAnchorAlg):
		return fail(anchorErr)
	case errors.Is(anchorErr, errAnchorKey), errors.Is(anchorErr, errAnchorForm):
		r.fault(0, BadAnchor, "%v", anchorErr)
	case anchorErr != nil:
		return fail(anchorErr)
	}
	v := newVerifier(&r, c)
	if !missing {
		if err := v.read(io.LimitReader(log, size)); err != nil {
			return fail(err)
		}
	}
	v.finish(size, a, anchorErr == nil)
	return r, nil
}

func readAnchor(c chain, path string) (anchor, error) {
	f, err := os.Open(path)
	if err != nil {
		return anchor{}, err
	}
	defer func() { _ = f.Close() }()
	return c.loadAnchor(f)
}

// verifier goes through a log line by line.
type verifier struct {
	r     *Report
	chain chain
	at    int64 // line
	seq   uint64
	heads []string // what the next line may name as the one before
	open  map[string]Unended

	// A run of lines that are none, whose faults count unless a repair follows.
	bad      []Fault
	badCount int64
	badBytes int64
	badHash  hash.Hash
	badEnd   bool // the run's last line had a newline, not hashed yet
}

func newVerifier(r *Report, c chain) *verifier {
	return &verifier{r: r, chain: c, heads: []string{genesis}, open: map[string]Unended{}}
}

// read takes the log apart into lines, of which none is held beyond maxLine.
func (v *verifier) read(in io.Reader) error {
	br := bufio.NewReaderSize(in, maxLine)
	long := false // inside a line that is too long
	for {
		text, err := br.ReadSlice('\n')
		v.r.Bytes += int64(len(text))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if !long {
				v.at++
				v.begin(errForm, line{})
			}
			long = true
			v.raw(text)
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if len(text) > 0 {
			if long {
				v.raw(text)
			} else {
				v.at++
				v.line(text)
			}
		}
		long = false
		if err != nil {
			return nil //nolint:nilerr // io.EOF: the log is read to its end
		}
	}
}

// begin opens a run of bad lines, or goes on with it.
func (v *verifier) begin(err error, l line) {
	if v.badHash == nil {
		v.badHash = sha256.New()
	}
	f := Fault{v.at, Foreign, err.Error()}
	if errors.Is(err, errHash) {
		f = Fault{v.at, Edited, fmt.Sprintf("%v (%s %s %s)", err, l.Event, clip(l.Verb), clip(l.Path))}
	}
	v.badCount++
	if len(v.bad) < most {
		v.bad = append(v.bad, f)
	}
}

// raw adds bytes to the run. Its last newline is not the run's: the repair put
// it there.
func (v *verifier) raw(text []byte) {
	if v.badEnd {
		_, _ = v.badHash.Write([]byte("\n"))
		v.badBytes++
		v.badEnd = false
	}
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text, v.badEnd = text[:n-1], true
	}
	_, _ = v.badHash.Write(text)
	v.badBytes += int64(len(text))
}

func (v *verifier) line(text []byte) {
	bare := text
	whole := bare[len(bare)-1] == '\n'
	if whole {
		bare = bare[:len(bare)-1]
	}
	l, claimed, err := v.chain.decode(bare)
	if err == nil && !whole {
		err = errForm // finish decides whether a crash explains it
	}
	if err != nil {
		v.begin(err, l)
		v.raw(text)
		if claimed != "" && whole {
			// The line after an edited one names the hash that it had.
			v.heads = append(v.heads[:1:1], claimed)
			v.seq = max(v.seq, min(l.Seq, v.seq+1))
			v.joined(l)
		}
		return
	}
	if v.r.First == "" {
		v.r.First = l.Time
	}
	if v.badHash != nil && l.Event == eventRepair && l.Fragment == v.badBytes && l.FragmentHash == hex.EncodeToString(v.badHash.Sum(nil)) && l.Prev == v.heads[0] {
		v.clear()
		if len(v.r.Repairs) < most {
			v.r.Repairs = append(v.r.Repairs, Repair{v.at, l.Fragment})
		}
	} else {
		if l.Event == eventRepair {
			v.r.fault(v.at, Edited, "it marks %d half-written bytes, which do not stand in front of it", l.Fragment)
		}
		afterBad := v.badHash != nil
		v.flush()
		if !v.follows(l, afterBad) {
			return
		}
	}
	v.seq, v.heads = l.Seq, []string{claimed}
	v.r.Lines++
	v.r.Last = l.Time
	v.pair(l)
}

// follows tells whether to go on from this line; it reports what is wrong.
func (v *verifier) follows(l line, afterBad bool) bool {
	named := false
	for _, h := range v.heads {
		named = named || h == l.Prev
	}
	want := v.seq + 1
	switch {
	case named && (l.Seq == want || afterBad && l.Seq > v.seq):
		return true
	case l.Seq > want:
		if !afterBad || l.Seq > want+1 {
			v.r.fault(v.at, Removed, "lines %d to %d are missing before it", want, l.Seq-1)
		}
		return true
	case l.Seq < want:
		v.r.fault(v.at, Reordered, "it was line %d when it was written", l.Seq)
		return false
	}
	if !afterBad {
		v.r.fault(v.at, Inserted, "it does not continue the line before")
	}
	return true
}

// clear forgets the run of bad lines, flush makes it faults.
func (v *verifier) clear() {
	v.bad, v.badCount, v.badBytes, v.badHash, v.badEnd = nil, 0, 0, nil, false
	v.heads = v.heads[:1]
}

func (v *verifier) flush() {
	for _, f := range v.bad {
		v.r.fault(f.Line, f.Kind, "%s", f.Text)
	}
	v.r.Faulty += v.badCount - int64(len(v.bad))
	v.bad, v.badCount, v.badBytes, v.badHash, v.badEnd = nil, 0, 0, nil, false
}

// joined keeps an edited line, which is a fault already, from making its
// partner another.
func (v *verifier) joined(l line) {
	switch l.Event {
	case eventIntent:
		v.open[l.ID] = Unended{Line: v.at, Time: l.Time, Who: l.Who, Tool: l.Tool, Verb: l.Verb, Path: l.Path}
	case eventOutcome:
		delete(v.open, l.ID)
	}
}

// pair joins outcomes with intents.
func (v *verifier) pair(l line) {
	switch l.Event {
	case eventIntent:
		v.r.Changes++
		if _, twice := v.open[l.ID]; twice {
			v.r.fault(v.at, BadPair, "a second intent with the id %s", clip(l.ID))
		}
		v.joined(l)
	case eventOutcome:
		o, ok := v.open[l.ID]
		if !ok {
			v.r.fault(v.at, BadPair, "an outcome without its intent (%s)", clip(l.ID))
			return
		}
		delete(v.open, l.ID)
		switch l.Outcome {
		case OK:
			v.r.OK++
		case Refused:
			v.r.Refused++
		case NotSent:
			v.r.NotSent++
		default:
			o.Lost = true
			v.r.Unknown++
			v.r.addOpen(o)
		}
	}
}

func (r *Report) addOpen(o Unended) {
	if len(r.Opens) < most {
		r.Opens = append(r.Opens, o)
	}
}

// finish holds the end of the log against the anchor.
func (v *verifier) finish(size int64, a anchor, anchored bool) {
	r := v.r
	half := v.badBytes // of the run at the end
	if v.badEnd {
		half++
	}
	if v.badHash != nil && anchored && a.Next != "" && size > a.Size && size < a.Size+a.NextSize && half == size-a.Size && v.seq <= a.Count {
		r.HalfWritten = half
		v.clear()
		v.seq = a.Count
	}
	v.flush()
	r.Head = v.heads[0]
	if anchored {
		last, head := a.Count, a.Head
		switch {
		case size == a.Size, r.HalfWritten > 0:
		case r.Faulty > 0 && v.seq == last && r.Head == head: // what is wrong stands before
		case a.Next != "" && size == a.Size+a.NextSize:
			last, head = a.Count+1, a.Next
		case size < a.Size:
			n := max(int64(last)-int64(v.seq), 0)
			r.fault(0, CutOff, "the anchor knows %d lines and %d bytes; %d lines and %d bytes are missing at the end", a.Count, a.Size, n, a.Size-size)
			head = ""
		default:
			r.fault(0, Added, "%d bytes stand behind the last line that the anchor knows (line %d)", size-a.Size, a.Count)
			head = ""
		}
		if head != "" && r.Faulty == 0 && (v.seq != last || r.Head != head) {
			r.fault(0, BadAnchor, "the anchor belongs to another log: it ends with line %d and another hash", last)
		}
	}
	r.Unknown += int64(len(v.open))
	rest := make([]Unended, 0, len(v.open))
	for _, o := range v.open {
		rest = append(rest, o)
	}
	sort.Slice(rest, func(i, j int) bool { return rest[i].Line < rest[j].Line })
	for _, o := range rest {
		r.addOpen(o)
	}
	sort.Slice(r.Opens, func(i, j int) bool { return r.Opens[i].Line < r.Opens[j].Line })
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}
