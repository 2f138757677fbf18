package pvesim

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// A world file is one JSON object in which a person writes down a situation:
// nodes, guests with configuration and tags, storages with content and use,
// tasks with logs, backup jobs, HA, users and tokens, locks, faults. Every key
// may be left out; an unknown one is an error with its place, so that a typing
// mistake does not become a different situation. docs/world-file.md describes
// the format for its writers; the structs here and in world_*.go are the format.

// worldFile is the whole file.
type worldFile struct {
	About string `json:"about,omitempty"` // for people
	// Now is the moment of the situation: absolute, or left out for the present.
	Now     string `json:"now,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
	Version string `json:"version,omitempty"` // of pve-manager, such as 9.2.11
	RepoID  string `json:"repoid,omitempty"`
	// Complete says that the storages list every volume; otherwise the disks
	// that guests name are made where they are missing.
	Complete bool `json:"complete,omitempty"`

	Cluster       string      `json:"cluster,omitempty"`
	ConfigVersion int         `json:"config_version,omitempty"`
	Quorate       bool        `json:"quorate"`
	Local         apidoc.Node `json:"local,omitempty"` // the node that answers; the first by default

	Nodes        []*Node         `json:"nodes,omitempty"`
	Storages     []*Storage      `json:"storages,omitempty"`
	Guests       []*Guest        `json:"guests,omitempty"`
	Pools        []*Pool         `json:"pools,omitempty"`
	Tasks        []*fileTask     `json:"tasks,omitempty"`
	Jobs         []*BackupJob    `json:"backup_jobs,omitempty"`
	Replications []*Replication  `json:"replications,omitempty"`
	HA           HA              `json:"ha,omitempty"`
	Datacenter   Config          `json:"datacenter,omitempty"`
	Firewall     ClusterFirewall `json:"firewall,omitempty"`
	Mappings     []*Mapping      `json:"mappings,omitempty"`
	Zones        []*Zone         `json:"zones,omitempty"`
	VNets        []*VNet         `json:"vnets,omitempty"`
	Metrics      []*MetricServer `json:"metric_servers,omitempty"`
	Log          []LogEntry      `json:"log,omitempty"`
	Ceph         *Ceph           `json:"ceph,omitempty"`
	Sections     []*Section      `json:"sections,omitempty"`

	Users  []*fileUser  `json:"users,omitempty"`
	Groups []*fileGroup `json:"groups,omitempty"`
	Tokens []*fileToken `json:"tokens,omitempty"`
	Roles  []*fileRole  `json:"roles,omitempty"`
	Realms []*fileRealm `json:"realms,omitempty"`
	ACL    []*fileACL   `json:"acl,omitempty"`

	// Unreported lists guests whose figures nobody knows: status unknown.
	Unreported []apidoc.VMID `json:"unreported,omitempty"`
	// Faults are what goes wrong on the wire, as POST /__sim/faults takes them.
	Faults []Fault `json:"faults,omitempty"`
}

func (f *worldFile) defaults() { f.Quorate = true }

type fileTask struct {
	UPID    string      `json:"upid,omitempty"` // made from the rest when left out
	Node    apidoc.Node `json:"node,omitempty"`
	Type    string      `json:"type,omitempty"`
	ID      string      `json:"id,omitempty"`
	User    string      `json:"user,omitempty"`
	Start   int64       `json:"start,omitempty" form:"time"`
	End     int64       `json:"end,omitempty" form:"time"`
	Seconds int64       `json:"seconds,omitempty"` // in place of end
	Status  string      `json:"status,omitempty"`  // "": still running
	Killed  bool        `json:"killed,omitempty"`  // vanished: the log has no last line
	Log     []string    `json:"log,omitempty"`     // without the closing line; left out: what is usual
	NoLog   bool        `json:"no_log,omitempty"`  // the log is empty
}

type fileUser struct {
	ID        string   `json:"id,omitempty"`
	Enabled   bool     `json:"enabled"`
	Password  string   `json:"password,omitempty"`
	Expire    int64    `json:"expire,omitempty" form:"time"`
	Groups    []string `json:"groups,omitempty"`
	Comment   string   `json:"comment,omitempty"`
	Email     string   `json:"email,omitempty"`
	Firstname string   `json:"firstname,omitempty"`
	Lastname  string   `json:"lastname,omitempty"`
	Keys      string   `json:"keys,omitempty"`
	TFA       []string `json:"tfa,omitempty"`
}

func (u *fileUser) defaults() { u.Enabled = true }

type fileGroup struct {
	ID      string `json:"id,omitempty"`
	Comment string `json:"comment,omitempty"`
}

type fileToken struct {
	ID      string `json:"id,omitempty"`     // u@pve!name
	Secret  string `json:"secret,omitempty"` // [TokenSecret] when left out
	Privsep bool   `json:"privsep"`
	Expire  int64  `json:"expire,omitempty" form:"time"`
	Comment string `json:"comment,omitempty"`
}

func (t *fileToken) defaults() { t.Privsep, t.Secret = true, TokenSecret }

type fileRole struct {
	ID    string   `json:"id,omitempty"`
	Privs []string `json:"privs,omitempty"`
}

type fileRealm struct {
	ID      string            `json:"id,omitempty"`
	Type    string            `json:"type,omitempty"`
	Comment string            `json:"comment,omitempty"`
	Default bool              `json:"default,omitempty"`
	TFA     string            `json:"tfa,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// fileACL is one entry; who is a user, a token, or a group with "@" in front.
type fileACL struct {
	Path      string `json:"path,omitempty"`
	Who       string `json:"who,omitempty"`
	Role      string `json:"role,omitempty"`
	Propagate bool   `json:"propagate"`
}

func (a *fileACL) defaults() { a.Propagate = true }

// storageFile is a storage in the file. One that is shared has size, used and
// volumes; one that is not has them by node under places.
type storageFile struct {
	ID       apidoc.Storage             `json:"id,omitempty"`
	Type     string                     `json:"type,omitempty"`
	Content  []string                   `json:"content,omitempty"`
	Shared   bool                       `json:"shared"`
	Disabled bool                       `json:"disabled,omitempty"`
	Nodes    []apidoc.Node              `json:"nodes,omitempty"`
	Hanging  bool                       `json:"hanging,omitempty"`
	Offline  bool                       `json:"offline,omitempty"`
	Options  Config                     `json:"options,omitempty"`
	Size     int64                      `json:"size,omitempty" form:"size"`
	Used     int64                      `json:"used,omitempty" form:"size"`
	Volumes  []*Volume                  `json:"volumes,omitempty"`
	Places   map[apidoc.Node]*placeFile `json:"places,omitempty"`
}

type placeFile struct {
	Size    int64     `json:"size,omitempty" form:"size"`
	Used    int64     `json:"used,omitempty" form:"size"`
	Volumes []*Volume `json:"volumes,omitempty"`
}

// The values that stand for what is left out.

func (n *Node) defaults() {
	n.Online, n.CPUs, n.Sockets, n.CPUModel, n.MHz = true, 16, 1, "QEMU Virtual CPU version 2.5+", "2400.000"
	n.Memory, n.MemoryUsed, n.Swap, n.Root, n.RootUsed = 64*gib, 3*gib, 8*gib, 94*gib, 12*gib
	n.Kernel, n.EFI, n.Timezone = "6.17.13-2-pve", true, "UTC"
}

func (r *HAResource) defaults() {
	r.MaxRestart, r.MaxRelocate, r.Failback, r.State = 1, 1, true, "started"
}
func (r *FirewallRule) defaults() { r.Enabled, r.Type = true, "in" }
func (d *PhysicalDisk) defaults() { d.OSD, d.Wearout, d.Health = -1, -1, "PASSED" }
func (i *Interface) defaults()    { i.Active = true }
func (p *ZPool) defaults()        { p.Dedup, p.Health = 1, "ONLINE" }

// fromTree reads a storage, whose form in the file is storageFile.
func (s *Storage) fromTree(n *jsonNode) error {
	var f storageFile
	if m, ok := n.value.(*jsonMembers); ok && m.values["shared"] == nil {
		if t, ok := n.child("type").value.(string); ok {
			f.Shared = alwaysShared[t]
		}
	}
	if err := n.into(reflect.ValueOf(&f).Elem()); err != nil {
		return err
	}
	*s = Storage{ID: f.ID, Type: f.Type, Content: f.Content, Shared: f.Shared, Disabled: f.Disabled, Nodes: f.Nodes, Options: f.Options, Hanging: f.Hanging, Offline: f.Offline, places: map[apidoc.Node]*Place{}}
	if f.Shared && len(f.Places) > 0 {
		return n.child("places").fault("the storage is shared: size, used and volumes stand at the storage itself")
	}
	if _, known := storageTypes[f.Type]; !known {
		return n.child("type").fault("%q is no type of storage; known are %s", f.Type, strings.Join(sortedKeys(storageTypes), ", "))
	}
	fill := func(at *jsonNode, node apidoc.Node, size, used int64, volumes []*Volume) error {
		p := s.Place(node)
		for i, v := range volumes {
			if err := s.complete(at.child("volumes").item(i), v); err != nil {
				return err
			}
			if p.volumes[v.ID] != nil {
				return at.child("volumes").item(i).fault("%s stands here for the second time", v.ID)
			}
			p.Add(v)
		}
		p.Total = size
		if at.child("used") != at {
			p.Used, p.told = used, true
		}
		return nil
	}
	if f.Shared {
		return fill(n, "", f.Size, f.Used, f.Volumes)
	}
	// What stands at the storage itself holds for every node without a place
	// of its own; which nodes there are is known later.
	if f.Size > 0 || len(f.Volumes) > 0 || f.Used > 0 {
		if err := fill(n, anyNode, f.Size, f.Used, f.Volumes); err != nil {
			return err
		}
	}
	for _, name := range sortedNodes(f.Places) {
		p := f.Places[name]
		if err := fill(n.child("places").child(string(name)), name, p.Size, p.Used, p.Volumes); err != nil {
			return err
		}
	}
	return nil
}

// anyNode is where a local storage keeps, while a file is read, what holds for
// all nodes.
const anyNode apidoc.Node = "*"

func sortedNodes(m map[apidoc.Node]*placeFile) []apidoc.Node {
	names := make([]apidoc.Node, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// complete fills in what follows from a volume's id.
func (s *Storage) complete(n *jsonNode, v *Volume) error {
	if !strings.HasPrefix(string(v.ID), string(s.ID)+":") {
		return n.child("id").fault("the id of a volume begins with %q", string(s.ID)+":")
	}
	_, name, _ := v.ID.Split()
	if v.Owner == 0 {
		v.Owner, _ = v.ID.Owner()
	}
	ext := name[strings.LastIndexByte(name, '.')+1:]
	if v.Content == "" {
		switch folder, _, _ := strings.Cut(name, "/"); folder {
		case "iso", "vztmpl", "backup", "snippets", "import":
			v.Content = folder
		default:
			v.Content = "images"
			if strings.HasPrefix(name, "subvol-") || strings.HasPrefix(name, "basevol-") || !s.Holds("images") && s.Holds("rootdir") {
				v.Content = "rootdir"
			}
		}
	}
	if v.Format == "" {
		switch v.Content {
		case "iso":
			v.Format = "iso"
		case "vztmpl":
			v.Format = "t" + ext
		case "snippets":
			v.Format = "snippet"
		case "backup":
			v.Format = ext
			if s.Type == "pbs" {
				v.Format = "pbs-vm"
				if strings.Contains(name, "/ct/") {
					v.Format = "pbs-ct"
				}
			} else if strings.HasSuffix(name, ".vma.zst") || strings.HasSuffix(name, ".tar.zst") {
				v.Format = name[len(name)-7:]
			}
		default:
			v.Format = "raw"
			if storageTypes[s.Type].files {
				v.Format = ext
			}
			if v.Content == "rootdir" && s.Type == "zfspool" {
				v.Format = "subvol"
			}
		}
	}
	if v.Created == 0 {
		v.Created = n.now
	}
	return nil
}

// toFile is the opposite of fromTree.
func (s *Storage) toFile() *storageFile {
	f := &storageFile{ID: s.ID, Type: s.Type, Content: s.Content, Shared: s.Shared, Disabled: s.Disabled, Nodes: s.Nodes, Options: s.Options, Hanging: s.Hanging, Offline: s.Offline}
	if s.Shared {
		p := s.look("")
		f.Size, f.Used, f.Volumes = p.Total, p.Used, p.Volumes()
		return f
	}
	f.Places = map[apidoc.Node]*placeFile{}
	for name, p := range s.places {
		f.Places[name] = &placeFile{Size: p.Total, Used: p.Used, Volumes: p.Volumes()}
	}
	return f
}

// maxWorldFile is far more than a file that people write.
const maxWorldFile = 256 << 20

// LoadWorld reads the world file of that name. The error is a [*WorldError]
// where something in the file is wrong, else that of the file system.
func LoadWorld(name string) (*World, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("world file: %w", err)
	}
	defer func() { _ = f.Close() }()
	return ReadWorld(f, time.Now())
}

// ReadWorld reads a world file. now is the moment of the situation where the
// file does not say one. The error is a [*WorldError] where something in the
// file is wrong.
func ReadWorld(in io.Reader, now time.Time) (*World, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxWorldFile+1))
	if err != nil {
		return nil, fmt.Errorf("world file: %w", err)
	}
	if len(text) > maxWorldFile {
		return nil, fmt.Errorf("world file: longer than %d MiB", maxWorldFile>>20)
	}
	root, err := readTree(text)
	if err != nil {
		return nil, err
	}
	if at := root.child("now"); at != root {
		t, err := at.moment(now.Unix())
		if err != nil {
			return nil, err
		}
		now = time.Unix(t, 0)
	}
	root.since(now.Unix())
	var f worldFile
	if err := root.into(reflect.ValueOf(&f).Elem()); err != nil {
		return nil, err
	}
	return f.world(root, now.UTC())
}

