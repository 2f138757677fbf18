package curated

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// MigrateArgs are the arguments of pve_migrate.
type MigrateArgs struct {
	GuestRef
	Kind           string `json:"kind,omitempty" jsonschema:"enum=qemu,enum=lxc"`
	Target         string `json:"target" jsonschema:"required,description=node to move to"`
	Online         bool   `json:"online,omitempty" jsonschema:"description=running: VM live\\, container by restart"`
	WithLocalDisks bool   `json:"with_local_disks,omitempty"`
	TargetStorage  string `json:"targetstorage,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a MigrateArgs) options() render.Options { return a.Budget.options() }

var migrateTool = Tool[MigrateArgs, doc]{
	Name: "pve_migrate", Toolset: "core", Class: apidoc.Disrupt,
	Text: "Move a guest to another node.",
	Run: func(ctx context.Context, c *Call, in MigrateArgs) (doc, error) {
		return c.migrate(ctx, in)
	},
}

func (c *Call) migrate(ctx context.Context, in MigrateArgs) (doc, error) {
	g, err := c.find(ctx, in.GuestRef)
	if err != nil {
		return doc{}, err
	}
	if in.Kind != "" && in.Kind != string(g.Kind) {
		g.Note = strings.TrimSpace(fmt.Sprintf("%d is a %s. %s", g.ID, g.Kind.Noun(), g.Note))
	}
	target, err := apidoc.ParseNode(in.Target)
	if err != nil {
		return doc{}, badArg("target", "%v", err)
	}
	if target == g.Node {
		d := &render.Doc{}
		d.Summaryf("Nothing to do: %s is on %s already.", g.label(), g.Node)
		return doc{Doc: d}, nil
	}
	if err := c.onlineNode(ctx, in.Target); err != nil {
		return doc{}, err
	}
	running := g.Row.Status.V == "running" || g.Row.Status.V == "paused"
	if running && !in.Online {
		how := "online=true moves it live"
		if g.Kind == apidoc.LXC {
			how = "online=true shuts it down, moves it and starts it there (containers can't be moved live)"
		}
		return doc{}, badArg("online", "%s is running; %s, or stop it first", g.label(), how)
	}
	ch := &change{title: fmt.Sprintf("Migrate %s from %s to %s", g.label(), g.Node, target), target: g, seen: g.Row.Status.V + "@" + string(g.Node)}
	err = ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
		if g.Kind == apidoc.QEMU {
			_, err = api.PostNodesQemuMigrate(ctx, g.Node, g.ID, &generated.PostNodesQemuMigrateParams{Target: target, Online: flag(in.Online && running), WithLocalDisks: flag(in.WithLocalDisks), Targetstorage: text(in.TargetStorage)})
			return err
		}
		_, err = api.PostNodesLxcMigrate(ctx, g.Node, g.ID, &generated.PostNodesLxcMigrateParams{Target: target, Restart: flag(in.Online && running), TargetStorage: text(in.TargetStorage)})
		return err
	})
	if err != nil {
		return doc{}, err
	}
	switch {
	case g.Kind == apidoc.LXC && running:
		ch.tells = append(ch.tells, "Containers have no live migration: it is shut down, moved and started on the target, so it is down meanwhile.")
	case running:
		ch.tells = append(ch.tells, "Live: it keeps running, with a pause of well under a second at the end.")
	}
	if in.WriteArgs.DryRun {
		ch.facts = append(ch.facts, c.preconditions(ctx, g, in)...)
	}
	if managed(g) {
		ch.quiet = true
		ch.tells = append(ch.tells, "HA manages it: the call only asks HA, whose task ends at once; the migration itself follows as a task of root@pam.")
	}
	ch.after = func(ctx context.Context, d *render.Doc, wait time.Duration) {
		if managed(g) {
			c.untilNode(ctx, d, g, ch.title, in.Target, wait)
		}
	}
	return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
}

// onlineNode refuses a target that does not exist or is down.
func (c *Call) onlineNode(ctx context.Context, name string) error {
	all, err := c.resources(ctx, "node")
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Node.V == name {
			if all[i].Status.V == "offline" {
				return badArg("target", "node %s is offline", name)
			}
			return nil
		}
	}
	return nodeError(name, visibleNodes(all))
}

// preconditions reads what Proxmox says about a migration before it is begun.
func (c *Call) preconditions(ctx context.Context, g *guest, in MigrateArgs) []string {
	var facts []string
	target := in.Target
	blocked := func(nodes map[string]json.RawMessage) {
		if raw, ok := nodes[target]; ok {
			facts = append(facts, fmt.Sprintf("Proxmox does not allow %s as the target now: %s", target, blockers(raw)))
		}
	}
	if g.Kind == apidoc.LXC {
		p, err := c.api.GetNodesLxcMigrate(ctx, g.Node, g.ID, &generated.GetNodesLxcMigrateParams{Target: new(apidoc.Node(target))})
		if err != nil {
			return []string{"The preconditions could not be read: " + c.explain(ctx, c.Tool, err)}
		}
		blocked(p.NotAllowedNodes)
		return facts
	}
	p, err := c.api.GetNodesQemuMigrate(ctx, g.Node, g.ID, &generated.GetNodesQemuMigrateParams{Target: new(apidoc.Node(target))})
	if err != nil {
		return []string{"The preconditions could not be read: " + c.explain(ctx, c.Tool, err)}
	}
	blocked(p.NotAllowedNodes)
	var disks []string
	for i := range p.LocalDisks {
		disk := &p.LocalDisks[i]
		disks = append(disks, fmt.Sprintf("%s (%s)", disk.Volid.V, render.FormatBytes(disk.Size.V)))
	}
	if len(disks) > 0 {
		fact := fmt.Sprintf("Copied, because on local storage: %s", some(disks, 6))
		if in.Online && !in.WithLocalDisks {
			fact += "; a running VM needs with_local_disks=true for that"
		}
		facts = append(facts, fact+".")
	}
	var devices []string
	for _, r := range p.LocalResources {
		devices = append(devices, r.V)
	}
	if len(devices) > 0 {
		facts = append(facts, "It uses devices of this node, which forbids migration: "+some(devices, 6))
	}
	return facts
}

// blockers puts the reasons why a node is no target into words.
func blockers(raw json.RawMessage) string {
	var reasons map[string]json.RawMessage
	if json.Unmarshal(raw, &reasons) != nil {
		return render.Line(string(raw))
	}
	var out []string
	for key, v := range reasons {
		var list []string
		if json.Unmarshal(v, &list) == nil {
			out = append(out, strings.ReplaceAll(strings.ReplaceAll(key, "_", " "), "-", " ")+" "+strings.Join(list, ", "))
		} else {
			out = append(out, key+" "+string(v))
		}
	}
	sort.Strings(out)
	return render.Line(strings.Join(out, "; "))
}

// untilNode waits until HA has moved the guest.
func (c *Call) untilNode(ctx context.Context, d *render.Doc, g *guest, title, target string, wait time.Duration) {
	deadline := time.Now().Add(wait)
	for {
		all, err := c.resources(ctx, "vm")
		if err == nil {
			at := slices.IndexFunc(all, func(r resource) bool { return isGuest(&r) && r.Vmid.V == int64(g.ID) })
			if at >= 0 && all[at].Node.V == target {
				d.Summaryf("%s: done by HA; it is on %s and %s.", title, target, all[at].Status.V)
				return
			}
		}
		left := time.Until(deadline)
		if left <= 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Second, left)):
		}
	}
	d.Summaryf("%s: HA has taken the request; the guest is not on %s yet.", title, target)
	d.Hintf("pve_tasks with vmid=%d shows the migration that HA starts.", g.ID)
}
