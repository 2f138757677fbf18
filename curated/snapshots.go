package curated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// SnapshotListArgs are the arguments of pve_snapshots.
type SnapshotListArgs struct {
	GuestRef
	Page
}

func (a SnapshotListArgs) options() render.Options { return a.Page.options() }

var snapshotsTool = Tool[SnapshotListArgs, doc]{
	Name: "pve_snapshots", Toolset: "core", Class: apidoc.Read,
	Text: "List a guest's snapshots.",
	Run: func(ctx context.Context, c *Call, in SnapshotListArgs) (doc, error) {
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		list, err := c.snapshots(ctx, g)
		if err != nil {
			return doc{}, err
		}
		d := &render.Doc{}
		d.Summaryf("%s on %s: %s. Times are UTC.", g.label(), g.Node, render.FormatCount(len(list), "snapshot"))
		if g.Note != "" {
			d.Summary = append(d.Summary, g.Note)
		}
		if len(list) > 0 {
			d.Add(&render.Table[snapshot]{
				ID: "snapshots", Rows: list, Desc: true,
				Key: func(s *snapshot) string { return render.Key(s.time, s.name) },
				Columns: []render.Column[snapshot]{
					{Name: "name", Stable: true, Cell: func(s *snapshot) render.Cell { return render.Str(s.name) }},
					{Name: "taken", Stable: true, Cell: func(s *snapshot) render.Cell { return render.Unix(s.time) }},
					{Name: "parent", Cell: func(s *snapshot) render.Cell { return strCell(true, s.parent) }},
					{Name: "ram", Cell: func(s *snapshot) render.Cell {
						if s.ram {
							return render.Str("yes")
						}
						return render.None()
					}},
					{Name: "state", Cell: func(s *snapshot) render.Cell { return strCell(true, s.state) }},
					{Name: "description", Cell: func(s *snapshot) render.Cell { return strCell(true, s.description) }},
				},
			})
		}
		return doc{Doc: d}, nil
	},
}

// SnapshotRef names a snapshot of a guest. kind is what the first seed asked
// for; it is found from the vmid.
type SnapshotRef struct {
	GuestRef
	Kind     string `json:"kind,omitempty" jsonschema:"enum=qemu,enum=lxc"`
	Snapname string `json:"snapname" jsonschema:"required"`
}

// SnapshotCreateArgs are the arguments of pve_snapshot_create.
type SnapshotCreateArgs struct {
	SnapshotRef
	Description string `json:"description,omitempty"`
	VMState     bool   `json:"vmstate,omitempty" jsonschema:"description=with RAM (VM)"`
	WriteArgs
	WaitArgs
	Budget
}

func (a SnapshotCreateArgs) options() render.Options { return a.Budget.options() }

var snapshotCreateTool = Tool[SnapshotCreateArgs, doc]{
	Name: "pve_snapshot_create", Toolset: "core", Class: apidoc.Change,
	Text: "Take a snapshot of a guest.",
	Run: func(ctx context.Context, c *Call, in SnapshotCreateArgs) (doc, error) {
		g, list, err := c.snapshotTarget(ctx, in.SnapshotRef)
		if err != nil {
			return doc{}, err
		}
		if slices.ContainsFunc(list, func(s snapshot) bool { return s.name == in.Snapname }) {
			return doc{}, badArg("snapname", "%q exists already; choose another name", clip(in.Snapname))
		}
		if in.VMState && g.Kind == apidoc.LXC {
			return doc{}, badArg("vmstate", "a container's snapshot can't hold its memory")
		}
		ch := &change{title: fmt.Sprintf("Take snapshot %s of %s on %s", in.Snapname, g.label(), g.Node), target: g, seen: g.Row.Status.V + " " + snapshotNames(list)}
		err = ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
			if g.Kind == apidoc.QEMU {
				_, err = api.PostNodesQemuSnapshot(ctx, g.Node, g.ID, &generated.PostNodesQemuSnapshotParams{Snapname: in.Snapname, Description: text(in.Description), Vmstate: flag(in.VMState)})
				return err
			}
			_, err = api.PostNodesLxcSnapshot(ctx, g.Node, g.ID, &generated.PostNodesLxcSnapshotParams{Snapname: in.Snapname, Description: text(in.Description)})
			return err
		})
		if err != nil {
			return doc{}, err
		}
		switch {
		case in.VMState:
			ch.tells = append(ch.tells, "With RAM: the VM is paused while its memory is written, and the storage needs about twice the memory's size.")
		case g.Kind == apidoc.QEMU:
			ch.tells = append(ch.tells, "Without RAM: a rollback brings the disks back and leaves the VM stopped.")
		}
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}

// SnapshotDeleteArgs are the arguments of pve_snapshot_delete.
type SnapshotDeleteArgs struct {
	SnapshotRef
	WriteArgs
	WaitArgs
	Budget
}

func (a SnapshotDeleteArgs) options() render.Options { return a.Budget.options() }

