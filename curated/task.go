package curated

import (
	"context"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// TaskArgs are the arguments of pve_task.
type TaskArgs struct {
	UPID string `json:"upid" jsonschema:"required"`
	Log  int    `json:"log,omitempty" jsonschema:"description=last lines of the log"`
	WaitArgs
	Shape
}

func (a TaskArgs) options() render.Options { return a.Shape.options() }

var taskTool = Tool[TaskArgs, doc]{
	Name: "pve_task", Toolset: "core", Class: apidoc.Read,
	Text: "State and log end of one task; can wait for it.",
	Run: func(ctx context.Context, c *Call, in TaskArgs) (doc, error) {
		p, err := apidoc.ParseUPID(in.UPID)
		if err != nil {
			return doc{}, badArg("upid", "%v", err)
		}
		if in.WaitSeconds == nil {
			in.WaitSeconds = new(int)
		}
		wait, cut := c.wait(in.WaitArgs)
		e := c.await(ctx, apidoc.UPID(in.UPID), wait)
		if e.trouble != nil && e.running {
			return doc{}, e.trouble
		}
		lines := int64(in.Log)
		if lines <= 0 {
			lines = 10
		}
		if lines > 5000 {
			lines = 5000
		}
		d := &render.Doc{}
		c.tellEnd(d, taskWord(p), e, cut)
		kv := &render.KV{}
		kv.Set("started", render.Time(p.Start))
		kv.Set("user", render.Str(p.User))
		d.Add(kv)
		log, total, err := c.logTail(context.WithoutCancel(ctx), p.Node, apidoc.UPID(in.UPID), lines)
		if err != nil {
			d.Warnf("Not available: the log: %s", c.explain(ctx, c.Tool, err))
		} else {
			d.Add(&render.Log{Heading: "Log", Lines: log, Total: int(total), Narrow: []string{"log"}})
		}
		return doc{Doc: d}, nil
	},
}

// tellEnd says what became of a task. A task that has only been started, or
// whose end could not be read, is never told as done.
func (c *Call) tellEnd(d *render.Doc, what string, e *taskEnd, cut bool) {
	switch {
	case e.left:
		d.Summaryf("%s: the wait was cancelled; the task goes on.", what)
	case e.trouble != nil:
		d.Summaryf("%s: its end is not known: %s", what, c.explain(context.Background(), c.Tool, e.trouble))
	case e.running:
		d.Summaryf("%s: still running.", what)
	case e.exit == "OK":
		d.Summaryf("%s: done, task OK%s.", what, took(e))
	case e.warned():
		d.Summaryf("%s: done with warnings (%s)%s.", what, e.exit, took(e))
	default:
		d.Summaryf("%s: FAILED%s: %s", what, took(e), render.Line(e.exit))
	}
	if e.upid == "" && (e.running || e.trouble != nil || e.left) {
		d.Hintf("pve_tasks with its vmid shows the task.")
	} else if e.running || e.trouble != nil || e.left {
		more := "pve_task with wait_seconds follows it"
		if cut {
			more += "; one call waits no longer, because clients give up (PROXMOX_MAX_WAIT)"
		}
		d.Hintf("%s: %s", more, e.upid)
	}
}

func took(e *taskEnd) string {
	if e.took < time.Second {
		return ""
	}
	return " after " + render.FormatSeconds(int64(e.took/time.Second))
}

// TaskStopArgs are the arguments of pve_task_stop.
type TaskStopArgs struct {
	UPID string `json:"upid" jsonschema:"required"`
	WriteArgs
	WaitArgs
	Budget
}

func (a TaskStopArgs) options() render.Options { return a.Budget.options() }

var taskStopTool = Tool[TaskStopArgs, doc]{
	Name: "pve_task_stop", Toolset: "core", Class: apidoc.Disrupt, Idempotent: true,
	Text: "Stop a running task.",
	Run: func(ctx context.Context, c *Call, in TaskStopArgs) (doc, error) {
		p, err := apidoc.ParseUPID(in.UPID)
		if err != nil {
			return doc{}, badArg("upid", "%v", err)
		}
		upid := apidoc.UPID(in.UPID)
		status, err := c.api.GetNodesTasksStatus(ctx, p.Node, upid)
		if err != nil {
			return doc{}, err
		}
		ch := &change{title: "Stop the task " + taskWord(p), seen: status.Status.V}
		if status.Status.V == "stopped" {
			d := &render.Doc{}
			d.Summaryf("Nothing to stop: %s has ended already (%s).", taskWord(p), render.Line(status.Exitstatus.V))
			return doc{Doc: d}, nil
		}
		if err := ch.add(ctx, c, nil, func(api *generated.Client) error {
			return api.DeleteNodesTasksByUpid(ctx, p.Node, upid)
		}); err != nil {
			return doc{}, err
		}
		ch.tells = append(ch.tells, "What the task had half done stays as it is: look at the guest's lock and disks afterwards.")
		ch.after = func(ctx context.Context, d *render.Doc, wait time.Duration) {
			e := c.await(ctx, upid, wait)
			if !e.running && e.trouble == nil {
				d.Summaryf("The task has ended: %s", render.Line(e.exit))
				return
			}
			c.tellEnd(d, "The task was asked to stop", e, false)
		}
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}
