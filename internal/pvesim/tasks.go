package pvesim

import (
	"regexp"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// Task is a worker of a node: what it does, how it went and what it wrote.
type Task struct {
	apidoc.UPIDParts
	UPID   string
	End    int64  // 0 while it runs
	Status string // exit text once it has ended: OK, WARNINGS: n or an error

	// lines is the log without the closing TASK line; nil stands for what a
	// task of that type usually writes.
	lines []string
	// Killed: the worker vanished, so the log has no closing line.
	Killed bool

	worker *worker // nil: nobody works on it
}

// taskArchive is what a node knows of its tasks.
type taskArchive struct {
	active []*Task // newest first
	done   []*Task // as they ended, oldest first
	by     map[string]*Task
}

// taskLimit is about what Proxmox's index holds before it is rotated away
// (50,000 bytes, twice).
const taskLimit = 1000

// NewTask makes a task that has ended, for the archive. user is "root@pam" or
// "root@pam!token"; lines may be nil. pid and pstart need only be likely.
func NewTask(node apidoc.Node, kind, id, user string, start, end int64, status string, pid uint32, lines []string) *Task {
	t := &Task{
		UPIDParts: apidoc.UPIDParts{Node: node, PID: pid, PStart: uint64(pid) * 37, Start: time.Unix(start, 0).UTC(), Type: kind, ID: id, User: user},
		End:       end, Status: status, lines: lines,
	}
	t.UPID = t.UPIDParts.String()
	return t
}

// AddTask puts a task into its node's list. The archive keeps the order of
// ending; of too many the oldest goes.
func (w *World) AddTask(t *Task) {
	n := w.Node(t.Node)
	if n == nil {
		return
	}
	a := &n.tasks
	if a.by == nil {
		a.by = map[string]*Task{}
	}
	if a.by[t.UPID] != nil {
		return
	}
	a.by[t.UPID] = t
	if t.End == 0 {
		a.active = append([]*Task{t}, a.active...)
		return
	}
	a.file(t)
}

func (a *taskArchive) file(t *Task) {
	i := len(a.done)
	for i > 0 && a.done[i-1].End > t.End {
		i--
	}
	a.done = append(a.done, nil)
	copy(a.done[i+1:], a.done[i:])
	a.done[i] = t
	if len(a.done) > taskLimit {
		delete(a.by, a.done[0].UPID)
		a.done = a.done[1:]
	}
}

// StartTask begins a task of a node now and gives it; it runs until [World.EndTask].
func (w *World) StartTask(node apidoc.Node, kind, id, user string, now time.Time) *Task {
	t := NewTask(node, kind, id, user, now.Unix(), 0, "", w.nextPID(), []string{})
	w.AddTask(t)
	return t
}

// Say writes lines into a task's log.
func (t *Task) Say(lines ...string) { t.lines = append(t.lines, lines...) }

// EndTask files a task as ended with an exit text.
func (w *World) EndTask(t *Task, status string, now time.Time) {
	n := w.Node(t.Node)
	if n == nil || t.End != 0 {
		return
	}
	t.End, t.Status = now.Unix(), status
	for i, x := range n.tasks.active {
		if x == t {
			n.tasks.active = append(n.tasks.active[:i:i], n.tasks.active[i+1:]...)
			break
		}
	}
	n.tasks.file(t)
}

// Task gives the task of that id, or nil.
func (w *World) Task(upid string) *Task {
	p, err := apidoc.ParseUPID(upid)
	if err != nil {
		return nil
	}
	n := w.Node(p.Node)
	if n == nil {
		return nil
	}
	return n.tasks.by[upid]
}

// Tasks lists a node's tasks: the active ones, then the ended ones, each newest first.
func (n *Node) Tasks() (active, done []*Task) {
	done = make([]*Task, len(n.tasks.done))
	for i, t := range n.tasks.done {
		done[len(done)-1-i] = t
	}
	return append([]*Task(nil), n.tasks.active...), done
}

var taskWarnings = regexp.MustCompile(`^WARNINGS: \d+$`)

// statusKind sorts an exit text as Proxmox's statusfilter does.
func statusKind(status string) string {
	switch {
	case status == "OK":
		return "ok"
	case taskWarnings.MatchString(status):
		return "warning"
	case status == "unexpected status" || strings.HasPrefix(status, "unable to "):
		return "unknown"
	}
	return "error"
}

// Lines gives the whole log of a task: with its closing line once it has ended.
func (w *World) Lines(t *Task) []string {
	lines := t.lines
	if lines == nil {
		lines = w.usualLog(t)
	}
	if t.End == 0 || t.Killed || t.Status == "unexpected status" {
		return lines
	}
	switch statusKind(t.Status) {
	case "ok":
		return append(lines[:len(lines):len(lines)], "TASK OK")
	case "warning":
		return append(lines[:len(lines):len(lines)], "TASK "+t.Status)
	}
	return append(lines[:len(lines):len(lines)], "TASK ERROR: "+t.Status)
}

// splitUser cuts a task's user into user and token name.
func splitUser(s string) (user, token string) {
	user, token, _ = strings.Cut(s, "!")
	return user, token
}

// sortTasks puts the archive of a node into order after many were added at once.
func (a *taskArchive) sort() {
	sort.SliceStable(a.done, func(i, j int) bool { return a.done[i].End < a.done[j].End })
}
