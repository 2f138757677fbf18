package curated

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// GuestListArgs are the arguments of pve_vms and pve_containers.
type GuestListArgs struct {
	GuestFilter
	Page
}

func (a GuestListArgs) options() render.Options { return a.Page.options() }

var vmsTool = Tool[GuestListArgs, doc]{
	Name: "pve_vms", Toolset: "core", Class: apidoc.Read,
	Text: "List VMs (QEMU) of the cluster.",
	Run: func(ctx context.Context, c *Call, in GuestListArgs) (doc, error) {
		return c.listGuests(ctx, apidoc.QEMU, in)
	},
}

var containersTool = Tool[GuestListArgs, doc]{
	Name: "pve_containers", Toolset: "core", Class: apidoc.Read,
	Text: "List containers (LXC) of the cluster.",
	Run: func(ctx context.Context, c *Call, in GuestListArgs) (doc, error) {
		return c.listGuests(ctx, apidoc.LXC, in)
	},
}

func (c *Call) listGuests(ctx context.Context, kind apidoc.GuestKind, in GuestListArgs) (doc, error) {
	match, err := in.GuestFilter.ready()
	if err != nil {
		return doc{}, err
	}
	// A list of guests can't tell an unknown node from one without guests; the
	// list of everything can, and is one request too.
	what := "vm"
	if len(match.nodes) > 0 {
		what = ""
	}
	all, err := c.resources(ctx, what)
	if err != nil {
		return doc{}, err
	}
	if err := match.checkNodes(all); err != nil {
		return doc{}, err
	}
	all = slices.DeleteFunc(all, func(r resource) bool { return !isGuest(&r) })
	rows := make([]resource, 0, len(all))
	ofKind, other := 0, 0
	for i := range all {
		r := &all[i]
		if r.Type.V != string(kind) {
			if match.keep(r) {
				other++
			}
			continue
		}
		ofKind++
		if match.keep(r) {
			rows = append(rows, *r)
		}
	}
	// An empty list is a list too: its columns may be asked for by name.
	d := &render.Doc{}
	d.Add(guestTable("guests", rows, false))
	noun := kind.Noun()
	switch {
	case len(rows) > 0:
		d.Summaryf("%s%s", render.FormatCount(len(rows), noun), statusCounts(rows))
		if len(rows) < ofKind {
			d.Summary[0] += fmt.Sprintf(" of %d", ofKind)
		}
		if n := unreported(rows); n > 0 {
			d.Warnf("%s with status unknown: the node is offline or has stopped reporting, so name and load are missing (pve_nodes shows which).", render.FormatCount(n, noun))
		}
	case ofKind == 0 && len(all) == 0:
		d.Summaryf("No guest is visible.")
		d.Hintf("If there should be some, the token probably lacks VM.Audit. %s", c.grantLine("/vms", []string{"VM.Audit"}))
		return doc{Doc: d}, nil
	case ofKind == 0:
		d.Summaryf("No %s is visible; %s of the other kind.", noun, render.FormatCount(len(all), "guest"))
		return doc{Doc: d}, nil
	default:
		d.Summaryf("No %s matches; there %s in all.", noun, isAre(ofKind, noun))
		if other > 0 {
			tool := "pve_vms"
			if kind == apidoc.QEMU {
				tool = "pve_containers"
			}
			d.Hintf("%s of the other kind would match: %s.", render.FormatCount(other, "guest"), tool)
		}
		return doc{Doc: d}, nil
	}
	return doc{Doc: d}, nil
}

// knownNodes refuses names that are not nodes of the cluster.
func (c *Call) knownNodes(ctx context.Context, names []string) error {
	all, err := c.resources(ctx, "node")
	if err != nil {
		return err
	}
	m := guestMatch{nodes: names}
	return m.checkNodes(all)
}

func isAre(n int, noun string) string {
	if n == 1 {
		return "is 1 " + noun
	}
	return "are " + render.FormatCount(n, noun)
}

