package pvesim

import (
	"fmt"
	"strings"
	"time"

	"pvemcp/apidoc"
)

func init() {
	const content = "/nodes/{node}/storage/{storage}/content"
	register("DELETE "+content+"/{volume}", deleteVolume)
	register("PUT "+content+"/{volume}", changeVolume)
	register("POST "+content+"/{volume}", copyContent)
	register("POST "+content, allocateImage)
	register("DELETE /nodes/{node}/storage/{storage}/prunebackups", pruneBackups)
}

// volumeID is the volume that the path names, with or without its storage.
func (c *call) volumeID(s *Storage) apidoc.VolID {
	if name := c.path["volume"]; !strings.HasPrefix(name, string(s.ID)+":") {
		return apidoc.VolID(string(s.ID) + ":" + name)
	}
	return apidoc.VolID(c.path["volume"])
}

// deleteVolume destroys whatever it is told to: nobody asks whether a guest
// still uses an image. A volume that is not there is no failure.
func deleteVolume(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	id := c.volumeID(s)
	name := string(s.ID)
	if v := s.look(apidoc.Node(c.node())).Volume(id); v != nil && v.Owner != 0 {
		name = v.Owner.String() + "@" + name
	} else if owner, ok := id.Owner(); ok {
		name = owner.String() + "@" + name
	}
	return c.launch("imgdel", name, func(k *worker) error {
		s, err := k.world.storageOn(s.ID, k.task.Node)
		if err != nil {
			return err
		}
		v := s.look(k.task.Node).Volume(id)
		if v != nil && v.Protected {
			_, volume, _ := id.Split()
			return fail("cannot remove protected volume '%s' on '%s'", volume, s.ID)
		}
		if err := k.rest(1); err != nil {
			return err
		}
		if v == nil {
			k.sayf("disk image '%s' does not exist", s.pathOf(&Volume{ID: id, Content: contentOf(id)}))
		} else if err := k.world.freeVolume(k.task.Node, id); err != nil {
			return err
		}
		k.sayf("Removed volume '%s'", id)
		return nil
	})
}

// contentOf guesses from a volume's name what it would hold.
func contentOf(id apidoc.VolID) string {
	_, name, _ := id.Split()
	switch folder, _, _ := strings.Cut(name, "/"); folder {
	case "iso", "vztmpl", "backup", "snippets", "import":
		return folder
	}
	return "images"
}

// changeVolume sets what a backup says about itself.
func changeVolume(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	id := c.volumeID(s)
	v := s.look(apidoc.Node(c.node())).Volume(id)
	switch {
	case v == nil:
		return nil, s.noVolume(id)
	case !c.seesVolume(s, v):
		return nil, deny("/storage/%s, Datastore.Allocate", s.ID)
	case v.Content != "backup" && c.has("notes"):
		return nil, fail("only backups can have notes")
	case v.Content != "backup":
		return nil, fail("only backups can be protected")
	}
	if c.has("notes") {
		v.Notes = c.param("notes")
	}
	v.Protected = c.flag("protected", v.Protected)
	return nil, nil
}

// allocateImage makes an empty image and gives its id at once.
func allocateImage(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	name, owner := c.param("filename"), apidoc.VMID(c.number("vmid", 0))
	size := parseDiskSize(c.param("size"))
	if numberText(c.param("size")) {
		size *= kib // a bare number is in KiB here
	}
	t := storageTypes[s.Type]
	format := c.param("format")
	if ext := name[strings.LastIndexByte(name, '.')+1:]; t.files && ext != name {
		if format != "" && format != ext {
			return nil, refuse("format", "different storage formats ("+ext+" != "+format+")")
		}
		format = ext
	}
	if format == "" {
		format = "raw"
	}
	if !containsText(t.formats, format) {
		return nil, fail("unsupported format '%s'", format)
	}
	if !s.Holds("images") && !s.Holds("rootdir") {
		return nil, fail("storage '%s' does not support content-type 'images'", s.ID)
	}
	if !strings.HasPrefix(name, "vm-"+owner.String()+"-") && !strings.HasPrefix(name, "subvol-"+owner.String()+"-") && !t.files {
		return nil, fail("illegal name '%s' - should be 'vm-%d-*'", name, owner)
	}
	if t.files {
		name = owner.String() + "/" + name
	}
	id := apidoc.VolID(string(s.ID) + ":" + name)
	p := s.Place(apidoc.Node(c.node()))
	if p.Volume(id) != nil {
		return nil, fail("disk image '%s' already exists", s.pathOf(&Volume{ID: id, Content: "images", Owner: owner}))
	}
	v := &Volume{ID: id, Content: "images", Format: format, Size: size, Owner: owner, Created: c.now.Unix()}
	if !s.thick() {
		v.Used = min(size, mib)
	}
	if err := s.room(apidoc.Node(c.node()), v.Taken(), name); err != nil {
		return nil, err
	}
	p.Add(v)
	return string(id), nil
}

// copyContent copies a volume to another name, storage or node.
func copyContent(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	id := c.volumeID(s)
	node, target := apidoc.Node(c.node()), apidoc.Node(c.param("target_node"))
	if target == "" {
		target = node
	}
	if c.world.Node(target) == nil {
		return nil, fail("no such cluster node '%s'", target)
	}
	to := apidoc.VolID(c.param("target"))
	if _, _, ok := to.Split(); !ok {
		to = apidoc.VolID(string(s.ID) + ":" + string(to))
	}
	if to == id && target == node {
		return nil, fail("cannot copy volume '%s' onto itself", id)
	}
	return c.launch("imgcopy", "", func(k *worker) error {
		from, v := k.world.volumeOn(node, id)
		if v == nil {
			return from.noVolume(id)
		}
		name, _, _ := to.Split()
		if _, err := k.world.storageOn(name, target); err != nil {
			return err
		}
		if err := k.rest(2); err != nil {
			return err
		}
		on, err := k.world.storageOn(name, target)
		if err != nil {
			return err
		}
		p := on.Place(target)
		if p.Volume(to) != nil {
			return fail("volume '%s' already exists", to)
		}
		if err := on.room(target, v.Taken(), string(to)); err != nil {
			return err
		}
		copied := *v
		copied.ID, copied.Created, copied.Protected, copied.Parent = to, k.now().Unix(), false, ""
		if owner, ok := to.Owner(); ok {
			copied.Owner = owner
		}
		p.Add(&copied)
		k.sayf("successfully imported '%s'", to)
		return nil
	})
}

// pruneBackups removes what the retention does not keep.
func pruneBackups(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	keep := c.param("prune-backups")
	if keep == "" {
		keep = s.Options.Get("prune-backups")
	}
	if keep == "" {
		return nil, fail("no prune-backups options configured for storage '%s'", s.ID)
	}
	vmid, kind := apidoc.VMID(c.number("vmid", 0)), apidoc.GuestKind(c.param("type"))
	id := string(s.ID)
	if vmid != 0 {
		id = vmid.String() + "@" + id
	}
	return c.launch("prunebackups", id, func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		s, err := k.world.storageOn(s.ID, k.task.Node)
		if err != nil {
			return err
		}
		for _, v := range s.prune(k.task.Node, keep, func(v *Volume) bool {
			return (vmid == 0 || v.Owner == vmid) && (kind == "" || backupKind(v) == kind)
		}) {
			k.sayf("removing backup '%s'", v.ID)
		}
		return nil
	})
}

// stampedName is a file name as a task id has it: percent-coded.
func stampedName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// wgetTime is the time in wget's own lines.
func wgetTime(t time.Time) string { return t.UTC().Format(time.DateTime) }
