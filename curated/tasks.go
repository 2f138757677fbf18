package curated

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// TasksArgs are the arguments of pve_tasks.
type TasksArgs struct {
	Node   string `json:"node,omitempty"`
	VMID   int    `json:"vmid,omitempty"`
	Type   string `json:"type,omitempty" jsonschema:"description=e.g. vzdump"`
	User   string `json:"user,omitempty"`
	Status string `json:"status,omitempty" jsonschema:"enum=running,enum=ok,enum=warning,enum=error"`
	Since  string `json:"since,omitempty" jsonschema:"description=e.g. 2h or 2026-01-31"`
	Page
}

func (a TasksArgs) options() render.Options { return a.Page.options() }

var tasksTool = Tool[TasksArgs, doc]{
	Name: "pve_tasks", Toolset: "core", Class: apidoc.Read,
	Text: "List tasks, newest first.",
	Run: func(ctx context.Context, c *Call, in TasksArgs) (doc, error) {
		return c.listTasks(ctx, in)
	},
}

// task is one line of a task list.
type task struct {
	upid       apidoc.UPID
	node       string
	kind, id   string
	user       string
	start, end int64
	status     string // exit text; empty while it runs
}

func (t *task) running() bool { return t.end == 0 && (t.status == "" || t.status == "RUNNING") }

// outcome classifies the exit text as Proxmox does.
func (t *task) outcome() string {
	switch {
	case t.running():
		return "running"
	case t.status == "OK":
		return "ok"
	case strings.HasPrefix(t.status, "WARNINGS:"):
		return "warning"
	case t.status == "":
		return "unknown"
	}
	return "error"
}

// window is how many tasks per node are asked for when the nodes are asked.
const window = 200

func (c *Call) listTasks(ctx context.Context, in TasksArgs) (doc, error) {
	since, err := c.sinceArg(in.Since)
	if err != nil {
		return doc{}, err
	}
	if in.VMID != 0 {
		if _, err := apidoc.ParseVMID(strconv.Itoa(in.VMID)); err != nil {
			return doc{}, badArg("vmid", "%v", err)
		}
	}
	d := &render.Doc{}
	var rows []task
	var what string
	// The cluster's own list is one request but holds only the newest 25 or so
	// of each node. Whoever filters wants more than that.
	if in.Node == "" && in.VMID == 0 && in.Type == "" && in.User == "" && since == 0 && (in.Status == "" || in.Status == "running") {
		if rows, err = c.clusterTasks(ctx); err != nil {
			return doc{}, err
		}
		what = "the newest 25 or fewer of each node"
	} else {
		nodes, err := c.taskNodes(ctx, in.Node)
		if err != nil {
			return doc{}, err
		}
		var missing []string
		rows, missing, err = c.nodeTasks(ctx, nodes, in, since)
		if err != nil {
			return doc{}, err
		}
		for _, m := range missing {
			d.Warnf("Not available: %s", m)
		}
		what = fmt.Sprintf("the newest %d or fewer of each node, as far back as its log goes", window)
	}
	if in.Status != "" {
		rows = slices.DeleteFunc(rows, func(t task) bool { return t.outcome() != in.Status })
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].start > rows[j].start })
	count := map[string]int{}
	for i := range rows {
		count[rows[i].outcome()]++
	}
	var parts []string
	for _, k := range []string{"running", "error", "warning", "unknown", "ok"} {
		if count[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[k], k))
		}
	}
	d.Add(taskTable(rows))
	if len(rows) == 0 {
		d.Summaryf("No task matches (%s).", what)
		d.Hintf("That is no proof that there was none: lists are windows, and a token without Sys.Audit sees no other user's tasks. %s", c.grantLine("/nodes", []string{"Sys.Audit"}))
		return doc{Doc: d}, nil
	}
	d.Summaryf("%s (%s); %s. Times are UTC.", render.FormatCount(len(rows), "task"), strings.Join(parts, ", "), what)
	return doc{Doc: d}, nil
}

// clusterTasks is one request; each node keeps its newest 25 or so in it.
func (c *Call) clusterTasks(ctx context.Context) ([]task, error) {
	list, err := c.api.GetClusterTasks(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]task, 0, len(list))
	for i := range list {
		t := &list[i]
		rows = append(rows, task{upid: apidoc.UPID(t.Upid.V), node: t.Node.V, kind: t.Type.V, id: t.Id.V, user: userName(t.User.V, t.Tokenid.V), start: t.Starttime.V, end: t.Endtime.V, status: t.Status.V})
	}
	return rows, nil
}