// toFile is the world as a file; see [WriteWorld].
func (w *World) toFile() *worldFile {
	f := &worldFile{
		Now: w.Now().UTC().Format(time.RFC3339), Seed: w.Seed, Version: w.Version.Version, RepoID: w.Version.RepoID, Complete: true,
		Cluster: w.Cluster, ConfigVersion: w.ConfigVersion, Quorate: w.Quorate, Local: w.Local,
		Nodes: w.Nodes, Storages: w.Storages, Guests: w.Guests(), Pools: w.Pools, Jobs: w.Jobs, Replications: w.Replications, HA: w.HA,
		Datacenter: w.Datacenter, Firewall: w.Firewall, Mappings: w.Mappings, Zones: w.Zones, VNets: w.VNets, Metrics: w.Metrics, Log: w.Log, Ceph: w.Ceph, Sections: w.Sections,
		Faults: w.Faults.Wire,
	}
	for _, n := range w.Nodes {
		tasks := slices.Clone(n.tasks.done)
		for _, t := range slices.Backward(n.tasks.active) {
			tasks = append(tasks, t)
		}
		for _, t := range tasks {
			x := &fileTask{UPID: t.UPID, End: t.End, Status: t.Status, Killed: t.Killed, Log: t.lines, NoLog: t.lines != nil && len(t.lines) == 0}
			f.Tasks = append(f.Tasks, x)
		}
	}
	a := w.access
	for _, id := range sortedKeys(a.Users) {
		u := a.Users[id]
		f.Users = append(f.Users, &fileUser{ID: id, Enabled: u.Enabled, Password: u.Password, Expire: u.Expire, Groups: u.Groups, Comment: u.Comment, Email: u.Email, Firstname: u.Firstname, Lastname: u.Lastname, Keys: u.Keys, TFA: a.TFA[id]})
	}
	for _, id := range sortedKeys(a.Groups) {
		f.Groups = append(f.Groups, &fileGroup{ID: id, Comment: a.Groups[id].Comment})
	}
	for _, id := range sortedKeys(a.Tokens) {
		t := a.Tokens[id]
		f.Tokens = append(f.Tokens, &fileToken{ID: id, Secret: t.Secret, Privsep: t.Privsep, Expire: t.Expire, Comment: t.Comment})
	}
	for _, id := range sortedKeys(a.Roles) {
		if r := a.Roles[id]; !r.Special {
			f.Roles = append(f.Roles, &fileRole{ID: id, Privs: r.Privs})
		}
	}
	for _, r := range a.Realms {
		f.Realms = append(f.Realms, &fileRealm{ID: r.ID, Type: r.Type, Comment: r.Comment, Default: r.Default, TFA: r.TFA, Options: r.Options})
	}
	for _, e := range a.ACL {
		who := e.Who
		if e.Kind == ACLGroup {
			who = "@" + who
		}
		f.ACL = append(f.ACL, &fileACL{Path: e.Path, Who: who, Role: e.Role, Propagate: e.Propagate})
	}
	for id := range w.Faults.NoMetrics {
		f.Unreported = append(f.Unreported, id)
	}
	sort.Slice(f.Unreported, func(i, j int) bool { return f.Unreported[i] < f.Unreported[j] })
	return f
}
