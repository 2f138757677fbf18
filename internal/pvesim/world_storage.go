package pvesim

import (
	"slices"
	"sort"

	"pvemcp/apidoc"
)

// Storage is an entry of storage.cfg with what lies on it.
type Storage struct {
	ID       apidoc.Storage
	Type     string   // dir, nfs, cifs, lvm, lvmthin, zfspool, rbd, cephfs, pbs, btrfs, iscsi…
	Content  []string // images, rootdir, iso, vztmpl, backup, snippets, import
	Shared   bool
	Disabled bool
	Nodes    []apidoc.Node // nil: every node
	Options  Config        // path, server, export, pool, datastore, prune-backups…
	// Hanging makes every call that probes the storage wait until Proxmox's
	// own time-out; Offline makes it inactive at once.
	Hanging bool
	Offline bool

	// places holds the volumes: by node, or under "" where the storage is shared.
	places map[apidoc.Node]*Place
}

// Place is a storage on one node, or a shared storage as a whole.
type Place struct {
	Total   int64
	Used    int64
	volumes map[apidoc.VolID]*Volume
	told    bool // Used was written down, not counted
}

// Volume is a disk image, ISO, template or backup.
type Volume struct {
	ID           apidoc.VolID `json:"id,omitempty"`
	Content      string       `json:"content,omitempty"`
	Format       string       `json:"format,omitempty"`
	Size         int64        `json:"size,omitempty" form:"size"`
	Used         int64        `json:"used,omitempty" form:"size"` // 0: not told
	Created      int64        `json:"created,omitempty" form:"time"`
	Owner        apidoc.VMID  `json:"owner,omitempty"`  // 0: none
	Parent       string       `json:"parent,omitempty"` // name of the base of a linked clone
	Notes        string       `json:"notes,omitempty"`
	Protected    bool         `json:"protected,omitempty"`
	Encrypted    string       `json:"encrypted,omitempty"`    // fingerprint of a PBS key, or "1"
	Verification string       `json:"verification,omitempty"` // PBS: ok, failed or ""
	// Config is a backup's configuration file; nil: that of its guest.
	Config *Config `json:"config,omitempty"`
}

// NewStorage makes a storage without volumes.
func NewStorage(id apidoc.Storage, kind string, content ...string) *Storage {
	return &Storage{ID: id, Type: kind, Content: content, places: map[apidoc.Node]*Place{}}
}

// On tells whether the storage is defined for a node.
func (s *Storage) On(node apidoc.Node) bool {
	return s.Nodes == nil || slices.Contains(s.Nodes, node)
}

// Holds tells whether the storage may have that kind of content.
func (s *Storage) Holds(content string) bool { return slices.Contains(s.Content, content) }

// Place gives the storage as the node sees it, made empty where there was none.
func (s *Storage) Place(node apidoc.Node) *Place {
	if s.Shared {
		node = ""
	}
	p := s.places[node]
	if p == nil {
		p = &Place{volumes: map[apidoc.VolID]*Volume{}}
		s.places[node] = p
	}
	return p
}

// look is Place for readers: it makes nothing.
func (s *Storage) look(node apidoc.Node) *Place {
	if s.Shared {
		node = ""
	}
	if p := s.places[node]; p != nil {
		return p
	}
	return &Place{}
}

// Volume gives the volume of that id, or nil.
func (p *Place) Volume(id apidoc.VolID) *Volume { return p.volumes[id] }

// Volumes lists the volumes by id.
func (p *Place) Volumes() []*Volume {
	all := make([]*Volume, 0, len(p.volumes))
	for _, v := range p.volumes {
		all = append(all, v)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all
}

// Add puts a volume there and counts what it takes.
func (p *Place) Add(v *Volume) {
	if old := p.volumes[v.ID]; old != nil {
		p.Used -= old.Taken()
	}
	p.volumes[v.ID] = v
	p.Used += v.Taken()
}

// Remove takes a volume away and tells whether it was there.
func (p *Place) Remove(id apidoc.VolID) bool {
	v := p.volumes[id]
	if v == nil {
		return false
	}
	p.Used -= v.Taken()
	delete(p.volumes, id)
	return true
}

// Taken is the space that the volume takes: what it uses, else its size.
func (v *Volume) Taken() int64 {
	if v.Used > 0 {
		return v.Used
	}
	return v.Size
}

// storageTraits are the facts about a storage type that lists and checks need
// (pve-storage's plugins).
type storageTraits struct {
	files     bool   // keeps files in directories: volids have a path, notes are files
	format    string // of new images
	snapshots bool
	base      bool // may hold a base for linked clones
	replicate bool
	formats   []string
}

var storageTypes = map[string]storageTraits{
	"dir":         {files: true, format: "qcow2", snapshots: true, base: true, formats: []string{"raw", "qcow2", "vmdk", "subvol"}},
	"nfs":         {files: true, format: "qcow2", snapshots: true, base: true, formats: []string{"raw", "qcow2", "vmdk"}},
	"cifs":        {files: true, format: "qcow2", snapshots: true, base: true, formats: []string{"raw", "qcow2", "vmdk"}},
	"btrfs":       {files: true, format: "raw", snapshots: true, base: true, formats: []string{"raw", "subvol"}},
	"cephfs":      {files: true},
	"lvm":         {format: "raw", formats: []string{"raw"}},
	"lvmthin":     {format: "raw", snapshots: true, base: true, formats: []string{"raw"}},
	"zfspool":     {format: "raw", snapshots: true, base: true, replicate: true, formats: []string{"raw", "subvol"}},
	"rbd":         {format: "raw", snapshots: true, base: true, formats: []string{"raw"}},
	"iscsi":       {format: "raw", formats: []string{"raw"}},
	"pbs":         {},
	"esxi":        {},
	"zfs":         {format: "raw", snapshots: true, base: true, formats: []string{"raw"}},
	"iscsidirect": {format: "raw", formats: []string{"raw"}},
}

// alwaysShared are the types that are on every node the same without saying so.
var alwaysShared = map[string]bool{"nfs": true, "cifs": true, "cephfs": true, "rbd": true, "pbs": true, "iscsi": true, "zfs": true, "esxi": true, "iscsidirect": true}
