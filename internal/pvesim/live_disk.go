package pvesim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// drive is a disk of a VM or a mount point of a container, taken apart.
type drive struct {
	volume string // volid, path, none, cdrom, or STORAGE:GIB to allocate
	opts   map[string]string
}

func parseDrive(value string) drive {
	d := drive{opts: map[string]string{}}
	for part := range strings.SplitSeq(value, ",") {
		key, v, found := strings.Cut(part, "=")
		switch {
		case part == "":
		case !found:
			d.volume = part
		case key == "file" || key == "volume":
			d.volume = v
		default:
			d.opts[key] = v
		}
	}
	return d
}

// String writes the drive as Proxmox does: the volume first, the rest by name.
func (d drive) String() string {
	var b strings.Builder
	b.WriteString(d.volume)
	for _, k := range sortedKeys(d.opts) {
		b.WriteString("," + k + "=" + d.opts[k])
	}
	return b.String()
}

func (d drive) cdrom() bool {
	return d.opts["media"] == "cdrom" || d.volume == "cdrom" || d.volume == "none"
}

var (
	allocateForm  = regexp.MustCompile(`^([^:/]+):(\d+(?:\.\d+)?)$`)
	cloudinitForm = regexp.MustCompile(`^([^:/]+):cloudinit$`)
)

// driveKey tells whether a key of that kind holds a drive; unused ones do not
// count.
func driveKey(kind apidoc.GuestKind, key string) bool {
	if kind == apidoc.LXC {
		return key == "rootfs" || indexed(key, "mp")
	}
	return isDiskKey(key)
}

// isCloudinit tells whether a volume is a generated cloud-init drive.
func isCloudinit(volume string) bool { return strings.Contains(volume, "-cloudinit") }

// checkDrive refuses a drive that can't be: its storage, its volume or its form.
func (w *World) checkDrive(g *Guest, key string, d drive) error {
	if strings.HasPrefix(d.volume, "/") || d.volume == "none" || d.volume == "cdrom" || d.volume == "" {
		return nil
	}
	storage, name, ok := apidoc.VolID(d.volume).Split()
	if !ok {
		return fail("unable to parse volume ID '%s'", d.volume)
	}
	s, err := w.storageOn(storage, g.Node)
	if err != nil {
		return err
	}
	if m := cloudinitForm.FindStringSubmatch(d.volume); m != nil {
		for _, other := range g.Disks() {
			if other.Key != key && isCloudinit(string(other.Volume)) {
				return fail("%s - cloud-init drive is already attached at '%s'", key, other.Key)
			}
		}
	}
	if allocateForm.MatchString(d.volume) || cloudinitForm.MatchString(d.volume) {
		switch {
		case g.Kind == apidoc.QEMU && !s.Holds("images"):
			return refuse("storage", "storage '"+string(s.ID)+"' does not support vm images")
		case g.Kind == apidoc.LXC && !s.Holds("rootdir"):
			return fail("storage '%s' does not support container directories", s.ID)
		}
		if from := d.opts["import-from"]; from != "" && !strings.HasPrefix(from, "/") {
			id, _, ok := apidoc.VolID(from).Split()
			if !ok {
				return fail("unable to parse volume ID '%s'", from)
			}
			source, err := w.storageOn(id, g.Node)
			if err != nil {
				return err
			}
			if source.look(g.Node).Volume(apidoc.VolID(from)) == nil {
				return source.noVolume(apidoc.VolID(from))
			}
		}
		return nil
	}
	if strings.HasPrefix(name, "iso/") && d.opts["media"] != "cdrom" {
		return refuse(key, "explicit 'media=cdrom' is required for iso images")
	}
	if s.look(g.Node).Volume(apidoc.VolID(d.volume)) == nil {
		for _, had := range g.Disks() { // what stands there already is not looked for
			if string(had.Volume) == d.volume {
				return nil
			}
		}
		return s.noVolume(apidoc.VolID(d.volume))
	}
	return nil
}

// makeDrive gives the drive as it is written into the configuration; volumes
// that are to be allocated are.
func (w *World) makeDrive(g *Guest, key string, d drive, at int64) (made string, created apidoc.VolID, err error) {
	m := allocateForm.FindStringSubmatch(d.volume)
	ci := cloudinitForm.FindStringSubmatch(d.volume)
	if m == nil && ci == nil {
		if s, v := w.volumeOn(g.Node, apidoc.VolID(d.volume)); s != nil && v != nil {
			d.opts["size"] = diskSize(v.Size)
		} else if old := parseDrive(g.Config.Get(key)); old.volume == d.volume && old.opts["size"] != "" {
			d.opts["size"] = old.opts["size"]
		}
		return d.String(), "", nil
	}
	i := image{kind: g.Kind, owner: g.ID, format: d.opts["format"], at: at}
	delete(d.opts, "format")
	var storage string
	if ci != nil {
		storage, i.size, i.name = ci[1], 4*mib, "cloudinit"
		d.opts["media"] = "cdrom"
	} else {
		storage = m[1]
		gibs, _ := strconv.ParseFloat(m[2], 64) //nolint:errcheck // the form allows numbers alone
		i.size = int64(gibs * float64(gib))
	}
	switch key {
	case "efidisk0":
		i.size = 528 * kib
		if d.opts["efitype"] == "4m" {
			i.size = 4 * mib
		}
	case "tpmstate0":
		i.size = 4 * mib
	}
	if from := d.opts["import-from"]; from != "" {
		if _, v := w.volumeOn(g.Node, apidoc.VolID(from)); v != nil {
			i.size, i.used = v.Size, v.Used
		} else {
			i.size = 2 * gib
		}
		delete(d.opts, "import-from")
	}
	s, err := w.storageOn(apidoc.Storage(storage), g.Node)
	if err != nil {
		return "", "", err
	}
	v, err := w.allocate(s, g.Node, i)
	if err != nil {
		return "", "", err
	}
	d.volume = string(v.ID)
	if ci == nil {
		d.opts["size"] = diskSize(v.Size)
	}
	return d.String(), v.ID, nil
}

