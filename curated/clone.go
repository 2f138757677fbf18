package curated

import (
	"context"
	"fmt"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// CloneArgs are the arguments of pve_clone.
type CloneArgs struct {
	GuestRef
	NewID    int    `json:"newid,omitempty"`
	NewName  string `json:"new_name,omitempty"`
	Full     *bool  `json:"full,omitempty" jsonschema:"description=false: linked (templates)"`
	Target   string `json:"target,omitempty" jsonschema:"description=other node"`
	Storage  string `json:"storage,omitempty"`
	Snapname string `json:"snapname,omitempty"`
	Pool     string `json:"pool,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a CloneArgs) options() shapeOptions { return a.Budget.options() }

var cloneTool = Tool[CloneArgs, doc]{
	Name: "pve_clone", Toolset: "guests", Class: apidoc.Change,
	Text: "Clone a guest or template.",
	Run: func(ctx context.Context, c *Call, in CloneArgs) (doc, error) {
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		template := g.Row.Template.V
		linked := template && in.Full == nil || in.Full != nil && !*in.Full
		switch {
		case linked && in.Storage != "":
			return doc{}, badArg("storage", "a linked clone stays on its base's storage; full=true copies it")
		case linked && !template && in.Snapname == "":
			return doc{}, badArg("full", "only a template (or a snapshot on some storages) can be cloned linked; leave full out to copy")
		}
		if g.Kind == apidoc.LXC && !linked && g.Row.Status.V == "running" && in.Snapname == "" {
			return doc{}, badArg("snapname", "a running container can only be copied from a snapshot; take one first, or stop it")
		}
		if in.Target != "" {
			if err := c.onlineNode(ctx, in.Target); err != nil {
				return doc{}, err
			}
		}
		return c.withNewID(ctx, in.NewID, in.WriteArgs, in.WaitArgs, func(id apidoc.VMID) (*change, error) {
			ch := &change{title: fmt.Sprintf("Clone %s on %s to %d", g.label(), g.Node, id), target: g, seen: g.Row.Status.V + g.Row.Lock.V}
			err := ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
				if g.Kind == apidoc.QEMU {
					_, err = api.PostNodesQemuClone(ctx, g.Node, g.ID, &generated.PostNodesQemuCloneParams{
						Newid: id, Name: text(in.NewName), Full: in.Full, Target: nodeParam(in.Target), Storage: storageParam(in.Storage), Snapname: text(in.Snapname), Pool: poolParam(in.Pool)})
					return err
				}
				_, err = api.PostNodesLxcClone(ctx, g.Node, g.ID, &generated.PostNodesLxcCloneParams{
					Newid: id, Hostname: text(in.NewName), Full: in.Full, Target: nodeParam(in.Target), Storage: storageParam(in.Storage), Snapname: text(in.Snapname), Pool: poolParam(in.Pool)})
				return err
			})
			if err != nil {
				return nil, err
			}
			ch.tells = append(ch.tells, "It gets new MAC addresses and no snapshots; start at boot, tags and fixed IP addresses are copied, so two guests may claim one address.")
			if linked {
				ch.tells = append(ch.tells, "Linked: it shares its base disks with the template, which can't be removed while the clone exists.")
			}
			return ch, nil
		})
	},
}

func nodeParam(s string) *apidoc.Node {
	if s == "" {
		return nil
	}
	return new(apidoc.Node(s))
}

func storageParam(s string) *apidoc.Storage {
	if s == "" {
		return nil
	}
	return new(apidoc.Storage(s))
}

func poolParam(s string) *apidoc.Pool {
	if s == "" {
		return nil
	}
	return new(apidoc.Pool(s))
}
