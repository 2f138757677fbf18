package curated

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// change is what a write tool wants to do: written down first, then shown,
// judged and carried out, always as the same thing.
type change struct {
	title  string // what is done to what: "Stop VM 107 (web01) on pve1"
	target *guest // the guest it is about, if one
	facts  []string
	steps  []*rawCall
	loses  []string // what is lost for good
	tells  []string // what an administrator expects to be told
	// seen is the state that was read and on which the change rests. A plan is
	// void when it has changed.
	seen string
	// atomic: the call carries a digest, so that Proxmox itself refuses it when
	// someone else was faster.
	atomic bool
	// after tells what became of it, where the task's end or the mere answer
	// does not say so. It runs when all steps went well.
	after func(ctx context.Context, d *render.Doc, wait time.Duration)
	// exit is the text with which a task of it failed.
	exit string
	// quiet: the end of the task says nothing of the guest, so after tells it.
	quiet bool
}

// add appends the call of one generated method.
func (ch *change) add(ctx context.Context, c *Call, more map[string]any, call func(api *generated.Client) error) error {
	step, err := c.plan(ctx, more, call)
	if err == nil {
		ch.steps = append(ch.steps, step)
	}
	return err
}

// carryOut takes a change through the ladder: dry run, consent, the calls one
// after the other, and the truth about what became of them.
func (c *Call) carryOut(ctx context.Context, ch *change, w WriteArgs, wa WaitArgs) (doc, error) {
	intents := make([]*gate.Intent, len(ch.steps))
	for i, s := range ch.steps {
		in, err := c.gate.Judge(string(s.match.Verb), s.path, s.params)
		if err != nil {
			return doc{}, err
		}
		intents[i] = in
	}
	if w.DryRun {
		return c.preview(ctx, ch, intents)
	}
	// All steps are granted before the first is sent, so that a change is not
	// left half done for want of a flag.
	ctx = gate.WithCaller(ctx, gate.Caller{Tool: c.Tool, Client: c.client, Reason: w.Reason})
	consent, err := c.consent(ctx, ch, intents, w)
	if err != nil {
		return doc{}, err
	}
	granted := make([]context.Context, len(ch.steps))
	for i, in := range intents {
		g, err := c.gate.Grant(ctx, in, consent)
		if err != nil {
			return doc{}, err
		}
		granted[i] = g
	}
	wait, cut := c.wait(wa)
	// The wait is of the whole call, however many tasks it starts: a client that
	// has given up hears nothing any more.
	deadline := time.Now().Add(wait)
	d := &render.Doc{}
	for i, s := range ch.steps {
		unnamed, err := c.beforeHidden(ctx, intents[i])
		if err != nil {
			return doc{}, ch.stoppedAt(i, intents[i], err)
		}
		reply, err := c.rest.Do(granted[i], pverest.Call{Verb: string(s.match.Verb), Path: s.path, Params: pverest.Values(s.params)})
		if err != nil {
			return doc{}, ch.stoppedAt(i, intents[i], s.failed(err))
		}
		if intents[i].Class == apidoc.Access {
			c.forgetPrivileges()
		}
		end := c.follow(ctx, reply, max(0, time.Until(deadline)))
		if end == nil && unnamed != nil {
			end = c.followHidden(ctx, unnamed, deadline)
		}
		last := i == len(ch.steps)-1
		switch {
		case end == nil: // Proxmox answered at once: it is done
		case !end.ok():
			return c.taskTrouble(ch, d, end, cut, i), nil
		case end.warned():
			d.Warnf("%s", strings.Join(warningLines(end.log), " "))
		}
		if !last {
			continue
		}
		if ch.quiet {
			continue
		}
		if end != nil {
			c.tellEnd(d, ch.title, end, cut)
			continue
		}
		d.Summaryf("%s: done.", ch.title)
		c.showAnswer(d, s, intents[i], reply.Data)
	}
	if ch.target != nil && ch.target.Note != "" {
		d.Summary = append(d.Summary, ch.target.Note)
	}
	if ch.after != nil {
		ch.after(ctx, d, max(0, time.Until(deadline)))
	}
	return doc{Doc: d}, nil
}

// follow waits for the task that a call started; nil when it started none.
func (c *Call) follow(ctx context.Context, reply pverest.Reply, wait time.Duration) *taskEnd {
	var text string
	if json.Unmarshal(reply.Data, &text) != nil || !strings.HasPrefix(text, "UPID:") {
		return nil
	}
	return c.await(ctx, apidoc.UPID(text), wait)
}

