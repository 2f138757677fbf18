package pvesim

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// volumes lists the volumes of a guest on a storage of n1.
func volumes(s *Server, storage string, owner apidoc.VMID) []string {
	var out []string
	s.World().View(func(w *World) {
		for _, v := range w.Storage(apidoc.Storage(storage)).look("n1").Volumes() {
			if v.Owner == owner {
				out = append(out, string(v.ID))
			}
		}
	})
	return out
}

func usedOn(s *Server, storage string) (used int64) {
	s.World().View(func(w *World) { used = w.Storage(apidoc.Storage(storage)).look("n1").Used })
	return used
}

// pending gives what waits, as key → value, "-" for what is to go.
func pending(t testing.TB, s *Server, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, is := ok(t, s, "GET "+path+"/pending").([]any)
	require.True(t, is)
	for _, x := range list {
		m, is := x.(map[string]any)
		require.True(t, is)
		if v, has := m["pending"]; has {
			out[dataText(m["key"])] = dataText(v)
		}
		if v, has := m["delete"]; has {
			out[dataText(m["key"])] = strings.Repeat("-", int(num(v)))
		}
	}
	return out
}

func TestConfigRefusals(t *testing.T) {
	s := lab(t)
	put := "PUT " + q1 + "100/config"
	fails(t, s, 500, "no options specified", put)
	fails(t, s, 500, "no options specified", "POST "+q1+"100/config")
	fails(t, s, 500, "checksum mismatch (file change by other user?)", put, "cores", "3", "digest", strings.Repeat("0", 40))
	fails(t, s, 500, "VM is locked (backup)", "PUT "+q1+"106/config", "cores", "3")
	fails(t, s, 500, "VM is locked (backup)", "POST "+q1+"106/config", "cores", "3")
	fails(t, s, 500, "Configuration file 'nodes/n1/qemu-server/110.conf' does not exist", "PUT "+q1+"110/config", "cores", "3")
	refuses(t, s, "delete", "unknown option 'nosuch'", put, "delete", "nosuch")
	refuses(t, s, "revert", "unknown option 'nosuch'", put, "revert", "nosuch")
	refuses(t, s, "delete", "you can't use '-cores' and -delete cores' at the same time", put, "cores", "3", "delete", "cores")
	fails(t, s, 500, "balloon value too large (must be smaller than assigned memory)", put, "balloon", "4096")
	fails(t, s, 500, "invalid bootorder: device 'scsi9' does not exist'", put, "boot", "order=scsi0;scsi9")
	fails(t, s, 500, "storage 'nope' does not exist", put, "scsi5", "nope:1")
	fails(t, s, 500, "storage 'off' is disabled", put, "scsi5", "off:1")
	fails(t, s, 500, "storage 'dead' is not online", put, "scsi5", "dead:1")
	refuses(t, s, "storage", "storage 'isos' does not support vm images", put, "scsi5", "isos:1")
	refuses(t, s, "scsi5", "explicit 'media=cdrom' is required for iso images", put, "scsi5", "nas:iso/a.iso")
	fails(t, s, 500, "no such logical volume pve/vm-100-disk-7", put, "scsi5", "lvm:vm-100-disk-7")
	fails(t, s, 500, "volume 'nas:iso/none.iso' does not exist", put, "ide2", "nas:iso/none.iso,media=cdrom")
	fails(t, s, 500, "can't remove drive 'scsi0' - protection mode enabled", "PUT "+q1+"107/config", "delete", "scsi0")
	fails(t, s, 500, "can't remove drive 'scsi0' - protection mode enabled", "PUT "+q1+"107/config", "scsi0", "lvm:1")
	fails(t, s, 500, "can't remove unused disk 'lvm:vm-107-disk-1' - protection mode enabled", "PUT "+q1+"107/config", "delete", "unused0")
	fails(t, s, 500, "SSH public key validation error", put, "sshkeys", url.PathEscape("nonsense"))
	fails(t, s, 500, `lvcreate 'thick/vm-100-disk-0' error:   Volume group "thick" has insufficient free space (24576 extents): 51200 required.`, put, "scsi5", "thick:200")
	changed(s, func(w *World) { w.Quorate = false })
	a := api(t, s, put, "cores", "3")
	assert.Equal(t, 500, a.status)
	assert.Regexp(t, `^unable to open file '/etc/pve/nodes/n1/qemu-server/100.conf.tmp.\d+' - Permission denied$`, a.reason)

	changed(s, func(w *World) { w.Quorate = true })
	put = "PUT " + l1 + "102/config"
	fails(t, s, 500, "no options specified", put)
	fails(t, s, 500, "CT is locked (backup)", "PUT "+l1+"111/config", "cores", "3")
	fails(t, s, 500, "detected modified configuration - file changed by other user? Try again.", put, "cores", "3", "digest", strings.Repeat("0", 40))
	fails(t, s, 500, "unable to delete required option 'memory'", put, "delete", "memory")
	fails(t, s, 500, "unable to delete required option 'rootfs'", put, "delete", "rootfs")
	fails(t, s, 500, "unable to modify read-only option: 'unprivileged'", put, "unprivileged", "0")
	fails(t, s, 500, "can't remove CT 112 drive 'mp0' - protection mode enabled", "PUT "+l1+"112/config", "delete", "mp0")
	fails(t, s, 500, "can't update CT 112 drive 'mp0' - protection mode enabled", "PUT "+l1+"112/config", "mp0", "lvm:1,mp=/x")
	fails(t, s, 500, "storage 'isos' does not support container directories", put, "mp1", "isos:1,mp=/y")
}

