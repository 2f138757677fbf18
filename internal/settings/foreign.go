package settings

import "strings"

// foreign are names that begin like ours and belong to other tools, as their
// documentation gives them. They are passed over in silence even where they
// are one letter from one of ours.
var foreign = []string{
	// Packer's Proxmox plugin
	"PROXMOX_URL", "PROXMOX_USERNAME", "PROXMOX_PASSWORD", "PROXMOX_TOKEN", "PROXMOX_NODE", "PROXMOX_INSECURE_SKIP_TLS_VERIFY",
	// Ansible's inventory and modules
	"PROXMOX_VALIDATE_CERTS", "PROXMOX_API_HOST", "PROXMOX_API_USER", "PROXMOX_API_PASSWORD", "PROXMOX_API_TOKEN_ID", "PROXMOX_API_TOKEN_SECRET", "PROXMOX_API_PORT",
	// Pulumi, exporters and client libraries
	"PROXMOX_API_URL", "PROXMOX_API_TOKEN", "PROXMOX_REALM", "PROXMOX_OTP",
}

// foreignPrefixes are families of such names: the bpg Terraform provider uses
// PROXMOX_VE_…, Telmate's PM_… does not begin like ours at all.
var foreignPrefixes = []string{"PROXMOX_VE_", "PROXMOX_BACKUP_", "PROXMOX_DEBUG"}

func isForeign(name string) bool {
	for _, p := range foreignPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return contains(foreign, name)
}
