package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// lockWait bounds the waiting for other processes, of which each holds the lock
// for some milliseconds.
const lockWait = 15 * time.Second

// syncFile puts what was written on the disk. A test counts the calls.
var syncFile = (*os.File).Sync

// Log appends to one log. It is safe for concurrent use, also by several
// processes with one log each.
type Log struct {
	path  string
	chain chain
	now   func() time.Time
	mu    sync.Mutex
}

// Error says that the log can't be written or read.
type Error struct {
	Op   string // "open", "append", "verify"
	Path string
	Err  error
}

// Error names the log and what is wrong.
func (e *Error) Error() string { return fmt.Sprintf("audit log %s: %s: %v", e.Path, e.Op, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open makes the log at path ready, its directory and an empty log too if there
// are none; nothing is appended. With a key the hashes are HMAC-SHA-256; a log
// keeps to what it was begun with. The error, an [*Error], says why the place
// or the log can't be used: others may write there, a link, no anchor, another
// key, lines missing at the end.
func Open(path string, key []byte) (*Log, error) {
	resolved, err := prepare(path)
	if err != nil {
		return nil, &Error{"open", path, err}
	}
	l := &Log{path: resolved, chain: chain{key: append([]byte(nil), key...)}, now: time.Now}
	if err := l.locked(func(w *writer) error { return nil }); err != nil {
		return nil, &Error{"open", resolved, err}
	}
	return l, nil
}

// Path gives where the log is, links in its directory resolved.
func (l *Log) Path() string { return l.path }

// Pending is a change whose intent is logged and whose outcome is not yet.
type Pending struct {
	log *Log
	id  string
}

// ID joins the two lines of the change.
func (p *Pending) ID() string { return p.id }

// Begin logs the intent of a change. When it returns without an error, the line
// is on the disk; with one, the change must not be made.
func (l *Log) Begin(e Entry) (*Pending, error) {
	var id [12]byte
	_, _ = rand.Read(id[:])
	p := &Pending{log: l, id: hex.EncodeToString(id[:])}
	err := l.append(line{
		Event: eventIntent, ID: p.id, Who: e.Who, Client: e.Client, Cluster: e.Cluster, Tool: e.Tool, Reason: e.Reason,
		Verb: e.Verb, Path: e.Path, Params: e.Params, Class: e.Class, Plan: e.Plan, Approval: e.Approval,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// End logs how the change ended. After an error the change stands in the log as
// one whose outcome is unknown.
func (p *Pending) End(o Outcome) error {
	return p.log.append(line{Event: eventOutcome, ID: p.id, Outcome: o.Result, Status: o.Status, Message: o.Message, UPID: o.UPID})
}

func (l *Log) append(ln line) error {
	err := l.locked(func(w *writer) error {
		ln.Time = timeText(l.now())
		return w.append(ln, nil)
	})
	if err != nil {
		return &Error{"append", l.path, err}
	}
	return nil
}

// lock takes the lock that all processes heed.
func lock(path string) (unlock func(), err error) {
	f, _, err := openFile(path+".lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	fl := flock.New(path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if _, err := fl.TryLockContext(ctx, time.Millisecond); err != nil {
		return nil, fmt.Errorf("another process holds the lock: %w", err)
	}
	return func() { _ = fl.Close() }, nil
}

// locked opens the log under the lock, brings it into a sound state and lets
// use append to it. The files are opened each time, so that a log which was
// moved away is begun anew and not written to in its new place.
func (l *Log) locked(use func(w *writer) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := lock(l.path)
	if err != nil {
		return err
	}
	defer unlock()
	log, newLog, err := openFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	anchorFile, newAnchor, err := openFile(l.path+".anchor", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { _ = anchorFile.Close() }()
	w := &writer{chain: l.chain, log: log, anchorFile: anchorFile}
	if err := w.recover(timeText(l.now())); err != nil {
		return err
	}
	if newLog || newAnchor {
		if err := syncDir(filepath.Dir(l.path)); err != nil {
			return err
		}
	}
	return use(w)
}

// writer appends while the lock is held.
type writer struct {
	chain      chain
	log        *os.File
	anchorFile *os.File
	anchor     anchor
}

// recover holds the log against its anchor and finishes what a crash left.
func (w *writer) recover(now string) error {
	info, err := w.log.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	a, err := w.chain.loadAnchor(w.anchorFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && size == 0:
		w.anchor = w.chain.newAnchor()
		if err := w.chain.storeAnchor(w.anchorFile, w.anchor); err != nil {
			return err
		}
		return syncFile(w.anchorFile)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the log has %d bytes and its anchor file is gone: somebody removed it; %s", size, begin)
	case err != nil:
		return fmt.Errorf("%w; %s", err, begin)
	}
	w.anchor = a
	grown := size - a.Size
	switch {
	case grown == 0:
		return nil
	case grown < 0:
		return fmt.Errorf("the log is %d bytes shorter than its anchor says: lines were cut off or it was replaced; %s", -grown, begin)
	case a.Next == "" || grown > a.NextSize || grown > 4*maxLine:
		return fmt.Errorf("the log is %d bytes longer than its anchor says: something else wrote to it; %s", grown, begin)
	}
	// A crash while a line was written.
	tail := make([]byte, grown)
	if _, err := w.log.ReadAt(tail, a.Size); err != nil {
		return err
	}
	last := tail
	if n := len(last); last[n-1] == '\n' {
		last = last[:n-1]
	}
	if i := lastNewline(last); i >= 0 {
		last = last[i+1:] // behind a fragment that was being repaired
	}
	if _, sum, err := w.chain.decode(last); err == nil && sum == a.Next && grown >= a.NextSize-1 {
		if grown < a.NextSize { // its newline alone is missing
			if err := w.write([]byte("\n")); err != nil {
				return err
			}
		}
		w.settle(a.Next, a.NextSize)
		return nil
	}
	digest := sha256.Sum256(tail)
	return w.append(line{Event: eventRepair, Time: now, Fragment: grown, FragmentHash: hex.EncodeToString(digest[:])}, tail)
}

const begin = "`pve-mcp audit verify` tells more; to begin a new log, move log and anchor away together"

func lastNewline(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	return -1
}

// append puts a line on the disk: first the anchor that announces it, then the
// line; only then is the anchor moved on. fragment is what stands between the
// last line and this one, of a repair.
func (w *writer) append(l line, fragment []byte) error {
	l.Seq, l.Prev = w.anchor.Count+1, w.anchor.Head
	text, sum, err := w.chain.encode(l)
	if err != nil {
		return err
	}
	if len(fragment) > 0 {
		text = append([]byte("\n"), text...)
	}
	grows := int64(len(fragment) + len(text))
	w.anchor.Next, w.anchor.NextSize = sum, grows
	if err := w.chain.storeAnchor(w.anchorFile, w.anchor); err != nil {
		return err
	}
	if err := syncFile(w.anchorFile); err != nil {
		return err
	}
	if err := w.write(text); err != nil {
		return err
	}
	w.settle(sum, grows)
	return nil
}

func (w *writer) write(text []byte) error {
	n, err := w.log.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	return syncFile(w.log)
}

// settle moves the anchor on. That needs no sync, and its failing is no
// failure: the anchor which announced the line is as good.
func (w *writer) settle(sum string, grows int64) {
	w.anchor = anchor{Count: w.anchor.Count + 1, Size: w.anchor.Size + grows, Head: sum}
	_ = w.chain.storeAnchor(w.anchorFile, w.anchor)
}
