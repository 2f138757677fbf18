package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /nodes/{node}/qemu", func(c *call) (any, error) { return guestList(c, apidoc.QEMU) })
	register("GET /nodes/{node}/lxc", func(c *call) (any, error) { return guestList(c, apidoc.LXC) })
	register("GET /nodes/{node}/qemu/{vmid}/status/current", func(c *call) (any, error) { return guestStatus(c, apidoc.QEMU) })
	register("GET /nodes/{node}/lxc/{vmid}/status/current", func(c *call) (any, error) { return guestStatus(c, apidoc.LXC) })
	register("GET /nodes/{node}/qemu/{vmid}/feature", func(c *call) (any, error) { return guestFeature(c, apidoc.QEMU) })
	register("GET /nodes/{node}/lxc/{vmid}/feature", func(c *call) (any, error) { return guestFeature(c, apidoc.LXC) })
	register("GET /nodes/{node}/qemu/{vmid}/migrate", vmMigratePreconditions)
	register("GET /nodes/{node}/lxc/{vmid}/migrate", ctMigratePreconditions)
}

// theNode gives the node of the path. Most calls reach their handler only when
// it exists and answers; the few that the contacted node answers itself do not.
func (c *call) theNode() (*Node, error) {
	n := c.world.Node(apidoc.Node(c.node()))
	if n == nil {
		return nil, fail("no such cluster node '%s'", c.node())
	}
	return n, nil
}

// guest gives the guest of the path. One of another kind or on another node
// does not exist there.
func (c *call) guest(kind apidoc.GuestKind) (*Guest, error) {
	g := c.world.Guest(apidoc.VMID(c.vmid()))
	if g == nil || g.Kind != kind || string(g.Node) != c.node() {
		return nil, noConfig(kind, c.node(), c.vmid())
	}
	return g, nil
}

// noConfig is the error of a guest that a node does not have.
func noConfig(kind apidoc.GuestKind, node string, id int) error {
	folder := "qemu-server"
	if kind == apidoc.LXC {
		folder = "lxc"
	}
	return fail("Configuration file 'nodes/%s/%s/%d.conf' does not exist", node, folder, id)
}

func guestList(c *call, kind apidoc.GuestKind) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	full := kind == apidoc.QEMU && c.flag("full", false)
	list := []object{}
	for _, g := range c.world.GuestsOn(n.Name, kind) {
		if c.seesGuest(g.ID) {
			list = append(list, c.guestState(g, n, full, false))
		}
	}
	return c.rows(list), nil
}

