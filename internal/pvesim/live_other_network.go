package pvesim

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

func init() {
	register("POST /nodes/{node}/network", addInterface)
	register("PUT /nodes/{node}/network/{iface}", changeInterface)
	register("DELETE /nodes/{node}/network/{iface}", removeInterface)
	register("PUT /nodes/{node}/network", applyNetwork)
	register("DELETE /nodes/{node}/network", revertNetwork)
}

// pendNetwork keeps the interfaces as they are in force, before the first
// change that waits.
func (n *Node) pendNetwork() {
	if n.NetBefore == nil {
		n.NetBefore = []*Interface{}
		for _, i := range n.Interfaces {
			c := *i
			c.Options = i.Options.Clone()
			n.NetBefore = append(n.NetBefore, &c)
		}
	}
}

// stanza is an interface as /etc/network/interfaces has it.
func (i *Interface) stanza() []string {
	var lines []string
	if i.Autostart {
		lines = append(lines, "auto "+i.Name)
	}
	method := i.Options.Get("method")
	if method == "" {
		method = "manual"
	}
	lines = append(lines, "iface "+i.Name+" inet "+method)
	i.Options.Each(func(k, v string) bool {
		switch k {
		case "method", "method6", "address", "netmask", "comments", "comments6":
		case "cidr":
			lines = append(lines, "\taddress "+v)
		default:
			lines = append(lines, "\t"+strings.ReplaceAll(k, "_", "-")+" "+v)
		}
		return true
	})
	for line := range strings.SplitSeq(strings.TrimSpace(i.Options.Get("comments")), "\n") {
		if line != "" {
			lines = append(lines, "#"+line)
		}
	}
	return append(lines, "")
}

// noteChanges writes down what waits, as a diff; nothing when all is as it was.
func (n *Node) noteChanges() {
	byName := func(list []*Interface) map[string][]string {
		m := map[string][]string{}
		for _, i := range list {
			m[i.Name] = i.stanza()
		}
		return m
	}
	old, now := byName(n.NetBefore), byName(n.Interfaces)
	names := map[string]bool{}
	for k := range old {
		names[k] = true
	}
	for k := range now {
		names[k] = true
	}
	var b strings.Builder
	for _, name := range sortedKeys(names) {
		if slices.Equal(old[name], now[name]) {
			continue
		}
		for _, line := range old[name] {
			if slices.Contains(now[name], line) {
				b.WriteString(" " + line + "\n")
			} else {
				b.WriteString("-" + line + "\n")
			}
		}
		for _, line := range now[name] {
			if !slices.Contains(old[name], line) {
				b.WriteString("+" + line + "\n")
			}
		}
	}
	if b.Len() == 0 {
		n.NetBefore, n.NetChanges = nil, ""
		return
	}
	n.NetChanges = "--- /etc/network/interfaces\n+++ /etc/network/interfaces.new\n" + b.String()
}

func (c *call) interfaceAt(n *Node) int {
	return slices.IndexFunc(n.Interfaces, func(i *Interface) bool { return i.Name == c.param("iface") })
}

// fillInterface takes what a call says about an interface; what it does not
// say is gone, as in Proxmox.
func (c *call) fillInterface(n *Node, i *Interface) error {
	o := Config{}
	if err := c.store(&o, "iface", "type", "autostart"); err != nil {
		return err
	}
	for _, v := range [...]struct{ address, netmask, cidr, method, gateway string }{{"address", "netmask", "cidr", "method", "gateway"}, {"address6", "netmask6", "cidr6", "method6", "gateway6"}} {
		method := "manual"
		if o.Has(v.cidr) || o.Has(v.address) {
			method = "static"
		}
		if p, err := netip.ParsePrefix(o.Get(v.cidr)); err == nil {
			o.Set(v.address, p.Addr().String())
			o.Set(v.netmask, strconv.Itoa(p.Bits()))
		} else if o.Has(v.address) && o.Has(v.netmask) && numberText(o.Get(v.netmask)) {
			o.Set(v.cidr, o.Get(v.address)+"/"+o.Get(v.netmask))
		}
		o.Set(v.method, method)
		if !o.Has(v.gateway) {
			continue
		}
		for _, other := range n.Interfaces {
			if other.Name != i.Name && other.Options.Has(v.gateway) {
				return refuse(v.gateway, "Default gateway already exists on interface '"+other.Name+"'.")
			}
		}
	}
	for _, port := range strings.Fields(o.Get("bridge_ports") + " " + o.Get("slaves")) {
		base, _, _ := strings.Cut(port, ".")
		if !slices.ContainsFunc(n.Interfaces, func(x *Interface) bool { return x.Name == base }) {
			return refuse("iface", "unable to find interface '"+port+"'")
		}
	}
	if o.Get("bridge_vlan_aware") == "0" {
		o.Delete("bridge_vlan_aware")
	}
	if c.param("type") == "bridge" {
		o.Set("bridge_stp", "off")
		o.Set("bridge_fd", "0")
		if !o.Has("bridge_ports") {
			o.Set("bridge_ports", "")
		}
	}
	i.Type, i.Autostart, i.Options, i.Families = c.param("type"), c.flag("autostart", false), o, []string{"inet"}
	if o.Has("cidr6") {
		i.Families = []string{"inet", "inet6"}
	}
	return nil
}

func addInterface(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if c.interfaceAt(n) >= 0 {
		return nil, refuse("iface", "interface already exists")
	}
	i := &Interface{Name: c.param("iface"), Priority: 3}
	for _, other := range n.Interfaces {
		i.Priority = max(i.Priority, other.Priority+1)
	}
	if err := c.fillInterface(n, i); err != nil {
		return nil, err
	}
	n.pendNetwork()
	n.Interfaces = append(n.Interfaces, i)
	n.noteChanges()
	return nil, nil
}

func changeInterface(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	at := c.interfaceAt(n)
	if at < 0 {
		return nil, refuse("iface", "interface does not exist")
	}
	changed := *n.Interfaces[at]
	if err := c.fillInterface(n, &changed); err != nil {
		return nil, err
	}
	n.pendNetwork()
	n.Interfaces = slices.Clone(n.Interfaces)
	n.Interfaces[at] = &changed
	n.noteChanges()
	return nil, nil
}

func removeInterface(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	at := c.interfaceAt(n)
	if at < 0 {
		return nil, refuse("iface", "interface does not exist")
	}
	n.pendNetwork()
	n.Interfaces = slices.Delete(slices.Clone(n.Interfaces), at, at+1)
	n.noteChanges()
	return nil, nil
}

// applyNetwork makes what waits the configuration in force.
func applyNetwork(c *call) (any, error) {
	if _, err := c.theNode(); err != nil {
		return nil, err
	}
	return c.launch("srvreload", "networking", func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		n := k.world.Node(k.task.Node)
		for _, i := range n.Interfaces {
			i.Active = i.Active || i.Autostart
		}
		n.NetBefore, n.NetChanges = nil, ""
		return nil
	})
}

// revertNetwork forgets what waits.
func revertNetwork(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if n.NetBefore != nil {
		n.Interfaces = n.NetBefore
	}
	n.NetBefore, n.NetChanges = nil, ""
	return nil, nil
}