// attachment gives the key under which a configuration names a volume.
func attachment(kind apidoc.GuestKind, c *Config, id apidoc.VolID) string {
	for _, d := range Disks(kind, c) {
		if d.Volume == id {
			return d.Key
		}
	}
	return ""
}

// inSnapshot gives a snapshot that needs a volume.
func (g *Guest) inSnapshot(id apidoc.VolID) *Snapshot {
	for _, s := range g.Snapshots {
		if attachment(g.Kind, &s.Config, id) != "" {
			return s
		}
	}
	return nil
}

// park makes a volume that nothing names any more the next unused one. What
// is not the guest's own is forgotten.
func (w *World) park(g *Guest, id apidoc.VolID) error {
	if _, _, ok := id.Split(); !ok || w.ownerOf(g.Node, id) != g.ID {
		return nil
	}
	if attachment(g.Kind, &g.Config, id) != "" {
		return nil
	}
	for n := range 256 {
		key := "unused" + strconv.Itoa(n)
		if !g.Config.Has(key) {
			g.Config.Set(key, string(id))
			return nil
		}
	}
	return fail("Too many unused volumes - please delete them first.")
}

// dropKey takes a key out of the active configuration. The volume of a drive
// becomes unused, or goes with force; a generated drive always goes.
func (w *World) dropKey(g *Guest, key string, force bool) error {
	value := g.Config.Get(key)
	if driveKey(g.Kind, key) {
		id := apidoc.VolID(parseDrive(value).volume)
		own := w.ownerOf(g.Node, id) == g.ID
		gone := own && (isCloudinit(string(id)) || force)
		if gone && g.inSnapshot(id) != nil {
			return fail("unable to delete '%s' - volume is still in use (snapshot?)", key)
		}
		g.Config.Delete(key)
		unboot(g, key)
		if !gone {
			return w.park(g, id)
		}
		if s, v := w.volumeOn(g.Node, id); s != nil && v != nil {
			return w.freeVolume(g.Node, id)
		}
		return nil
	}
	g.Config.Delete(key)
	if indexed(key, "net") {
		unboot(g, key)
	}
	return nil
}

// unboot takes a device out of the boot order.
func unboot(g *Guest, key string) {
	rest, ok := strings.CutPrefix(g.Config.Get("boot"), "order=")
	if !ok {
		return
	}
	order := slices.DeleteFunc(strings.Split(rest, ";"), func(d string) bool { return d == key })
	g.Config.Set("boot", "order="+strings.Join(order, ";"))
}

// takeKey puts a value into the active configuration; the volume of a drive
// that had another one becomes unused, and an unused one that is used again is
// no longer so.
func (w *World) takeKey(g *Guest, key, value string) error {
	if !driveKey(g.Kind, key) {
		g.Config.Set(key, value)
		return nil
	}
	old, d := parseDrive(g.Config.Get(key)), parseDrive(value)
	fresh := !g.Config.Has(key)
	g.Config.Set(key, value)
	for _, x := range g.Disks() {
		if indexed(x.Key, "unused") && string(x.Volume) == d.volume {
			g.Config.Delete(x.Key)
		}
	}
	if rest, ok := strings.CutPrefix(g.Config.Get("boot"), "order="); ok && fresh && d.cdrom() && g.Kind == apidoc.QEMU {
		if order := strings.Split(rest, ";"); !slices.Contains(order, key) {
			g.Config.Set("boot", "order="+strings.TrimPrefix(strings.Join(append(order, key), ";"), ";"))
		}
	}
	if old.volume != "" && old.volume != d.volume {
		if isCloudinit(old.volume) && w.ownerOf(g.Node, apidoc.VolID(old.volume)) == g.ID {
			return w.freeVolume(g.Node, apidoc.VolID(old.volume))
		}
		return w.park(g, apidoc.VolID(old.volume))
	}
	return nil
}

// applyPending takes over all that waits for a guest to stand still.
func (w *World) applyPending(g *Guest) error {
	if len(g.Deleting) == 0 && g.Pending.Len() == 0 {
		return nil
	}
	if err := w.writable(g); err != nil {
		return err
	}
	for _, key := range sortedKeys(g.Deleting) {
		if err := w.dropKey(g, key, g.Deleting[key] == 2); err != nil {
			return fail("unable to apply pending change %s : %s", key, err)
		}
		delete(g.Deleting, key)
	}
	for _, key := range g.Pending.Keys() {
		if err := w.takeKey(g, key, g.Pending.Get(key)); err != nil {
			return fail("unable to apply pending change %s : %s", key, err)
		}
		g.Pending.Delete(key)
	}
	return nil
}