// guestState is a guest as its own node sees it. single is the form of
// status/current.
func (c *call) guestState(g *Guest, n *Node, full, single bool) object {
	t := c.now.Unix()
	f := g.at(t)
	in, out, read, write := g.counters(t)
	status := Stopped
	if g.Up() {
		status = Running
	}
	o := make(object, 0, 40)
	o = append(o, member{"vmid", int(g.ID)}, member{"name", g.ShownName()}, member{"status", string(status)}, member{"cpus", g.CPUs(n)}, member{"cpu", f.cpu},
		member{"mem", f.mem}, member{"maxmem", g.Memory()}, member{"maxdisk", g.MaxDisk()}, member{"uptime", g.uptime(t)}, member{"netin", in}, member{"netout", out})
	if g.Template() {
		o.put("template", 1)
	}
	o.putIf("lock", g.Lock())
	o.putIf("tags", g.Config.Get("tags"))
	if g.Up() {
		o.put("pid", g.PID)
	}
	if g.Kind == apidoc.LXC {
		disk := int64(0)
		if g.Up() {
			disk = g.DiskUsed
		}
		o = append(o, member{"type", "lxc"}, member{"disk", disk}, member{"diskread", read}, member{"diskwrite", write}, member{"swap", 0}, member{"maxswap", g.Swap()})
		if g.Up() && c.world.Version.Major() >= 9 {
			for _, k := range [...]string{"pressurecpusome", "pressurecpufull", "pressureiosome", "pressureiofull", "pressurememorysome", "pressurememoryfull"} {
				o.put(k, fmt.Sprintf("%.2f", f.cpu*unit(g.Load.Seed+uint64(len(k)))))
			}
		}
		return o
	}
	memhost := int64(0)
	if g.Up() {
		memhost = f.mem + f.mem/32
	}
	o = append(o, member{"disk", 0})
	if c.world.Version.Major() >= 9 {
		o.put("memhost", memhost)
	}
	if g.Config.Has("serial0") {
		o.put("serial", 1)
	}
	if b := atoi(g.Config.Get("balloon")); b > 0 {
		o.put("balloon_min", int64(b)*mib)
		o.put("shares", 1000)
	}
	if g.Up() && c.world.Version.Major() >= 9 {
		for _, k := range [...]string{"pressurecpusome", "pressurecpufull", "pressureiosome", "pressureiofull", "pressurememorysome", "pressurememoryfull"} {
			o.put(k, f.cpu*unit(g.Load.Seed+uint64(len(k))))
		}
	}
	if single || full {
		qmp := g.State
		if qmp == "" {
			qmp = Stopped
		}
		o.put("qmpstatus", string(qmp))
		if g.Up() {
			o = append(o, member{"diskread", read}, member{"diskwrite", write})
			machine := g.Config.Get("machine")
			if machine == "" {
				machine = "pc-i440fx-10.1"
			}
			o = append(o, member{"running-machine", machine + "+pve0"}, member{"running-qemu", "11.0.0"}, member{"balloon", g.Memory()}, member{"freemem", g.Memory() - f.mem},
				member{"ballooninfo", object{{"actual", g.Memory()}, {"max_mem", g.Memory()}, {"total_mem", g.Memory() * 98 / 100}, {"free_mem", g.Memory() - f.mem}, {"last_update", t - 3}}},
				member{"proxmox-support", object{{"backup-fleecing", 1}, {"pbs-dirty-bitmap", 1}, {"pbs-dirty-bitmap-migration", 1}, {"pbs-dirty-bitmap-savevm", 1}, {"pbs-library-version", "2.0.1"}, {"query-bitmap-info", 1}, {"backup-max-workers", 1}}})
			nics, blocks := object{}, object{}
			for _, k := range g.Config.Keys() {
				if indexed(k, "net") {
					nics.put("tap"+g.ID.String()+"i"+strings.TrimPrefix(k, "net"), object{{"netin", in}, {"netout", out}})
				}
			}
			for _, d := range g.Disks() {
				if isDiskKey(d.Key) {
					blocks.put(d.Key, object{{"rd_bytes", read}, {"wr_bytes", write}, {"rd_operations", read / 16384}, {"wr_operations", write / 16384}, {"failed_rd_operations", 0}, {"failed_wr_operations", 0}})
				}
			}
			o = append(o, member{"nics", nics}, member{"blockstat", blocks})
		}
	}
	return o
}

func guestStatus(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	o := c.guestState(g, c.world.Node(g.Node), true, true)
	ha := object{{"managed", 0}}
	if r := c.world.HA.Resource(g.ID); r != nil {
		ha = object{{"managed", 1}, {"state", r.shownState()}}
		ha.putIf("group", r.Group)
	}
	o.put("ha", ha)
	if kind == apidoc.QEMU {
		o.flagIf("agent", g.agentConfigured())
		o.flagIf("spice", strings.HasPrefix(g.Config.Get("vga"), "qxl"))
	}
	return c.one(o), nil
}

// agentConfigured tells whether the VM's configuration switches the agent on.
func (g *Guest) agentConfigured() bool {
	v := firstPart(strings.TrimPrefix(g.Config.Get("agent"), "enabled="))
	return v == "1"
}

// hasFeature tells whether every volume of the guest lies where the feature exists.
func (w *World) hasFeature(g *Guest, feature string, snapshot string) bool {
	config := &g.Config
	if s := g.Snapshot(snapshot); s != nil {
		config = &s.Config
	}
	for _, d := range Disks(g.Kind, config) {
		id, _, ok := d.Volume.Split()
		if d.CDROM || !ok || indexed(d.Key, "unused") || d.Key == "vmstate" {
			continue
		}
		s := w.Storage(id)
		if s == nil || !s.can(feature, d.Volume, g.Kind, snapshot != "") {
			return false
		}
	}
	return true
}

// can tells whether a storage has a feature for a volume (pve-storage's
// volume_has_feature): snapshots need qcow2 on file storages; linked clones
// need a base, or a snapshot where the storage can clone from one.
func (s *Storage) can(feature string, vol apidoc.VolID, kind apidoc.GuestKind, snap bool) bool {
	t := storageTypes[s.Type]
	qcow2 := strings.HasSuffix(string(vol), ".qcow2")
	switch feature {
	case "snapshot":
		if t.files && s.Type != "btrfs" {
			return t.snapshots && qcow2
		}
		if s.Type == "lvm" {
			return s.Options.Get("snapshot-as-volume-chain") == "1" && qcow2
		}
		return t.snapshots
	case "clone":
		if !t.base || kind == apidoc.LXC && t.files {
			return false
		}
		_, name, _ := vol.Split()
		last := name[strings.LastIndexByte(name, '/')+1:]
		base := strings.HasPrefix(last, "base")
		return base || snap && (s.Type == "lvmthin" || s.Type == "rbd")
	case "copy":
		return !snap || s.Type != "zfspool"
	case "replicate":
		return t.replicate
	}
	return true
}

