package pvesim

import (
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/qemu/{vmid}/move_disk", func(c *call) (any, error) { return moveDisk(c, apidoc.QEMU, "disk", "target-disk") })
	register("POST /nodes/{node}/lxc/{vmid}/move_volume", func(c *call) (any, error) { return moveDisk(c, apidoc.LXC, "volume", "target-volume") })
}

const modified = "detected modified configuration - file changed by other user? Try again."

func moveDisk(c *call, kind apidoc.GuestKind, keyParam, targetParam string) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	key := c.param(keyParam)
	if c.has("storage") == c.has("target-vmid") {
		text := "either set 'storage' or 'target-vmid', but not both"
		return nil, &apiError{Status: 400, Message: paramsWrong, Errors: map[string]string{"storage": text, "target-vmid": text}}
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	if err := c.unchanged(g, modified); err != nil {
		return nil, err
	}
	d := parseDrive(g.Config.Get(key))
	if d.volume == "" {
		if kind == apidoc.LXC {
			return nil, fail("volume '%s' does not exist", key)
		}
		return nil, fail("disk '%s' does not exist", key)
	}
	if c.has("target-vmid") {
		return reassign(c, g, key, d, c.param(targetParam))
	}
	old := apidoc.VolID(d.volume)
	target, err := c.world.storageOn(apidoc.Storage(c.param("storage")), g.Node)
	if err != nil {
		return nil, err
	}
	format := c.param("format")
	_, volume := c.world.volumeOn(g.Node, old)
	remove := c.flag("delete", false)
	snapshots := g.inSnapshot(old) != nil
	switch {
	case kind == apidoc.QEMU && d.cdrom():
		return nil, fail("you can't move a cdrom")
	case kind == apidoc.QEMU && !target.Holds("images"):
		return nil, refuse("storage", fmt.Sprintf("storage '%s' does not support vm images", target.ID))
	case kind == apidoc.LXC && !target.Holds("rootdir"):
		return nil, fail("storage '%s' does not support container directories", target.ID)
	case storageOf(old) == target.ID && (format == "" || volume != nil && volume.Format == format):
		return nil, fail("you can't move to the same storage with same format")
	case kind == apidoc.LXC && g.Up():
		return nil, fail("cannot move volumes of a running container")
	case snapshots && remove && kind == apidoc.LXC:
		return nil, fail("you can't move a volume with snapshots and delete the source")
	case snapshots && remove:
		return nil, fail("you can't move a disk with snapshots and delete the source")
	}
	m := move{kind: kind, id: g.ID, key: key, target: target.ID, format: format, remove: remove, snapshots: snapshots}
	name := "qmmove"
	if kind == apidoc.LXC {
		name = "move_volume"
	}
	return c.launch(name, g.ID.String(), func(k *worker) error { return k.moveDisk(m) })
}

// move is a disk on its way to another storage.
type move struct {
	kind      apidoc.GuestKind
	id        apidoc.VMID
	key       string
	target    apidoc.Storage
	format    string
	remove    bool
	snapshots bool
}

func (k *worker) moveDisk(m move) error {
	g, err := k.guest(m.kind, m.id)
	if err != nil {
		return err
	}
	if err := g.free(); err != nil {
		return err
	}
	d := parseDrive(g.Config.Get(m.key))
	if m.kind == apidoc.QEMU && m.key == "tpmstate0" && g.Up() {
		return fail("cannot move TPM state while VM is running")
	}
	if m.snapshots {
		k.warnf("moving disk with snapshots, snapshots will not be moved!")
	}
	if m.kind == apidoc.LXC {
		g.Config.Set("lock", "disk")
	}
	unlock := func() {
		if g, missing := k.guest(m.kind, m.id); missing == nil && m.kind == apidoc.LXC {
			g.Config.Delete("lock")
		}
	}
	made, err := k.cloneVolume(g.Node, g, m.key, g.Up() && m.kind == apidoc.QEMU, copying{owner: m.id, storage: m.target, node: g.Node, format: m.format})
	if err != nil {
		unlock()
		if m.kind == apidoc.QEMU {
			return fail("storage migration failed: %s", err)
		}
		return err
	}
	if g, err = k.guest(m.kind, m.id); err != nil {
		return err
	}
	unlock()
	old := apidoc.VolID(d.volume)
	d = parseDrive(g.Config.Get(m.key))
	d.volume = string(made.ID)
	if d.opts["size"] != "" || driveKey(m.kind, m.key) {
		d.opts["size"] = diskSize(made.Size)
	}
	if indexed(m.key, "unused") {
		d = drive{volume: string(made.ID)}
	}
	g.Config.Set(m.key, d.String())
	if m.remove {
		k.sayf("removing source volume '%s' after successful copy", old)
		if err := k.world.freeVolume(g.Node, old); err != nil {
			k.warnf("%s", strings.TrimRight(err.Error(), "\n"))
		}
		return nil
	}
	if err := k.world.park(g, old); err != nil {
		return err
	}
	k.sayf("adding source volume '%s' as '%s' to config", old, attachment(m.kind, &g.Config, old))
	return nil
}

// copying says where a copy of a disk goes.
type copying struct {
	owner   apidoc.VMID
	node    apidoc.Node
	storage apidoc.Storage // "": where the disk is
	format  string
}