// TestConfigRunning: some keys are in force at once, the others wait for the
// next start without the answer saying so.
func TestConfigRunning(t *testing.T) {
	s := lab(t)
	digest := config(t, s, q1+"100")["digest"]
	ok(t, s, "PUT "+q1+"100/config", "name", "web2", "cores", "4", "memory", "4096", "description", "hällo\nworld", "tags", "B;a,c", "digest", digest)
	c := config(t, s, q1+"100")
	assert.NotEqual(t, digest, c["digest"])
	assert.Equal(t, []string{"web2", "4", "4096", "hällo\nworld", "a;b;c"}, []string{c["name"], c["cores"], c["memory"], c["description"], c["tags"]})
	c = config(t, s, q1+"100", "current", "1")
	assert.Equal(t, []string{"web2", "2", "2048"}, []string{c["name"], c["cores"], c["memory"]})
	assert.Equal(t, map[string]string{"cores": "4", "memory": "4096"}, pending(t, s, q1+"100"))
	assert.Equal(t, "web2", resourceOf(t, s, "qemu/100")["name"])
	assert.Equal(t, "a;b;c", resourceOf(t, s, "qemu/100")["tags"])

	ok(t, s, "PUT "+q1+"100/config", "revert", "memory")
	assert.Equal(t, map[string]string{"cores": "4"}, pending(t, s, q1+"100"))
	ok(t, s, "PUT "+q1+"100/config", "cores", "2")
	assert.Empty(t, pending(t, s, q1+"100"), "back to what it is")
	ok(t, s, "PUT "+q1+"100/config", "delete", "agent")
	assert.Equal(t, map[string]string{"agent": "-"}, pending(t, s, q1+"100"))
	ok(t, s, "PUT "+q1+"100/config", "revert", "agent")
	assert.Empty(t, pending(t, s, q1+"100"))
	assert.Nil(t, ok(t, s, "PUT "+q1+"100/config", "delete", "vga"), "a key that is not set")

	// Cloud-init: in force at once, the password a hash that nobody is shown.
	ok(t, s, "PUT "+q1+"100/config", "ciuser", "ops", "cipassword", "secret12", "sshkeys", strings.ReplaceAll(url.QueryEscape("ssh-ed25519 AAAA ops@x\n"), "+", "%20"))
	c = config(t, s, q1+"100")
	assert.Equal(t, maskedPassword, c["cipassword"])
	assert.Empty(t, pending(t, s, q1+"100"))
	s.World().View(func(w *World) {
		assert.Regexp(t, `^\$5\$.{8}\$`, w.Guest(100).Config.Get("cipassword"))
	})

	// The network card gets an address; a new one each time.
	ok(t, s, "PUT "+q1+"100/config", "net1", "virtio,bridge=vmbr0,tag=5")
	assert.Regexp(t, `^virtio=BC:24:11:[0-9A-F:]{8},bridge=vmbr0,tag=5$`, config(t, s, q1+"100", "current", "1")["net1"])

	// A setting for all hot-plugging off makes all wait.
	changed(s, func(w *World) { w.Guest(100).Config.Set("hotplug", "0") })
	ok(t, s, "PUT "+q1+"100/config", "delete", "net1")
	assert.Equal(t, map[string]string{"net1": "-"}, pending(t, s, q1+"100"))
}

func TestConfigStopped(t *testing.T) {
	s := lab(t)
	ok(t, s, "PUT "+q1+"101/config", "cores", "4", "delete", "onboot")
	c := config(t, s, q1+"101", "current", "1")
	assert.Equal(t, "4", c["cores"])
	assert.NotContains(t, c, "onboot")
	assert.Empty(t, pending(t, s, q1+"101"))
}

