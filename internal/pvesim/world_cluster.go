package pvesim

import "pvemcp/apidoc"

// Pool is a resource pool. Which guests are in it stands at the guests.
type Pool struct {
	ID       apidoc.Pool
	Comment  string
	Storages []apidoc.Storage
}

// BackupJob is a scheduled vzdump job; Options holds its keys as jobs.cfg does
// (enabled, schedule, storage, all or vmid or pool, exclude, mode, prune-backups…).
type BackupJob struct {
	ID      string
	Options Config
	NextRun int64
}

// Replication is a replication job with its state on the source node.
type Replication struct {
	ID        string // "100-0"
	Guest     apidoc.VMID
	Number    int
	Target    apidoc.Node
	Source    apidoc.Node
	Schedule  string
	Comment   string
	Rate      string
	Disabled  bool
	LastSync  int64
	LastTry   int64
	NextSync  int64
	Duration  float64
	FailCount int
	Error     string
	Log       []string
}

// HA is the state of high availability.
type HA struct {
	Master    apidoc.Node
	Resources []*HAResource
	Rules     []*HARule
	Groups    []*HAGroup // on versions before 9
	Disarmed  bool
}

// HAResource is a guest that HA looks after.
type HAResource struct {
	SID         string // vm:100 or ct:200
	Guest       apidoc.VMID
	State       string // requested: started, stopped, disabled, ignored
	CRMState    string // what the manager made of it: started, error, fence…; "": queued
	Group       string
	Comment     string
	MaxRestart  int
	MaxRelocate int
	Failback    bool
}

// HARule is an affinity rule of 9.0 and later.
type HARule struct {
	ID        string
	Type      string // node-affinity or resource-affinity
	Resources []string
	Nodes     string // n1:2,n2
	Strict    bool
	Affinity  string // positive or negative
	Disabled  bool
	Comment   string
}

// HAGroup is what 8.x has in place of rules.
type HAGroup struct {
	ID         string
	Nodes      string
	Restricted bool
	NoFailback bool
	Comment    string
}

// Resource gives the resource of that guest, or nil.
func (h *HA) Resource(id apidoc.VMID) *HAResource {
	for _, r := range h.Resources {
		if r.Guest == id {
			return r
		}
	}
	return nil
}

// shownState is what lists show of a resource: the manager's state, or the
// requested one until the manager has seen it.
func (r *HAResource) shownState() string {
	if r.CRMState != "" {
		return r.CRMState
	}
	return r.State
}

// FirewallRule is a rule of a firewall; its position is its place in the list.
type FirewallRule struct {
	Type, Action string
	Enabled      bool
	Options      Config // iface, proto, source, dest, dport, sport, macro, log, comment
}

// IPSet is a named set of networks.
type IPSet struct {
	Name, Comment string
	Entries       []IPSetEntry
}

// IPSetEntry is one network of a set.
type IPSetEntry struct {
	CIDR, Comment string
	NoMatch       bool
}

// Alias is a named network.
type Alias struct{ Name, CIDR, Comment string }

// SecurityGroup is a named list of rules.
type SecurityGroup struct {
	Name, Comment string
	Rules         []*FirewallRule
}

// ClusterFirewall is the datacenter's.
type ClusterFirewall struct {
	Options Config
	Rules   []*FirewallRule
	Groups  []*SecurityGroup
	IPSets  []*IPSet
	Aliases []*Alias
}

// NodeFirewall is a node's.
type NodeFirewall struct {
	Options Config
	Rules   []*FirewallRule
	Log     []string
}

// GuestFirewall is a guest's.
type GuestFirewall struct {
	Options Config
	Rules   []*FirewallRule
	IPSets  []*IPSet
	Aliases []*Alias
	Log     []string
}

// Mapping names devices or directories of nodes for guests.
type Mapping struct {
	Kind        string // pci, usb or dir
	ID          string
	Description string
	Map         []string // property strings, one a node
}

// Zone is one of software-defined networking.
type Zone struct {
	ID, Type string
	Options  Config
}

// VNet is a virtual network of a zone.
type VNet struct {
	ID, Zone, Alias string
	Tag             int
	Subnets         []string
}

// MetricServer is where nodes send figures.
type MetricServer struct {
	ID, Type, Server string
	Port             int
	Disabled         bool
}

// LogEntry is a line of the cluster log.
type LogEntry struct {
	Time     int64
	Node     apidoc.Node
	User     string
	Tag      string
	Message  string
	Priority int
	PID      uint32
}

// Ceph is the state of a hyper-converged Ceph.
type Ceph struct {
	Health       string            // HEALTH_OK, HEALTH_WARN, HEALTH_ERR
	Checks       map[string]string // check → summary
	FSID         string
	Monitors     []apidoc.Node
	OSDs, Up, In int
	Total, Used  int64
	PGs          int
}
