package curated

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// WaitArgs say how long to wait for a task.
type WaitArgs struct {
	WaitSeconds *int `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=600"`
}

// defaultWait is long enough for a start or a stop to be told as done.
const defaultWait = 5 * time.Second

// DefaultMaxWait bounds a wait: clients give up at 60 s, and then nobody hears
// the answer. PROXMOX_MAX_WAIT allows more for clients that wait longer.
const DefaultMaxWait = 50 * time.Second

// wait gives how long to wait, and whether that is less than was asked for.
func (c *Call) wait(w WaitArgs) (d time.Duration, cut bool) {
	d = defaultWait
	if w.WaitSeconds != nil {
		d = time.Duration(*w.WaitSeconds) * time.Second
	}
	most := c.o.MaxWait
	if most == 0 {
		most = DefaultMaxWait
	}
	if d > most {
		return most, true
	}
	return d, false
}

// taskEnd is what is known of a task after a wait.
type taskEnd struct {
	upid    apidoc.UPID
	parts   apidoc.UPIDParts
	running bool
	exit    string        // as Proxmox says it; empty while it runs
	took    time.Duration // 0: not known, or less than a second
	log     []string      // the last lines, where they were read
	total   int64         // lines in the log
	// trouble is why the end is not known, though the task may have ended.
	trouble error
	// left: the caller cancelled the wait; the task goes on.
	left bool
}

// ok tells whether the task has ended well. Warnings are no failure.
func (e *taskEnd) ok() bool {
	return !e.running && e.trouble == nil && (e.exit == "OK" || strings.HasPrefix(e.exit, "WARNINGS:"))
}

func (e *taskEnd) warned() bool { return strings.HasPrefix(e.exit, "WARNINGS:") }

// Polling begins fast, because most tasks take a second or two, and slows down.
const (
	firstPoll = 60 * time.Millisecond
	lastPoll  = 2 * time.Second
)

// await follows a task until it ends or the time is over. Reading fails for a
// moment when a node is busy; that ends the wait only when it goes on.
func (c *Call) await(ctx context.Context, upid apidoc.UPID, wait time.Duration) *taskEnd {
	e := &taskEnd{upid: upid, running: true}
	parts, err := apidoc.ParseUPID(string(upid))
	if err != nil {
		e.trouble = err
		return e
	}
	e.parts = parts
	deadline := time.Now().Add(wait)
	pause := firstPoll
	for polls := 0; ; polls++ {
		status, err := c.api.GetNodesTasksStatus(ctx, parts.Node, upid)
		switch {
		case ctx.Err() != nil:
			e.left = true
			return e
		case err != nil:
			e.trouble = err
			if !pverest.IsKind(err, pverest.KindTimeout, pverest.KindNodeOffline, pverest.KindProxy, pverest.KindUnreachable, pverest.KindTruncated) {
				return e
			}
		case status.Status.V == "stopped":
			e.running, e.exit, e.trouble = false, status.Exitstatus.V, nil
			// Proxmox does not say when a task ended; only who was there knows.
			if age := c.now().Sub(parts.Start); polls > 0 || age < 10*time.Second {
				e.took = max(0, age).Round(time.Second)
			}
			if !e.ok() || e.warned() {
				e.log, e.total, _ = c.logTail(context.WithoutCancel(ctx), parts.Node, upid, tailLines)
			}
			return e
		default:
			e.trouble = nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return e
		}
		if c.progress != nil {
			c.tellProgress(ctx, parts.Node, upid)
		}
		select {
		case <-ctx.Done():
			e.left = true
			return e
		case <-time.After(min(pause, left)):
		}
		pause = min(pause*3/2, lastPoll)
	}
}

// hiddenTask is a task that a call starts without telling its id: the newest of
// its type and guest that was not there before the call.
type hiddenTask struct {
	kind    string
	node    apidoc.Node
	vmid    apidoc.VMID
	earlier apidoc.UPID
}

// beforeHidden reads, before a call that the overlay marks, which task was the
// newest until then; nil for every other call.
func (c *Call) beforeHidden(ctx context.Context, in *gate.Intent) (*hiddenTask, error) {
	if in.Policy.HiddenTask == "" || len(in.Params["node"]) == 0 || len(in.Params["vmid"]) == 0 {
		return nil, nil
	}
	vmid, err := apidoc.ParseVMID(in.Params["vmid"][0])
	if err != nil {
		return nil, err
	}
	h := &hiddenTask{kind: in.Policy.HiddenTask, node: apidoc.Node(in.Params["node"][0]), vmid: vmid}
	h.earlier, err = c.newestTask(ctx, h)
	return h, err
}