func TestConfigTask(t *testing.T) {
	s := lab(t)
	upid, is := ok(t, s, "POST "+q1+"101/config", "scsi1", "lvm:16").(string)
	require.True(t, is)
	assert.Contains(t, upid, ":qmconfig:101:")
	got, _ := ended(t, s, upid)
	assert.Equal(t, "OK", got)
	assert.Equal(t, "lvm:vm-101-disk-0,size=16G", config(t, s, q1+"101")["scsi1"])
	assert.Nil(t, ok(t, s, "POST "+q1+"101/config", "cores", "3", "background_delay", "5"), "it was waited for")
	assert.Equal(t, "3", config(t, s, q1+"101")["cores"])
	fails(t, s, 500, `failed to update VM 101: lvcreate 'thick/vm-101-disk-0' error:   Volume group "thick" has insufficient free space (24576 extents): 51200 required.`, "POST "+q1+"101/config", "scsi5", "thick:200", "background_delay", "5")
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmconfig"})
	require.NoError(t, err)
	upid, is = ok(t, s, "POST "+q1+"101/config", "cores", "5", "background_delay", "1").(string)
	require.True(t, is, "it takes longer than one wants to wait")
	assert.Equal(t, "3", config(t, s, q1+"101")["cores"])
	s.RemoveFault(hold)
	got, _ = ended(t, s, upid)
	assert.Equal(t, "OK", got)
	assert.Equal(t, "5", config(t, s, q1+"101")["cores"])
}

// TestDrives: disks are allocated, detached into unusedN, attached again and
// destroyed, and storages count what they hold.
func TestDrives(t *testing.T) {
	s := lab(t)
	c := func() map[string]string { return config(t, s, q1+"100", "current", "1") }
	ok(t, s, "PUT "+q1+"100/config", "scsi2", "lvm:32,ssd=1,discard=on")
	assert.Equal(t, "lvm:vm-100-disk-2,discard=on,size=32G,ssd=1", c()["scsi2"])
	assert.Equal(t, []string{"lvm:vm-100-disk-0", "lvm:vm-100-disk-1", "lvm:vm-100-disk-2"}, volumes(s, "lvm", 100))
	ok(t, s, "PUT "+q1+"100/config", "scsi3", "nas:1,format=raw")
	assert.Equal(t, "nas:100/vm-100-disk-0.raw,size=1G", c()["scsi3"])
	before := usedOn(s, "thick")
	ok(t, s, "PUT "+q1+"100/config", "scsi4", "thick:10")
	assert.Equal(t, before+10*gib, usedOn(s, "thick"))

	ok(t, s, "PUT "+q1+"100/config", "delete", "scsi2,scsi4")
	assert.Equal(t, []string{"lvm:vm-100-disk-2", "thick:vm-100-disk-0"}, []string{c()["unused0"], c()["unused1"]})
	assert.NotContains(t, c(), "scsi2")
	assert.Len(t, volumes(s, "lvm", 100), 3, "detached, not destroyed")
	ok(t, s, "PUT "+q1+"100/config", "scsi5", "lvm:vm-100-disk-2")
	assert.Equal(t, "lvm:vm-100-disk-2,size=32G", c()["scsi5"])
	assert.NotContains(t, c(), "unused0")
	ok(t, s, "PUT "+q1+"100/config", "delete", "unused1")
	assert.Equal(t, before, usedOn(s, "thick"))
	assert.Empty(t, volumes(s, "thick", 100))

	ok(t, s, "PUT "+q1+"100/config", "scsi5", "lvm:1")
	assert.Equal(t, "lvm:vm-100-disk-3,size=1G", c()["scsi5"])
	assert.Equal(t, "lvm:vm-100-disk-2", c()["unused0"], "what was there is kept")
	ok(t, s, "PUT "+q1+"100/config", "delete", "scsi5", "force", "1")
	assert.NotContains(t, volumes(s, "lvm", 100), "lvm:vm-100-disk-3")
	ok(t, s, "PUT "+q1+"100/unlink", "idlist", "unused0")
	assert.NotContains(t, volumes(s, "lvm", 100), "lvm:vm-100-disk-2")

	// What only throttles changes at once, the rest of a disk's options wait.
	ok(t, s, "PUT "+q1+"100/config", "scsi1", "lvm:vm-100-disk-1,mbps_rd=10")
	assert.Equal(t, "lvm:vm-100-disk-1,mbps_rd=10,size=4G", c()["scsi1"])
	ok(t, s, "PUT "+q1+"100/config", "scsi1", "lvm:vm-100-disk-1,cache=writeback")
	assert.Equal(t, map[string]string{"scsi1": "lvm:vm-100-disk-1,cache=writeback,size=4G"}, pending(t, s, q1+"100"))
	ok(t, s, "PUT "+q1+"100/config", "revert", "scsi1")

	// CD drives: media change at once, a new one waits and is booted from last.
	ok(t, s, "PUT "+q1+"100/config", "ide2", "nas:iso/a.iso,media=cdrom")
	assert.Equal(t, "nas:iso/a.iso,media=cdrom,size=1G", c()["ide2"])
	ok(t, s, "PUT "+q1+"100/config", "ide3", "none,media=cdrom")
	assert.Contains(t, pending(t, s, q1+"100"), "ide3")

	// A disk of a pending drive that is reverted is not lost.
	ok(t, s, "PUT "+q1+"100/config", "sata0", "lvm:2")
	assert.Contains(t, pending(t, s, q1+"100"), "sata0")
	ok(t, s, "PUT "+q1+"100/config", "revert", "sata0,ide3")
	assert.Equal(t, "lvm:vm-100-disk-2", c()["unused0"])

	ok(t, s, "PUT "+q1+"101/config", "ide3", "none,media=cdrom", "boot", "order=scsi0")
	assert.Equal(t, "order=scsi0;ide3", config(t, s, q1+"101")["boot"])
	ok(t, s, "PUT "+q1+"101/config", "delete", "ide3")
	assert.Equal(t, "order=scsi0", config(t, s, q1+"101")["boot"])

	// A generated drive is one, and goes for good.
	ok(t, s, "PUT "+q1+"101/config", "ide0", "nas:cloudinit")
	assert.Equal(t, "nas:101/vm-101-cloudinit.qcow2,media=cdrom", strings.ReplaceAll(config(t, s, q1+"101")["ide0"], ",size=4M", ""))
	ok(t, s, "PUT "+q1+"101/cloudinit")
	fails(t, s, 500, "scsi7 - cloud-init drive is already attached at 'ide0'", "PUT "+q1+"101/config", "scsi7", "nas:cloudinit")
	ok(t, s, "PUT "+q1+"101/config", "delete", "ide0")
	assert.Empty(t, volumes(s, "nas", 101))
	fails(t, s, 500, "cloudinit drive not found", "PUT "+q1+"101/cloudinit")

	ok(t, s, "PUT "+q1+"101/config", "efidisk0", "lvm:1,efitype=4m", "tpmstate0", "lvm:1,version=v2.0")
	assert.Equal(t, "lvm:vm-101-disk-0,efitype=4m,size=4M", config(t, s, q1+"101")["efidisk0"])
	assert.Equal(t, "lvm:vm-101-disk-1,size=4M,version=v2.0", config(t, s, q1+"101")["tpmstate0"])

	// Another guest's disk is only let go.
	ok(t, s, "PUT "+q1+"101/config", "scsi9", "lvm:vm-107-disk-0")
	ok(t, s, "PUT "+q1+"101/config", "delete", "scsi9", "force", "1")
	assert.Contains(t, volumes(s, "lvm", 107), "lvm:vm-107-disk-0")
	assert.NotContains(t, config(t, s, q1+"101"), "unused0")
}