var snapshotDeleteTool = Tool[SnapshotDeleteArgs, doc]{
	Name: "pve_snapshot_delete", Toolset: "core", Class: apidoc.Destroy,
	Text: "Delete a snapshot.",
	Run: func(ctx context.Context, c *Call, in SnapshotDeleteArgs) (doc, error) {
		g, list, err := c.snapshotTarget(ctx, in.SnapshotRef)
		if err == nil {
			err = knownSnapshot(in.Snapname, list)
		}
		if err != nil {
			return doc{}, err
		}
		ch := &change{title: fmt.Sprintf("Delete snapshot %s of %s on %s", in.Snapname, g.label(), g.Node), target: g, seen: g.Row.Status.V + " " + snapshotNames(list)}
		err = ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
			if g.Kind == apidoc.QEMU {
				_, err = api.DeleteNodesQemuSnapshotBySnapname(ctx, g.Node, g.ID, in.Snapname, nil)
				return err
			}
			_, err = api.DeleteNodesLxcSnapshotBySnapname(ctx, g.Node, g.ID, in.Snapname, nil)
			return err
		})
		if err != nil {
			return doc{}, err
		}
		ch.loses = append(ch.loses, "the guest's state as of snapshot "+in.Snapname+"; it can't be gone back to any more")
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}

// SnapshotRollbackArgs are the arguments of pve_snapshot_rollback.
type SnapshotRollbackArgs struct {
	SnapshotRef
	Start bool `json:"start,omitempty" jsonschema:"description=start afterwards"`
	WriteArgs
	WaitArgs
	Budget
}

func (a SnapshotRollbackArgs) options() render.Options { return a.Budget.options() }

var snapshotRollbackTool = Tool[SnapshotRollbackArgs, doc]{
	Name: "pve_snapshot_rollback", Toolset: "core", Class: apidoc.Destroy,
	Text: "Roll a guest back to a snapshot; loses everything since.",
	Run: func(ctx context.Context, c *Call, in SnapshotRollbackArgs) (doc, error) {
		g, list, err := c.snapshotTarget(ctx, in.SnapshotRef)
		if err == nil {
			err = knownSnapshot(in.Snapname, list)
		}
		if err != nil {
			return doc{}, err
		}
		ch := &change{title: fmt.Sprintf("Roll %s on %s back to snapshot %s", g.label(), g.Node, in.Snapname), target: g, seen: g.Row.Status.V + " " + snapshotNames(list)}
		err = ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
			if g.Kind == apidoc.QEMU {
				_, err = api.PostNodesQemuSnapshotRollback(ctx, g.Node, g.ID, in.Snapname, &generated.PostNodesQemuSnapshotRollbackParams{Start: flag(in.Start)})
				return err
			}
			_, err = api.PostNodesLxcSnapshotRollback(ctx, g.Node, g.ID, in.Snapname, &generated.PostNodesLxcSnapshotRollbackParams{Start: flag(in.Start)})
			return err
		})
		if err != nil {
			return doc{}, err
		}
		at := slices.IndexFunc(list, func(s snapshot) bool { return s.name == in.Snapname })
		ch.loses = append(ch.loses,
			fmt.Sprintf("everything written to its disks since %s (UTC)", render.FormatTime(time.Unix(list[at].time, 0))),
			"its configuration as it is now (the snapshot's comes back) and pending changes")
		ch.tells = append(ch.tells, "A running guest is stopped hard first; disks that the snapshot does not have become unused.")
		if !list[at].ram && !in.Start {
			ch.tells = append(ch.tells, "Afterwards it is stopped, because the snapshot holds no RAM; start=true starts it.")
		}
		if newer := list[at+1:]; len(newer) > 0 {
			names := make([]string, len(newer))
			for i, s := range newer {
				names[i] = s.name
			}
			ch.tells = append(ch.tells, fmt.Sprintf("There are newer snapshots (%s): ZFS, and LVM or directories with a volume chain, refuse to go back past them.", some(names, 6)))
		}
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}

// snapshotTarget finds the guest and reads its snapshots.
func (c *Call) snapshotTarget(ctx context.Context, ref SnapshotRef) (*guest, []snapshot, error) {
	g, err := c.find(ctx, ref.GuestRef)
	if err != nil {
		return nil, nil, err
	}
	if ref.Kind != "" && ref.Kind != string(g.Kind) {
		g.Note = strings.TrimSpace(fmt.Sprintf("%d is a %s. %s", g.ID, g.Kind.Noun(), g.Note))
	}
	list, err := c.snapshots(ctx, g)
	return g, list, err
}

func knownSnapshot(name string, list []snapshot) error {
	var names []string
	for _, s := range list {
		if s.name == name {
			return nil
		}
		names = append(names, s.name)
	}
	e := &NotFoundError{What: "snapshot", Name: name, Near: nearOr(name, names)}
	if len(names) == 0 {
		e.Hint = "The guest has none."
	}
	return e
}

// snapshotNames is the state that a change of snapshots rests on.
func snapshotNames(list []snapshot) string {
	var b strings.Builder
	for _, s := range list {
		_, _ = fmt.Fprintf(&b, "%s@%d<%s ", s.name, s.time, s.parent)
	}
	return b.String()
}

// text gives a parameter that is only sent when it was given.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
