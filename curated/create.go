package curated

import (
	"context"
	"fmt"
	"sort"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// CreateArgs are the arguments of pve_create.
type CreateArgs struct {
	Kind     string         `json:"kind" jsonschema:"required,enum=qemu,enum=lxc"`
	Node     string         `json:"node,omitempty"`
	VMID     int            `json:"vmid,omitempty"`
	Name     string         `json:"name,omitempty"`
	Cores    int            `json:"cores,omitempty"`
	Memory   int            `json:"memory,omitempty" jsonschema:"description=MiB"`
	Disk     string         `json:"disk,omitempty" jsonschema:"description=STORAGE:GiB"`
	Source   string         `json:"source,omitempty" jsonschema:"description=volid: ISO or disk image (VM)\\, template (container)"`
	Bridge   string         `json:"bridge,omitempty"`
	Password string         `json:"password,omitempty"`
	Start    bool           `json:"start,omitempty"`
	Params   map[string]any `json:"params,omitempty" jsonschema:"description=any further API parameter"`
	WriteArgs
	WaitArgs
	Budget
}

func (a CreateArgs) options() shapeOptions { return a.Budget.options() }

var createTool = Tool[CreateArgs, doc]{
	Name: "pve_create", Toolset: "guests", Class: apidoc.Change,
	Text: "Create a VM or container.",
	Run: func(ctx context.Context, c *Call, in CreateArgs) (doc, error) {
		node, err := c.someNode(ctx, in.Node)
		if err != nil {
			return doc{}, err
		}
		if in.Kind == string(apidoc.LXC) && in.Source == "" {
			return doc{}, badArg("source", "a container is made from a template: its volid is needed, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst (pve_storage_content with content=vztmpl lists them)")
		}
		return c.withNewID(ctx, in.VMID, in.WriteArgs, in.WaitArgs, func(id apidoc.VMID) (*change, error) {
			return c.creation(ctx, in, node, id)
		})
	},
}

// creation writes down the one call that makes a guest.
func (c *Call) creation(ctx context.Context, in CreateArgs, node apidoc.Node, id apidoc.VMID) (*change, error) {
	kind := apidoc.GuestKind(in.Kind)
	more := map[string]any{}
	set := func(name string, given bool, v any) {
		if given {
			more[name] = v
		}
	}
	bridge := in.Bridge
	if bridge == "" {
		bridge = "vmbr0"
	}
	if kind == apidoc.QEMU {
		set("name", in.Name != "", in.Name)
		set("net0", true, map[string]any{"model": "virtio", "bridge": bridge})
		set("scsihw", true, "virtio-scsi-single")
		switch {
		case isDiskImage(in.Source):
			storage := in.Disk
			if storage == "" {
				return nil, badArg("disk", "the storage to import %s to is needed", clip(in.Source))
			}
			set("scsi0", true, storageOf(storage)+":0,import-from="+in.Source)
		default:
			set("scsi0", in.Disk != "", in.Disk)
			set("ide2", in.Source != "", in.Source+",media=cdrom")
		}
	} else {
		set("hostname", in.Name != "", in.Name)
		set("net0", true, map[string]any{"name": "eth0", "bridge": bridge, "ip": "dhcp"})
		set("rootfs", in.Disk != "", in.Disk)
		set("password", in.Password != "", in.Password)
	}
	set("cores", in.Cores > 0, in.Cores)
	set("memory", in.Memory > 0, in.Memory)
	for name, v := range in.Params {
		if name == "vmid" || name == "archive" || name == "ostemplate" || name == "force" || name == "restore" {
			return nil, badArg("params", "%q has its own argument or tool (vmid, source, pve_restore)", name)
		}
		more[name] = v
	}
	more = encodeSSHKeys(more)
	what := in.Name
	if what != "" {
		what = " (" + what + ")"
	}
	ch := &change{title: fmt.Sprintf("Create %s %d%s on %s%s", kind.Noun(), id, what, node, andStart(in.Start))}
	err := ch.add(ctx, c, more, func(api *generated.Client) (err error) {
		if kind == apidoc.QEMU {
			_, err = api.PostNodesQemu(ctx, node, &generated.PostNodesQemuParams{Vmid: id})
			return err
		}
		_, err = api.PostNodesLxc(ctx, node, &generated.PostNodesLxcParams{Vmid: id, Ostemplate: in.Source})
		return err
	})
	if err != nil {
		return nil, err
	}
	if in.Start {
		// A step of its own: a start that fails inside the creation is only a
		// warning there.
		g := &guest{ID: id, Kind: kind, Node: node}
		if err := ch.add(ctx, c, nil, func(api *generated.Client) error {
			return powerCall(ctx, api, g, powerArgs{action: "start"})
		}); err != nil {
			return nil, err
		}
	}
	if in.Disk == "" && kind == apidoc.QEMU {
		ch.tells = append(ch.tells, "It gets no disk: disk=STORAGE:GiB gives one.")
	}
	return ch, nil
}

// andStart ends the title of a change that starts what it made.
func andStart(start bool) string {
	if start {
		return " and start it"
	}
	return ""
}

// someNode takes the caller's node, or the online one with most free memory.
func (c *Call) someNode(ctx context.Context, name string) (apidoc.Node, error) {
	if name != "" {
		n, err := apidoc.ParseNode(name)
		if err != nil {
			return "", badArg("node", "%v", err)
		}
		return n, c.onlineNode(ctx, name)
	}
	all, err := c.resources(ctx, "node")
	if err != nil {
		return "", err
	}
	var online []*resource
	for i := range all {
		if all[i].Status.V == "online" {
			online = append(online, &all[i])
		}
	}
	if len(online) == 0 {
		return "", badArg("node", "is needed: no node is visible as online")
	}
	sort.Slice(online, func(i, j int) bool {
		return online[i].Maxmem.V-online[i].Mem.V > online[j].Maxmem.V-online[j].Mem.V
	})
	return apidoc.Node(online[0].Node.V), nil
}
