package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// storages makes what a grown cluster has: local ones on every node, shared
// ones for all, one of them nearly full, one switched off.
func (g *generator) storages(r *rand.Rand) {
	var thin, zfs []apidoc.Node
	for _, n := range g.Nodes {
		if n.zfs() {
			zfs = append(zfs, n.Name)
		} else {
			thin = append(thin, n.Name)
		}
	}
	local := NewStorage("local", "dir", "iso", "vztmpl", "backup", "snippets", "import")
	local.Options = NewConfig("path", "/var/lib/vz", "prune-backups", "keep-last=3")
	lvm := NewStorage("local-lvm", "lvmthin", "images", "rootdir")
	lvm.Options = NewConfig("vgname", "vmdata", "thinpool", "data")
	lvm.Nodes = thin
	g.Storages = append(g.Storages, local, lvm)
	for _, n := range g.Nodes {
		p := local.Place(n.Name)
		p.Total, p.Used = n.Root, n.RootUsed
		if n.zfs() {
			continue
		}
		p = lvm.Place(n.Name)
		p.Total, p.Used = n.ThinPools[0].Size, 0
	}
	if len(zfs) > 0 {
		s := NewStorage("local-zfs", "zfspool", "images", "rootdir")
		s.Options = NewConfig("pool", "rpool/data", "sparse", "1")
		s.Nodes = zfs
		for _, n := range g.Nodes {
			if n.zfs() {
				s.Place(n.Name).Total = n.ZPools[0].Size
			}
		}
		g.Storages = append(g.Storages, s)
	}
	scale := int64(len(g.Nodes))
	nfs := NewStorage("nfs-data", "nfs", "images", "iso", "vztmpl", "backup", "rootdir", "snippets")
	nfs.Shared = true
	nfs.Options = NewConfig("server", "10.10.0.20", "export", "/export/pve", "path", "/mnt/pve/nfs-data", "options", "vers=4.2", "prune-backups", "keep-daily=7,keep-weekly=4")
	nfs.Place("").Total = 20 * tib * scale
	pbs := NewStorage("pbs", "pbs", "backup")
	pbs.Shared = true
	pbs.Options = NewConfig("server", "10.10.0.30", "datastore", "main", "username", "backup@pbs!pve", "fingerprint", strings.ToUpper(hexOf(r, 2))+strings.Repeat(":A7", 31), "prune-backups", "keep-all=1")
	pbs.Place("").Total = 40 * tib * scale
	g.Storages = append(g.Storages, nfs, pbs)
	if len(g.Nodes) >= 3 {
		ceph := NewStorage("ceph-vm", "rbd", "images", "rootdir")
		ceph.Shared = true
		ceph.Options = NewConfig("pool", "vm", "krbd", "0")
		ceph.Place("").Total = 30 * tib * scale
		g.Storages = append(g.Storages, ceph)
	}
	archive := NewStorage("archive", "cifs", "backup", "iso")
	archive.Shared = true
	archive.Options = NewConfig("server", "10.10.0.21", "share", "archive", "path", "/mnt/pve/archive", "username", "pve")
	archive.Place("").Total = 4 * tib
	archive.Place("").Used = 4 * tib * 91 / 100
	off := NewStorage("old-nas", "nfs", "images", "backup")
	off.Shared, off.Disabled = true, true
	off.Options = NewConfig("server", "10.10.0.19", "export", "/volume1/pve", "path", "/mnt/pve/old-nas")
	g.Storages = append(g.Storages, archive, off)

	file := func(s *Storage, node apidoc.Node, content, name, format string, size int64) {
		s.Place(node).Add(&Volume{ID: apidoc.VolID(string(s.ID) + ":" + content + "/" + name), Content: content, Format: format, Size: size, Created: g.now - day*int64(1+r.IntN(400))})
	}
	for _, iso := range [...]string{"debian-13.1.0-amd64-netinst.iso", "ubuntu-24.04.3-live-server-amd64.iso", "virtio-win-0.1.285.iso", "Windows Server 2025 (German).iso", "Fedora-Server-dvd-x86_64-43-1.6.iso"} {
		file(nfs, "", "iso", iso, "iso", 700*mib+int64(r.IntN(5000))*mib)
	}
	file(archive, "", "iso", "memtest86+-7.20.iso", "iso", 6*mib)
	for _, t := range [...]string{"debian-13-standard_13.1-2_amd64.tar.zst", "alpine-3.22-default_20250617_amd64.tar.xz", "ubuntu-24.04-standard_24.04-2_amd64.tar.zst"} {
		f := "tzst"
		if strings.HasSuffix(t, "xz") {
			f = "txz"
		}
		file(nfs, "", "vztmpl", t, f, 90*mib+int64(r.IntN(100))*mib)
	}
	file(nfs, "", "snippets", "base-user-data.yaml", "snippet", 1811)
	for _, n := range g.Nodes {
		if n.ID <= 4 {
			file(local, n.Name, "iso", "debian-13.1.0-amd64-netinst.iso", "iso", 783*mib)
			file(local, n.Name, "vztmpl", "debian-13-standard_13.1-2_amd64.tar.zst", "tzst", 124*mib)
		}
	}
}

// storageFor gives a storage for the disks of a guest on a node.
func (g *generator) storageFor(r *rand.Rand, n *Node, shared bool) *Storage {
	if shared {
		if s := g.Storage("ceph-vm"); s != nil && chance(r, 75) {
			return s
		}
		return g.Storage("nfs-data")
	}
	if n.zfs() {
		return g.Storage("local-zfs")
	}
	return g.Storage("local-lvm")
}

// volumeName names the n-th disk of a guest as the storage type does, with its format.
func volumeName(s *Storage, kind apidoc.GuestKind, id apidoc.VMID, n int, base bool) (name, format string) {
	prefix := "vm"
	if base {
		prefix = "base"
	}
	t := storageTypes[s.Type]
	switch {
	case t.files:
		format = "qcow2"
		if kind == apidoc.LXC {
			format = "raw"
		}
		return fmt.Sprintf("%d/%s-%d-disk-%d.%s", id, prefix, id, n, format), format
	case s.Type == "zfspool" && kind == apidoc.LXC:
		prefix = "subvol"
		if base {
			prefix = "basevol"
		}
		return fmt.Sprintf("%s-%d-disk-%d", prefix, id, n), "subvol"
	}
	return fmt.Sprintf("%s-%d-disk-%d", prefix, id, n), "raw"
}

// backupName names a backup as its storage does.
func backupName(s *Storage, kind apidoc.GuestKind, id apidoc.VMID, when int64) (vol apidoc.VolID, format string) {
	t := time.Unix(when, 0).UTC()
	if s.Type == "pbs" {
		short, format := "vm", "pbs-vm"
		if kind == apidoc.LXC {
			short, format = "ct", "pbs-ct"
		}
		return apidoc.VolID(string(s.ID) + ":backup/" + short + "/" + id.String() + "/" + t.Format("2006-01-02T15:04:05Z")), format
	}
	ext, format := ".vma.zst", "vma.zst"
	if kind == apidoc.LXC {
		ext, format = ".tar.zst", "tar.zst"
	}
	return apidoc.VolID(string(s.ID) + ":backup/vzdump-" + string(kind) + "-" + id.String() + "-" + t.Format("2006_01_02-15_04_05") + ext), format
}