// cloneVolume copies a disk of a guest; what came of a copy that fails is
// taken away again. The lines are those of an image that is in use or not.
func (k *worker) cloneVolume(from apidoc.Node, g *Guest, key string, inUse bool, to copying) (*Volume, error) {
	w := k.world
	id := apidoc.VolID(parseDrive(g.Config.Get(key)).volume)
	source, err := w.storageOn(storageOf(id), from)
	if err != nil {
		return nil, err
	}
	v := source.look(from).Volume(id)
	if v == nil {
		return nil, source.noVolume(id)
	}
	if to.storage == "" {
		to.storage = source.ID
	}
	s, err := w.storageOn(to.storage, to.node)
	if err != nil {
		return nil, err
	}
	if to.format == "" && storageTypes[s.Type].files {
		to.format = v.Format
	}
	if to.format != "" && !containsText(storageTypes[s.Type].formats, to.format) {
		k.warnf("storage '%s' does not support requested format '%s', using default '%s' instead", s.ID, to.format, storageTypes[s.Type].format)
		to.format = ""
	}
	made, err := w.allocate(s, to.node, image{kind: g.Kind, owner: to.owner, size: v.Size, format: to.format, at: k.now().Unix()})
	if err != nil {
		return nil, err
	}
	line := offlineLine
	switch {
	case g.Kind == apidoc.LXC:
		line = func(done, size int64, percent int) string {
			if percent < 100 {
				return "" // rsync tells what it did at its end
			}
			return fmt.Sprintf("Total file size: %s bytes", groups(v.Taken()))
		}
	case inUse:
		k.sayf("drive mirror is starting for drive-%s", key)
		line = func(done, size int64, percent int) string {
			return fmt.Sprintf("drive-%s: transferred %s of %s (%d.00%%) in %ds%s", key, sizeText(done), sizeText(size), percent, percent/25, map[bool]string{true: ", ready"}[percent == 100])
		}
	default:
		k.sayf("create full clone of drive %s (%s)", key, id)
	}
	if err := k.copyVolume(to.node, v, made, s, line); err != nil {
		s.Place(to.node).Remove(made.ID)
		return nil, err
	}
	if inUse {
		k.say("all 'mirror' jobs are ready", "drive-"+key+": Completing block job...", "drive-"+key+": Completed successfully.", "drive-"+key+": mirror-job finished")
	}
	return made, nil
}

// groups writes a number with a comma after each three digits, as rsync does.
func groups(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// reassign gives a disk to another guest of the same node; its volume gets a
// name of the new owner.
func reassign(c *call, g *Guest, key string, d drive, targetKey string) (any, error) {
	id := apidoc.VMID(c.number("target-vmid", 0))
	word := map[apidoc.GuestKind]string{apidoc.QEMU: "VM", apidoc.LXC: "container"}[g.Kind]
	if id == g.ID {
		return nil, fail("must be different than source VMID to move disk to another VM")
	}
	target := c.world.Guest(id)
	if target == nil || target.Kind != g.Kind || target.Node != g.Node {
		return nil, noConfig(g.Kind, c.node(), int(id))
	}
	if targetKey == "" {
		targetKey = key
	}
	if err := target.free(); err != nil {
		return nil, err
	}
	if digest := c.param("target-digest"); digest != "" && digest != target.fileDigest() {
		return nil, fail("%s", modified)
	}
	volume := apidoc.VolID(d.volume)
	switch {
	case g.Template() || target.Template():
		return nil, fail("Moving disks from or to template VMs is not allowed")
	case g.Kind == apidoc.QEMU && d.cdrom():
		return nil, fail("Moving cdrom disks is not supported")
	case g.Kind == apidoc.LXC && (key == "rootfs" || targetKey == "rootfs"):
		return nil, fail("Cannot move to/from 'rootfs'")
	case g.inSnapshot(volume) != nil:
		return nil, fail("Can't move disk used by a snapshot to another %s", word)
	case g.Up() && !indexed(key, "unused"):
		return nil, fail("Cannot move disk to another %s while the source %s is running - detach first", word, word)
	case target.Config.Has(targetKey):
		return nil, fail("Target disk key '%s' is already in use for %s '%d'", targetKey, word, id)
	}
	name, taskID := "qmmove", fmt.Sprintf("%d-%s>%d-%s", g.ID, key, id, targetKey)
	if g.Kind == apidoc.LXC {
		name = "move_volume"
	}
	from, kind := g.ID, g.Kind
	return c.launch(name, taskID, func(k *worker) error {
		g, err := k.guest(kind, from)
		if err != nil {
			return err
		}
		target, err := k.guest(kind, id)
		if err != nil {
			return err
		}
		if err := k.rest(2); err != nil {
			return err
		}
		s, v := k.world.volumeOn(g.Node, volume)
		if v == nil {
			return fail("volume '%s' does not exist", volume)
		}
		p := s.Place(g.Node)
		k.sayf("moving disk '%s' from %s '%d' to '%d'", key, word, from, id)
		renamed := *v
		renamed.ID, _ = k.world.freeName(s, p, image{kind: kind, owner: id, format: v.Format})
		renamed.Owner = id
		p.Remove(v.ID)
		p.Add(&renamed)
		g.Config.Delete(key)
		unboot(g, key)
		d := parseDrive(d.String())
		d.volume = string(renamed.ID)
		if indexed(key, "unused") {
			d.opts["size"] = diskSize(renamed.Size)
		}
		target.Config.Set(targetKey, d.String())
		return nil
	})
}