// statusCounts gives " (25 running, 9 stopped)", commonest first, and templates.
func statusCounts(rows []resource) string {
	count := map[string]int{}
	templates := 0
	for i := range rows {
		if rows[i].Template.V {
			templates++
			continue
		}
		count[rows[i].Status.V]++
	}
	names := make([]string, 0, len(count))
	for s := range count {
		names = append(names, s)
	}
	sort.Slice(names, func(i, j int) bool {
		if count[names[i]] != count[names[j]] {
			return count[names[i]] > count[names[j]]
		}
		return names[i] < names[j]
	})
	parts := make([]string, 0, len(names)+1)
	for _, s := range names {
		parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
	}
	if templates > 0 {
		parts = append(parts, render.FormatCount(templates, "template"))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func unreported(rows []resource) int {
	n := 0
	for i := range rows {
		if rows[i].Status.V == "unknown" {
			n++
		}
	}
	return n
}

// guestTable is the table of guests that all tools share.
func guestTable(id string, rows []resource, withKind bool) *render.Table[resource] {
	running := func(r *resource) bool { return r.Uptime.V > 0 }
	t := &render.Table[resource]{
		ID: id, Rows: rows,
		Key: func(r *resource) string { return render.Key(r.Vmid.V) },
		Columns: []render.Column[resource]{
			{Name: "vmid", Right: true, Stable: true, Cell: func(r *resource) render.Cell { return render.Int(r.Vmid.V) }},
			{Name: "name", Cell: func(r *resource) render.Cell { return strCell(r.Name.Set, r.Name.V) }},
			{Name: "kind", Extra: !withKind, Stable: true, Cell: func(r *resource) render.Cell { return render.Str(r.Type.V) }},
			{Name: "node", Cell: func(r *resource) render.Cell { return render.Str(r.Node.V) }},
			{Name: "status", Cell: func(r *resource) render.Cell {
				if r.Template.V {
					return render.Str("template")
				}
				return render.Str(r.Status.V)
			}},
			{Name: "lock", Cell: func(r *resource) render.Cell { return strCell(r.Lock.Set, r.Lock.V) }},
			{Name: "ha", Cell: func(r *resource) render.Cell { return strCell(r.Hastate.Set, r.Hastate.V) }},
			{Name: "cpu", Right: true, Cell: func(r *resource) render.Cell {
				if !r.Cpu.Set || !running(r) {
					return render.None()
				}
				return render.Pct(r.Cpu.V)
			}},
			{Name: "cores", Right: true, Extra: true, Cell: func(r *resource) render.Cell {
				if !r.Maxcpu.Set {
					return render.None()
				}
				return render.Float(r.Maxcpu.V, 0)
			}},
			{Name: "mem", Right: true, Cell: func(r *resource) render.Cell {
				if !r.Mem.Set || !running(r) {
					return render.None()
				}
				return render.Bytes(r.Mem.V)
			}},
			{Name: "maxmem", Right: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Maxmem.Set, r.Maxmem.V) }},
			{Name: "disk", Right: true, Extra: true, Cell: func(r *resource) render.Cell {
				// Proxmox does not know how full a VM's disk is and says 0.
				return bytesCell(r.Disk.Set && r.Type.V != string(apidoc.QEMU), r.Disk.V)
			}},
			{Name: "maxdisk", Right: true, Extra: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Maxdisk.Set, r.Maxdisk.V) }},
			{Name: "up", Right: true, Cell: func(r *resource) render.Cell {
				if !running(r) {
					return render.None()
				}
				return render.Seconds(r.Uptime.V)
			}},
			{Name: "pool", Cell: func(r *resource) render.Cell { return strCell(r.Pool.Set, r.Pool.V) }},
			{Name: "tags", Cell: func(r *resource) render.Cell { return strCell(r.Tags.V != "", r.Tags.V) }},
			{Name: "netin", Right: true, Extra: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Netin.Set, r.Netin.V) }},
			{Name: "netout", Right: true, Extra: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Netout.Set, r.Netout.V) }},
		},
		Important: func(r *resource) int {
			n := 0
			if r.Lock.V != "" {
				n += 4
			}
			switch r.Status.V {
			case "unknown", "paused", "io-error", "internal-error":
				n += 2
			}
			if r.Hastate.V == "error" {
				n += 8
			}
			return n
		},
		GroupBy: []string{"status", "node", "pool"},
		Narrow:  []string{"node", "status", "name", "tag", "pool", "vmids"},
	}
	return t
}

func strCell(known bool, s string) render.Cell {
	if !known || s == "" {
		return render.None()
	}
	return render.Str(s)
}

func bytesCell(known bool, n int64) render.Cell {
	if !known {
		return render.None()
	}
	return render.Bytes(n)
}
