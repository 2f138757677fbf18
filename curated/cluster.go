package curated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

var versionTool = Tool[Shape, doc]{
	Name: "pve_version", Toolset: "core", Class: apidoc.Read,
	Text: "Show the Proxmox VE version.",
	Run: func(ctx context.Context, c *Call, _ Shape) (doc, error) {
		v, err := c.api.GetVersion(ctx)
		if err != nil {
			return doc{}, err
		}
		if v.Version.V == "" && v.Release.V == "" {
			return doc{}, errors.New("the answer names no version: what answers under PROXMOX_HOST is probably not Proxmox VE")
		}
		d := &render.Doc{}
		kv := &render.KV{}
		kv.Set("version", strCell(v.Version.Set, v.Version.V))
		kv.Set("release", strCell(v.Release.Set, v.Release.V))
		kv.Set("repoid", strCell(v.Repoid.Set, v.Repoid.V))
		d.Add(kv)
		return doc{Doc: d}, nil
	},
}

var clusterStatusTool = Tool[Shape, doc]{
	Name: "pve_cluster_status", Toolset: "core", Class: apidoc.Read,
	Text: "Show cluster membership and quorum.",
	Run: func(ctx context.Context, c *Call, _ Shape) (doc, error) {
		return c.clusterStatus(ctx)
	},
}

// member is one node in the cluster's own view.
type member struct {
	name, ip      string
	id            int64
	online, local bool
}

// quorum is what /cluster/status says.
type quorum struct {
	name    string // empty: no cluster
	quorate bool
	members []member
}

func (c *Call) quorum(ctx context.Context) (*quorum, error) {
	items, err := c.api.GetClusterStatus(ctx)
	if err != nil {
		return nil, err
	}
	q := &quorum{quorate: true}
	for i := range items {
		it := &items[i]
		switch it.Type.V {
		case "cluster":
			q.name, q.quorate = it.Name.V, it.Quorate.V
		case "node":
			q.members = append(q.members, member{name: it.Name.V, ip: it.Ip.V, id: it.Nodeid.V, online: it.Online.V, local: it.Local.V})
		}
	}
	sort.Slice(q.members, func(i, j int) bool { return naturalLess(q.members[i].name, q.members[j].name) })
	return q, nil
}

func (q *quorum) offline() []string {
	var names []string
	for _, m := range q.members {
		if !m.online {
			names = append(names, m.name)
		}
	}
	return names
}

func (c *Call) clusterStatus(ctx context.Context) (doc, error) {
	q, err := c.quorum(ctx)
	if err != nil {
		return doc{}, err
	}
	d := &render.Doc{}
	off := q.offline()
	switch {
	case q.name == "":
		d.Summaryf("Standalone host: no cluster.")
	case q.quorate:
		d.Summaryf("Cluster %s: quorate, %d of %d nodes online", render.Line(q.name), len(q.members)-len(off), len(q.members))
	default:
		d.Summaryf("Cluster %s: NO QUORUM, %d of %d nodes online. Configuration is read-only and guests can't be started, created or migrated until a majority is back.", render.Line(q.name), len(q.members)-len(off), len(q.members))
	}
	if len(off) > 0 {
		d.Summaryf("Offline: %s", strings.Join(off, ", "))
	}
	d.Add(&render.Table[member]{
		ID: "nodes", Rows: q.members, Key: func(m *member) string { return render.Key(m.name) },
		Columns: []render.Column[member]{
			{Name: "node", Stable: true, Cell: func(m *member) render.Cell { return render.Str(m.name) }},
			{Name: "id", Right: true, Cell: func(m *member) render.Cell { return render.Int(m.id) }},
			{Name: "online", Cell: func(m *member) render.Cell { return yesNo(m.online) }},
			{Name: "ip", Cell: func(m *member) render.Cell { return strCell(true, m.ip) }},
			{Name: "answering", Cell: func(m *member) render.Cell {
				if m.local {
					return render.Str("this node answers")
				}
				return render.None()
			}},
		},
		Important: func(m *member) int {
			if m.online {
				return 0
			}
			return 1
		},
	})
	return doc{Doc: d}, nil
}

// ResourcesArgs are the arguments of pve_cluster_resources.
type ResourcesArgs struct {
	Type string `json:"type,omitempty" jsonschema:"enum=vm,enum=storage,enum=node,enum=sdn"`
	GuestFilter
	Page
}

func (a ResourcesArgs) options() render.Options { return a.Page.options() }

var clusterResourcesTool = Tool[ResourcesArgs, doc]{
	Name: "pve_cluster_resources", Toolset: "core", Class: apidoc.Read,
	Text: "Overview of guests, nodes and storages in one request.",
	Run: func(ctx context.Context, c *Call, in ResourcesArgs) (doc, error) {
		return c.clusterResources(ctx, in)
	},
}