// taskNodes lists the nodes to ask: the caller's, or all.
func (c *Call) taskNodes(ctx context.Context, node string) ([]string, error) {
	if node != "" {
		if _, err := apidoc.ParseNode(node); err != nil {
			return nil, badArg("node", "%v", err)
		}
		return []string{node}, nil
	}
	all, err := c.resources(ctx, "node")
	if err != nil {
		return nil, err
	}
	return visibleNodes(all), nil
}

// nodeTasks asks the nodes side by side. What one of them can't tell is
// missing; if none can, that is the error.
func (c *Call) nodeTasks(ctx context.Context, nodes []string, in TasksArgs, since int64) ([]task, []string, error) {
	all, limit := "all", int64(window)
	p := &generated.GetNodesTasksParams{Source: &all, Limit: &limit}
	if in.VMID != 0 {
		id := apidoc.VMID(in.VMID)
		p.Vmid = &id
	}
	if in.Type != "" {
		p.Typefilter = &in.Type
	}
	if in.User != "" {
		p.Userfilter = &in.User
	}
	if since != 0 {
		p.Since = &since
	}
	if in.Status == "error" {
		p.Statusfilter = new("error,unknown")
	}
	if in.Status == "warning" || in.Status == "ok" {
		p.Statusfilter = &in.Status
	}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		rows    []task
		missing []string
		first   error
	)
	for _, n := range nodes {
		wg.Go(func() {
			list, err := c.api.GetNodesTasks(ctx, apidoc.Node(n), p)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if first == nil {
					first = err
				}
				missing = append(missing, "tasks of "+n+": "+c.explain(ctx, c.Tool, err))
				return
			}
			for i := range list {
				t := &list[i]
				rows = append(rows, task{upid: apidoc.UPID(t.Upid.V), node: t.Node.V, kind: t.Type.V, id: t.Id.V, user: userName(t.User.V, t.Tokenid.V), start: t.Starttime.V, end: t.Endtime.V, status: t.Status.V})
			}
		})
	}
	wg.Wait()
	if len(missing) == len(nodes) && first != nil {
		if in.Node != "" {
			if nerr := c.knownNodes(ctx, nodes); nerr != nil {
				return nil, nil, nerr
			}
		}
		return nil, nil, first
	}
	sort.Strings(missing)
	return rows, missing, nil
}

// userName joins user and token as Proxmox's own interface shows them.
func userName(user, token string) string {
	if token == "" {
		return user
	}
	return user + "!" + token
}

// sinceArg reads "2h", "3d", a date or a date with time (UTC) as a moment.
func (c *Call) sinceArg(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 1e9 {
		return n, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100000 {
			return c.now().AddDate(0, 0, -n).Unix(), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return c.now().Add(-d).Unix(), nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), nil
		}
	}
	return 0, badArg("since", "%q is not a time: 30m, 2h, 3d, 2026-01-31 or 2026-01-31 15:04 (UTC) is needed", clip(s))
}

func taskTable(rows []task) *render.Table[task] {
	return &render.Table[task]{
		ID: "tasks", Rows: rows, Desc: true,
		Key: func(t *task) string { return render.Key(t.start, string(t.upid)) },
		Columns: []render.Column[task]{
			{Name: "start", Stable: true, Cell: func(t *task) render.Cell { return render.Unix(t.start) }},
			{Name: "type", Stable: true, Cell: func(t *task) render.Cell { return render.Str(t.kind) }},
			{Name: "id", Cell: func(t *task) render.Cell { return strCell(true, t.id) }},
			{Name: "node", Cell: func(t *task) render.Cell { return render.Str(t.node) }},
			{Name: "user", Cell: func(t *task) render.Cell { return render.Str(t.user) }},
			{Name: "took", Right: true, Cell: func(t *task) render.Cell {
				if t.end == 0 {
					return render.None()
				}
				return render.Seconds(t.end - t.start)
			}},
			{Name: "status", Cell: func(t *task) render.Cell {
				if t.running() {
					return render.Str("running")
				}
				return strCell(true, t.status)
			}},
			{Name: "upid", Stable: true, Extra: true, Cell: func(t *task) render.Cell { return render.Str(string(t.upid)) }},
		},
		Important: func(t *task) int {
			switch t.outcome() {
			case "error", "unknown":
				return 2
			case "running":
				return 1
			}
			return 0
		},
		GroupBy: []string{"type", "node"},
		Narrow:  []string{"node", "vmid", "type", "status", "since"},
	}
}
