package pvesim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// alive is a world in which every sort of change has a guest that it can be
// made to, and one that refuses it.
func alive(t testing.TB) *World {
	t.Helper()
	w, err := ReadWorld(strings.NewReader(`{
	"cluster": "c",
	"nodes": [{"name": "n1", "ip": "192.0.2.1"}, {"name": "n2", "ip": "192.0.2.2"}, {"name": "n3", "ip": "192.0.2.3", "online": false}],
	"storages": [
		{"id": "nas", "type": "nfs", "content": ["images", "backup", "iso", "rootdir", "vztmpl"], "size": "1T", "options": {"path": "/mnt/pve/nas"}, "volumes": [{"id": "nas:iso/a.iso", "size": "1G"}, {"id": "nas:vztmpl/deb.tar.zst", "size": "100M"}]},
		{"id": "lvm", "type": "lvmthin", "content": ["images", "rootdir"], "size": "1T", "nodes": ["n1", "n2"], "options": {"vgname": "pve", "thinpool": "data"}},
		{"id": "only1", "type": "lvmthin", "content": ["images", "rootdir"], "size": "1T", "nodes": ["n1"], "options": {"vgname": "one", "thinpool": "data"}},
		{"id": "zfs", "type": "zfspool", "content": ["images", "rootdir"], "size": "1T", "options": {"pool": "rpool"}},
		{"id": "thick", "type": "lvm", "content": ["images"], "size": "100G", "options": {"vgname": "thick"}},
		{"id": "isos", "type": "dir", "content": ["iso"], "size": "10G", "options": {"path": "/isos"}},
		{"id": "off", "type": "dir", "content": ["images"], "disabled": true}, {"id": "dead", "type": "nfs", "content": ["images"], "offline": true}],
	"pools": [{"id": "dev"}],
	"guests": [
		{"id": 100, "node": "n1", "state": "running", "pool": "dev", "config": {"name": "web", "memory": 2048, "cores": 2, "agent": 1, "tags": "a;b", "boot": "order=scsi0;ide2", "scsi0": "lvm:vm-100-disk-0,size=8G", "scsi1": "lvm:vm-100-disk-1,size=4G", "ide2": "none,media=cdrom", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "smbios1": "uuid=11111111-1111-1111-1111-111111111111", "vmgenid": "22222222-2222-2222-2222-222222222222"}, "agent": {"hostname": "web", "files": {"/etc/hostname": "web\n"}}},
		{"id": 101, "node": "n1", "config": {"name": "zed", "memory": 512, "onboot": 1, "scsi0": "zfs:vm-101-disk-0,size=8G"}},
		{"id": 102, "kind": "lxc", "node": "n1", "state": "running", "config": {"hostname": "ct", "memory": 512, "onboot": 1, "unprivileged": 1, "arch": "amd64", "ostype": "debian", "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:02,type=veth", "rootfs": "zfs:subvol-102-disk-0,size=4G", "mp0": "zfs:subvol-102-disk-1,mp=/data,size=2G"}},
		{"id": 103, "kind": "lxc", "node": "n1", "config": {"hostname": "off", "rootfs": "lvm:vm-103-disk-0,size=4G", "memory": 256, "ostype": "debian"}},
		{"id": 104, "node": "n1", "state": "running", "config": {"name": "ha", "memory": 512, "scsi0": "nas:104/vm-104-disk-0.qcow2,size=4G"}},
		{"id": 105, "node": "n1", "config": {"name": "tmpl", "template": 1, "scsi0": "nas:105/base-105-disk-0.qcow2,size=4G"}},
		{"id": 106, "node": "n1", "config": {"name": "busy", "lock": "backup", "scsi0": "lvm:vm-106-disk-0,size=1G"}},
		{"id": 107, "node": "n1", "config": {"name": "dear", "protection": 1, "scsi0": "lvm:vm-107-disk-0,size=1G", "unused0": "lvm:vm-107-disk-1"}},
		{"id": 108, "node": "n1", "config": {"name": "raw", "scsi0": "thick:vm-108-disk-0,size=4G"}},
		{"id": 109, "kind": "lxc", "node": "n1", "state": "running", "config": {"hostname": "hact", "rootfs": "nas:109/vm-109-disk-0.raw,size=4G", "ostype": "debian"}},
		{"id": 110, "node": "n2", "config": {"name": "far", "memory": 256, "scsi0": "lvm:vm-110-disk-0,size=1G"}},
		{"id": 111, "kind": "lxc", "node": "n1", "config": {"hostname": "cbusy", "lock": "backup", "rootfs": "lvm:vm-111-disk-0,size=1G", "ostype": "debian"}},
		{"id": 112, "kind": "lxc", "node": "n1", "config": {"hostname": "cdear", "protection": 1, "rootfs": "lvm:vm-112-disk-0,size=1G", "mp0": "lvm:vm-112-disk-1,mp=/x,size=1G", "ostype": "debian"}},
		{"id": 113, "kind": "lxc", "node": "n1", "config": {"hostname": "ctmpl", "template": 1, "rootfs": "lvm:base-113-disk-0,size=1G", "ostype": "debian"}},
		{"id": 114, "node": "n1", "state": "running", "config": {"name": "pci", "hostpci0": "0000:01:00.0", "scsi0": "nas:114/vm-114-disk-0.qcow2,size=1G"}}],
	"ha": {"resources": [{"sid": "vm:104"}, {"sid": "ct:109"}]},
	"users": [{"id": "ops@pve"}],
	"tokens": [{"id": "root@pam!full", "privsep": false}, {"id": "ops@pve!tt", "privsep": false}],
	"acl": [{"path": "/vms/100", "who": "ops@pve", "role": "PVEVMUser"}]}`), time.Now())
	require.NoError(t, err)
	return w
}

// lab serves such a world with quick tasks.
func lab(t testing.TB) *Server {
	t.Helper()
	return start(t, Options{World: alive(t), TaskStep: time.Millisecond, HACycle: 20 * time.Millisecond})
}

const (
	q1 = "/nodes/n1/qemu/"
	l1 = "/nodes/n1/lxc/"
)
