package pvesim

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
)

// world makes a world of a file and checks that its parts fit together: names
// are unique, and what is named exists.
func (f *worldFile) world(root *jsonNode, now time.Time) (*World, error) {
	w := NewWorld(now, f.Seed)
	if f.Version != "" {
		parts := strings.Split(f.Version, ".")
		if len(parts) < 2 {
			return nil, root.child("version").fault(`%q is no version such as "9.2.11"`, f.Version)
		}
		w.Version.Version, w.Version.Release = f.Version, parts[0]+"."+parts[1]
		w.access = NewAccessFor(w.Version.Release)
	}
	if f.RepoID != "" {
		w.Version.RepoID = f.RepoID
	}
	w.Cluster, w.ConfigVersion, w.Quorate = f.Cluster, max(f.ConfigVersion, 1), f.Quorate
	w.Pools, w.Jobs, w.Replications, w.HA, w.Datacenter = f.Pools, f.Jobs, f.Replications, f.HA, f.Datacenter
	w.Firewall, w.Mappings, w.Zones, w.VNets, w.Metrics, w.Log, w.Ceph, w.Sections = f.Firewall, f.Mappings, f.Zones, f.VNets, f.Metrics, f.Log, f.Ceph, f.Sections
	b := &builder{World: w, file: f, root: root, now: now.Unix()}
	for _, step := range [...]func() error{b.addNodes, b.addStorages, b.addPools, b.addGuests, b.addHA, b.addJobs, b.addAccess, b.addTasks, b.addFaults} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// tokenName is what Proxmox takes as the name of a token (pve-access-control).
var tokenName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]+$`)

// builder is a world that is being made of a file.
type builder struct {
	*World
	file *worldFile
	root *jsonNode
	now  int64
}

func (b *builder) addNodes() error {
	list := b.root.child("nodes")
	if len(b.file.Nodes) == 0 {
		return list.fault("a world needs at least one node")
	}
	for i, n := range b.file.Nodes {
		at := list.item(i)
		if _, err := apidoc.ParseNode(string(n.Name)); err != nil {
			return at.child("name").fault("%v", err)
		}
		if b.Node(n.Name) != nil {
			return at.child("name").fault("node %s is there already", n.Name)
		}
		if n.ID == 0 {
			n.ID = i + 1
		}
		if n.Booted == 0 {
			n.Booted = b.now - 30*day
		}
		if !n.Online && n.OfflineSince == 0 {
			n.OfflineSince = b.now - day
		}
		if n.Load == (Load{}) && !b.file.Complete {
			n.Load = Load{CPU: 0.02, Net: 50e3}
		}
		if n.Load.Seed == 0 && !b.file.Complete {
			n.Load.Seed = mix(b.Seed ^ uint64(n.ID))
		}
		b.Nodes = append(b.Nodes, n)
	}
	if len(b.Nodes) > 1 && b.Cluster == "" {
		return list.fault(`several nodes make a cluster, which needs a name: "cluster"`)
	}
	b.Local = b.Nodes[0].Name
	if b.file.Local != "" {
		b.Local = b.file.Local
	}
	if n := b.Node(b.Local); n == nil {
		return b.root.child("local").fault("there is no node %s", b.Local)
	} else if !n.Online {
		return b.root.child("local").fault("node %s is offline, so it can't be the one that answers", b.Local)
	}
	// In a generated world the services come from the generator; a file that
	// says nothing of them means that all is well.
	g := &generator{World: b.World}
	for _, n := range b.Nodes {
		if n.Services == nil && !b.file.Complete {
			g.services(n)
		}
	}
	return nil
}

func (b *builder) addStorages() error {
	list := b.root.child("storages")
	for i, s := range b.file.Storages {
		at := list.item(i)
		if s.ID == "" {
			return at.fault("the storage has no id")
		}
		if b.Storage(s.ID) != nil {
			return at.child("id").fault("storage %s is there already", s.ID)
		}
		for j, n := range s.Nodes {
			if b.Node(n) == nil {
				return at.child("nodes").item(j).fault("there is no node %s", n)
			}
		}
		for n := range s.places {
			if n != "" && n != anyNode && b.Node(n) == nil {
				return at.child("places").child(string(n)).fault("there is no node %s", n)
			}
		}
		if common := s.places[anyNode]; common != nil {
			delete(s.places, anyNode)
			for _, n := range b.Nodes {
				if s.places[n.Name] == nil && s.On(n.Name) {
					p := s.Place(n.Name)
					for _, v := range common.Volumes() {
						c := *v
						p.Add(&c)
					}
					p.Total, p.told = common.Total, common.told
					if p.told {
						p.Used = common.Used
					}
				}
			}
		}
		b.Storages = append(b.Storages, s)
	}
	return nil
}

func (b *builder) addPools() error {
	list := b.root.child("pools")
	for i, p := range b.Pools {
		at := list.item(i)
		if p.ID == "" {
			return at.fault("the pool has no id")
		}
		if b.Pool(p.ID) != p {
			return at.child("id").fault("pool %s is there already", p.ID)
		}
		for j, s := range p.Storages {
			if b.Storage(s) == nil {
				return at.child("storages").item(j).fault("there is no storage %s", s)
			}
		}
	}
	return nil
}

func (b *builder) addGuests() error {
	list := b.root.child("guests")
	for i, g := range b.file.Guests {
		at := list.item(i)
		if g.ID < 100 || g.ID > 999999999 {
			return at.child("id").fault("%d is no vmid: 100 to 999999999 are", g.ID)
		}
		if b.Guest(g.ID) != nil {
			return at.child("id").fault("guest %d is there already", g.ID)
		}
		if g.Kind == "" {
			g.Kind = apidoc.QEMU
		}
		if g.Kind != apidoc.QEMU && g.Kind != apidoc.LXC {
			return at.child("kind").fault("%q is none of qemu, lxc", g.Kind)
		}
		if b.Node(g.Node) == nil {
			return at.child("node").fault("there is no node %q", g.Node)
		}
		if g.Pool != "" && b.Pool(g.Pool) == nil {
			return at.child("pool").fault("there is no pool %s", g.Pool)
		}
		states := []RunState{Stopped, Running}
		if g.Kind == apidoc.QEMU {
			states = append(states, Paused, Prelaunch)
		}
		if g.State == "" {
			g.State = Stopped
		}
		if !slices.Contains(states, g.State) {
			return at.child("state").fault("%q is none of %v", g.State, states)
		}
		if err := b.checkKeys(at, g); err != nil {
			return err
		}
		if g.Up() {
			if g.Started == 0 {
				g.Started = b.now - 10*day
			}
			if g.PID == 0 {
				g.PID = 10000 + uint32(g.ID)%100000
			}
		}
		if g.Load == (Load{}) && !b.file.Complete {
			g.Load = Load{CPU: 0.05, Memory: 0.5, Net: 20e3, Disk: 50e3}
		}
		if g.Load.Seed == 0 && !b.file.Complete {
			g.Load.Seed = mix(b.Seed<<32 ^ uint64(g.ID))
		}
		for j, s := range g.Snapshots {
			if s.Name == "" || g.Snapshot(s.Name) != s {
				return at.child("snapshots").item(j).fault("a snapshot needs a name of its own")
			}
			if s.Config.Len() == 0 {
				s.Config = g.Config.Clone()
			}
			if s.Time == 0 {
				s.Time = b.now - day
			}
			if s.Parent == "" && j > 0 && at.child("snapshots").item(j).child("parent") == at.child("snapshots").item(j) && !b.file.Complete {
				s.Parent = g.Snapshots[j-1].Name
			}
		}
		if g.Parent == "" && len(g.Snapshots) > 0 && !b.file.Complete {
			g.Parent = g.Snapshots[len(g.Snapshots)-1].Name
		}
		b.AddGuest(g)
		if !b.file.Complete {
			b.makeVolumes(g)
		}
	}
	for i, id := range b.file.Unreported {
		if b.Guest(id) == nil {
			return b.root.child("unreported").item(i).fault("there is no guest %d", id)
		}
		b.Faults.NoMetrics[id] = true
	}
	return nil
}

// makeVolumes makes the volumes that a guest's configuration names and that
// the file does not list.
func (b *builder) makeVolumes(g *Guest) {
	disks := g.Disks()
	for _, s := range g.Snapshots {
		disks = append(disks, Disks(g.Kind, &s.Config)...)
	}
	for _, d := range disks {
		id, _, ok := d.Volume.Split()
		s := b.Storage(id)
		if !ok || s == nil || d.CDROM || s.look(g.Node).Volume(d.Volume) != nil {
			continue
		}
		v := &Volume{ID: d.Volume, Size: d.Size}
		if s.complete(&jsonNode{now: b.now}, v) != nil {
			continue
		}
		p := s.Place(g.Node)
		used := p.Used
		p.Add(v)
		if p.told {
			p.Used = used
		}
		if d.Key == "rootfs" && g.DiskUsed == 0 {
			g.DiskUsed = d.Size / 3
		}
	}
}

// configKeys gives the names of configuration keys of a kind: those that can
// be set, and those that Proxmox writes itself.
var configKeys = sync.OnceValue(func() map[apidoc.GuestKind]func(string) bool {
	checks := map[apidoc.GuestKind]func(string) bool{}
	schema, err := apidoc.Snapshot(apidoc.Newest)
	if err != nil {
		return checks
	}
	own := []string{"lock", "parent", "meta", "template", "vmgenid", "vmstate", "runningmachine", "runningcpu", "running-nets-host-mtu", "snaptime", "snapstate", "description", "digest"}
	for _, k := range [...]apidoc.GuestKind{apidoc.QEMU, apidoc.LXC} {
		ep, ok := schema.Endpoint(apidoc.PUT, "/nodes/{node}/"+string(k)+"/{vmid}/config")
		if !ok {
			continue
		}
		create, _ := schema.Endpoint(apidoc.POST, "/nodes/{node}/"+string(k))
		methods := []*apidoc.Method{}
		for _, e := range []*apidoc.Endpoint{ep, create} {
			if m, err := e.Method(); err == nil {
				methods = append(methods, m)
			}
		}
		checks[k] = func(key string) bool {
			if slices.Contains(own, key) || indexed(key, "unused") || strings.HasPrefix(key, "lxc.") {
				return true
			}
			for _, m := range methods {
				if _, ok := m.Property(key); ok {
					return true
				}
			}
			return false
		}
	}
	return checks
})

// checkKeys refuses configuration keys that Proxmox does not know. Values are
// taken as they are: a world may be odd on purpose.
func (b *builder) checkKeys(at *jsonNode, g *Guest) error {
	known := configKeys()[g.Kind]
	if known == nil {
		return nil
	}
	for _, part := range [...]string{"config", "pending"} {
		c := &g.Config
		if part == "pending" {
			c = &g.Pending
		}
		for _, k := range c.Keys() {
			if !known(k) {
				return at.child(part).child(k).fault("Proxmox knows no such key of a %s", g.Kind.Noun())
			}
		}
	}
	return nil
}

func (b *builder) addHA() error {
	list := b.root.child("ha").child("resources")
	for i, r := range b.HA.Resources {
		kind, id, ok := strings.Cut(r.SID, ":")
		vmid, err := apidoc.ParseVMID(id)
		if !ok || err != nil || kind != "vm" && kind != "ct" {
			return list.item(i).child("sid").fault("%q is no resource such as vm:100 or ct:200", r.SID)
		}
		if b.Guest(vmid) == nil {
			return list.item(i).child("sid").fault("there is no guest %d", vmid)
		}
		r.Guest = vmid
		if at := list.item(i); at.child("crm_state") == at && !b.file.Complete {
			r.CRMState = r.State
		}
	}
	if b.HA.Master != "" && b.Node(b.HA.Master) == nil {
		return b.root.child("ha").child("master").fault("there is no node %s", b.HA.Master)
	}
	if b.HA.Master == "" && len(b.HA.Resources) > 0 {
		b.HA.Master = b.Local
	}
	return nil
}

func (b *builder) addJobs() error {
	for i, j := range b.Jobs {
		if j.ID == "" || b.Job(j.ID) != j {
			return b.root.child("backup_jobs").item(i).fault("a backup job needs an id of its own")
		}
		if !j.Options.Has("enabled") {
			j.Options.Set("enabled", "1")
		}
		if s := j.Options.Get("storage"); s != "" && b.Storage(apidoc.Storage(s)) == nil {
			return b.root.child("backup_jobs").item(i).child("options").child("storage").fault("there is no storage %s", s)
		}
	}
	for i, r := range b.Replications {
		at := b.root.child("replications").item(i)
		g := b.Guest(r.Guest)
		if g == nil {
			return at.child("guest").fault("there is no guest %d", r.Guest)
		}
		if b.Node(r.Target) == nil {
			return at.child("target").fault("there is no node %q", r.Target)
		}
		if r.ID == "" {
			r.ID = r.Guest.String() + "-0"
		}
		if r.Source == "" {
			r.Source = g.Node
		}
	}
	return nil
}

func (b *builder) addAccess() error {
	a, f := b.World.access, b.file
	for _, g := range f.Groups {
		a.Groups[g.ID] = &Group{Comment: g.Comment}
	}
	for i, u := range f.Users {
		at := b.root.child("users").item(i)
		if !strings.Contains(u.ID, "@") {
			return at.child("id").fault("%q is no user with realm, such as ops@pve", u.ID)
		}
		for j, g := range u.Groups {
			if a.Groups[g] == nil {
				return at.child("groups").item(j).fault("there is no group %s", g)
			}
		}
		a.Users[u.ID] = &User{Enabled: u.Enabled, Expire: u.Expire, Password: u.Password, Groups: u.Groups, Comment: u.Comment, Email: u.Email, Firstname: u.Firstname, Lastname: u.Lastname, Keys: u.Keys}
		if len(u.TFA) > 0 {
			a.TFA[u.ID] = u.TFA
		}
	}
	for i, t := range f.Tokens {
		user, name := splitUser(t.ID)
		if name == "" || a.Users[user] == nil {
			return b.root.child("tokens").item(i).child("id").fault("%q is no token of a user who is there, such as root@pam!full", t.ID)
		}
		if !tokenName.MatchString(name) {
			return b.root.child("tokens").item(i).child("id").fault("%q is no name of a token: two or more letters, digits and ._- are, beginning with a letter", name)
		}
		a.Tokens[t.ID] = &Token{Secret: t.Secret, Privsep: t.Privsep, Expire: t.Expire, Comment: t.Comment}
	}
	if f.Tokens == nil {
		a.Tokens["root@pam!full"] = &Token{Secret: TokenSecret}
	}
	for _, r := range f.Roles {
		a.Roles[r.ID] = &Role{Privs: r.Privs}
	}
	if f.Realms != nil {
		a.Realms = nil
		for _, r := range f.Realms {
			a.Realms = append(a.Realms, &Realm{ID: r.ID, Type: r.Type, Comment: r.Comment, Default: r.Default, TFA: r.TFA, Options: r.Options})
		}
	}
	for i, e := range f.ACL {
		at := b.root.child("acl").item(i)
		if a.Roles[e.Role] == nil {
			if near := apidoc.Nearest(e.Role, sortedKeys(a.Roles), 1); len(near) > 0 {
				return at.child("role").fault("there is no role %q; did you mean %s?", e.Role, near[0])
			}
			return at.child("role").fault("there is no role %q", e.Role)
		}
		group, isGroup := strings.CutPrefix(e.Who, "@")
		switch {
		case isGroup && a.Groups[group] == nil, strings.Contains(e.Who, "!") && a.Tokens[e.Who] == nil, !isGroup && !strings.Contains(e.Who, "!") && a.Users[e.Who] == nil:
			return at.child("who").fault("there is no user, token or @group %q", e.Who)
		case !strings.HasPrefix(e.Path, "/"):
			return at.child("path").fault("%q is no path such as /vms/100", e.Path)
		}
		a.Grant(e.Path, e.Who, e.Role)
		a.ACL[len(a.ACL)-1].Propagate = e.Propagate
	}
	return nil
}

func (b *builder) addTasks() error {
	list := b.root.child("tasks")
	for i, x := range b.file.Tasks {
		at := list.item(i)
		if x.End == 0 && x.Seconds > 0 {
			x.End = x.Start + x.Seconds
		}
		var t *Task
		if x.UPID != "" {
			p, err := apidoc.ParseUPID(x.UPID)
			if err != nil {
				return at.child("upid").fault("%v", err)
			}
			t = &Task{UPIDParts: p, UPID: x.UPID, End: x.End, Status: x.Status, Killed: x.Killed}
			if x.End == 0 && x.Status != "" {
				t.End = p.Start.Unix() + max(x.Seconds, 1)
			}
		} else {
			if x.User == "" {
				x.User = "root@pam"
			}
			if x.Type == "" {
				return at.fault("a task needs a type, such as qmstart")
			}
			if x.Start == 0 {
				return at.fault("a task needs the time of its start")
			}
			if x.Status != "" && x.End == 0 {
				x.End = x.Start + 10
			}
			t = NewTask(x.Node, x.Type, x.ID, x.User, x.Start, x.End, x.Status, 4000+uint32(i)*7, nil)
			if _, err := apidoc.ParseUPID(t.UPID); err != nil {
				return at.fault("type, id and user make no task id: %v", err)
			}
			t.Killed = x.Killed
		}
		if b.Node(t.Node) == nil {
			return at.child("node").fault("there is no node %q", t.Node)
		}
		if t.End != 0 && t.Status == "" {
			return at.fault("the task has ended, so it needs a status: OK, WARNINGS: n or what went wrong")
		}
		t.lines = x.Log
		if x.NoLog || t.End == 0 && t.lines == nil {
			t.lines = []string{}
		}
		b.AddTask(t)
	}
	// Newest first among the running ones, as they would have been started.
	for _, n := range b.Nodes {
		slices.SortStableFunc(n.tasks.active, func(x, y *Task) int { return y.Start.Compare(x.Start) })
	}
	return nil
}

func (b *builder) addFaults() error {
	for i, f := range b.file.Faults {
		if err := f.check(); err != nil {
			return b.root.child("faults").item(i).fault("%v", err)
		}
	}
	b.Faults.Wire = b.file.Faults
	return nil
}