// newestTask gives the newest such task; empty when there was none.
func (c *Call) newestTask(ctx context.Context, h *hiddenTask) (apidoc.UPID, error) {
	// The active tasks stand first in this list, then the others, newest first.
	list, err := c.api.GetNodesTasks(ctx, h.node, &generated.GetNodesTasksParams{Source: new("all"), Typefilter: &h.kind, Vmid: &h.vmid, Limit: new(int64(1))})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return apidoc.UPID(list[0].Upid.V), nil
}

// followHidden finds such a task and waits for it.
func (c *Call) followHidden(ctx context.Context, h *hiddenTask, deadline time.Time) *taskEnd {
	for {
		upid, err := c.newestTask(ctx, h)
		if err == nil && upid != "" && upid != h.earlier {
			return c.await(ctx, upid, max(0, time.Until(deadline)))
		}
		left := time.Until(deadline)
		switch {
		case ctx.Err() != nil:
			return &taskEnd{running: true, left: true}
		case left <= 0 && err != nil:
			return &taskEnd{running: true, trouble: err}
		case left <= 0:
			return &taskEnd{running: true, trouble: fmt.Errorf("its task, a %s, is not in the node's list", h.kind)}
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Second/4, left)):
		}
	}
}

// tailLines is how much of a log explains a failure.
const tailLines = 12

// logTail reads the last lines of a task's log: the reason stands at the end.
// One request tells the length, a second one reads the end of a long log.
func (c *Call) logTail(ctx context.Context, node apidoc.Node, upid apidoc.UPID, n int64) (lines []string, total int64, err error) {
	read := func(start, limit int64) error {
		r := &replyKeeper{rest: c.rest}
		list, err := generated.New(r).GetNodesTasksLog(ctx, node, upid, &generated.GetNodesTasksLogParams{Start: &start, Limit: &limit})
		if err != nil {
			return err
		}
		lines = lines[:0]
		for i := range list {
			lines = append(lines, list[i].T.V)
		}
		total = int64(len(lines))
		if r.total != nil {
			total = *r.total
		}
		return nil
	}
	if err := read(0, n); err != nil {
		return nil, 0, err
	}
	if total > n {
		if err := read(total-n, n); err != nil {
			return nil, total, err
		}
	}
	return lines, total, nil
}

// replyKeeper is the client's door that keeps what stands beside the data.
type replyKeeper struct {
	rest  *pverest.Client
	total *int64
}

// Call makes the call and keeps the total.
func (k *replyKeeper) Call(ctx context.Context, verb, path string, p, out any) error {
	params, err := pverest.EncodeParams(p)
	if err != nil {
		return err
	}
	reply, err := k.rest.Into(ctx, pverest.Call{Verb: verb, Path: path, Params: params}, out)
	k.total = reply.Total
	return err
}

// percents are the forms in which tasks log how far they are: vzdump and
// restores, disk copies, downloads (pve-behaviour D1).
var percents = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^INFO:\s+(\d+)% \(`),
		regexp.MustCompile(`transferred .* of .* \(([\d.]+)%\)`),
		regexp.MustCompile(`^progress (\d+)%`),
		regexp.MustCompile(`^\s*\d+[KM] [. ]+\s(\d+)%`),
	}
})

// percentOf finds the progress in a log line.
func percentOf(line string) (float64, bool) {
	for _, re := range percents() {
		if m := re.FindStringSubmatch(line); m != nil {
			if f, err := strconv.ParseFloat(m[1], 64); err == nil && f >= 0 && f <= 100 {
				return f, true
			}
		}
	}
	return 0, false
}

// tellProgress sends the client how far the task is, by the end of its log.
func (c *Call) tellProgress(ctx context.Context, node apidoc.Node, upid apidoc.UPID) {
	lines, _, err := c.logTail(ctx, node, upid, 5)
	if err != nil || len(lines) == 0 {
		return
	}
	last := lines[len(lines)-1]
	percent := 0.0
	for i := len(lines) - 1; i >= 0; i-- {
		if p, ok := percentOf(lines[i]); ok {
			percent = p
			break
		}
	}
	c.progress(percent, last)
}

// taskWord names a task for people: "qmstart 100 on pve1".
func taskWord(p apidoc.UPIDParts) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", p.Type, p.ID)) + " on " + string(p.Node)
}
