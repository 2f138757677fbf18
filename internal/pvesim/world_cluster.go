package pvesim

import "pvemcp/apidoc"

// Pool is a resource pool. Which guests are in it stands at the guests.
type Pool struct {
	ID       apidoc.Pool      `json:"id,omitempty"`
	Comment  string           `json:"comment,omitempty"`
	Storages []apidoc.Storage `json:"storages,omitempty"`
}

// BackupJob is a scheduled vzdump job; Options holds its keys as jobs.cfg does
// (enabled, schedule, storage, all or vmid or pool, exclude, mode, prune-backups…).
type BackupJob struct {
	ID      string `json:"id,omitempty"`
	Options Config `json:"options,omitempty"`
	NextRun int64  `json:"next_run,omitempty" form:"time"`
}

// Replication is a replication job with its state on the source node.
type Replication struct {
	ID        string      `json:"id,omitempty"` // "100-0"
	Guest     apidoc.VMID `json:"guest,omitempty"`
	Number    int         `json:"number,omitempty"`
	Target    apidoc.Node `json:"target,omitempty"`
	Source    apidoc.Node `json:"source,omitempty"`
	Schedule  string      `json:"schedule,omitempty"`
	Comment   string      `json:"comment,omitempty"`
	Rate      string      `json:"rate,omitempty"`
	Disabled  bool        `json:"disabled,omitempty"`
	LastSync  int64       `json:"last_sync,omitempty" form:"time"`
	LastTry   int64       `json:"last_try,omitempty" form:"time"`
	NextSync  int64       `json:"next_sync,omitempty" form:"time"`
	Duration  float64     `json:"duration,omitempty"`
	FailCount int         `json:"fail_count,omitempty"`
	Error     string      `json:"error,omitempty"`
	Log       []string    `json:"log,omitempty"`
}

// HA is the state of high availability.
type HA struct {
	Master    apidoc.Node   `json:"master,omitempty"`
	Resources []*HAResource `json:"resources,omitempty"`
	Rules     []*HARule     `json:"rules,omitempty"`
	Groups    []*HAGroup    `json:"groups,omitempty"` // on versions before 9
	Disarmed  bool          `json:"disarmed"`
	// ResourceMode is what disarming means for the resources: freeze (the
	// default) or ignore, which makes them guests like any other.
	ResourceMode string `json:"resource_mode,omitempty"`
}

// HAResource is a guest that HA looks after.
type HAResource struct {
	SID         string      `json:"sid,omitempty"` // vm:100 or ct:200
	Guest       apidoc.VMID `json:"-"`
	State       string      `json:"state,omitempty"` // requested: started, stopped, disabled, ignored
	CRMState    string      `json:"crm_state"`       // what the manager made of it: started, error, fence…; "": queued
	Group       string      `json:"group,omitempty"`
	Comment     string      `json:"comment,omitempty"`
	MaxRestart  int         `json:"max_restart"`
	MaxRelocate int         `json:"max_relocate"`
	Failback    bool        `json:"failback"`
}

// HARule is an affinity rule of 9.0 and later.
type HARule struct {
	ID        string   `json:"id,omitempty"`
	Type      string   `json:"type,omitempty"` // node-affinity or resource-affinity
	Resources []string `json:"resources,omitempty"`
	Nodes     string   `json:"nodes,omitempty"` // n1:2,n2
	Strict    bool     `json:"strict,omitempty"`
	Affinity  string   `json:"affinity,omitempty"` // positive or negative
	Disabled  bool     `json:"disabled,omitempty"`
	Comment   string   `json:"comment,omitempty"`
}

// HAGroup is what 8.x has in place of rules.
type HAGroup struct {
	ID         string `json:"id,omitempty"`
	Nodes      string `json:"nodes,omitempty"`
	Restricted bool   `json:"restricted,omitempty"`
	NoFailback bool   `json:"no_failback,omitempty"`
	Comment    string `json:"comment,omitempty"`
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
	Type    string `json:"type,omitempty"`
	Action  string `json:"action,omitempty"`
	Enabled bool   `json:"enabled"`
	Options Config `json:"options,omitempty"` // iface, proto, source, dest, dport, sport, macro, log, comment
}

