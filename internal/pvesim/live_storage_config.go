package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /storage", createStorage)
	register("PUT /storage/{storage}", updateStorage)
	register("DELETE /storage/{storage}", deleteStorage)
}

const storageCfg = "storage_cfg"

// storageKeys are the options that a type of storage needs, and those that it
// may have beside the common ones (pve-storage's plugins).
var storageKeys = map[string]struct{ needs, may []string }{
	"dir":         {[]string{"path"}, []string{"shared", "mkdir", "is_mountpoint", "create-base-path", "create-subdirs", "snapshot-as-volume-chain"}},
	"btrfs":       {[]string{"path"}, []string{"shared", "mkdir", "is_mountpoint", "create-base-path", "create-subdirs", "nocow"}},
	"nfs":         {[]string{"server", "export"}, []string{"path", "options", "mkdir", "create-base-path", "create-subdirs", "snapshot-as-volume-chain"}},
	"cifs":        {[]string{"server", "share"}, []string{"path", "subdir", "username", "password", "domain", "smbversion", "options", "mkdir", "create-base-path", "create-subdirs", "snapshot-as-volume-chain"}},
	"cephfs":      {nil, []string{"path", "monhost", "username", "keyring", "fuse", "subdir", "fs-name", "options", "mkdir", "create-base-path", "create-subdirs"}},
	"lvm":         {[]string{"vgname"}, []string{"shared", "base", "saferemove", "saferemove_throughput", "saferemove-stepsize", "tagged_only", "snapshot-as-volume-chain"}},
	"lvmthin":     {[]string{"thinpool", "vgname"}, nil},
	"zfspool":     {[]string{"pool"}, []string{"blocksize", "sparse", "mountpoint"}},
	"rbd":         {nil, []string{"pool", "data-pool", "namespace", "monhost", "username", "keyring", "krbd"}},
	"pbs":         {[]string{"datastore", "server"}, []string{"port", "namespace", "username", "password", "fingerprint", "encryption-key", "master-pubkey", "skip-cert-verification"}},
	"iscsi":       {[]string{"portal", "target"}, nil},
	"iscsidirect": {[]string{"portal", "target"}, nil},
	"zfs":         {[]string{"iscsiprovider", "pool", "portal", "target"}, []string{"blocksize", "sparse", "nowritecache", "comstar_hg", "comstar_tg", "lio_tpg", "zfs-base-path"}},
	"esxi":        {[]string{"server"}, []string{"username", "password", "port", "skip-cert-verification"}},
}

var storageCommon = []string{"storage", "type", "nodes", "disable", "content", "content-dirs", "format", "bwlimit", "preallocation", "prune-backups", "max-protected-backups", "delete", "digest"}

// storageContents are the kinds of content of a type, its default first.
var storageContents = map[string][]string{
	"dir": {"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"}, "btrfs": {"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"},
	"nfs": {"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import"}, "cifs": {"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import"},
	"cephfs": {"backup", "vztmpl", "iso", "snippets", "import"}, "lvm": {"images", "rootdir"}, "lvmthin": {"images", "rootdir"}, "zfspool": {"images", "rootdir"},
	"rbd": {"images", "rootdir"}, "pbs": {"backup", "none"}, "iscsi": {"images", "none"}, "iscsidirect": {"images", "none"}, "zfs": {"images"}, "esxi": {"import"},
}

// secretKeys are options that stand in files of their own, not in storage.cfg.
var secretKeys = []string{"password", "keyring", "encryption-key", "master-pubkey"}

// fillStorage takes what a call says about a storage of a type.
func (c *call) fillStorage(s *Storage) error {
	known := storageKeys[s.Type]
	given := sortedKeys(c.params)
	for _, k := range given {
		if !slices.Contains(storageCommon, k) && !slices.Contains(known.needs, k) && !slices.Contains(known.may, k) {
			return fail("unexpected property '%s'", k)
		}
	}
	if c.has("content") {
		s.Content = c.list("content")
		for _, x := range s.Content {
			if !slices.Contains(storageContents[s.Type], x) {
				return fail("storage does not support content type '%s'", x)
			}
		}
	}
	if c.has("nodes") {
		s.Nodes = nil
		for _, n := range c.list("nodes") {
			s.Nodes = append(s.Nodes, apidoc.Node(n))
		}
	}
	for _, k := range c.list("delete") {
		switch k {
		case "nodes":
			s.Nodes = nil
		case "disable":
			s.Disabled = false
		case "shared":
			s.share(alwaysShared[s.Type])
		case "content":
			s.Content = storageContents[s.Type][:1]
		default:
			if !slices.Contains(storageCommon, k) && !slices.Contains(known.may, k) {
				return refuse("delete", "unable to delete required or unknown option '"+k+"'")
			}
		}
	}
	if c.has("shared") {
		s.share(c.flag("shared", false) || alwaysShared[s.Type])
	}
	s.Disabled = c.flag("disable", s.Disabled)
	return c.store(&s.Options, append([]string{"storage", "type", "content", "nodes", "disable", "shared"}, secretKeys...)...)
}