// showAnswer shows what a call answered beyond its success. Secrets in it are
// masked, except one that the call exists to make: it is shown, this once.
func (c *Call) showAnswer(d *render.Doc, s *rawCall, in *gate.Intent, data json.RawMessage) {
	if len(data) == 0 || string(data) == "null" {
		return
	}
	if !in.Policy.ReturnsSecret {
		data = c.mask(s.match, data)
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		d.Summaryf("Proxmox answered: %s", render.Line(text))
		return
	}
	d.Add(&render.Fenced{ID: "answer", Text: string(data)})
}

// taskTrouble tells of a task that failed, or did not end within the wait.
func (c *Call) taskTrouble(ch *change, d *render.Doc, end *taskEnd, cut bool, step int) doc {
	c.tellEnd(d, ch.title, end, cut)
	if rest := len(ch.steps) - step - 1; rest > 0 {
		d.Warnf("%s of this change not made: the %s before must end well first.", render.FormatCount(rest, "further call"), "task")
	}
	if !end.running && end.trouble == nil && !end.left {
		ch.exit = end.exit
		d.Add(&render.Log{Heading: "End of its log", Lines: end.log, Total: int(end.total)})
		d.Hintf("%s", nextStep(end))
		return failed(d)
	}
	return doc{Doc: d}
}

// stoppedAt gives the error of a step, with what was done before it.
func (ch *change) stoppedAt(i int, in *gate.Intent, err error) error {
	if i == 0 {
		return err
	}
	return &partError{title: ch.title, done: i, of: len(ch.steps), next: in.String(), err: err}
}

// partError says that a change of several calls stopped in the middle.
type partError struct {
	title    string
	done, of int
	next     string
	err      error
}

func (e *partError) Error() string {
	return fmt.Sprintf("%s: %d of %d calls were made, then %s failed: %v", e.title, e.done, e.of, e.next, e.err)
}

func (e *partError) Unwrap() error { return e.err }

// nextStep reads the reason of a failure for what to do about it.
func nextStep(e *taskEnd) string {
	reason := strings.ToLower(e.exit + " " + strings.Join(e.log, " "))
	switch {
	case e.exit == "unexpected status":
		return "Its worker vanished (it was killed, or the node went down), so how far it came is not known: look at the guest's state, lock and disks."
	case strings.Contains(reason, "is locked"):
		return "The guest is locked by another task, or by one that was interrupted: pve_tasks with its vmid shows which."
	case strings.Contains(reason, "got timeout"), strings.Contains(reason, "did not stop"):
		return "The guest did not react in time. Give it more time (timeout), or stop it hard if losing unsaved work in it is acceptable."
	case strings.Contains(reason, "no space left"), strings.Contains(reason, "not enough free space"):
		return "The storage is full: pve_storage shows how full, pve_storage_content what lies on it."
	case strings.Contains(reason, "does not exist"):
		return "Something that the guest's configuration names is gone: pve_vm_info or pve_container_info with config=true shows what it names."
	case changedMeanwhile(reason):
		return meanwhileHint
	case strings.Contains(reason, ".conf") && strings.Contains(reason, "file exists"):
		return "Another guest has this id by now: name another one, or none to get the next that is free."
	case quorumLost(reason):
		return quorumHint
	case strings.Contains(reason, "most recent snapshot"):
		return "This storage can only go back to its newest snapshot: the ones after it would have to be deleted first."
	}
	return "pve_task with the upid shows more of the log: " + string(e.upid)
}

// changedMeanwhile finds in a refusal that the digest that was sent is not that
// of the configuration any more.
func changedMeanwhile(said string) bool {
	return strings.Contains(said, "checksum mismatch") || strings.Contains(said, "detected modified configuration")
}

const meanwhileHint = "Someone else changed the configuration after it was read, so nothing of this was done: look at it again, then repeat."

// quorumLost finds that nothing can be written down in the cluster.
func quorumLost(said string) bool {
	return strings.Contains(said, "no quorum") || strings.Contains(said, "/etc/pve/") && strings.Contains(strings.ToLower(said), "permission denied")
}

const quorumHint = "The cluster's file system is read-only, as it is without quorum: pve_cluster_status shows whether enough nodes are there."

// warningLines picks the warnings out of a log's end.
func warningLines(log []string) []string {
	var out []string
	for _, line := range log {
		if strings.Contains(strings.ToUpper(line), "WARN") && !strings.HasPrefix(line, "TASK WARNINGS") {
			out = append(out, render.Line(line))
		}
	}
	if len(out) == 0 {
		out = append(out, "The task ended with warnings; pve_task shows its log.")
	}
	return out
}

