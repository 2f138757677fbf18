package curated

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// ConfigureArgs are the arguments of pve_configure.
type ConfigureArgs struct {
	GuestRef
	Set       map[string]any `json:"set,omitempty" jsonschema:"description=any configuration key\\, e.g. cores"`
	Delete    []string       `json:"delete,omitempty"`
	Revert    []string       `json:"revert,omitempty" jsonschema:"description=drop pending changes of keys"`
	CloudInit bool           `json:"cloudinit,omitempty" jsonschema:"description=rebuild the cloud-init drive"`
	WriteArgs
	WaitArgs
	Budget
}

func (a ConfigureArgs) options() shapeOptions { return a.Budget.options() }

var configureTool = Tool[ConfigureArgs, doc]{
	Name: "pve_configure", Toolset: "guests", Class: apidoc.Destroy,
	Text: "Change a guest's configuration.",
	Run: func(ctx context.Context, c *Call, in ConfigureArgs) (doc, error) {
		if len(in.Set)+len(in.Delete)+len(in.Revert) == 0 && !in.CloudInit {
			return doc{}, badArg("set", "nothing to change: give set, delete, revert or cloudinit")
		}
		g, err := c.find(ctx, in.GuestRef)
		if err != nil {
			return doc{}, err
		}
		return c.configure(ctx, g, in)
	},
}

