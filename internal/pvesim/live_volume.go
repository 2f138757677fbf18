package pvesim

import (
	"fmt"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// storageOn gives a storage that a node can use now.
func (w *World) storageOn(id apidoc.Storage, node apidoc.Node) (*Storage, error) {
	s := w.Storage(id)
	switch {
	case s == nil:
		return nil, fail("storage '%s' does not exist", id)
	case s.Disabled:
		return nil, fail("storage '%s' is disabled", id)
	case !s.On(node):
		return nil, fail("storage '%s' is not available on node '%s'", id, node)
	case s.Hanging || s.Offline:
		return nil, fail("storage '%s' is not online", id)
	}
	return s, nil
}

// noVolume is how a storage says that a volume is not there.
func (s *Storage) noVolume(id apidoc.VolID) error {
	_, name, _ := id.Split()
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch s.Type {
	case "lvm", "lvmthin":
		return fail("no such logical volume %s/%s", s.Options.Get("vgname"), last)
	case "zfspool":
		return fail("zfs error: cannot open '%s/%s': dataset does not exist", s.Options.Get("pool"), last)
	case "rbd":
		return fail("rbd error: error opening image %s: (2) No such file or directory", last)
	}
	return fail("volume '%s' does not exist", id)
}

// thick tells whether a new image takes its whole size at once.
func (s *Storage) thick() bool {
	return s.Type == "lvm" || s.Type == "zfspool" && s.Options.Get("sparse") != "1"
}

// room is the error of writing that much more on a storage: none while it fits
// or nobody said how large the storage is.
func (s *Storage) room(node apidoc.Node, more int64, name string) error {
	p := s.look(node)
	if p.Total == 0 || p.Used+more <= p.Total {
		return nil
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch s.Type {
	case "lvm":
		const extent = 4 * mib
		return fail("lvcreate '%s/%s' error:   Volume group \"%s\" has insufficient free space (%d extents): %d required.",
			s.Options.Get("vgname"), last, s.Options.Get("vgname"), max(p.Total-p.Used, 0)/extent, (more+extent-1)/extent)
	case "lvmthin":
		return fail("lvcreate '%s/%s' error:   Cannot create new thin volume, free space in thin pool %s/%s reached threshold.",
			s.Options.Get("vgname"), last, s.Options.Get("vgname"), s.Options.Get("thinpool"))
	case "zfspool":
		return fail("zfs error: cannot create '%s/%s': out of space", s.Options.Get("pool"), last)
	case "rbd":
		return fail("rbd create '%s' error: rbd: create error: (28) No space left on device", last)
	}
	return fail("unable to create image: qemu-img: %s/images/%s: No space left on device", s.Options.Get("path"), name)
}

// image is what a new volume of a guest is like.
type image struct {
	kind   apidoc.GuestKind
	owner  apidoc.VMID
	size   int64
	used   int64  // 0: nothing is in it yet
	format string // "": that of the storage
	name   string // "": the next free disk-N; else what stands in its place, such as cloudinit
	at     int64  // time of its making
}

// allocate makes a new volume on a storage of a node.
func (w *World) allocate(s *Storage, node apidoc.Node, i image) (*Volume, error) {
	content := "images"
	if i.kind == apidoc.LXC {
		content = "rootdir"
	}
	if !s.Holds(content) {
		if i.kind == apidoc.LXC {
			return nil, fail("storage '%s' does not support container directories", s.ID)
		}
		return nil, refuse("storage", fmt.Sprintf("storage '%s' does not support vm images", s.ID))
	}
	p := s.Place(node)
	id, format := w.freeName(s, p, i)
	v := &Volume{ID: id, Content: content, Format: format, Size: i.size, Used: i.used, Owner: i.owner, Created: i.at}
	if s.thick() {
		v.Used = 0
	} else if v.Used == 0 {
		v.Used = min(i.size, mib)
	}
	_, name, _ := id.Split()
	if err := s.room(node, v.Taken(), name); err != nil {
		return nil, err
	}
	p.Add(v)
	return v, nil
}

// freeName gives the first name of its sort that no volume has.
func (w *World) freeName(s *Storage, p *Place, i image) (apidoc.VolID, string) {
	for n := 0; ; n++ {
		name, format := volumeName(s, i.kind, i.owner, n, false)
		if storageTypes[s.Type].files && i.format != "" && i.format != format && containsText(storageTypes[s.Type].formats, i.format) {
			name, format = strings.TrimSuffix(name, "."+format)+"."+i.format, i.format
		}
		if i.name != "" {
			name = strings.Replace(name, "disk-"+strconv.Itoa(n), i.name, 1)
			if strings.HasPrefix(name, "subvol-") { // neither is a file system
				name, format = "vm"+strings.TrimPrefix(name, "subvol"), "raw"
			}
		}
		id := apidoc.VolID(string(s.ID) + ":" + name)
		if i.name != "" || !p.taken(name) {
			return id, format
		}
	}
}

// taken tells whether a volume has this name, be it as a base, a linked clone
// or in another format.
func (p *Place) taken(name string) bool {
	stem := diskStem(name)
	for id := range p.volumes {
		if diskStem(string(id)) == stem {
			return true
		}
	}
	return false
}

// diskStem gives what two names of the same disk have in common.
func diskStem(name string) string {
	last := name[strings.LastIndexAny(name, "/:")+1:]
	last, _, _ = strings.Cut(last, ".")
	for _, p := range [...]string{"basevol-", "subvol-", "base-", "vm-"} {
		if rest, ok := strings.CutPrefix(last, p); ok {
			return rest
		}
	}
	return last
}

// allocateState makes the volume for a VM's memory. Without a storage named it
// lies where the configuration says, else where the VM has a disk, shared
// storages first, else on local.
func (w *World) allocateState(g *Guest, on apidoc.Storage, name string, at int64) (*Volume, error) {
	if on == "" {
		on = apidoc.Storage(g.Config.Get("vmstatestorage"))
	}
	for _, shared := range [...]bool{true, false} {
		for _, d := range g.Disks() {
			id, _, ok := d.Volume.Split()
			if s := w.Storage(id); on == "" && ok && s != nil && s.Shared == shared && !d.CDROM && s.Holds("images") {
				on = id
			}
		}
	}
	if on == "" {
		on = "local"
	}
	s, err := w.storageOn(on, g.Node)
	if err != nil {
		return nil, err
	}
	return w.allocate(s, g.Node, image{kind: apidoc.QEMU, owner: g.ID, size: 2*g.Memory() + 500*mib, used: int64(float64(g.Memory()) * max(g.Load.Memory, 0.1)), format: "raw", name: "state-" + name, at: at})
}

// volumeOn gives a volume as a node sees it, nil where it is not there.
func (w *World) volumeOn(node apidoc.Node, id apidoc.VolID) (*Storage, *Volume) {
	storage, _, ok := id.Split()
	if !ok {
		return nil, nil
	}
	s := w.Storage(storage)
	if s == nil {
		return nil, nil
	}
	return s, s.look(node).Volume(id)
}

// freeVolume destroys a volume.
func (w *World) freeVolume(node apidoc.Node, id apidoc.VolID) error {
	storage, name, ok := id.Split()
	if !ok {
		return fail("unable to parse volume ID '%s'", id)
	}
	s, err := w.storageOn(storage, node)
	if err != nil {
		return err
	}
	p := s.Place(node)
	if p.Volume(id) == nil {
		return s.noVolume(id)
	}
	if p.linked(name) {
		return fail("base volume '%s' is still in use by linked clones", name)
	}
	p.Remove(id)
	return nil
}

// linked tells whether a volume of that name is the base of another.
func (p *Place) linked(name string) bool {
	for _, v := range p.volumes {
		if v.Parent == name {
			return true
		}
	}
	return false
}

// ownerOf gives whose volume it is, 0 for nobody's.
func (w *World) ownerOf(node apidoc.Node, id apidoc.VolID) apidoc.VMID {
	if _, v := w.volumeOn(node, id); v != nil {
		return v.Owner
	}
	owner, _ := id.Owner()
	return owner
}

// copyVolume writes a volume onto another, which takes the space of what is in
// it; the lines of progress come while time passes.
func (k *worker) copyVolume(node apidoc.Node, from, to *Volume, s *Storage, line func(done, size int64, percent int) string) error {
	want := from.Taken()
	have := to.Taken()
	say := func(text string) {
		if text != "" {
			k.say(text)
		}
	}
	say(line(0, to.Size, 0))
	for i := 1; i <= 4; i++ {
		if err := k.rest(2); err != nil {
			return err
		}
		p := s.Place(node)
		if p.Volume(to.ID) != to {
			return s.noVolume(to.ID)
		}
		if !s.thick() {
			part := max(have, want*int64(i)/4)
			if p.Total > 0 && p.Used-to.Taken()+part > p.Total {
				k.sayf("qemu-img: error while writing at byte %d: No space left on device", to.Size*int64(i-1)/4)
				return fail("copy failed: command '/usr/bin/qemu-img convert -p -n -f %s -O %s %s zeroinit:%s' failed: exit code 1", from.Format, to.Format, from.ID, s.pathOf(to))
			}
			p.Used += part - to.Taken()
			to.Used = part
		}
		say(line(to.Size*int64(i)/4, to.Size, 25*i))
	}
	return nil
}

// offlineLine is how copying an image that is not in use shows its progress.
func offlineLine(done, size int64, percent int) string {
	return fmt.Sprintf("transferred %s of %s (%d.00%%)", sizeText(done), sizeText(size), percent)
}

// resize gives a volume another size; what is in it stays.
func (p *Place) resize(v *Volume, size int64) {
	p.Used -= v.Taken()
	v.Size = size
	v.Used = min(v.Used, size)
	p.Used += v.Taken()
}
