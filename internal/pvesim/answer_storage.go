package pvesim

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"pvemcp/apidoc"
)

func init() {
	register("GET /storage", storageConfigs)
	register("GET /storage/{storage}", storageConfig)
	register("GET /nodes/{node}/storage", nodeStorages)
	register("GET /nodes/{node}/storage/{storage}/status", storageStatus)
	register("GET /nodes/{node}/storage/{storage}/content", storageContent)
	register("GET /nodes/{node}/storage/{storage}/content/{volume}", volumeInfo)
	register("GET /nodes/{node}/storage/{storage}/prunebackups", prunePreview)
	register("GET /nodes/{node}/storage/{storage}/identity", storageIdentity)
}

// definition is an entry of storage.cfg.
func (s *Storage) definition() object {
	o := object{{"storage", string(s.ID)}, {"type", s.Type}, {"content", strings.Join(s.Content, ",")}}
	s.Options.Each(func(k, v string) bool { o.put(k, v); return true })
	if s.Shared && !alwaysShared[s.Type] {
		o.put("shared", 1)
	}
	if s.Nodes != nil {
		names := make([]string, len(s.Nodes))
		for i, n := range s.Nodes {
			names[i] = string(n)
		}
		o.put("nodes", strings.Join(names, ","))
	}
	o.flagIf("disable", s.Disabled)
	return o
}

// storageDigest is of the whole of storage.cfg.
func (w *World) storageDigest() string {
	var b strings.Builder
	for _, s := range w.Storages {
		b.Write(appendObject(nil, s.definition(), nil))
	}
	return digestOf(b.String())
}

func storageConfigs(c *call) (any, error) {
	list := []object{}
	digest := c.world.storageDigest()
	for _, s := range c.world.Storages {
		if c.has("type") && s.Type != c.param("type") {
			continue
		}
		if c.seesStorage(s.ID) || c.priv("/storage/"+string(s.ID), "Datastore.Allocate") {
			list = append(list, append(s.definition(), member{"digest", digest}))
		}
	}
	return c.rows(list), nil
}

func storageConfig(c *call) (any, error) {
	s := c.world.Storage(apidoc.Storage(c.path["storage"]))
	if s == nil {
		return nil, fail("storage '%s' does not exist", c.path["storage"])
	}
	return c.one(append(s.definition(), member{"digest", c.world.storageDigest()})), nil
}

// active tells whether the storage works on a node.
func (s *Storage) active() bool { return !s.Disabled && !s.Offline && !s.Hanging }

func (s *Storage) state(n *Node) object {
	o := object{{"type", s.Type}, {"content", strings.Join(s.Content, ",")}, {"enabled", number01(!s.Disabled)}, {"active", number01(s.active())}, {"shared", number01(s.Shared)}}
	total, used := int64(0), int64(0)
	if s.active() {
		p := s.look(n.Name)
		total, used = p.Total, min(p.Used, p.Total)
	}
	return append(o, member{"total", total}, member{"used", used}, member{"avail", total - used})
}

// nodeStorages is what a node can use. Disabled storages are in it unless one
// asks for content or for enabled ones.
func nodeStorages(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	content := c.list("content")
	list := []object{}
	for _, s := range c.world.Storages {
		switch {
		case !s.On(n.Name), !c.seesStorage(s.ID),
			c.has("storage") && c.param("storage") != string(s.ID),
			s.Disabled && (len(content) > 0 || c.flag("enabled", false)),
			len(content) > 0 && !slices.ContainsFunc(content, s.Holds):
			continue
		}
		if c.has("target") && c.param("target") != string(n.Name) && (!s.Shared || !s.On(apidoc.Node(c.param("target")))) {
			continue
		}
		o := append(s.state(n), member{"storage", string(s.ID)})
		if p := s.look(n.Name); s.active() && p.Total > 0 {
			o.put("used_fraction", float64(min(p.Used, p.Total))/float64(p.Total))
		}
		if c.flag("format", false) {
			if t := storageTypes[s.Type]; t.format != "" {
				o.put("formats", object{{"default", t.format}, {"supported", t.formats}})
				o.put("format", []any{t.formats, t.format})
			}
		}
		list = append(list, o)
	}
	return c.rows(list), nil
}

// theStorage gives the storage of the path as a node sees it.
func (c *call) theStorage() (*Storage, error) {
	id := c.path["storage"]
	s := c.world.Storage(apidoc.Storage(id))
	if s == nil {
		return nil, refuse("storage", "No such storage.")
	}
	if !s.On(apidoc.Node(c.node())) {
		return nil, fail("storage '%s' is not available on node '%s'", id, c.node())
	}
	return s, nil
}

// usable is theStorage where the call needs it to work.
func (c *call) usableStorage() (*Storage, error) {
	s, err := c.theStorage()
	switch {
	case err != nil:
		return nil, err
	case s.Disabled:
		return nil, fail("storage '%s' is disabled", s.ID)
	case s.Hanging:
		return nil, c.hang()
	case s.Offline:
		return nil, fail("storage '%s' is not online", s.ID)
	}
	return s, nil
}

