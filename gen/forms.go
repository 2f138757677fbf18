package gen

import (
	"strings"

	"pvemcp/apidoc"
)

// forms says in plain words what the frequent named formats are; "" where the
// parameter's type and range say it.
var forms = map[string]string{
	"pve-node": "node name", "pve-vmid": "", "pve-storage-id": "storage id", "pve-poolid": "pool id",
	"pve-userid": "user@realm", "pve-realm": "realm", "pve-groupid": "group id", "pve-roleid": "role id", "pve-priv": "privilege",
	"pve-tokenid": "user@realm!token", "pve-configid": "id: a letter, then letters, digits, _ or -", "pve-volume-id": "volume id storage:name",
	"pve-bridge-id": "bridge", "pve-iface": "network interface", "pve-ha-resource-id": "vm:ID or ct:ID", "pve-ha-resource-or-vm-id": "vm:ID, ct:ID or ID",
	"pve-ha-group-node": "node, maybe :priority", "pve-calendar-event": "calendar event, such as mon..fri 02:00", "pve-replication-job-id": "job id VMID-N",
	"dns-name": "DNS name", "ip": "IP address", "ipv4": "IPv4 address", "ipv6": "IPv6 address", "address": "IP address or DNS name",
	"CIDR": "network in CIDR form", "CIDRv4": "IPv4 network in CIDR form", "CIDRv6": "IPv6 network in CIDR form", "mac-addr": "MAC address",
	"disk-size": "size, such as 32G", "email": "e-mail address", "email-or-username": "e-mail address or user", "urlencoded": "URL-encoded text",
	"pve-snapshot-name": "snapshot name", "storage-pair": "storage, or FROM:TO", "bridge-pair": "bridge, or FROM:TO", "pve-vm-name": "DNS name",
}

// formWords says what form a string has, as shortly as its reader can use it.
func formWords(p *apidoc.Property) string {
	name := p.Format
	if words, ok := forms[name]; ok {
		return words
	}
	if item, ok := strings.CutSuffix(name, "-list"); ok {
		if words := forms[item]; words != "" {
			return "list, by commas, of: " + words
		}
		if item == "pve-vmid" {
			return "vmids, by commas"
		}
		return "list, by commas, of " + item
	}
	if item, ok := strings.CutSuffix(name, "-opt"); ok && forms[item] != "" {
		return forms[item] + ", or empty"
	}
	return name
}
