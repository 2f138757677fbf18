package curated

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// VMActionArgs are the arguments of pve_vm_action.
type VMActionArgs struct {
	GuestRef
	Action  string `json:"action" jsonschema:"required,enum=start,enum=stop,enum=shutdown,enum=reboot,enum=suspend,enum=resume,enum=reset"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"description=seconds for the guest to react"`
	Force   bool   `json:"force,omitempty" jsonschema:"description=shutdown: stop hard after timeout"`
	ToDisk  bool   `json:"to_disk,omitempty" jsonschema:"description=suspend: hibernate"`
	WriteArgs
	WaitArgs
	Budget
}

func (a VMActionArgs) options() render.Options { return a.Budget.options() }

// ContainerActionArgs are the arguments of pve_lxc_action.
type ContainerActionArgs struct {
	GuestRef
	Action  string `json:"action" jsonschema:"required,enum=start,enum=stop,enum=shutdown,enum=reboot,enum=suspend,enum=resume"`
	Timeout int    `json:"timeout,omitempty"`
	Force   bool   `json:"force,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a ContainerActionArgs) options() render.Options { return a.Budget.options() }

var vmActionTool = Tool[VMActionArgs, doc]{
	Name: "pve_vm_action", Toolset: "core", Class: apidoc.Disrupt,
	Text: "Start, stop or otherwise power a VM.",
	Run: func(ctx context.Context, c *Call, in VMActionArgs) (doc, error) {
		g, err := c.ofKind(ctx, in.GuestRef, apidoc.QEMU)
		if err != nil {
			return doc{}, err
		}
		return c.power(ctx, g, powerArgs{in.Action, in.Timeout, in.Force, in.ToDisk}, in.WriteArgs, in.WaitArgs)
	},
}

var lxcActionTool = Tool[ContainerActionArgs, doc]{
	Name: "pve_lxc_action", Toolset: "core", Class: apidoc.Disrupt,
	Text: "Start, stop or otherwise power a container.",
	Run: func(ctx context.Context, c *Call, in ContainerActionArgs) (doc, error) {
		g, err := c.ofKind(ctx, in.GuestRef, apidoc.LXC)
		if err != nil {
			return doc{}, err
		}
		return c.power(ctx, g, powerArgs{in.Action, in.Timeout, in.Force, false}, in.WriteArgs, in.WaitArgs)
	},
}

type powerArgs struct {
	action  string
	timeout int
	force   bool
	toDisk  bool
}

// power is the same for both kinds of guests: a guest of the other kind than the
// tool's name says is done right, because which one is meant is plain.
func (c *Call) power(ctx context.Context, g *guest, a powerArgs, w WriteArgs, wa WaitArgs) (doc, error) {
	if g.Kind == apidoc.LXC && a.action == "reset" {
		return doc{}, badArg("action", "containers have no reset; stop and start, or reboot")
	}
	if a.force && a.action != "shutdown" {
		return doc{}, badArg("force", "belongs to shutdown; action=stop stops hard at once")
	}
	if a.toDisk && (a.action != "suspend" || g.Kind != apidoc.QEMU) {
		return doc{}, badArg("to_disk", "belongs to the suspension of a VM")
	}
	state := ""
	if g.Row != nil {
		state = g.Row.Status.V
	}
	ch := &change{title: fmt.Sprintf("%s %s on %s", capital(a.action), g.label(), g.Node), target: g, seen: state}
	if done, why := already(a.action, state); done {
		d := &render.Doc{}
		d.Summaryf("Nothing to do: %s on %s is %s.", g.label(), g.Node, why)
		return doc{Doc: d}, nil
	}
	if err := ch.add(ctx, c, nil, func(api *generated.Client) error { return powerCall(ctx, api, g, a) }); err != nil {
		return doc{}, err
	}
	ch.tells = powerTells(g, a)
	if managed(g) && (a.action == "start" || a.action == "stop" || a.action == "shutdown") {
		want := "running"
		if a.action != "start" {
			want = "stopped"
		}
		ch.quiet = true
		ch.tells = append(ch.tells, fmt.Sprintf("HA manages it: the call only tells HA, which sets its requested state to %s and acts a few seconds later.", map[string]string{"running": "started", "stopped": "stopped"}[want]))
		ch.after = func(ctx context.Context, d *render.Doc, wait time.Duration) {
			c.untilState(ctx, d, g, ch.title, want, wait)
		}
	} else if a.action == "reboot" && g.Kind == apidoc.QEMU {
		ch.after = func(_ context.Context, d *render.Doc, _ time.Duration) {
			d.Hintf("The task ends when the VM is down; it is started again right after. pve_vm_info shows its uptime.")
		}
	}
	return c.carryOut(ctx, ch, w, wa)
}

// already tells when a guest is where the action would bring it. Proxmox would
// fail for some of these and silently do nothing for others.
func already(action, state string) (bool, string) {
	switch {
	case action == "start" && state == "running":
		return true, "running already"
	case (action == "stop" || action == "shutdown") && state == "stopped":
		return true, "stopped already"
	}
	return false, ""
}

// managed tells whether HA manages the guest, as the cluster's list shows it.
func managed(g *guest) bool {
	return g.Row != nil && g.Row.Hastate.V != "" && g.Row.Hastate.V != "ignored"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// positive gives a parameter that is only sent when it was given.
func positive(n int) *int64 {
	if n <= 0 {
		return nil
	}
	return new(int64(n))
}

func flag(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}

func powerCall(ctx context.Context, api *generated.Client, g *guest, a powerArgs) (err error) {
	timeout := positive(a.timeout)
	if g.Kind == apidoc.QEMU {
		switch a.action {
		case "start":
			_, err = api.PostNodesQemuStatusStart(ctx, g.Node, g.ID, &generated.PostNodesQemuStatusStartParams{Timeout: timeout})
		case "stop":
			_, err = api.PostNodesQemuStatusStop(ctx, g.Node, g.ID, &generated.PostNodesQemuStatusStopParams{Timeout: timeout})
		case "shutdown":
			_, err = api.PostNodesQemuStatusShutdown(ctx, g.Node, g.ID, &generated.PostNodesQemuStatusShutdownParams{Timeout: timeout, ForceStop: flag(a.force)})
		case "reboot":
			_, err = api.PostNodesQemuStatusReboot(ctx, g.Node, g.ID, &generated.PostNodesQemuStatusRebootParams{Timeout: timeout})
		case "reset":
			_, err = api.PostNodesQemuStatusReset(ctx, g.Node, g.ID, nil)
		case "suspend":
			_, err = api.PostNodesQemuStatusSuspend(ctx, g.Node, g.ID, &generated.PostNodesQemuStatusSuspendParams{Todisk: flag(a.toDisk)})
		case "resume":
			_, err = api.PostNodesQemuStatusResume(ctx, g.Node, g.ID, nil)
		}
		return err
	}
	switch a.action {
	case "start":
		_, err = api.PostNodesLxcStatusStart(ctx, g.Node, g.ID, nil)
	case "stop":
		_, err = api.PostNodesLxcStatusStop(ctx, g.Node, g.ID, nil)
	case "shutdown":
		_, err = api.PostNodesLxcStatusShutdown(ctx, g.Node, g.ID, &generated.PostNodesLxcStatusShutdownParams{Timeout: timeout, ForceStop: flag(a.force)})
	case "reboot":
		_, err = api.PostNodesLxcStatusReboot(ctx, g.Node, g.ID, &generated.PostNodesLxcStatusRebootParams{Timeout: timeout})
	case "suspend":
		_, err = api.PostNodesLxcStatusSuspend(ctx, g.Node, g.ID)
	case "resume":
		_, err = api.PostNodesLxcStatusResume(ctx, g.Node, g.ID)
	}
	return err
}

// powerTells says what an administrator expects to be told.
func powerTells(g *guest, a powerArgs) []string {
	var t []string
	switch a.action {
	case "stop":
		t = append(t, "A stop cuts the power: unsaved data inside the guest is lost. shutdown asks the guest first.")
	case "reset":
		t = append(t, "A reset is the reset button: unsaved data inside the guest is lost, and pending configuration changes are not applied.")
	case "shutdown":
		if a.force {
			t = append(t, "If the guest does not shut down in time, it is stopped hard.")
		} else {
			t = append(t, "The guest is asked; if it does not shut down in time, the task fails and it keeps running.")
		}
	case "reboot":
		if g.Kind == apidoc.LXC {
			t = append(t, "A container that does not shut down in time is killed, then started.")
		}
		t = append(t, "Pending configuration changes are applied.")
	case "suspend":
		switch {
		case g.Kind == apidoc.LXC:
			t = append(t, "Suspending containers is experimental in Proxmox and fails for most.")
		case a.toDisk:
			t = append(t, "Its memory is written to a storage and it is off then, with the lock suspended; a start or resume continues it.")
		default:
			t = append(t, "A suspended VM keeps its memory and still counts as running; resume continues it.")
		}
	}
	return t
}

// untilState reads the guest's state until it is as wanted or the time is over,
// for changes that HA makes by itself after its task has ended.
func (c *Call) untilState(ctx context.Context, d *render.Doc, g *guest, title, want string, wait time.Duration) {
	deadline := time.Now().Add(wait)
	var state string
	for {
		var err error
		if state, err = c.state(ctx, g); err != nil {
			d.Summaryf("%s: HA has taken the request; the guest's state could not be read: %s", title, c.explain(ctx, c.Tool, err))
			return
		}
		if state == want {
			d.Summaryf("%s: done by HA; the guest is %s.", title, state)
			return
		}
		left := time.Until(deadline)
		if left <= 0 {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Second, left)):
		}
		if ctx.Err() != nil {
			break
		}
	}
	d.Summaryf("%s: HA has taken the request and not acted yet; the guest is still %s.", title, state)
	d.Hintf("HA acts within some ten seconds; look again with %s.", infoTool(g.Kind))
}

func infoTool(k apidoc.GuestKind) string {
	if k == apidoc.QEMU {
		return "pve_vm_info"
	}
	return "pve_container_info"
}

// state asks for the guest's state now.
func (c *Call) state(ctx context.Context, g *guest) (string, error) {
	if g.Kind == apidoc.QEMU {
		s, err := c.api.GetNodesQemuStatusCurrent(ctx, g.Node, g.ID)
		return s.Status.V, err
	}
	s, err := c.api.GetNodesLxcStatusCurrent(ctx, g.Node, g.ID)
	return s.Status.V, err
}
