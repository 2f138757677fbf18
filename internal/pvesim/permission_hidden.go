package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

// hidden enforces what a call needs beyond what the schema declares. The rules
// are those of package apidoc; the texts are Proxmox's.
func (c *call) hidden() error {
	if err := c.deletedKeys(); err != nil {
		return err
	}
	if c.root() {
		return nil
	}
	asking := apidoc.Asking{
		Verb: c.ep.Verb, Path: c.ep.Path, Params: c.params, Version: c.world.Version.Release, Zone: c.zone,
	}
	if g := c.world.Guest(apidoc.VMID(c.vmid())); g != nil {
		asking.Config = g.Config.Get
	}
	holds := func(path, priv string) bool { return c.who.holds(c.world, path, priv) }
	for _, n := range apidoc.ExtraNeeds(asking) {
		switch {
		case n.Met(holds):
		case n.Root:
			return c.rootOnly(n.Param)
		default:
			return c.lacks(n)
		}
	}
	return nil
}

// deletedKeys refuses what a guest's configuration call says about keys to
// delete before anybody asks who may: keys that do not exist, and keys that
// the same call sets.
func (c *call) deletedKeys() error {
	if !strings.HasSuffix(c.ep.Path, "/{vmid}/config") || c.ep.Verb == apidoc.GET {
		return nil
	}
	for _, key := range c.list("delete") {
		if _, known := c.method.Property(key); !known && key != "vmstate" && !indexed(key, "unused") {
			return refuse("delete", "unknown option '"+key+"'")
		}
		if c.has(key) {
			return refuse("delete", "you can't use '-"+key+"' and -delete "+key+"' at the same time")
		}
	}
	return nil
}

// zone gives the SDN zone of a VNet; other names are plain bridges.
func (c *call) zone(bridge string) string {
	for _, v := range c.world.VNets {
		if v.ID == bridge {
			return v.Zone
		}
	}
	return ""
}

// rootOnly words what is closed to everybody but root@pam, as the code behind
// the parameter does.
func (c *call) rootOnly(param string) error {
	base := strings.TrimRight(param, "0123456789")
	switch {
	case param == "skiplock" || strings.Contains(c.ep.Path, "/status/") || strings.HasSuffix(c.ep.Path, "/migrate"):
		return refuse(param, "Only root may use this option.")
	case strings.Contains(c.ep.Path, "/vzdump") || strings.Contains(c.ep.Path, "/cluster/backup"):
		return refuse(param, "Only root may set this option.")
	case strings.Contains(c.ep.Path, "/lxc"):
		switch base {
		case "dev":
			return deny("configuring device passthrough is only allowed for root@pam")
		case "features":
			return deny("changing feature flags (except nesting) is only allowed for root@pam")
		case "mp", "rootfs":
			return deny("mount point type bind is only allowed for root@pam")
		}
		return deny("changing '%s' is only allowed for root@pam", param)
	case base == "usb" || base == "serial":
		return fail("only root can set '%s' config for real devices", param)
	case base == "hostpci":
		if strings.Contains(c.param(param), "romfile=") {
			return refuse(param, "only root@pam can set 'romfile' option")
		}
		return fail("only root can set '%s' config for non-mapped devices", param)
	case strings.HasPrefix(c.param(param), "/"):
		return fail("Only root can pass arbitrary filesystem paths.")
	}
	return fail("only root can set '%s' config", param)
}