func storageStatus(c *call) (any, error) {
	s, err := c.theStorage()
	if err != nil {
		return nil, err
	}
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	return c.one(s.state(n)), nil
}

func storageIdentity(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	return c.one(object{{"type", s.Type}, {"id", digestOf(string(appendObject(nil, s.definition(), nil)))}}), nil
}

// storageContent lists volumes; those that the caller may not see are left out.
func storageContent(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	content, vmid := c.param("content"), apidoc.VMID(c.number("vmid", 0))
	if content != "" && !s.Holds(content) {
		return c.rows(nil), nil
	}
	list := []object{}
	for _, v := range s.look(apidoc.Node(c.node())).Volumes() {
		if content != "" && v.Content != content || vmid != 0 && v.Owner != vmid || !c.seesVolume(s, v) {
			continue
		}
		list = append(list, s.volume(v))
	}
	return c.rows(list), nil
}

// seesVolume is Proxmox's check_volume_access for reading: who may allocate on
// the storage sees all; images need the audit of both sides, backups the right
// to back up their guest, the rest no more than the storage.
func (c *call) seesVolume(s *Storage, v *Volume) bool {
	if c.seesAll() {
		return true
	}
	path := "/storage/" + string(s.ID)
	if c.priv(path, "Datastore.Allocate") {
		return true
	}
	switch v.Content {
	case "backup":
		return c.priv(path, "Datastore.AllocateSpace") && v.Owner != 0 && c.priv("/vms/"+v.Owner.String(), "VM.Backup") || c.priv(path, "Datastore.Audit") && v.Owner != 0 && c.priv("/vms/"+v.Owner.String(), "VM.Backup")
	case "images", "rootdir":
		return v.Owner != 0 && c.priv(path, "Datastore.Audit") && (c.anyPriv("/vms/"+v.Owner.String(), "VM.Config.Disk", "VM.Audit"))
	}
	return c.seesStorage(s.ID)
}

// volume is a row of the content list.
func (s *Storage) volume(v *Volume) object {
	o := object{{"volid", string(v.ID)}, {"content", v.Content}, {"format", v.Format}, {"size", v.Size}}
	if v.Created > 0 {
		o.put("ctime", v.Created)
	}
	if v.Owner != 0 {
		o.put("vmid", int(v.Owner))
	}
	switch v.Content {
	case "images", "rootdir":
		o.putIf("parent", v.Parent)
		if v.Used > 0 && storageTypes[s.Type].files {
			o.put("used", v.Used)
		}
	case "backup":
		kind := "qemu"
		if strings.Contains(string(v.ID), "/ct/") || strings.Contains(string(v.ID), "vzdump-lxc-") {
			kind = "lxc"
		}
		o.put("subtype", kind)
		o.flagIf("protected", v.Protected)
		notes := v.Notes
		if storageTypes[s.Type].files {
			notes, _, _ = strings.Cut(notes, "\n")
		}
		o.putIf("notes", notes)
		if s.Type == "pbs" {
			o.putIf("encrypted", v.Encrypted)
			if v.Verification != "" {
				o.put("verification", object{{"state", v.Verification}, {"upid", "UPID:pbs:0000A1B2:0000C3D4:00000007:" + fmt.Sprintf("%08X", v.Created+3600) + ":verificationjob:main\\x3av-1:root@pam:"}})
			}
		}
	}
	return o
}

// volumeInfo takes the volume with or without its storage in front.
func volumeInfo(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	v := c.theVolume(s)
	if v == nil {
		name := strings.TrimPrefix(c.path["volume"], string(s.ID)+":")
		return nil, fail("volume_size_info on '%s:%s' failed - no such volume", s.ID, name)
	}
	if !c.seesVolume(s, v) {
		return nil, deny("/storage/%s, Datastore.Audit", s.ID)
	}
	used := v.Used
	if used == 0 {
		used = v.Size
	}
	o := object{{"path", s.pathOf(v)}, {"size", v.Size}, {"used", used}, {"format", v.Format}}
	o.putIf("notes", v.Notes)
	o.flagIf("protected", v.Protected)
	return c.one(o), nil
}

func (c *call) theVolume(s *Storage) *Volume {
	name := c.path["volume"]
	id := apidoc.VolID(name)
	if !strings.HasPrefix(name, string(s.ID)+":") {
		id = apidoc.VolID(string(s.ID) + ":" + name)
	}
	return s.look(apidoc.Node(c.node())).volumes[id]
}

