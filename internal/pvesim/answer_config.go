package pvesim

import (
	"fmt"
	"net/url"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	for _, k := range [...]apidoc.GuestKind{apidoc.QEMU, apidoc.LXC} {
		base := "GET /nodes/{node}/" + string(k) + "/{vmid}/"
		register(base+"config", func(c *call) (any, error) { return guestConfig(c, k) })
		register(base+"pending", func(c *call) (any, error) { return guestPending(c, k) })
		register(base+"snapshot", func(c *call) (any, error) { return snapshotList(c, k) })
		register(base+"snapshot/{snapname}/config", func(c *call) (any, error) { return snapshotConfig(c, k) })
	}
	register("GET /nodes/{node}/qemu/{vmid}/cloudinit", cloudinitPending)
	register("GET /nodes/{node}/qemu/{vmid}/cloudinit/dump", cloudinitDump)
}

const maskedPassword = "**********"

// configNumber tells which keys of a configuration are numbers in answers; the
// rest is text, even where it looks like a number.
func configNumber(kind apidoc.GuestKind) func(string) bool {
	if kind == apidoc.LXC {
		return func(k string) bool {
			switch k {
			case "memory", "swap", "cores", "onboot", "protection", "template", "unprivileged", "cpuunits", "tty", "console", "debug":
				return true
			}
			return false
		}
	}
	return func(k string) bool {
		switch k {
		case "cores", "sockets", "vcpus", "onboot", "protection", "template", "numa", "balloon", "shares", "cpuunits", "kvm", "acpi", "tablet", "autostart", "localtime", "freeze", "reboot", "ciupgrade", "migrate_downtime":
			return true
		}
		return false
	}
}

// guestConfig shows what the next start will have, or what is active, or what
// a snapshot has.
func guestConfig(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	snap := c.param("snapshot")
	current := c.flag("current", false)
	if snap != "" && current {
		return nil, refuse("snapshot", "cannot use 'snapshot' parameter with 'current'")
	}
	config := g.Config.Clone()
	switch {
	case snap != "":
		s := g.Snapshot(snap)
		if s == nil {
			return nil, fail("snapshot '%s' does not exist", snap)
		}
		config = s.Config.Clone()
		config.Set("snaptime", fmt.Sprint(s.Time))
		if s.Parent != "" {
			config.Set("parent", s.Parent)
		}
	case !current:
		g.Pending.Each(func(k, v string) bool { config.Set(k, v); return true })
		for k := range g.Deleting {
			config.Delete(k)
		}
	}
	if snap == "" && g.Parent != "" {
		config.Set("parent", g.Parent)
	}
	var raw []any
	if kind == apidoc.LXC {
		for _, k := range config.Keys() {
			if strings.HasPrefix(k, "lxc.") {
				raw = append(raw, []string{k, config.Get(k)})
				config.Delete(k)
			}
		}
		if !c.seesAll() && !c.priv("/vms/"+g.ID.String(), "VM.Config.Options") {
			config.Delete("env")
		}
	}
	if config.Has("cipassword") {
		config.Set("cipassword", maskedPassword)
	}
	o := configObject(&config, configNumber(kind))
	if len(raw) > 0 {
		o.put("lxc", raw)
	}
	o.put("digest", g.fileDigest())
	return c.one(o), nil
}

// fileDigest is of the whole file: the present, what is pending, the snapshots.
func (g *Guest) fileDigest() string {
	var b strings.Builder
	b.WriteString(g.Config.Text())
	if g.Parent != "" {
		b.WriteString("parent: " + g.Parent + "\n")
	}
	if g.Pending.Len() > 0 || len(g.Deleting) > 0 {
		b.WriteString("\n[PENDING]\n" + g.Pending.Text())
		for _, k := range sortedKeys(g.Deleting) {
			fmt.Fprintf(&b, "delete: %s %d\n", k, g.Deleting[k])
		}
	}
	for _, s := range g.Snapshots {
		fmt.Fprintf(&b, "\n[%s]\n%s%s%d\n", s.Name, s.Config.Text(), s.Parent, s.Time)
	}
	return digestOf(b.String())
}

// guestPending lists each key with its value now and to come.
func guestPending(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	return c.rows(pendingRows(g, func(string) bool { return true })), nil
}