// config reads a guest's configuration and its digest.
func (c *Call) config(ctx context.Context, g *guest) (config map[string]string, digest string, err error) {
	data, err := c.raw(func(api *generated.Client) error {
		if g.Kind == apidoc.QEMU {
			_, err := api.GetNodesQemuConfig(ctx, g.Node, g.ID, nil)
			return err
		}
		_, err := api.GetNodesLxcConfig(ctx, g.Node, g.ID, nil)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	config = flatten(data)
	return config, config["digest"], nil
}

// isDisk tells the configuration keys that hold a volume.
func isDisk(key string) bool {
	return key == "rootfs" || indexedKey(key, "scsi", "virtio", "sata", "ide", "efidisk", "tpmstate", "mp", "unused")
}

func (c *Call) configure(ctx context.Context, g *guest, in ConfigureArgs) (doc, error) {
	now, digest, err := c.config(ctx, g)
	if err != nil {
		return doc{}, err
	}
	more := encodeSSHKeys(in.Set)
	keys := make([]string, 0, len(more)+len(in.Delete)+len(in.Revert))
	disks := false
	for key := range more {
		keys = append(keys, key)
		disks = disks || isDisk(key)
	}
	sort.Strings(keys)
	for _, key := range in.Delete {
		if _, ok := now[key]; !ok {
			return doc{}, &ArgError{Arg: "delete", Why: fmt.Sprintf("the guest has no key %q", clip(key)), Valid: nearOr(key, sortedConfig(now))}
		}
		keys = append(keys, "-"+key)
		disks = disks || isDisk(key)
	}
	ch := &change{target: g, seen: digest, atomic: digest != ""}
	params := map[string]any{}
	for k, v := range more {
		params[k] = v
	}
	if len(in.Delete) > 0 {
		params["delete"] = strings.Join(in.Delete, ",")
	}
	if len(in.Revert) > 0 {
		params["revert"] = strings.Join(in.Revert, ",")
		for _, k := range in.Revert {
			keys = append(keys, "revert "+k)
		}
	}
	if digest != "" {
		params["digest"] = digest
	}
	ch.title = fmt.Sprintf("Configure %s on %s (%s)", g.label(), g.Node, some(keys, 8))
	if len(keys) > 0 {
		err = ch.add(ctx, c, params, func(api *generated.Client) error {
			switch {
			case g.Kind == apidoc.LXC:
				return api.PutNodesLxcConfig(ctx, g.Node, g.ID, nil)
			case disks: // allocating and hot-plugging takes time: the task form
				_, err := api.PostNodesQemuConfig(ctx, g.Node, g.ID, nil)
				return err
			}
			return api.PutNodesQemuConfig(ctx, g.Node, g.ID, nil)
		})
		if err != nil {
			return doc{}, err
		}
	}
	if in.CloudInit {
		if g.Kind != apidoc.QEMU {
			return doc{}, badArg("cloudinit", "containers have no cloud-init drive")
		}
		if len(keys) == 0 {
			ch.title = fmt.Sprintf("Rebuild the cloud-init drive of %s on %s", g.label(), g.Node)
		} else {
			ch.title += " and rebuild its cloud-init drive"
		}
		if err := ch.add(ctx, c, nil, func(api *generated.Client) error {
			return api.PutNodesQemuCloudinit(ctx, g.Node, g.ID)
		}); err != nil {
			return doc{}, err
		}
	}
	c.configTells(ch, g, now, more, in)
	ch.after = func(ctx context.Context, d *render.Doc, _ time.Duration) { c.tellPending(ctx, d, g) }
	return c.carryOut(ctx, ch, in.WriteArgs, in.WaitArgs)
}

// configTells says what the change means for disks and values.
func (c *Call) configTells(ch *change, g *guest, now map[string]string, set map[string]any, in ConfigureArgs) {
	for _, key := range sortedAny(set) {
		old, had := now[key]
		switch {
		case !had:
		case secretKeys[key]:
			ch.facts = append(ch.facts, key+" is replaced")
		default:
			ch.facts = append(ch.facts, fmt.Sprintf("%s is %s now", key, clip(render.Line(old))))
		}
		if isDisk(key) && had && properties(old)[""] != "" {
			ch.facts = append(ch.facts, fmt.Sprintf("if %s gets another volume, the old one is kept as an unused disk", key))
		}
	}
	for _, key := range in.Delete {
		switch {
		case strings.HasPrefix(key, "unused"):
			ch.loses = append(ch.loses, fmt.Sprintf("the volume %s (%s), with all its data", now[key], key))
		case isDisk(key) && strings.Contains(now[key], "media=cdrom"):
		case isDisk(key) && strings.Contains(now[key], "cloudinit"):
			ch.facts = append(ch.facts, "the cloud-init drive is removed; it can be made anew")
		case isDisk(key):
			ch.facts = append(ch.facts, fmt.Sprintf("%s (%s) is detached and kept as an unused disk", key, properties(now[key])[""]))
		case secretKeys[key]:
			ch.facts = append(ch.facts, key+" is removed")
		default:
			ch.facts = append(ch.facts, fmt.Sprintf("%s (%s) is removed", key, clip(render.Line(now[key]))))
		}
	}
	if force, ok := set["force"]; ok && fmt.Sprint(force) != "0" && fmt.Sprint(force) != "false" {
		for _, key := range in.Delete {
			if isDisk(key) {
				ch.loses = append(ch.loses, fmt.Sprintf("the volume of %s, with all its data (force)", key))
			}
		}
	}
	if g.Row != nil && g.Row.Status.V == "running" {
		ch.tells = append(ch.tells, "It runs: what can't be changed while running stays pending until it is stopped and started.")
	}
}

// tellPending says which changes do not apply yet: Proxmox accepts a change and
// leaves it pending without saying so.
func (c *Call) tellPending(ctx context.Context, d *render.Doc, g *guest) {
	var pending []string
	note := func(key, value string, gone int64) {
		switch {
		case gone > 0:
			pending = append(pending, key+" (to be removed)")
		case value != "":
			if secretKeys[key] {
				value = "(hidden)"
			}
			pending = append(pending, key+"="+clip(render.Line(value)))
		}
	}
	if g.Kind == apidoc.QEMU {
		list, err := c.api.GetNodesQemuPending(ctx, g.Node, g.ID)
		if err != nil {
			d.Warnf("Whether anything stays pending could not be read: %s", c.explain(ctx, c.Tool, err))
			return
		}
		for i := range list {
			note(list[i].Key.V, list[i].Pending.V, list[i].Delete.V)
		}
	} else {
		list, err := c.api.GetNodesLxcPending(ctx, g.Node, g.ID)
		if err != nil {
			d.Warnf("Whether anything stays pending could not be read: %s", c.explain(ctx, c.Tool, err))
			return
		}
		for i := range list {
			note(list[i].Key.V, list[i].Pending.V, list[i].Delete.V)
		}
	}
	if len(pending) > 0 {
		d.Summaryf("Pending until it is stopped and started: %s", some(pending, 10))
	} else {
		d.Summaryf("Nothing is pending: the change is in force.")
	}
}

// encodeSSHKeys brings public keys into the form that Proxmox wants them in
// (URL-encoded), unless they are already. The given map is left as it is.
func encodeSSHKeys(set map[string]any) map[string]any {
	v, ok := set["sshkeys"]
	if !ok {
		return set
	}
	out := map[string]any{}
	for k, v := range set {
		out[k] = v
	}
	var lines []string
	switch v := v.(type) {
	case string:
		lines = []string{v}
	case []any:
		for _, item := range v {
			lines = append(lines, fmt.Sprint(item))
		}
	default:
		return set
	}
	keys := strings.TrimSpace(strings.Join(lines, "\n"))
	if strings.ContainsAny(keys, " \n") {
		keys = strings.ReplaceAll(url.QueryEscape(keys), "+", "%20")
	}
	out["sshkeys"] = keys
	return out
}

func sortedAny[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return naturalLess(keys[i], keys[j]) })
	return keys
}

// isDiskImage tells a volume that can be imported as a disk from an ISO.
func isDiskImage(volid string) bool {
	return slices.ContainsFunc([]string{".qcow2", ".raw", ".vmdk", ".img"}, func(s string) bool { return strings.HasSuffix(volid, s) })
}

// storageOf gives the storage of "STORAGE:GiB" or "STORAGE".
func storageOf(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name
}
