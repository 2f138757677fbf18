package curated

import (
	"context"
	"fmt"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// DeleteArgs are the arguments of pve_delete.
type DeleteArgs struct {
	GuestRef
	Purge        bool `json:"purge,omitempty" jsonschema:"description=also from jobs\\, HA and replication"`
	Unreferenced bool `json:"destroy_unreferenced_disks,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a DeleteArgs) options() shapeOptions { return a.Budget.options() }

var deleteTool = Tool[DeleteArgs, doc]{
	Name: "pve_delete", Toolset: "guests", Class: apidoc.Destroy,
	Text: "Destroy a stopped guest and its disks.",
	Run: func(ctx context.Context, c *Call, in DeleteArgs) (doc, error) {
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		if s := g.Row.Status.V; s != "stopped" && s != "unknown" {
			return doc{}, badArg("vmid", "%s is %s; it is only destroyed when stopped", g.label(), s)
		}
		config, digest, err := c.config(ctx, g)
		if err != nil {
			return doc{}, err
		}
		if config["protection"] == "1" {
			return doc{}, badArg("vmid", "%s has its protection on: Proxmox refuses to destroy it until protection=0 is set (pve_configure)", g.label())
		}
		if managed(g) && !in.Purge {
			return doc{}, badArg("purge", "%s is managed by HA; purge=true takes it out of HA too", g.label())
		}
		if g.Row.Template.V {
			clones, err := c.linkedClones(ctx, g, config)
			if err != nil {
				return doc{}, err
			}
			if len(clones) > 0 {
				return doc{}, badArg("vmid", "linked clones still use its disks: %s", some(clones, 10))
			}
		}
		ch := &change{title: fmt.Sprintf("Destroy %s on %s", g.label(), g.Node), target: g, seen: digest}
		err = ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
			if g.Kind == apidoc.QEMU {
				_, err = api.DeleteNodesQemuByVmid(ctx, g.Node, g.ID, &generated.DeleteNodesQemuByVmidParams{Purge: flag(in.Purge), DestroyUnreferencedDisks: flag(in.Unreferenced)})
				return err
			}
			_, err = api.DeleteNodesLxcByVmid(ctx, g.Node, g.ID, &generated.DeleteNodesLxcByVmidParams{Purge: flag(in.Purge), DestroyUnreferencedDisks: flag(in.Unreferenced)})
			return err
		})
		if err != nil {
			return doc{}, err
		}
		ch.loses = append(ch.loses, "its configuration and all its snapshots")
		for _, d := range disksOf(config) {
			if !d.cdrom && d.storage != "" && d.volume != "none" {
				ch.loses = append(ch.loses, fmt.Sprintf("%s: %s %s", d.key, d.volume, d.size))
			}
		}
		if in.Unreferenced {
			ch.loses = append(ch.loses, fmt.Sprintf("every other volume that carries its id %d, on all enabled storages", g.ID))
		}
		ch.tells = append(ch.tells, "Its backups are kept. Its id may be given to a new guest at once; its permissions and firewall rules go with it.")
		if !in.Purge {
			ch.tells = append(ch.tells, "Backup jobs that name it are left as they are, and a replication job of it makes Proxmox refuse (purge=true removes it from both).")
		}
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}

// linkedClones finds the volumes of other guests that rest on a template's disks.
func (c *Call) linkedClones(ctx context.Context, g *guest, config map[string]string) ([]string, error) {
	asked := map[string]bool{}
	var clones []string
	for _, d := range disksOf(config) {
		if d.storage == "" || d.cdrom || asked[d.storage] {
			continue
		}
		asked[d.storage] = true
		list, err := c.api.GetNodesStorageContent(ctx, g.Node, apidoc.Storage(d.storage), nil)
		if err != nil {
			return nil, err
		}
		base := fmt.Sprintf("base-%d-", g.ID)
		for i := range list {
			v := &list[i]
			if v.Vmid.V != int64(g.ID) && (strings.Contains(v.Parent.V, base) || strings.Contains(v.Volid.V, base)) {
				clones = append(clones, v.Volid.V)
			}
		}
	}
	return clones, nil
}

// TemplateArgs are the arguments of pve_template.
type TemplateArgs struct {
	GuestRef
	WriteArgs
	WaitArgs
	Budget
}

func (a TemplateArgs) options() shapeOptions { return a.Budget.options() }

var templateTool = Tool[TemplateArgs, doc]{
	Name: "pve_template", Toolset: "guests", Class: apidoc.Disrupt,
	Text: "Turn a stopped guest into a template, for good.",
	Run: func(ctx context.Context, c *Call, in TemplateArgs) (doc, error) {
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		switch {
		case g.Row.Template.V:
			return doc{}, badArg("vmid", "%s is a template already", g.label())
		case g.Row.Status.V != "stopped":
			return doc{}, badArg("vmid", "%s is %s; only a stopped guest can become a template", g.label(), g.Row.Status.V)
		}
		list, err := c.snapshots(ctx, g)
		if err != nil {
			return doc{}, err
		}
		if len(list) > 0 {
			return doc{}, badArg("vmid", "%s has snapshots, which forbid it; delete them first (pve_snapshot_delete)", g.label())
		}
		ch := &change{title: fmt.Sprintf("Turn %s on %s into a template", g.label(), g.Node), target: g, seen: g.Row.Status.V}
		err = ch.add(ctx, c, nil, func(api *generated.Client) error {
			if g.Kind == apidoc.QEMU {
				_, err := api.PostNodesQemuTemplate(ctx, g.Node, g.ID, nil)
				return err
			}
			return api.PostNodesLxcTemplate(ctx, g.Node, g.ID)
		})
		if err != nil {
			return doc{}, err
		}
		ch.tells = append(ch.tells, "A template can't be turned back, started or snapshotted: its disks become read-only bases for clones.")
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}
