package pvesim

import (
	"math/rand/v2"
	"strings"

	"pvemcp/apidoc"
)

// What changes of guests have in common: finding the guest again inside a
// task, its lock, and whether its configuration file can be written.

// noun is how Proxmox calls a guest of a kind in texts.
func noun(kind apidoc.GuestKind) string {
	if kind == apidoc.LXC {
		return "CT"
	}
	return "VM"
}

// taskPrefix begins the types of tasks of a kind: qmstart, vzstart.
func taskPrefix(kind apidoc.GuestKind) string {
	if kind == apidoc.LXC {
		return "vz"
	}
	return "qm"
}

// guest gives the guest of that kind and id on the task's node.
func (k *worker) guest(kind apidoc.GuestKind, id apidoc.VMID) (*Guest, error) {
	g := k.world.Guest(id)
	if g == nil || g.Kind != kind || g.Node != k.task.Node {
		return nil, noConfig(kind, string(k.task.Node), int(id))
	}
	return g, nil
}

// free refuses a guest that is locked, unless for one of the reasons named.
func (g *Guest) free(tolerated ...string) error {
	if l := g.Lock(); l != "" && !containsText(tolerated, l) {
		return fail("%s is locked (%s)", noun(g.Kind), l)
	}
	return nil
}

// ready is the error of what begins by asking whether the cluster is quorate.
func (w *World) ready() error {
	if w.Quorate {
		return nil
	}
	return fail("cluster not ready - no quorum?")
}

// writable is the error of writing a guest's configuration file, which is
// read-only without quorum.
func (w *World) writable(g *Guest) error {
	if w.Quorate {
		return nil
	}
	folder := "qemu-server"
	if g.Kind == apidoc.LXC {
		folder = "lxc"
	}
	return fail("unable to open file '/etc/pve/nodes/%s/%s/%d.conf.tmp.%d' - Permission denied", g.Node, folder, g.ID, w.nextPID())
}

// nextPID gives the id of a process that begins.
func (w *World) nextPID() uint32 {
	w.pids += 1 + uint32(mix(w.Seed+uint64(w.pids))%7)
	return w.pids
}

// chanceNow gives numbers that look like chance for what is made now.
func (w *World) chanceNow() uint64 {
	w.made++
	return mix(w.Seed ^ w.made<<20)
}

// newMAC gives an address as Proxmox makes them, under the datacenter's prefix.
func (w *World) newMAC() string {
	n := w.chanceNow()
	prefix := w.Datacenter.Get("mac_prefix")
	if prefix == "" {
		prefix = "BC:24:11"
	}
	b := strings.Builder{}
	b.WriteString(strings.ToUpper(prefix))
	for i := strings.Count(prefix, ":") + 1; i < 6; i++ {
		const digits = "0123456789ABCDEF"
		b.WriteByte(':')
		b.WriteByte(digits[n>>4&15])
		b.WriteByte(digits[n&15])
		n >>= 8
	}
	return b.String()
}

// newUUID gives one for smbios1 and vmgenid.
func (w *World) newUUID() string { return uuid(w.stream()) }

// haManaged tells whether HA decides about a guest, so that starting, stopping
// and migrating it become requests to HA.
func (w *World) haManaged(id apidoc.VMID) bool {
	r := w.HA.Resource(id)
	return r != nil && r.State != "ignored" && !(w.HA.Disarmed && w.HA.ResourceMode == "ignore")
}

// stream gives chance for something larger that is made now.
func (w *World) stream() *rand.Rand {
	n := w.chanceNow()
	return rand.New(rand.NewPCG(n, mix(n)))
}