func guestFeature(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	snap := c.param("snapname")
	if snap != "" && g.Snapshot(snap) == nil {
		return nil, fail("snapshot '%s' does not exist", snap)
	}
	has := c.world.hasFeature(g, c.param("feature"), snap)
	o := object{{"hasFeature", number01(has)}}
	if kind == apidoc.QEMU {
		nodes := []string{}
		for _, n := range c.world.Nodes {
			if len(c.world.missingStorages(g, n.Name)) == 0 {
				nodes = append(nodes, string(n.Name))
			}
		}
		o.put("nodes", nodes)
	}
	return c.one(o), nil
}

// missingStorages lists the storages of a guest's volumes that a node does not have.
func (w *World) missingStorages(g *Guest, node apidoc.Node) []string {
	missing := []string{}
	for _, d := range g.Disks() {
		id, _, ok := d.Volume.Split()
		if !ok {
			continue
		}
		s := w.Storage(id)
		if (s == nil || s.Disabled || !s.On(node)) && !slices.Contains(missing, string(id)) {
			missing = append(missing, string(id))
		}
	}
	slices.Sort(missing)
	return missing
}

// vmMigratePreconditions says where a VM may go and what goes with it.
func vmMigratePreconditions(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if l := g.Lock(); l != "" {
		return nil, fail("VM is locked (%s)", l)
	}
	if !c.world.Quorate {
		return nil, fail("cluster not ready - no quorum?")
	}
	allowed, refused := []string{}, object{}
	for _, n := range c.world.Nodes {
		if n.Name == g.Node || c.has("target") && c.param("target") != string(n.Name) {
			continue
		}
		if missing := c.world.missingStorages(g, n.Name); len(missing) > 0 {
			refused.put(string(n.Name), object{{"unavailable_storages", missing}})
			continue
		}
		if n.Online {
			allowed = append(allowed, string(n.Name))
		} else {
			refused.put(string(n.Name), object{})
		}
	}
	disks := []object{}
	resources := []string{}
	mapped := []string{}
	for _, d := range g.Disks() {
		id, _, ok := d.Volume.Split()
		s := c.world.Storage(id)
		if ok && s != nil && !s.Shared {
			disks = append(disks, object{{"volid", string(d.Volume)}, {"size", d.Size}, {"cdrom", number01(d.CDROM)}, {"is_unused", number01(indexed(d.Key, "unused"))}, {"is_attached", number01(!indexed(d.Key, "unused"))}, {"drivename", d.Key}, {"shared", 0}, {"replicate", 1}, {"referenced_in_config", 1}})
		}
	}
	g.Config.Each(func(k, v string) bool {
		if indexed(k, "hostpci") || indexed(k, "usb") && !strings.HasPrefix(v, "spice") {
			if strings.Contains(v, "mapping=") {
				mapped = append(mapped, k)
			} else {
				resources = append(resources, k)
			}
		}
		return true
	})
	o := object{{"running", number01(g.Up())}, {"allowed_nodes", allowed}, {"not_allowed_nodes", refused}, {"local_disks", disks}, {"local_resources", resources}, {"mapped-resources", mapped}, {"mapped-resource-info", object{}}, {"has-dbus-vmstate", 1}}
	if c.world.HA.Resource(g.ID) != nil {
		o.put("dependent-ha-resources", []string{})
	}
	return c.one(o), nil
}

// ctMigratePreconditions has hyphens where the VMs' has underscores, and does
// not look at storages.
func ctMigratePreconditions(c *call) (any, error) {
	g, err := c.guest(apidoc.LXC)
	if err != nil {
		return nil, err
	}
	allowed, refused := []string{}, object{}
	for _, n := range c.world.Nodes {
		if n.Name == g.Node || c.has("target") && c.param("target") != string(n.Name) {
			continue
		}
		if n.Online {
			allowed = append(allowed, string(n.Name))
		} else {
			refused.put(string(n.Name), object{})
		}
	}
	return c.one(object{{"running", number01(g.Up())}, {"allowed-nodes", allowed}, {"not-allowed-nodes", refused}}), nil
}

// numberText tells whether a text is a plain decimal number.
func numberText(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}