func pendingRows(g *Guest, wanted func(key string) bool) []object {
	list := []object{}
	number := configNumber(g.Kind)
	value := func(k, v string) any {
		if k == "cipassword" {
			return maskedPassword
		}
		if number(k) && numberText(v) {
			return atoi(v)
		}
		return v
	}
	g.Config.Each(func(k, v string) bool {
		if !wanted(k) {
			return true
		}
		o := object{{"key", k}, {"value", value(k, v)}}
		if g.Pending.Has(k) {
			o.put("pending", value(k, g.Pending.Get(k)))
		}
		if d := g.Deleting[k]; d > 0 {
			o.put("delete", d)
		}
		list = append(list, o)
		return true
	})
	g.Pending.Each(func(k, v string) bool {
		if wanted(k) && !g.Config.Has(k) {
			list = append(list, object{{"key", k}, {"pending", value(k, v)}})
		}
		return true
	})
	if wanted("digest") {
		list = append(list, object{{"key", "digest"}, {"value", g.fileDigest()}})
	}
	return list
}

// snapshotList ends, in no order, with the entry for the present.
func snapshotList(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, s := range g.Snapshots {
		o := object{{"name", s.Name}, {"snaptime", s.Time}, {"description", s.Description}}
		o.putIf("parent", s.Parent)
		o.putIf("snapstate", s.State)
		if kind == apidoc.QEMU {
			o.put("vmstate", number01(s.RAM))
		}
		list = append(list, o)
	}
	now := object{{"name", "current"}, {"description", "You are here!"}, {"digest", g.fileDigest()}, {"running", number01(g.Up())}}
	now.putIf("parent", g.Parent)
	return c.rows(append(list, now)), nil
}

// snapshotConfig is the raw stored configuration: nothing in it is masked.
func snapshotConfig(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	s := g.Snapshot(c.path["snapname"])
	if s == nil {
		return nil, fail("snapshot '%s' does not exist", c.path["snapname"])
	}
	o := configObject(&s.Config, configNumber(kind))
	o.put("snaptime", s.Time)
	o.putIf("description", s.Description)
	o.putIf("parent", s.Parent)
	return c.one(o), nil
}

func isCloudinitKey(k string) bool {
	switch k {
	case "cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys":
		return true
	}
	return indexed(k, "ipconfig")
}

func cloudinitPending(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	return c.rows(pendingRows(g, isCloudinitKey)), nil
}

// cloudinitDump is what the guest would find on its cloud-init drive.
func cloudinitDump(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	switch c.param("type") {
	case "user":
		b.WriteString("#cloud-config\n")
		fmt.Fprintf(&b, "hostname: %s\nmanage_etc_hosts: true\n", g.ShownName())
		if u := g.Config.Get("ciuser"); u != "" {
			fmt.Fprintf(&b, "user: %s\n", u)
		}
		if p := g.Config.Get("cipassword"); p != "" {
			if !c.seesAll() && !c.priv("/vms/"+g.ID.String(), "VM.Config.Cloudinit") {
				p = maskedPassword
			}
			fmt.Fprintf(&b, "password: %s\n", p)
		}
		if keys, err := url.PathUnescape(g.Config.Get("sshkeys")); err == nil && keys != "" {
			b.WriteString("ssh_authorized_keys:\n")
			for k := range strings.SplitSeq(strings.TrimSpace(keys), "\n") {
				fmt.Fprintf(&b, "  - %s\n", k)
			}
		}
		b.WriteString("chpasswd:\n  expire: False\nusers:\n  - default\n")
		if g.Config.Get("ciupgrade") != "0" {
			b.WriteString("package_upgrade: true\n")
		}
	case "network":
		b.WriteString("version: 1\nconfig:\n")
		for _, k := range g.Config.Keys() {
			if !indexed(k, "ipconfig") {
				continue
			}
			n := strings.TrimPrefix(k, "ipconfig")
			fmt.Fprintf(&b, "    - type: physical\n      name: eth%s\n      subnets:\n", n)
			if ip := subOption(g.Config.Get(k), "ip"); ip == "dhcp" {
				b.WriteString("      - type: dhcp4\n")
			} else {
				fmt.Fprintf(&b, "      - type: static\n        address: '%s'\n", ip)
				if gw := subOption(g.Config.Get(k), "gw"); gw != "" {
					fmt.Fprintf(&b, "        gateway: '%s'\n", gw)
				}
			}
		}
	case "meta":
		fmt.Fprintf(&b, "instance-id: %s\n", digestOf(g.Config.Text()))
	}
	return b.String(), nil
}