// IPSet is a named set of networks.
type IPSet struct {
	Name    string       `json:"name,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Entries []IPSetEntry `json:"entries,omitempty"`
}

// IPSetEntry is one network of a set.
type IPSetEntry struct {
	CIDR    string `json:"cidr,omitempty"`
	Comment string `json:"comment,omitempty"`
	NoMatch bool   `json:"no_match,omitempty"`
}

// Alias is a named network.
type Alias struct{ Name, CIDR, Comment string }

// SecurityGroup is a named list of rules.
type SecurityGroup struct {
	Name    string          `json:"name,omitempty"`
	Comment string          `json:"comment,omitempty"`
	Rules   []*FirewallRule `json:"rules,omitempty"`
}

// ClusterFirewall is the datacenter's.
type ClusterFirewall struct {
	Options Config           `json:"options,omitempty"`
	Rules   []*FirewallRule  `json:"rules,omitempty"`
	Groups  []*SecurityGroup `json:"groups,omitempty"`
	IPSets  []*IPSet         `json:"ipsets,omitempty"`
	Aliases []*Alias         `json:"aliases,omitempty"`
}

// NodeFirewall is a node's.
type NodeFirewall struct {
	Options Config          `json:"options,omitempty"`
	Rules   []*FirewallRule `json:"rules,omitempty"`
	Log     []string        `json:"log,omitempty"`
}

// GuestFirewall is a guest's.
type GuestFirewall struct {
	Options Config          `json:"options,omitempty"`
	Rules   []*FirewallRule `json:"rules,omitempty"`
	IPSets  []*IPSet        `json:"ipsets,omitempty"`
	Aliases []*Alias        `json:"aliases,omitempty"`
	Log     []string        `json:"log,omitempty"`
}

// Mapping names devices or directories of nodes for guests.
type Mapping struct {
	Kind        string   `json:"kind,omitempty"` // pci, usb or dir
	ID          string   `json:"id,omitempty"`
	Description string   `json:"description,omitempty"`
	Map         []string `json:"map,omitempty"` // property strings, one a node
	Options     Config   `json:"options,omitempty"`
}

// Zone is one of software-defined networking.
type Zone struct {
	ID      string `json:"id,omitempty"`
	Type    string `json:"type,omitempty"`
	Options Config `json:"options,omitempty"`
}

// VNet is a virtual network of a zone.
type VNet struct {
	ID      string   `json:"id,omitempty"`
	Zone    string   `json:"zone,omitempty"`
	Alias   string   `json:"alias,omitempty"`
	Tag     int      `json:"tag,omitempty"`
	Subnets []string `json:"subnets,omitempty"`
	Options Config   `json:"options,omitempty"`
	// SubnetOptions are gateway, snat, dhcp-range… of a subnet, by its CIDR.
	SubnetOptions map[string]Config `json:"subnet_options,omitempty"`
}

// MetricServer is where nodes send figures.
type MetricServer struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Server   string `json:"server,omitempty"`
	Port     int    `json:"port,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Options  Config `json:"options,omitempty"`
}

// LogEntry is a line of the cluster log.
type LogEntry struct {
	Time     int64       `json:"time,omitempty" form:"time"`
	Node     apidoc.Node `json:"node,omitempty"`
	User     string      `json:"user,omitempty"`
	Tag      string      `json:"tag,omitempty"`
	Message  string      `json:"message,omitempty"`
	Priority int         `json:"priority,omitempty"`
	PID      uint32      `json:"pid,omitempty"`
}

// Ceph is the state of a hyper-converged Ceph.
type Ceph struct {
	Health   string            `json:"health,omitempty"` // HEALTH_OK, HEALTH_WARN, HEALTH_ERR
	Checks   map[string]string `json:"checks,omitempty"` // check → summary
	FSID     string            `json:"fsid,omitempty"`
	Monitors []apidoc.Node     `json:"monitors,omitempty"`
	OSDs     int               `json:"osds,omitempty"`
	Up       int               `json:"up,omitempty"`
	In       int               `json:"in,omitempty"`
	Total    int64             `json:"total,omitempty" form:"size"`
	Used     int64             `json:"used,omitempty" form:"size"`
	PGs      int               `json:"pgs,omitempty"`
}
