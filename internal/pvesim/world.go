package pvesim

import (
	"slices"
	"sort"
	"sync"
	"time"

	"pvemcp/apidoc"
)

// World is everything that the simulated cluster consists of: what Proxmox
// keeps in its cluster file system, on its storages and in its task archive.
//
// A World is made by [Generate], [GenerateAt], [NewWorld] or [ReadWorld]. While
// a server answers from it, everything in it is guarded by one lock: look at
// it with [World.View] and change it with [World.Change]. Numbers of bytes and
// times are as Proxmox has them: bytes, and seconds since 1970 where an int64
// is called a time.
type World struct {
	mu     sync.RWMutex
	access *Access

	Seed    uint64    // decides about everything that looks like chance
	Epoch   time.Time // the moment for which the world was made
	Version Version
	// Cluster is the cluster's name; "" makes the only node a standalone host.
	Cluster       string
	ConfigVersion int  // of corosync's configuration
	Quorate       bool // false: reads work, what needs the cluster file system does not
	Local         apidoc.Node
	Nodes         []*Node
	Storages      []*Storage
	Pools         []*Pool
	Jobs          []*BackupJob
	Replications  []*Replication
	HA            HA
	Datacenter    Config // datacenter.cfg
	Firewall      ClusterFirewall
	Mappings      []*Mapping
	Zones         []*Zone
	VNets         []*VNet
	Metrics       []*MetricServer
	Log           []LogEntry // the cluster log, oldest first
	Ceph          *Ceph      // nil: not installed
	Sections      []*Section // what has no form of its own here
	Faults        Faults

	guests map[apidoc.VMID]*Guest
	pids   uint32
	made   uint64    // counts what was made since, for what looks like chance
	born   time.Time // by the machine's clock, for Now
}

// Version is what GET /version tells.
type Version struct {
	Version string // "9.2.11"
	Release string // "9.2"
	RepoID  string // hex
}

// Major gives the number before the first dot: 9 for "9.2".
func (v Version) Major() int {
	n := 0
	for _, c := range v.Release {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// Faults are things that go wrong in a world and are no property of one of its
// parts. Those of nodes and storages stand at the node and the storage.
type Faults struct {
	// NoMetrics lists guests whose node never reported figures: their status
	// is unknown and name and sizes are missing.
	NoMetrics map[apidoc.VMID]bool
	// Wire is what goes wrong between client and server; a server takes these
	// over when it starts.
	Wire []Fault
}

// NewWorld gives a world with nothing in it but the built-in users and roles,
// as of the given moment. Its clock runs from there.
func NewWorld(epoch time.Time, seed uint64) *World {
	return &World{
		access:        NewAccess(),
		Seed:          seed,
		Epoch:         epoch.Truncate(time.Second),
		Version:       Version{Version: "9.2.11", Release: "9.2", RepoID: "c0ffee01"},
		ConfigVersion: 1,
		Quorate:       true,
		guests:        map[apidoc.VMID]*Guest{},
		pids:          0x1000,
		born:          time.Now(),
		Faults:        Faults{NoMetrics: map[apidoc.VMID]bool{}},
	}
}

// Now gives the world's time: its epoch plus what has passed since it was made.
func (w *World) Now() time.Time {
	return w.Epoch.Add(time.Since(w.born)).Truncate(time.Second)
}

// View runs f while nothing changes the world. f must not keep what it sees.
func (w *World) View(f func(*World)) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	f(w)
}

// Change runs f while nobody else looks at the world.
func (w *World) Change(f func(*World)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// Node gives the member of that name, or nil.
func (w *World) Node(name apidoc.Node) *Node {
	for _, n := range w.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Guest gives the VM or container with that id, or nil.
func (w *World) Guest(id apidoc.VMID) *Guest { return w.guests[id] }

// Guests lists all VMs and containers by id.
func (w *World) Guests() []*Guest {
	all := make([]*Guest, 0, len(w.guests))
	for _, g := range w.guests {
		all = append(all, g)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all
}

// GuestsOn lists the guests of one node and kind by id; kind "" means both.
func (w *World) GuestsOn(node apidoc.Node, kind apidoc.GuestKind) []*Guest {
	var some []*Guest
	for _, g := range w.guests {
		if g.Node == node && (kind == "" || g.Kind == kind) {
			some = append(some, g)
		}
	}
	sort.Slice(some, func(i, j int) bool { return some[i].ID < some[j].ID })
	return some
}

// AddGuest puts a guest into the world, in place of one with the same id.
func (w *World) AddGuest(g *Guest) { w.guests[g.ID] = g }

// RemoveGuest takes a guest out; its volumes stay.
func (w *World) RemoveGuest(id apidoc.VMID) {
	delete(w.guests, id)
	delete(w.Faults.NoMetrics, id)
}

// Storage gives the definition of that id, or nil.
func (w *World) Storage(id apidoc.Storage) *Storage {
	for _, s := range w.Storages {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Pool gives the pool of that id, or nil.
func (w *World) Pool(id apidoc.Pool) *Pool {
	for _, p := range w.Pools {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// PoolOfGuest gives the pool that the guest is in, or "".
func (w *World) PoolOfGuest(id apidoc.VMID) apidoc.Pool {
	if g := w.guests[id]; g != nil {
		return g.Pool
	}
	return ""
}

// Members lists the guests of a pool by id.
func (w *World) Members(pool apidoc.Pool) []*Guest {
	var some []*Guest
	for _, g := range w.guests {
		if g.Pool == pool {
			some = append(some, g)
		}
	}
	sort.Slice(some, func(i, j int) bool { return some[i].ID < some[j].ID })
	return some
}

// NextID gives the lowest free guest id from lower (100 where the datacenter
// says nothing) up to upper, or 0 when there is none.
func (w *World) NextID(lower, upper apidoc.VMID) apidoc.VMID {
	for id := lower; id < upper; id++ {
		if w.guests[id] == nil {
			return id
		}
	}
	return 0
}

// localNode is the node whose pveproxy answers.
func (w *World) localNode() string { return string(w.Local) }

// nodeState tells whether a node of that name exists and whether it answers.
func (w *World) nodeState(name string) (known, online bool) {
	n := w.Node(apidoc.Node(name))
	if n == nil {
		return false, false
	}
	return true, n.Online
}

// poolOf gives the pool that an ACL path such as "/vms/100" or "/storage/x"
// belongs to, or "".
func (w *World) poolOf(path string) string {
	if id, ok := cutVMID(path); ok {
		return string(w.PoolOfGuest(id))
	}
	const prefix = "/storage/"
	if len(path) > len(prefix) && path[:len(prefix)] == prefix {
		for _, p := range w.Pools {
			if slices.Contains(p.Storages, apidoc.Storage(path[len(prefix):])) {
				return string(p.ID)
			}
		}
	}
	return ""
}

func cutVMID(path string) (apidoc.VMID, bool) {
	const prefix = "/vms/"
	if len(path) <= len(prefix) || path[:len(prefix)] != prefix {
		return 0, false
	}
	id, err := apidoc.ParseVMID(path[len(prefix):])
	return id, err == nil
}