// share moves what the storage holds when it becomes shared, or ceases to be.
// Of several nodes' volumes those with a name of their own remain.
func (s *Storage) share(shared bool) {
	if s.Shared == shared {
		return
	}
	old := s.places
	s.Shared, s.places = shared, map[apidoc.Node]*Place{}
	nodes := make([]apidoc.Node, 0, len(old))
	for n := range old {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	for _, n := range nodes {
		p := s.Place(n)
		p.Total = max(p.Total, old[n].Total)
		for _, v := range old[n].Volumes() {
			if p.Volume(v.ID) == nil {
				p.Add(v)
			}
		}
	}
}

// shownStorage is the answer to a change.
func (c *call) shownStorage(s *Storage) any {
	o := object{{"storage", string(s.ID)}, {"type", s.Type}}
	if s.Type == "pbs" && c.param("encryption-key") == "autogen" {
		o.put("config", object{{"encryption-key", `{"kdf":null,"created":"` + c.now.UTC().Format("2006-01-02T15:04:05Z") + `","data":"` + hexOf(c.rng, 64) + `","fingerprint":null}`}})
	}
	return c.one(o)
}

func createStorage(c *call) (any, error) {
	const about = "create storage failed"
	s := NewStorage(apidoc.Storage(c.param("storage")), c.param("type"))
	s.Shared = alwaysShared[s.Type]
	known, ok := storageKeys[s.Type]
	if !ok {
		return nil, fail("unknown storage type '%s'", s.Type)
	}
	s.Content = storageContents[s.Type][:1]
	if err := c.fillStorage(s); err != nil {
		return nil, err
	}
	for _, k := range known.needs {
		if !c.has(k) {
			return nil, fail("missing value for required option '%s'", k)
		}
	}
	if err := c.quorum(storageCfg); err != nil {
		return nil, prefixed(about, err)
	}
	if c.world.Storage(s.ID) != nil {
		return nil, fail("%s: storage ID '%s' already defined", about, s.ID)
	}
	if b := string(s.ID); s.Options.Get("path") == "" && (s.Type == "nfs" || s.Type == "cifs" || s.Type == "cephfs") {
		s.Options.Set("path", "/mnt/pve/"+b)
	}
	c.world.measure(s)
	c.world.Storages = append(c.world.Storages, s)
	return c.shownStorage(s), nil
}

// measure gives a new storage the size of what it lies on.
func (w *World) measure(s *Storage) {
	if s.Shared {
		s.Place("").Total = tib
		return
	}
	for _, n := range w.Nodes {
		if !s.On(n.Name) {
			continue
		}
		p := s.Place(n.Name)
		switch s.Type {
		case "dir", "btrfs":
			p.Total, p.Used = n.Root, n.RootUsed
			for _, d := range n.Directories {
				if strings.TrimSuffix(s.Options.Get("path"), "/") == d.Path {
					p.Total, p.Used = n.diskSize(d.Device), 0
				}
			}
		case "lvm":
			for _, g := range n.VolumeGroups {
				if g.Name == s.Options.Get("vgname") {
					p.Total, p.Used = g.Size, g.Size-g.Free
				}
			}
		case "lvmthin":
			for _, t := range n.ThinPools {
				if t.Group == s.Options.Get("vgname") && t.Name == s.Options.Get("thinpool") {
					p.Total, p.Used = t.Size, t.Used
				}
			}
		case "zfspool":
			for _, z := range n.ZPools {
				if pool, _, _ := strings.Cut(s.Options.Get("pool"), "/"); z.Name == pool {
					p.Total, p.Used = z.Size, z.Alloc
				}
			}
		}
	}
}

// diskSize is the size of a disk, or of the disk that a partition is on.
func (n *Node) diskSize(device string) int64 {
	for _, d := range n.Disks {
		if strings.HasPrefix(device, d.Path) {
			return d.Size
		}
	}
	return 0
}

func (c *call) theDefinition(about string) (*Storage, error) {
	if err := c.quorum(storageCfg); err != nil {
		return nil, prefixed(about, err)
	}
	s := c.world.Storage(apidoc.Storage(c.path["storage"]))
	if s == nil {
		return nil, fail("%s: storage '%s' does not exist", about, c.path["storage"])
	}
	return s, nil
}

func updateStorage(c *call) (any, error) {
	const about = "update storage failed"
	s, err := c.theDefinition(about)
	if err != nil {
		return nil, err
	}
	if err := c.sameDigest(c.world.storageDigest()); err != nil {
		return nil, prefixed(about, err)
	}
	changed := *s
	changed.Options = s.Options.Clone()
	if err := c.fillStorage(&changed); err != nil {
		return nil, prefixed(about, err)
	}
	*s = changed
	return c.shownStorage(s), nil
}

// deleteStorage takes the definition out; what lies on the storage stays, but
// nobody sees it any more.
func deleteStorage(c *call) (any, error) {
	const about = "delete storage failed"
	s, err := c.theDefinition(about)
	if err != nil {
		return nil, err
	}
	for _, other := range c.world.Storages {
		if base, _, ok := strings.Cut(other.Options.Get("base"), ":"); ok && base == string(s.ID) {
			return nil, fail("%s: can't remove storage - storage is used as base of another storage", about)
		}
	}
	c.world.dropStorage(s.ID)
	return nil, nil
}

// dropStorage takes a definition out, and what names it in pools and the ACL.
func (w *World) dropStorage(id apidoc.Storage) {
	w.Storages = slices.DeleteFunc(w.Storages, func(s *Storage) bool { return s.ID == id })
	for _, p := range w.Pools {
		p.Storages = slices.DeleteFunc(slices.Clone(p.Storages), func(s apidoc.Storage) bool { return s == id })
	}
	w.access.dropPath("/storage/" + string(id))
}

// dropPath takes out every entry of a path.
func (a *Access) dropPath(path string) {
	a.ACL = slices.DeleteFunc(a.ACL, func(e ACL) bool { return e.Path == path })
}
