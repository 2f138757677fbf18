package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// hotplug takes over, of what is pending for a guest that runs, what can be
// taken over while it runs. The rest stays pending without a word: success of
// the call does not say that a value is in force.
func (w *World) hotplug(g *Guest) error {
	for _, key := range sortedKeys(g.Deleting) {
		if !g.hot(key, g.Config.Get(key), "") {
			continue
		}
		if err := w.dropKey(g, key, g.Deleting[key] == 2); err != nil {
			return refuse(key, "hotplug problem - "+err.Error())
		}
		delete(g.Deleting, key)
	}
	for _, key := range g.Pending.Keys() {
		if !g.hot(key, g.Config.Get(key), g.Pending.Get(key)) {
			continue
		}
		if err := w.takeKey(g, key, g.Pending.Get(key)); err != nil {
			return refuse(key, "hotplug problem - "+err.Error())
		}
		g.Pending.Delete(key)
	}
	return nil
}

// hot tells whether a running guest takes a new value of a key ("": it goes).
func (g *Guest) hot(key, old, value string) bool {
	if g.Kind == apidoc.LXC {
		return ctHot(key, old, value)
	}
	return g.vmHot(key, old, value)
}

// ctHot follows pve-container's vmconfig_hotplug_pending.
func ctHot(key, old, value string) bool {
	switch key {
	case "cpulimit", "cpuunits", "memory", "swap", "description", "onboot", "startup", "protection", "hostname", "tags", "hookscript", "cores", "lock":
		return true
	}
	switch {
	case indexed(key, "net"), indexed(key, "unused"):
		return true
	case indexed(key, "mp"), indexed(key, "dev"):
		return old == "" && value != ""
	}
	return false
}

// plugs tells whether the VM's hotplug setting has a kind of device.
func (g *Guest) plugs(kind string) bool {
	switch v := g.Config.Get("hotplug"); v {
	case "", "1":
		return kind == "network" || kind == "disk" || kind == "usb"
	case "0":
		return false
	default:
		return slices.Contains(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",; ", r) }), kind)
	}
}

// vmHot follows qemu-server's vmconfig_hotplug_pending.
func (g *Guest) vmHot(key, old, value string) bool {
	switch key {
	case "description", "hookscript", "lock", "migrate_downtime", "migrate_speed", "name", "onboot", "protection", "shares", "startup", "tags", "vmstatestorage", "cpuunits", "cpulimit":
		return true
	case "balloon":
		return value != "" && old != "0" && value != "0"
	case "agent":
		return agentBut(old) == agentBut(value)
	case "vcpus":
		return g.plugs("cpu")
	case "memory":
		return g.plugs("memory")
	case "tablet":
		return g.plugs("usb")
	}
	switch {
	case isCloudinitKey(key):
		return true
	case indexed(key, "net"):
		return g.plugs("network")
	case indexed(key, "usb"):
		return g.plugs("usb")
	case isDiskKey(key):
		return g.driveHot(key, old, value)
	}
	return false
}

// agentBut is the agent's setting without what can change while the VM runs.
func agentBut(v string) string {
	m := parts(v)
	delete(m, "fstrim_cloned_disks")
	return joined("", m)
}

// driveHot: media of CD drives can be changed in any drive; disks come and go
// on scsi and virtio alone, and of a disk that stays only the throttles change.
func (g *Guest) driveHot(key, old, value string) bool {
	plug := (indexed(key, "scsi") || indexed(key, "virtio")) && g.plugs("disk")
	if old == "" || value == "" {
		return plug
	}
	was, is := parseDrive(old), parseDrive(value)
	if was.cdrom() != is.cdrom() {
		return false
	}
	if was.cdrom() {
		return true
	}
	if was.volume != is.volume {
		return plug
	}
	for _, o := range [...]string{"aio", "discard", "iothread", "queues", "product", "vendor", "cache", "ssd", "ro"} {
		if was.opts[o] != is.opts[o] {
			return false
		}
	}
	return true
}