// preview is the dry run: the exact calls with secrets masked, whom they touch,
// what is lost, what is needed. Nothing has been sent but reads.
func (c *Call) preview(ctx context.Context, ch *change, intents []*gate.Intent) (doc, error) {
	d := &render.Doc{}
	d.Summaryf("Dry run, nothing was changed: %s", ch.title)
	class := apidoc.Read
	var raised []string
	for i, in := range intents {
		class = class.Raise(in.Class)
		for _, r := range in.Policy.RaisedBy(in.Params) {
			raised = append(raised, strings.Join(ruleWords([]apidoc.Rule{r}), ""))
		}
		d.Add(callBlock(i, len(intents), in, ch.steps[i]))
	}
	kv := &render.KV{ID: "effect"}
	if g := ch.target; g != nil {
		kv.Set("guest", render.Str(g.label()))
		kv.Set("node", render.Str(string(g.Node)))
		if g.Row != nil {
			kv.Set("state", strCell(true, g.Row.Status.V))
			kv.Set("tags", strCell(true, g.Row.Tags.V))
			kv.Set("pool", strCell(true, g.Row.Pool.V))
			kv.Set("lock", strCell(true, g.Row.Lock.V))
			if managed(g) {
				kv.Set("ha", render.Str(g.Row.Hastate.V))
			}
		}
		kv.Set("protection", render.Str(c.protection(ctx, g)))
	}
	kv.Set("class", render.Str(classText(class)))
	kv.Set("because", strCell(true, strings.Join(raised, "; ")))
	needs, err := c.needs(ctx, d, ch, intents)
	if err != nil {
		return doc{}, err
	}
	kv.Set("needs", render.Str(needs))
	var notes []string
	for _, s := range ch.steps {
		missing, note := c.lacking(ctx, s.match, s.params)
		if len(missing) > 0 {
			d.Warnf("The token lacks %s.", strings.Join(missing, "; "))
		} else if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	kv.Set("privileges", strCell(true, strings.Join(notes, "; ")))
	d.Add(kv)
	if len(ch.loses) > 0 {
		d.Add(&render.Lines{ID: "loses", Heading: "Lost for good", Lines: dashed(ch.loses)})
	}
	tells := append(append([]string{}, ch.facts...), ch.tells...)
	if !ch.atomic && ch.target != nil {
		tells = append(tells, "Proxmox takes no digest for this call, so someone else's change in between would not be noticed by it.")
	}
	if len(tells) > 0 {
		d.Add(&render.Lines{ID: "notes", Heading: "To know", Lines: dashed(tells)})
	}
	if ch.target != nil && ch.target.Note != "" {
		d.Summary = append(d.Summary, ch.target.Note)
	}
	return doc{Doc: d}, nil
}

// protection tells whether Proxmox lets the guest and its disks be destroyed.
func (c *Call) protection(ctx context.Context, g *guest) string {
	config, _, err := c.config(ctx, g)
	switch {
	case err != nil:
		return "not known: " + c.explain(ctx, c.Tool, err)
	case config["protection"] == "1":
		return "on (Proxmox refuses to destroy it or its disks)"
	}
	return "off"
}

// needs says what lets the change through, and issues the plan in plan mode. A
// call that no consent can let through ends the dry run with its refusal.
func (c *Call) needs(ctx context.Context, d *render.Doc, ch *change, intents []*gate.Intent) (string, error) {
	confirm, dataLoss := false, false
	for _, in := range intents {
		if err := c.gate.Check(ctx, in); err != nil {
			return "", err
		}
		cf, dl := in.Needs()
		confirm, dataLoss = confirm || cf, dataLoss || dl
	}
	var flags []string
	if confirm {
		flags = append(flags, "confirm=true")
	}
	if dataLoss {
		flags = append(flags, "i_understand_data_loss=true")
	}
	switch c.gate.Approval() {
	case gate.ByPlan:
		hash, err := gate.HashArgs(c.args)
		if err != nil {
			return "", err
		}
		token, expires, err := c.gate.IssuePlan(ctx, c.Tool, hash, ch.seen, intents)
		if err != nil {
			return "", err
		}
		flags = append(flags, "plan="+token)
		d.Hintf("The plan works once, for exactly these arguments, until %s UTC, and only while what was read stays as it is.", expires.UTC().Format("15:04"))
	case gate.ByAsk:
		flags = []string{"a person's consent, which is asked for when the call is made"}
	}
	return strings.Join(flags, " and "), nil
}

func dashed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "- " + l
	}
	return out
}

// callBlock shows one call exactly, secrets masked.
func callBlock(i, of int, in *gate.Intent, call *rawCall) *render.KV {
	kv := &render.KV{ID: "call", Heading: "Call"}
	if of > 1 {
		kv.ID, kv.Heading = fmt.Sprintf("call%d", i+1), fmt.Sprintf("Call %d of %d", i+1, of)
	}
	kv.Set(string(in.Verb), render.Str(in.Path))
	masked := in.Masked()
	for _, name := range sortedParams(call.params) {
		kv.Set(name, render.Str(strings.Join(masked[name], " ")))
	}
	return kv
}