func (c *Call) clusterResources(ctx context.Context, in ResourcesArgs) (doc, error) {
	match, err := in.GuestFilter.ready()
	if err != nil {
		return doc{}, err
	}
	all, err := c.resources(ctx, in.Type)
	if err != nil {
		return doc{}, err
	}
	if err := match.checkNodes(all); err != nil {
		return doc{}, err
	}
	var guests, nodes, other []resource
	var stores []resource
	for i := range all {
		r := &all[i]
		switch {
		case isGuest(r):
			if match.keep(r) {
				guests = append(guests, *r)
			}
		case match.guestOnly():
			// A filter that only guests have leaves everything else out.
		case len(match.nodes) > 0 && !slices.Contains(match.nodes, r.Node.V):
		case len(match.statuses) > 0:
		case r.Type.V == "node":
			nodes = append(nodes, *r)
		case r.Type.V == "storage":
			stores = append(stores, *r)
		default:
			other = append(other, *r)
		}
	}
	d := &render.Doc{}
	if len(all) == 0 {
		d.Summaryf("Nothing is visible.")
		lacks := map[string][]string{"vm": {"VM.Audit"}, "storage": {"Datastore.Audit"}, "sdn": {"SDN.Audit"}}[in.Type]
		if lacks == nil {
			lacks = []string{"VM.Audit", "Datastore.Audit", "Sys.Audit"}
		}
		d.Hintf("If there should be something, the token probably lacks %s. %s", strings.Join(lacks, ", "), c.grantLine("/", lacks))
		return doc{Doc: d}, nil
	}
	if match.empty() {
		c.hintUnseen(d, in.Type, len(guests), len(stores))
	}
	storages := mergeStorages(stores)
	if n := len(nodes); n > 0 {
		online := 0
		for i := range nodes {
			if nodes[i].Status.V == "online" {
				online++
			}
		}
		d.Summaryf("%s, %d online%s", render.FormatCount(n, "node"), online, loadOf(nodes))
	}
	if len(guests) > 0 {
		vms := 0
		for i := range guests {
			if guests[i].Type.V == string(apidoc.QEMU) {
				vms++
			}
		}
		d.Summaryf("%s: %s, %s%s", render.FormatCount(len(guests), "guest"), render.FormatCount(vms, "VM"), render.FormatCount(len(guests)-vms, "container"), statusCounts(guests))
	} else if !match.empty() {
		d.Summaryf("No guest matches.")
	}
	if len(storages) > 0 {
		var used, total int64
		for i := range storages {
			used += storages[i].used
			total += storages[i].total
		}
		d.Summaryf("%s: %s of %s used (shared ones counted once)", render.FormatCount(len(storages), "storage"), render.FormatBytes(used), render.FormatBytes(total))
	}
	if n := len(other); n > 0 && n == len(all) {
		d.Summaryf("%s", render.FormatCount(n, "SDN object"))
	}
	if len(d.Summary) == 0 {
		d.Summaryf("Nothing matches; there are %s in all.", render.FormatCount(len(all), "resource"))
	}
	if len(nodes) > 0 {
		d.Add(nodeTable(nodes))
	}
	if len(storages) > 0 {
		d.Add(storageTable(storages))
	}
	if len(guests) > 0 {
		t := guestTable("guests", guests, true)
		t.Heading = "Guests"
		d.Add(t)
	}
	if len(other) > 0 {
		d.Add(otherTable(other))
	}
	return doc{Doc: d}, nil
}

// hintUnseen says which privilege is probably missing where a list of the type
// holds nothing of a kind that every cluster has.
func (c *Call) hintUnseen(d *render.Doc, kind string, guests, storages int) {
	switch {
	case kind == "" && guests+storages == 0:
		d.Hintf("No guest and no storage is visible: the token probably lacks VM.Audit and Datastore.Audit. %s", c.grantLine("/", []string{"VM.Audit", "Datastore.Audit"}))
	case (kind == "" || kind == "vm") && guests == 0:
		d.Hintf("No guest is visible: if there should be some, the token probably lacks VM.Audit. %s", c.grantLine("/vms", []string{"VM.Audit"}))
	case (kind == "" || kind == "storage") && storages == 0:
		d.Hintf("No storage is visible: the token probably lacks Datastore.Audit. %s", c.grantLine("/storage", []string{"Datastore.Audit"}))
	}
}

// guestOnly tells whether a filter is set that only guests can meet.
func (m *guestMatch) guestOnly() bool {
	return len(m.names)+len(m.tags)+len(m.pools)+len(m.ids) > 0
}

// loadOf sums processors and memory of the nodes that report them.
func loadOf(nodes []resource) string {
	var cpu, cores float64
	var mem, maxmem int64
	for i := range nodes {
		n := &nodes[i]
		if n.Cpu.Set && n.Maxcpu.Set {
			cpu += n.Cpu.V * n.Maxcpu.V
			cores += n.Maxcpu.V
		}
		if n.Mem.Set && n.Maxmem.Set {
			mem += n.Mem.V
			maxmem += n.Maxmem.V
		}
	}
	if cores == 0 || maxmem == 0 {
		return ""
	}
	return fmt.Sprintf("; CPU %s of %.0f cores, memory %s of %s", render.FormatPct(cpu/cores), cores, render.FormatBytes(mem), render.FormatBytes(maxmem))
}

// otherTable lists pools, SDN zones and networks.
func otherTable(rows []resource) *render.Table[resource] {
	return &render.Table[resource]{
		ID: "other", Heading: "Pools, SDN and networks", Rows: rows, Key: func(r *resource) string { return render.Key(r.Id.V) },
		Columns: []render.Column[resource]{
			{Name: "type", Cell: func(r *resource) render.Cell { return render.Str(r.Type.V) }},
			{Name: "id", Stable: true, Cell: func(r *resource) render.Cell { return render.Str(r.Id.V) }},
			{Name: "node", Cell: func(r *resource) render.Cell { return strCell(r.Node.Set, r.Node.V) }},
			{Name: "status", Cell: func(r *resource) render.Cell { return strCell(r.Status.Set, r.Status.V) }},
		},
		GroupBy: []string{"type"},
	}
}