func TestContainerConfig(t *testing.T) {
	s := lab(t)
	ok(t, s, "PUT "+l1+"102/config", "hostname", "ct2", "memory", "1024", "cores", "2", "nameserver", "192.0.2.53", "net1", "name=eth1,bridge=vmbr0", "mp1", "zfs:8,mp=/more")
	c := config(t, s, l1+"102", "current", "1")
	assert.Equal(t, []string{"ct2", "1024", "2", ""}, []string{c["hostname"], c["memory"], c["cores"], c["nameserver"]})
	assert.Equal(t, "zfs:subvol-102-disk-2,mp=/more,size=8G", c["mp1"])
	assert.Regexp(t, `^name=eth1,bridge=vmbr0,hwaddr=BC:24:11:[0-9A-F:]{8},type=veth$`, c["net1"])
	assert.Equal(t, map[string]string{"nameserver": "192.0.2.53"}, pending(t, s, l1+"102"))
	mac := c["net1"]
	ok(t, s, "PUT "+l1+"102/config", "net1", "name=eth1,bridge=vmbr1")
	assert.Equal(t, strings.ReplaceAll(mac, "vmbr0", "vmbr1"), config(t, s, l1+"102")["net1"], "keeps its address")

	ok(t, s, "PUT "+l1+"102/config", "delete", "mp1")
	assert.Equal(t, "-", pending(t, s, l1+"102")["mp1"], "a mount point goes when the container has stopped")
	taskOK(t, s, "POST "+l1+"102/status/reboot")
	c = config(t, s, l1+"102", "current", "1")
	assert.Equal(t, "zfs:subvol-102-disk-2", c["unused0"])
	assert.Equal(t, "192.0.2.53", c["nameserver"])
	ok(t, s, "PUT "+l1+"102/config", "delete", "unused0")
	assert.NotContains(t, volumes(s, "zfs", 102), "zfs:subvol-102-disk-2")
}
