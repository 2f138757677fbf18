package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /nodes/{node}/tasks", nodeTasks)
	register("GET /nodes/{node}/tasks/{upid}/status", taskStatus)
	register("GET /nodes/{node}/tasks/{upid}/log", taskLog)
}

// clusterTasks shows at most 25 tasks of each node: the running ones and the
// newest of the others. Callers without Sys.Audit on / see the tasks of users
// called exactly as they are, so tokens see none: the list splits the token off.
func clusterTasks(c *call) (any, error) {
	const perNode = 25
	all := c.seesAll() || c.priv("/", "Sys.Audit")
	list := []object{}
	for _, n := range c.world.Nodes {
		active, done := n.Tasks()
		for i, t := range append(active, done...) {
			if i >= perNode {
				break
			}
			user, token := splitUser(t.User)
			if !all && user != c.who.name() {
				continue
			}
			o := object{{"upid", t.UPID}, {"node", string(t.Node)}, {"type", t.Type}, {"id", t.ID}, {"user", user}, {"starttime", t.Start.Unix()}}
			o.putIf("tokenid", token)
			if t.End == 0 {
				o.put("pid", t.PID)
			} else {
				o = append(o, member{"endtime", t.End}, member{"status", t.Status}, member{"saved", "1"})
			}
			list = append(list, o)
		}
	}
	return c.rows(list), nil
}

// nodeTasks is the archive of a node, or what runs there, or both: newest
// first, filtered, with the number of matches as total.
func nodeTasks(c *call) (any, error) {
	n := c.world.Node(apidoc.Node(c.node()))
	audit := c.seesAll() || c.priv("/nodes/"+c.node(), "Sys.Audit")
	start, limit := c.number("start", 0), c.number("limit", 50)
	since, until := c.number("since", 0), c.number("until", 0)
	userfilter, typefilter, vmid := c.param("userfilter"), c.param("typefilter"), c.param("vmid")
	errorsOnly := c.flag("errors", false)
	statuses := c.list("statusfilter")
	source := c.param("source")
	var tasks []*Task
	active, done := n.Tasks()
	if source == "active" || source == "all" {
		tasks = append(tasks, active...)
	}
	if source == "" || source == "archive" || source == "all" {
		tasks = append(tasks, done...)
	}
	list := []object{}
	total := int64(0)
	for _, t := range tasks {
		switch {
		case !audit && !c.ownTask(t),
			userfilter != "" && !strings.Contains(strings.ToLower(t.User), strings.ToLower(userfilter)),
			typefilter != "" && t.Type != typefilter,
			vmid != "" && t.ID != vmid,
			since > 0 && t.Start.Unix() < since,
			until > 0 && t.Start.Unix() > until,
			errorsOnly && (t.End == 0 || t.Status == "OK"),
			len(statuses) > 0 && (t.End == 0 || !containsText(statuses, statusKind(t.Status))):
			continue
		}
		total++
		if total <= start || limit > 0 && int64(len(list)) >= limit {
			continue
		}
		list = append(list, t.listed())
	}
	c.say("total", total)
	return c.ordered(list), nil
}

func containsText(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// listed is a task in its node's list: a running one has its user whole and
// the odd members of the file it comes from.
func (t *Task) listed() object {
	o := object{{"upid", t.UPID}, {"node", string(t.Node)}, {"pid", t.PID}, {"pstart", t.PStart}, {"starttime", t.Start.Unix()}, {"type", t.Type}, {"id", t.ID}}
	if t.End == 0 {
		return append(o, member{"user", t.User}, member{"status", "RUNNING"}, member{"saved", "0"})
	}
	user, token := splitUser(t.User)
	o = append(o, member{"user", user}, member{"endtime", t.End}, member{"status", t.Status})
	o.putIf("tokenid", token)
	return o
}

// ownTask tells whether a task is the caller's: a token sees its own and, as
// its user, the user's; a user sees those of the user's tokens.
func (c *call) ownTask(t *Task) bool {
	user, _ := splitUser(t.User)
	return t.User == c.who.name() || user == c.who.user
}

// theTask finds the task that the path names.
func (c *call) theTask() (*Task, error) {
	p, err := apidoc.ParseUPID(c.path["upid"])
	if err != nil {
		return nil, refuse("upid", "unable to parse worker upid")
	}
	t := c.world.Task(c.path["upid"])
	if t == nil || string(p.Node) != c.node() {
		return nil, refuse("upid", "no such task")
	}
	return t, nil
}

// seesTask is the check that the schema does not show.
func (c *call) seesTask(user string) error {
	owner, _ := splitUser(user)
	if c.seesAll() || user == c.who.name() || owner == c.who.user {
		return nil
	}
	return c.need("/nodes/"+c.node(), "Sys.Audit")
}

func taskStatus(c *call) (any, error) {
	t, err := c.theTask()
	if err != nil {
		return nil, err
	}
	if err := c.seesTask(t.User); err != nil {
		return nil, err
	}
	user, token := splitUser(t.User)
	o := object{{"upid", t.UPID}, {"node", string(t.Node)}, {"pid", t.PID}, {"pstart", t.PStart}, {"starttime", t.Start.Unix()}, {"type", t.Type}, {"id", t.ID}, {"user", user}}
	o.putIf("tokenid", token)
	if t.End == 0 {
		o.put("status", "running")
	} else {
		o = append(o, member{"status", "stopped"}, member{"exitstatus", t.Status})
	}
	return c.one(o), nil
}

// taskLog pages through a log by lines. A task that nobody knows has the log
// of a file that can't be opened, with status 200.
func taskLog(c *call) (any, error) {
	p, err := apidoc.ParseUPID(c.path["upid"])
	if err != nil {
		return nil, refuse("upid", "unable to parse worker upid")
	}
	if err := c.seesTask(p.User); err != nil {
		return nil, err
	}
	if c.flag("download", false) && (c.has("start") || c.has("limit")) {
		return nil, fail("'download' cannot be used together with 'start' or 'limit' parameters")
	}
	t := c.world.Task(c.path["upid"])
	if t == nil || string(p.Node) != c.node() {
		c.say("total", 1)
		return c.ordered([]object{{{"n", 1}, {"t", "unable to open file - No such file or directory"}}}), nil
	}
	lines := c.world.Lines(t)
	if c.flag("download", false) {
		return &response{status: 200, reason: "OK", ctype: "text/plain;charset=UTF-8", body: []byte(strings.Join(lines, "\n") + "\n")}, nil
	}
	return c.page(lines, 50, true), nil
}

// page answers with lines from start on, numbered from 1, and their total.
// limit 0 means all where zeroIsAll, else the default.
func (c *call) page(lines []string, defaultLimit int64, zeroIsAll bool) rawJSON {
	start, limit := c.number("start", 0), c.number("limit", defaultLimit)
	if limit == 0 && !zeroIsAll {
		limit = defaultLimit
	}
	if len(lines) == 0 {
		lines = []string{"no content"}
	}
	list := []object{}
	for i := start; i < int64(len(lines)) && (limit == 0 || int64(len(list)) < limit); i++ {
		list = append(list, object{{"n", i + 1}, {"t", lines[i]}})
	}
	c.say("total", len(lines))
	return c.ordered(list)
}
