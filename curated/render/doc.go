// Package render turns what a tool has found out into the text that the agent
// reads, and keeps it within a budget of tokens at any cluster size.
//
// Why it exists: the people who use servers like this one complain first that
// the context fills up. If each tool formatted for itself, each would have to
// solve the same problem (what to leave out, how to say so, how to go on) and
// most would not. So a tool builds a [Doc] from typed values and hands it over;
// [Doc.Render] decides once, for all of them: totals first, then the rows that
// matter, then one line that says how many are missing, how to narrow and with
// which cursor to go on. The same document renders as text or as one valid JSON
// object. [Raw] does the same for JSON that no tool knows the meaning of.
//
// A tool's usual way:
//
//	d := &render.Doc{}
//	d.Summaryf("%d guests, %d running", total, running)
//	d.Add(&render.Table[Guest]{
//		ID: "guests", Rows: guests,
//		Key:     func(g *Guest) string { return render.Key(g.VMID) },
//		Columns: []render.Column[Guest]{
//			{Name: "vmid", Right: true, Stable: true, Cell: func(g *Guest) render.Cell { return render.Int(g.VMID) }},
//			{Name: "name", Cell: func(g *Guest) render.Cell { return render.Str(g.Name) }},
//			{Name: "mem", Right: true, Cell: func(g *Guest) render.Cell { return render.Bytes(g.Mem) }},
//		},
//		GroupBy: []string{"status", "node"},
//		Narrow:  []string{"node", "status", "name"},
//	})
//	text, err := d.Render(render.Options{Scope: render.Scope("pve_vms", cluster, filters...), Cursor: in.Cursor})
//
// Everything that goes through a [Cell], a summary line, a warning, a hint, a
// [Log] or a [Fenced] is cleaned of control, escape and invisible characters;
// masking secrets is not this package's work and must have been done before.
package render
