package curated

import (
	"context"
	"fmt"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// DiskArgs are the arguments of pve_disk.
type DiskArgs struct {
	GuestRef
	Action       string `json:"action" jsonschema:"required,enum=grow,enum=move,enum=detach,enum=destroy"`
	Disk         string `json:"disk" jsonschema:"required,description=e.g. scsi0\\, rootfs\\, unused0"`
	Size         string `json:"size,omitempty" jsonschema:"description=grow: +10G or 50G"`
	Storage      string `json:"storage,omitempty" jsonschema:"description=move: target"`
	DeleteSource bool   `json:"delete_source,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a DiskArgs) options() shapeOptions { return a.Budget.options() }

var diskTool = Tool[DiskArgs, doc]{
	Name: "pve_disk", Toolset: "guests", Class: apidoc.Destroy,
	Text: "Grow, move, detach or destroy a guest's disk.",
	Run: func(ctx context.Context, c *Call, in DiskArgs) (doc, error) {
		return c.disk(ctx, in)
	},
}

func (c *Call) disk(ctx context.Context, in DiskArgs) (doc, error) {
	g, err := c.find(ctx, in.GuestRef)
	if err != nil {
		return doc{}, err
	}
	config, digest, err := c.config(ctx, g)
	if err != nil {
		return doc{}, err
	}
	var keys []string
	for _, d := range disksOf(config) {
		keys = append(keys, d.key)
	}
	value, ok := config[in.Disk]
	if !ok || !isDisk(in.Disk) {
		return doc{}, &ArgError{Arg: "disk", Why: fmt.Sprintf("%s has no disk %q", g.label(), clip(in.Disk)), Valid: nearOr(in.Disk, keys)}
	}
	if strings.Contains(value, "media=cdrom") && in.Action != "detach" {
		return doc{}, badArg("disk", "%s is a CD-ROM drive", in.Disk)
	}
	if (in.Action == "detach" || in.Action == "destroy") && in.Disk == "rootfs" {
		return doc{}, badArg("disk", "a container's root disk can't be taken from it")
	}
	volume := properties(value)[""]
	ch := &change{target: g, seen: digest, atomic: digest != ""}
	switch in.Action {
	case "grow":
		err = c.growDisk(ctx, ch, g, in, volume, digest)
	case "move":
		err = c.moveDisk(ctx, ch, g, in, volume, digest)
	case "detach":
		if strings.HasPrefix(in.Disk, "unused") {
			return doc{}, badArg("disk", "%s is detached already; action=destroy destroys it", in.Disk)
		}
		ch.title = fmt.Sprintf("Detach %s (%s) of %s on %s", in.Disk, volume, g.label(), g.Node)
		ch.tells = append(ch.tells, "The volume is kept and listed as an unused disk.")
		err = c.removeKey(ctx, ch, g, in.Disk, digest)
	case "destroy":
		if !strings.HasPrefix(in.Disk, "unused") {
			return doc{}, badArg("disk", "%s is in use: detach it first, then destroy the unused disk that it becomes", in.Disk)
		}
		ch.title = fmt.Sprintf("Destroy %s (%s) of %s on %s", in.Disk, value, g.label(), g.Node)
		ch.loses = append(ch.loses, "the volume "+value+", with all its data")
		err = c.removeKey(ctx, ch, g, in.Disk, digest)
	}
	if err != nil {
		return doc{}, err
	}
	return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
}

func (c *Call) growDisk(ctx context.Context, ch *change, g *guest, in DiskArgs, volume, digest string) error {
	if in.Size == "" {
		return badArg("size", "is needed: +10G adds ten GiB, 50G makes it fifty")
	}
	if strings.HasPrefix(in.Size, "-") {
		return badArg("size", "disks can't be made smaller")
	}
	ch.title = fmt.Sprintf("Grow %s (%s) of %s on %s to %s", in.Disk, volume, g.label(), g.Node, in.Size)
	if strings.HasPrefix(in.Size, "+") {
		ch.title = fmt.Sprintf("Grow %s (%s) of %s on %s by %s", in.Disk, volume, g.label(), g.Node, in.Size[1:])
	}
	if g.Kind == apidoc.QEMU {
		ch.tells = append(ch.tells, "Partitions and file systems inside the VM are not grown; that is done in the guest.")
	}
	ch.tells = append(ch.tells, "A disk can't be made smaller again.")
	return ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
		if g.Kind == apidoc.QEMU {
			_, err = api.PutNodesQemuResize(ctx, g.Node, g.ID, &generated.PutNodesQemuResizeParams{Disk: in.Disk, Size: in.Size, Digest: text(digest)})
			return err
		}
		_, err = api.PutNodesLxcResize(ctx, g.Node, g.ID, &generated.PutNodesLxcResizeParams{Disk: in.Disk, Size: in.Size, Digest: text(digest)})
		return err
	})
}

func (c *Call) moveDisk(ctx context.Context, ch *change, g *guest, in DiskArgs, volume, digest string) error {
	if in.Storage == "" {
		return badArg("storage", "is needed: the storage to move to")
	}
	if g.Kind == apidoc.LXC && g.Row.Status.V == "running" {
		return badArg("vmid", "%s is running, and a container's volumes can only be moved while it is stopped", g.label())
	}
	ch.title = fmt.Sprintf("Move %s (%s) of %s on %s to %s", in.Disk, volume, g.label(), g.Node, in.Storage)
	if in.DeleteSource {
		ch.loses = append(ch.loses, "the source volume "+volume+" once it is copied")
	} else {
		ch.tells = append(ch.tells, "The source volume is kept and listed as an unused disk.")
	}
	return ch.add(ctx, c, nil, func(api *generated.Client) (err error) {
		if g.Kind == apidoc.QEMU {
			_, err = api.PostNodesQemuMoveDisk(ctx, g.Node, g.ID, &generated.PostNodesQemuMoveDiskParams{Disk: in.Disk, Storage: storageParam(in.Storage), Delete: flag(in.DeleteSource), Digest: text(digest)})
			return err
		}
		_, err = api.PostNodesLxcMoveVolume(ctx, g.Node, g.ID, &generated.PostNodesLxcMoveVolumeParams{Volume: in.Disk, Storage: storageParam(in.Storage), Delete: flag(in.DeleteSource), Digest: text(digest)})
		return err
	})
}

// removeKey deletes one key of the configuration: a disk in use is detached by
// it, an unused one destroyed.
func (c *Call) removeKey(ctx context.Context, ch *change, g *guest, key, digest string) error {
	return ch.add(ctx, c, nil, func(api *generated.Client) error {
		if g.Kind == apidoc.LXC {
			return api.PutNodesLxcConfig(ctx, g.Node, g.ID, &generated.PutNodesLxcConfigParams{Delete: &key, Digest: text(digest)})
		}
		_, err := api.PostNodesQemuConfig(ctx, g.Node, g.ID, &generated.PostNodesQemuConfigParams{Delete: &key, Digest: text(digest)})
		return err
	})
}
