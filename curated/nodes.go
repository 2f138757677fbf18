package curated

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

// NodesArgs are the arguments of pve_nodes.
type NodesArgs struct {
	Status string `json:"status,omitempty" jsonschema:"enum=online,enum=offline,enum=unknown"`
	Page
}

func (a NodesArgs) options() render.Options { return a.Page.options() }

var nodesTool = Tool[NodesArgs, doc]{
	Name: "pve_nodes", Toolset: "core", Class: apidoc.Read,
	Text: "List nodes with load and state.",
	Run: func(ctx context.Context, c *Call, in NodesArgs) (doc, error) {
		all, err := c.resources(ctx, "node")
		if err != nil {
			return doc{}, err
		}
		rows := all[:0:0]
		online := 0
		for i := range all {
			if all[i].Type.V != "node" {
				continue
			}
			if all[i].Status.V == "online" {
				online++
			}
			if in.Status == "" || all[i].Status.V == in.Status {
				rows = append(rows, all[i])
			}
		}
		d := &render.Doc{}
		if len(all) == 0 {
			d.Warnf("No node was reported, which no cluster can be: the answer is incomplete.")
		}
		d.Summaryf("%s, %d online%s", render.FormatCount(len(all), "node"), online, loadOf(all))
		if online > 0 && !slices.ContainsFunc(all, func(r resource) bool { return r.Maxmem.Set }) {
			d.Warnf("No node reports its load: the token probably lacks Sys.Audit. %s", c.grantLine("/nodes", []string{"Sys.Audit"}))
		}
		d.Add(nodeTable(rows))
		return doc{Doc: d}, nil
	},
}

func nodeTable(rows []resource) *render.Table[resource] {
	return &render.Table[resource]{
		ID: "nodes", Heading: "Nodes", Rows: rows, Empty: "no node matches",
		Key: func(r *resource) string { return render.Key(r.Node.V) },
		Columns: []render.Column[resource]{
			{Name: "node", Stable: true, Cell: func(r *resource) render.Cell { return render.Str(r.Node.V) }},
			{Name: "status", Cell: func(r *resource) render.Cell { return render.Str(r.Status.V) }},
			{Name: "cpu", Right: true, Cell: func(r *resource) render.Cell {
				if !r.Cpu.Set {
					return render.None()
				}
				return render.Pct(r.Cpu.V)
			}},
			{Name: "cores", Right: true, Cell: func(r *resource) render.Cell {
				if !r.Maxcpu.Set {
					return render.None()
				}
				return render.Float(r.Maxcpu.V, 0)
			}},
			{Name: "mem", Right: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Mem.Set, r.Mem.V) }},
			{Name: "maxmem", Right: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Maxmem.Set, r.Maxmem.V) }},
			{Name: "disk", Head: "rootfs", Right: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Disk.Set, r.Disk.V) }},
			{Name: "maxdisk", Head: "rootmax", Right: true, Cell: func(r *resource) render.Cell { return bytesCell(r.Maxdisk.Set, r.Maxdisk.V) }},
			{Name: "up", Right: true, Cell: func(r *resource) render.Cell {
				if !r.Uptime.Set || r.Status.V != "online" {
					return render.None()
				}
				return render.Seconds(r.Uptime.V)
			}},
			{Name: "ha", Cell: func(r *resource) render.Cell { return strCell(r.Hastate.Set, r.Hastate.V) }},
		},
		Important: func(r *resource) int {
			if r.Status.V != "online" {
				return 2
			}
			if r.Hastate.V != "" && r.Hastate.V != "online" {
				return 1
			}
			return 0
		},
		GroupBy: []string{"status"},
		Narrow:  []string{"status"},
	}
}

// NodeArgs are the arguments of pve_node_info.
type NodeArgs struct {
	Node string `json:"node" jsonschema:"required"`
	Shape
}

func (a NodeArgs) options() render.Options { return a.Shape.options() }

var nodeInfoTool = Tool[NodeArgs, doc]{
	Name: "pve_node_info", Toolset: "core", Class: apidoc.Read,
	Text: "Show one node: CPU, memory, load, root disk, kernel.",
	Run: func(ctx context.Context, c *Call, in NodeArgs) (doc, error) {
		return c.nodeInfo(ctx, in)
	},
}

func (c *Call) nodeInfo(ctx context.Context, in NodeArgs) (doc, error) {
	node, err := apidoc.ParseNode(in.Node)
	if err != nil {
		return doc{}, badArg("node", "%v", err)
	}
	s, err := c.api.GetNodesStatus(ctx, node)
	if err != nil {
		// An unknown name shows as a failed host look-up; the list tells.
		if !pverest.IsKind(err, pverest.KindForbidden, pverest.KindUnauthorized, pverest.KindNodeOffline) {
			if nerr := c.knownNodes(ctx, []string{in.Node}); nerr != nil {
				return doc{}, nerr
			}
		}
		return doc{}, err
	}
	d := &render.Doc{}
	d.Summaryf("Node %s, up %s", node, render.FormatSeconds(s.Uptime.V))
	kv := &render.KV{}
	kv.Set("version", strCell(s.Pveversion.Set, s.Pveversion.V))
	// Parts are missing in older versions and where the token sees less.
	kernel := s.Kversion.V
	if s.CurrentKernel != nil && s.CurrentKernel.Release.V != "" {
		kernel = s.CurrentKernel.Release.V
	}
	kv.Set("kernel", strCell(true, kernel))
	if s.Cpu.Set {
		cpu := render.FormatPct(s.Cpu.V)
		if s.Cpuinfo != nil {
			cpu = fmt.Sprintf("%s of %d cores%s", cpu, s.Cpuinfo.Cpus.V, inParens(s.Cpuinfo.Model.V))
		}
		kv.Set("cpu", render.Str(cpu))
	}
	load := make([]string, 0, 3)
	for _, l := range s.Loadavg {
		load = append(load, l.V)
	}
	kv.Set("load average", strCell(true, strings.Join(load, " ")))
	if s.Wait.Set {
		kv.Set("io wait", render.Pct(s.Wait.V))
	}
	if s.Memory != nil {
		kv.Set("memory", render.Usage(s.Memory.Used.V, s.Memory.Total.V))
	}
	if s.Swap != nil && s.Swap.Total.V > 0 {
		kv.Set("swap", render.Usage(s.Swap.Used.V, s.Swap.Total.V))
	}
	if s.Rootfs != nil {
		kv.Set("root disk", render.Usage(s.Rootfs.Used.V, s.Rootfs.Total.V))
	}
	if s.Ksm != nil && s.Ksm.Shared.V > 0 {
		kv.Set("ksm shared", render.Bytes(s.Ksm.Shared.V))
	}
	if s.BootInfo != nil {
		boot := s.BootInfo.Mode.V
		if s.BootInfo.Secureboot.V {
			boot += ", secure boot"
		}
		kv.Set("boot", strCell(true, boot))
	}
	d.Add(kv)
	return doc{Doc: d}, nil
}

func inParens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + render.Line(s) + ")"
}
