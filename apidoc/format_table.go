package apidoc

// formats are the rules by name; property strings are in grammars. They
// follow what pve-common, pve-access-control, pve-cluster, pve-storage,
// qemu-server, pve-container, pve-firewall, pve-ha-manager, pve-network and
// pve-manager register (9.2, with the differences to 7.4, 8.4 and 9.0).
var formats map[string]format

func init() {
	formats = make(map[string]format, 128)
	for _, family := range [...]map[string]format{identFormats, netFormats, storageFormats, guestFormats, textFormats, firewallFormats} {
		for name, f := range family {
			formats[name] = f
		}
	}
}
