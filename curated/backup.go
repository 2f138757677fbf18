package curated

import (
	"context"
	"fmt"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// BackupArgs are the arguments of pve_backup.
type BackupArgs struct {
	GuestRef
	Storage   string `json:"storage" jsonschema:"required"`
	Mode      string `json:"mode,omitempty" jsonschema:"enum=snapshot,enum=suspend,enum=stop"`
	Compress  string `json:"compress,omitempty" jsonschema:"enum=0,enum=gzip,enum=lzo,enum=zstd"`
	Notes     string `json:"notes,omitempty"`
	Protected bool   `json:"protected,omitempty"`
	Prune     bool   `json:"prune,omitempty" jsonschema:"description=apply the storage's retention after it"`
	WriteArgs
	WaitArgs
	Budget
}

func (a BackupArgs) options() shapeOptions { return a.Budget.options() }

var backupTool = Tool[BackupArgs, doc]{
	Name: "pve_backup", Toolset: "guests", Class: apidoc.Destroy,
	Text: "Back up a guest now.",
	Run: func(ctx context.Context, c *Call, in BackupArgs) (doc, error) {
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		mode, compress := in.Mode, in.Compress
		if mode == "" {
			mode = "snapshot"
		}
		if compress == "" {
			compress = "zstd"
		}
		id := g.ID.String()
		// Without remove=0 Proxmox prunes older backups by the storage's rules
		// after each backup; that is asked for, not assumed.
		remove := in.Prune
		ch := &change{title: fmt.Sprintf("Back up %s on %s to %s", g.label(), g.Node, in.Storage), target: g, seen: g.Row.Status.V + "@" + string(g.Node)}
		err = ch.add(ctx, c, nil, func(api *generated.Client) error {
			_, err := api.PostNodesVzdump(ctx, g.Node, &generated.PostNodesVzdumpParams{
				Vmid: &id, Storage: storageParam(in.Storage), Mode: &mode, Compress: &compress, Remove: &remove,
				NotesTemplate: text(in.Notes), Protected: flag(in.Protected)})
			return err
		})
		if err != nil {
			return doc{}, err
		}
		switch mode {
		case "stop":
			ch.tells = append(ch.tells, "Mode stop shuts the guest down for the backup's start.")
		case "suspend":
			ch.tells = append(ch.tells, "Mode suspend pauses the guest while its data is copied.")
		}
		if in.Prune {
			ch.loses = append(ch.loses, "older backups of it beyond the storage's retention")
		}
		ch.tells = append(ch.tells, "One backup runs on a node at a time; this one may wait for another.")
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	},
}

// RestoreArgs are the arguments of pve_restore.
type RestoreArgs struct {
	Archive string `json:"archive" jsonschema:"required,description=volid of the backup"`
	Node    string `json:"node,omitempty"`
	VMID    int    `json:"vmid,omitempty" jsonschema:"description=omit for a new guest"`
	Over    bool   `json:"overwrite,omitempty" jsonschema:"description=replace the existing guest vmid"`
	Storage string `json:"storage,omitempty"`
	Start   bool   `json:"start,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a RestoreArgs) options() shapeOptions { return a.Budget.options() }

var restoreTool = Tool[RestoreArgs, doc]{
	Name: "pve_restore", Toolset: "guests", Class: apidoc.Destroy,
	Text: "Restore a guest from a backup.",
	Run: func(ctx context.Context, c *Call, in RestoreArgs) (doc, error) {
		return c.restore(ctx, in)
	},
}

// backupKind tells what a backup is of, by its volume name.
func backupKind(volid string) (apidoc.GuestKind, bool) {
	_, name, ok := apidoc.VolID(volid).Split()
	switch {
	case !ok || !strings.HasPrefix(name, "backup/"):
		return "", false
	case strings.Contains(name, "vzdump-qemu-"), strings.HasPrefix(name, "backup/vm/"):
		return apidoc.QEMU, true
	case strings.Contains(name, "vzdump-lxc-"), strings.Contains(name, "vzdump-openvz-"), strings.HasPrefix(name, "backup/ct/"):
		return apidoc.LXC, true
	}
	return "", false
}

func (c *Call) restore(ctx context.Context, in RestoreArgs) (doc, error) {
	kind, ok := backupKind(in.Archive)
	if !ok {
		return doc{}, badArg("archive", "%q is not the volid of a backup, such as local:backup/vzdump-qemu-100-2026_01_31-01_00_00.vma.zst (pve_storage_content with content=backup lists them)", clip(in.Archive))
	}
	if in.Over && in.VMID == 0 {
		return doc{}, badArg("vmid", "is needed with overwrite: the guest to replace")
	}
	if in.Over {
		g, err := c.find(ctx, GuestRef{VMID: in.VMID})
		if err != nil {
			return doc{}, err
		}
		switch {
		case g.Kind != kind:
			return doc{}, badArg("vmid", "%s can't be replaced by the backup of a %s", g.label(), kind.Noun())
		case g.Row.Status.V != "stopped":
			return doc{}, badArg("vmid", "%s is %s; it can only be replaced when stopped", g.label(), g.Row.Status.V)
		case in.Node != "" && in.Node != string(g.Node):
			return doc{}, badArg("node", "%s is on %s; it can only be replaced there", g.label(), g.Node)
		}
		config, digest, err := c.config(ctx, g)
		if err != nil {
			return doc{}, err
		}
		if config["protection"] == "1" {
			return doc{}, badArg("vmid", "%s has its protection on: Proxmox refuses to restore over it", g.label())
		}
		ch, err := c.restoration(ctx, in, kind, g.Node, g.ID)
		if err != nil {
			return doc{}, err
		}
		ch.title = fmt.Sprintf("Restore %s over %s on %s%s", in.Archive, g.label(), g.Node, andStart(in.Start))
		ch.target, ch.seen = g, digest
		ch.loses = append(ch.loses, "its present disks, destroyed BEFORE the backup is read: if the restore fails, the guest is gone and only its backups are left", "its snapshots and present configuration")
		for _, d := range disksOf(config) {
			if !d.cdrom && d.storage != "" {
				ch.loses = append(ch.loses, fmt.Sprintf("%s: %s %s", d.key, d.volume, d.size))
			}
		}
		return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
	}
	storage, _, _ := apidoc.VolID(in.Archive).Split()
	node, err := c.storageNode(ctx, string(storage), in.Node)
	if err != nil {
		return doc{}, err
	}
	return c.withNewID(ctx, in.VMID, in.WriteArgs, in.WaitArgs, func(id apidoc.VMID) (*change, error) {
		ch, err := c.restoration(ctx, in, kind, node, id)
		if err != nil {
			return nil, err
		}
		ch.title = fmt.Sprintf("Restore %s as new %s %d on %s%s", in.Archive, kind.Noun(), id, node, andStart(in.Start))
		ch.tells = append(ch.tells, "It gets new MAC addresses, so that it can run beside the original; fixed IP addresses inside are the same.")
		return ch, nil
	})
}

// restoration writes down the call, and a start of its own.
func (c *Call) restoration(ctx context.Context, in RestoreArgs, kind apidoc.GuestKind, node apidoc.Node, id apidoc.VMID) (*change, error) {
	ch := &change{}
	unique := !in.Over
	err := ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
		if kind == apidoc.QEMU {
			_, err = api.PostNodesQemu(ctx, node, &generated.PostNodesQemuParams{Vmid: id, Archive: &in.Archive, Storage: storageParam(in.Storage), Unique: flag(unique), Force: flag(in.Over)})
			return err
		}
		_, err = api.PostNodesLxc(ctx, node, &generated.PostNodesLxcParams{Vmid: id, Ostemplate: in.Archive, Restore: flag(true), Storage: storageParam(in.Storage), Unique: flag(unique), Force: flag(in.Over)})
		return err
	})
	if err == nil && in.Start {
		g := &guest{ID: id, Kind: kind, Node: node}
		err = ch.add(ctx, c, nil, func(api *generated.Client) error { return powerCall(ctx, api, g, powerArgs{action: "start"}) })
	}
	return ch, err
}
