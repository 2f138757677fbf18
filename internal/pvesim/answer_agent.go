package pvesim

import (
	"net/netip"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	for name, f := range map[string]func(*call, *Guest) any{
		"get-osinfo":             func(_ *call, g *Guest) any { return g.osInfo() },
		"network-get-interfaces": func(_ *call, g *Guest) any { return g.agentInterfaces() },
		"get-fsinfo":             func(_ *call, g *Guest) any { return g.fsInfo() },
		"get-host-name":          func(_ *call, g *Guest) any { return object{{"host-name", g.Agent.Hostname}} },
		"get-time":               func(c *call, _ *Guest) any { return c.now.UnixNano() },
		"get-timezone":           func(c *call, g *Guest) any { return object{{"zone", g.Agent.Timezone}, {"offset", 3600}} },
		"get-users":              agentUsers,
		"get-vcpus":              agentVCPUs,
		"get-memory-blocks":      func(*call, *Guest) any { return []object{} },
		"get-memory-block-info":  func(*call, *Guest) any { return object{{"size", 128 * mib}} },
		"info":                   agentInfo,
	} {
		register("GET /nodes/{node}/qemu/{vmid}/agent/"+name, func(c *call) (any, error) {
			g, err := c.agentGuest()
			if err != nil {
				return nil, err
			}
			return c.one(object{{"result", f(c, g)}}), nil
		})
	}
	register("GET /nodes/{node}/qemu/{vmid}/agent/file-read", agentFileRead)
	register("GET /nodes/{node}/lxc/{vmid}/interfaces", ctInterfaces)
}

// agentGuest gives the VM of the path if its agent answers.
func (c *call) agentGuest() (*Guest, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	switch {
	case !g.Config.Has("agent"):
		return nil, fail("No QEMU guest agent configured")
	case !g.Up():
		return nil, fail("VM %d is not running", g.ID)
	case g.Agent == nil || g.Agent.Hung || g.State != Running:
		return nil, fail("QEMU guest agent is not running")
	}
	return g, nil
}

func (g *Guest) osInfo() object {
	os := g.Agent.OS
	return object{{"id", os.ID}, {"name", os.Name}, {"pretty-name", os.PrettyName}, {"version", os.Version}, {"version-id", os.VersionID}, {"kernel-release", os.Kernel}, {"kernel-version", os.KernelVersion}, {"machine", os.Machine}}
}

// addressFields takes an address with prefix length apart; v6 tells the family.
func addressFields(cidr string) (ip string, prefix int, v6 bool) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr, 0, strings.Contains(cidr, ":")
	}
	return p.Addr().String(), p.Bits(), p.Addr().Is6()
}

func (g *Guest) agentInterfaces() []object {
	list := []object{}
	for _, i := range g.Agent.Interfaces {
		o := object{{"name", i.Name}}
		o.putIf("hardware-address", i.MAC)
		addresses := []object{}
		for _, a := range i.Addresses {
			ip, prefix, v6 := addressFields(a)
			kind := "ipv4"
			if v6 {
				kind = "ipv6"
			}
			addresses = append(addresses, object{{"ip-address", ip}, {"ip-address-type", kind}, {"prefix", prefix}})
		}
		if len(addresses) > 0 {
			o.put("ip-addresses", addresses)
		}
		o.put("statistics", object{{"rx-bytes", 1 << 30}, {"tx-bytes", 1 << 29}, {"rx-packets", 1 << 20}, {"tx-packets", 1 << 19}, {"rx-errs", 0}, {"tx-errs", 0}, {"rx-dropped", 0}, {"tx-dropped", 0}})
		list = append(list, o)
	}
	return list
}

func (g *Guest) fsInfo() []object {
	list := []object{}
	for _, f := range g.Agent.Disks {
		o := object{{"name", f.Name}, {"mountpoint", f.Mountpoint}, {"type", f.Type}, {"disk", []object{{{"bus-type", "scsi"}, {"bus", 0}, {"unit", 0}, {"target", 0}, {"dev", "/dev/sda"}, {"serial", "0QEMU_QEMU_HARDDISK_drive-scsi0"}, {"pci-controller", object{{"domain", 0}, {"bus", 1}, {"slot", 1}, {"function", 0}}}}}}}
		if f.Total > 0 {
			o = append(o, member{"total-bytes", f.Total}, member{"used-bytes", f.Used})
		}
		list = append(list, o)
	}
	return list
}

func agentUsers(c *call, g *Guest) any {
	list := []object{}
	for _, u := range g.Agent.Users {
		list = append(list, object{{"user", u}, {"login-time", float64(c.now.Unix() - 7200)}})
	}
	return list
}

func agentVCPUs(c *call, g *Guest) any {
	list := []object{}
	for i := range g.CPUs(c.world.Node(g.Node)) {
		list = append(list, object{{"logical-id", i}, {"online", rawJSON("true")}, {"can-offline", rawJSON(strconv.FormatBool(i > 0))}})
	}
	return list
}

func agentInfo(*call, *Guest) any {
	commands := []object{}
	for _, n := range [...]string{"guest-exec", "guest-exec-status", "guest-file-open", "guest-fsfreeze-freeze", "guest-fsfreeze-thaw", "guest-fstrim", "guest-get-fsinfo", "guest-get-osinfo", "guest-network-get-interfaces", "guest-ping", "guest-shutdown"} {
		commands = append(commands, object{{"name", n}, {"enabled", rawJSON("true")}, {"success-response", rawJSON("true")}})
	}
	return object{{"version", "9.2.4"}, {"supported_commands", commands}}
}

func agentFileRead(c *call) (any, error) {
	g, err := c.agentGuest()
	if err != nil {
		return nil, err
	}
	content, ok := g.Agent.Files[c.param("file")]
	if !ok {
		return nil, fail("Agent error: failed to open file '%s': No such file or directory", c.param("file"))
	}
	offset := min(c.number("offset", 0), int64(len(content)))
	count := c.number("count", 16<<20)
	part := content[offset:]
	o := object{}
	if int64(len(part)) > count {
		part = part[:count]
		o.put("truncated", 1)
	}
	return c.one(append(o, member{"content", part}, member{"bytes-read", len(part)})), nil
}

// ctInterfaces is null for a container that does not run.
func ctInterfaces(c *call) (any, error) {
	g, err := c.guest(apidoc.LXC)
	if err != nil {
		return nil, err
	}
	if !g.Up() || g.Agent == nil {
		return nil, nil
	}
	list := []object{}
	for _, i := range g.Agent.Interfaces {
		o := object{{"name", i.Name}, {"hwaddr", i.MAC}, {"hardware-address", i.MAC}}
		addresses := []object{}
		last := map[string]string{}
		for _, a := range i.Addresses {
			ip, prefix, v6 := addressFields(a)
			kind := "inet"
			if v6 {
				kind = "inet6"
			}
			last[kind] = a
			addresses = append(addresses, object{{"ip-address", ip}, {"ip-address-type", kind}, {"prefix", strconv.Itoa(prefix)}})
		}
		o.put("ip-addresses", addresses)
		o.putIf("inet", last["inet"])
		o.putIf("inet6", last["inet6"])
		list = append(list, o)
	}
	return c.rows(list), nil
}