// pathOf is where a volume lies on its node.
func (s *Storage) pathOf(v *Volume) string {
	_, name, _ := v.ID.Split()
	base := s.Options.Get("path")
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case storageTypes[s.Type].files && (v.Content == "images" || v.Content == "rootdir"):
		return base + "/images/" + v.Owner.String() + "/" + last
	case storageTypes[s.Type].files && v.Content == "backup":
		return base + "/dump/" + last
	case storageTypes[s.Type].files && (v.Content == "iso" || v.Content == "vztmpl"):
		folder := map[string]string{"iso": "iso", "vztmpl": "cache"}[v.Content]
		return base + "/template/" + folder + "/" + last
	case storageTypes[s.Type].files:
		return base + "/" + name
	case s.Type == "lvm" || s.Type == "lvmthin":
		return "/dev/" + s.Options.Get("vgname") + "/" + last
	case s.Type == "zfspool" && v.Format == "subvol":
		return "/" + s.Options.Get("pool") + "/" + last
	case s.Type == "zfspool":
		return "/dev/zvol/" + s.Options.Get("pool") + "/" + last
	case s.Type == "rbd":
		return "rbd:" + s.Options.Get("pool") + "/" + last
	case s.Type == "pbs":
		return s.Options.Get("username") + "@" + s.Options.Get("server") + ":" + s.Options.Get("datastore") + ":" + strings.TrimPrefix(name, "backup/")
	}
	return name
}

// keepOptions reads a retention such as "keep-last=3,keep-daily=7".
func keepOptions(text string) map[string]int {
	keep := map[string]int{}
	for part := range strings.SplitSeq(text, ",") {
		if k, v, ok := strings.Cut(part, "="); ok {
			if n, err := strconv.Atoi(v); err == nil {
				keep[k] = n
			}
		}
	}
	return keep
}

// pruneMarks says of each backup of one guest, newest first, whether the
// retention keeps it. Each keep-… option keeps the newest backup of as many
// periods as it says; periods of which an earlier option keeps one don't count.
func pruneMarks(backups []*Volume, keep map[string]int) map[*Volume]string {
	marks := map[*Volume]string{}
	for _, v := range backups {
		if v.Protected {
			marks[v] = "protected"
		}
	}
	none := keep["keep-all"] == 1
	for _, n := range keep {
		if n > 0 {
			none = false
		}
	}
	if none || len(keep) == 0 || keep["keep-all"] == 1 {
		for _, v := range backups {
			if marks[v] == "" {
				marks[v] = "keep"
			}
		}
		return marks
	}
	for _, option := range [...]struct{ name, form string }{{"keep-last", ""}, {"keep-hourly", "2006-01-02 15"}, {"keep-daily", "2006-01-02"}, {"keep-weekly", "week"}, {"keep-monthly", "2006-01"}, {"keep-yearly", "2006"}} {
		if keep[option.name] == 0 {
			continue
		}
		period := func(v *Volume) string {
			t := time.Unix(v.Created, 0).UTC()
			switch option.form {
			case "":
				return string(v.ID)
			case "week":
				y, w := t.ISOWeek()
				return fmt.Sprintf("%d-%d", y, w)
			}
			return t.Format(option.form)
		}
		before, now := map[string]bool{}, map[string]bool{}
		for _, v := range backups {
			if marks[v] == "keep" {
				before[period(v)] = true
			}
		}
		for _, v := range backups {
			p := period(v)
			switch {
			case marks[v] != "" || before[p]:
			case now[p]:
				marks[v] = "remove"
			case len(now) < keep[option.name]:
				now[p] = true
				marks[v] = "keep"
			}
		}
	}
	for _, v := range backups {
		if marks[v] == "" {
			marks[v] = "remove"
		}
	}
	return marks
}

// prunePreview says what a prune would remove.
func prunePreview(c *call) (any, error) {
	s, err := c.usableStorage()
	if err != nil {
		return nil, err
	}
	text := c.param("prune-backups")
	if text == "" {
		text = s.Options.Get("prune-backups")
	}
	keep := keepOptions(text)
	type group struct {
		kind string
		id   apidoc.VMID
	}
	groups := map[group][]*Volume{}
	for _, v := range s.look(apidoc.Node(c.node())).Volumes() {
		if v.Content != "backup" || !c.seesVolume(s, v) || c.has("vmid") && c.number("vmid", 0) != int64(v.Owner) {
			continue
		}
		kind := "qemu"
		if strings.Contains(string(v.ID), "/ct/") || strings.Contains(string(v.ID), "vzdump-lxc-") {
			kind = "lxc"
		}
		if c.has("type") && c.param("type") != kind {
			continue
		}
		groups[group{kind, v.Owner}] = append(groups[group{kind, v.Owner}], v)
	}
	list := []object{}
	for g, backups := range groups {
		sort.Slice(backups, func(i, j int) bool { return backups[i].Created > backups[j].Created })
		marks := pruneMarks(backups, keep)
		for _, v := range backups {
			list = append(list, object{{"volid", string(v.ID)}, {"ctime", v.Created}, {"mark", marks[v]}, {"type", g.kind}, {"vmid", int(g.id)}})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i][0].value.(string) < list[j][0].value.(string) })
	return c.ordered(list), nil
}
