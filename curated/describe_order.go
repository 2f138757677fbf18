package curated

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// commonParams are the parameters that most calls of a method set, in the order
// in which one thinks of them, by verb and template. They stand before the
// others.
var commonParams = map[string][]string{
	"POST /nodes/{node}/qemu": {
		"name", "memory", "cores", "sockets", "cpu", "ostype", "scsi[n]", "scsihw", "net[n]", "ide[n]", "boot", "bios", "efidisk0", "machine",
		"agent", "onboot", "start", "pool", "tags", "archive", "storage", "force", "ciuser", "cipassword", "sshkeys", "ipconfig[n]", "nameserver",
		"virtio[n]", "tpmstate0", "balloon", "vga", "description", "protection", "startup", "template",
	},
	"PUT /nodes/{node}/qemu/{vmid}/config": {
		"memory", "cores", "sockets", "cpu", "name", "scsi[n]", "net[n]", "ide[n]", "delete", "digest", "boot", "agent", "onboot", "tags",
		"description", "protection", "startup", "balloon", "scsihw", "ostype", "machine", "bios", "efidisk0", "ciuser", "cipassword", "sshkeys",
		"ipconfig[n]", "nameserver", "virtio[n]", "unused[n]", "revert", "force", "vga", "hotplug",
	},
	"POST /nodes/{node}/lxc": {
		"hostname", "rootfs", "memory", "swap", "cores", "net[n]", "mp[n]", "unprivileged", "features", "password", "ssh-public-keys", "storage",
		"onboot", "start", "pool", "tags", "restore", "force", "nameserver", "searchdomain", "ostype", "description", "protection", "startup",
	},
	"PUT /nodes/{node}/lxc/{vmid}/config": {
		"memory", "swap", "cores", "hostname", "net[n]", "mp[n]", "rootfs", "delete", "digest", "onboot", "tags", "description", "protection",
		"startup", "features", "nameserver", "searchdomain", "cpulimit", "unused[n]", "revert",
	},
	"POST /nodes/{node}/vzdump": {
		"vmid", "storage", "mode", "compress", "prune-backups", "remove", "notes-template", "protected", "all", "pool", "exclude", "bwlimit", "fleecing",
	},
	"POST /cluster/backup": {
		"schedule", "storage", "vmid", "all", "pool", "exclude", "mode", "compress", "prune-backups", "enabled", "comment", "notes-template", "node",
	},
	"PUT /cluster/backup/{id}": {
		"schedule", "storage", "vmid", "all", "pool", "exclude", "mode", "compress", "prune-backups", "enabled", "comment", "notes-template", "node",
	},
	"POST /storage": {
		"content", "path", "server", "export", "share", "username", "password", "datastore", "namespace", "fingerprint", "pool", "vgname", "thinpool",
		"portal", "target", "monhost", "nodes", "shared", "disable", "prune-backups", "options", "sparse", "mountpoint", "is_mountpoint",
	},
	"PUT /storage/{storage}": {
		"content", "nodes", "disable", "shared", "prune-backups", "server", "username", "password", "fingerprint", "pool", "delete", "digest", "options",
	},
	"POST /access/domains": {
		"server1", "server2", "port", "mode", "base_dn", "user_attr", "bind_dn", "password", "domain", "issuer-url", "client-id", "client-key",
		"username-claim", "autocreate", "default", "comment", "tfa", "sync-defaults-options", "verify", "filter",
	},
	"PUT /access/domains/{realm}": {
		"server1", "server2", "port", "mode", "base_dn", "user_attr", "bind_dn", "password", "domain", "issuer-url", "client-id", "client-key",
		"default", "comment", "tfa", "sync-defaults-options", "verify", "filter", "delete", "digest",
	},
	"POST /nodes/{node}/network": {
		"type", "iface", "cidr", "gateway", "autostart", "bridge_ports", "bridge_vlan_aware", "bridge_vids", "cidr6", "gateway6", "slaves", "bond_mode",
		"mtu", "comments", "vlan-id", "vlan-raw-device",
	},
	"POST /cluster/sdn/zones": {"bridge", "tag", "peers", "mtu", "nodes", "ipam", "dhcp", "dns", "dnszone", "controller", "vrf-vxlan", "exitnodes", "fabric"},
	"PUT /cluster/options":    {"keyboard", "console", "migration", "ha", "crs", "mac_prefix", "bwlimit", "next-id", "email_from", "tag-style", "delete"},
}

// alwaysCommon come first in every method that has them and no list of its own.
var alwaysCommon = []string{
	"vmid", "newid", "vmname", "snapname", "target", "target_node", "storage", "node", "type", "name", "full", "online", "content", "enable", "enabled", "action",
	"dest", "proto", "dport", "source", "resources", "state", "schedule", "path", "roles", "tokens", "users", "privs", "groups", "comment", "password",
}

func init() {
	same := func(to, from string) { commonParams[to] = commonParams[from] }
	same("POST /nodes/{node}/qemu/{vmid}/config", "PUT /nodes/{node}/qemu/{vmid}/config")
	same("PUT /nodes/{node}/network/{iface}", "POST /nodes/{node}/network")
	same("PUT /cluster/sdn/zones/{zone}", "POST /cluster/sdn/zones")
}

// rankOf orders the parameters of a method: required, common, the rest, and at
// the end what hardly anybody sets.
func rankOf(m *apidoc.Method, d *declaredParam) int {
	if d.required() {
		return 0
	}
	list := commonParams[string(m.Verb)+" "+m.Path]
	if list == nil {
		list = alwaysCommon
	}
	if i := slices.Index(list, d.name); i >= 0 {
		return 1 + i
	}
	switch {
	case d.name == "digest", d.name == "skiplock", strings.HasPrefix(d.name, "migrat"):
		return 900
	}
	return 500
}
